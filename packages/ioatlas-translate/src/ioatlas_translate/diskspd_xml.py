# SPDX-License-Identifier: Apache-2.0
"""DiskSpd's XML profiles (`-X`, and the profile inside an XML result): each element is a switch of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree as ET

from ioatlas.errors import UsageError, faults
from ioatlas.model.words import pairs, words
from ioatlas_translate.diskspd_command import Span, Spec, apply, read_spec

_OF_TARGET = pairs("""
    BlockSize=b ThreadsPerFile=t RequestCount=o FileSize=c BaseFileOffset=B MaxFileSize=f StrideSize=s Random=r
    ThreadStride=T WriteRatio=w BurstSize=i ThinkTime=j IOPriority=I
""")
_TARGET_FLAGS = pairs("""
    InterlockedSequential=si ParallelAsyncIO=p DisableOSCache=Su DisableAllCache=Sh WriteThrough=Sw MemoryMappedIo=Sm
    DisableLocalCache=Sr SequentialScan=fs RandomAccess=fr TemporaryFile=ft UseLargePages=l
""")
_OF_SPAN = pairs("Duration=d Warmup=W Cooldown=C ThreadCount=F RequestCount=O RandSeed=z")
_SPAN_FLAGS = pairs("CompletionRoutines=x MeasureLatency=L CalculateIopsStdDev=D DisableAffinity=n")
_FLUSHES = {"ViewOfFile": "v", "NonVolatileMemory": "n", "NonVolatileMemoryNoDrain": "i"}
_KNOWN = frozenset({*_OF_TARGET, *_TARGET_FLAGS, *_OF_SPAN, *_SPAN_FLAGS}) | frozenset(
    words("""
    Path FlushType WriteBufferContent Throughput RandomRatio Weight ThreadTargets Distribution Targets RandomWriteData
    GroupAffinity Affinity IoBucketDuration
    """)
)

Switch = tuple[str, str]
"""(letter, value)."""


def _text(node: ET.Element, name: str) -> str:
    return (node.findtext(name) or "").strip()


def _switches(node: ET.Element, letters: Mapping[str, str], flags: Mapping[str, str]) -> Iterator[Switch]:
    """A number of 0 says that nothing was set, but for the warm-up."""
    for name, letter in letters.items():
        if _text(node, name) not in ("", "0" if name != "Warmup" else ""):
            yield letter, _text(node, name)
    for name, switch in flags.items():
        if _text(node, name).lower() in ("true", "1"):
            yield switch[0], switch[1:]


def _of_target(node: ET.Element) -> Iterator[Switch]:
    yield from _switches(node, _OF_TARGET, _TARGET_FLAGS)
    if node.find("Random") is not None and _text(node, "RandomRatio"):
        yield "r", f"s{_text(node, 'RandomRatio')}"
    for kind, name in (("pct", "Percent"), ("abs", "Absolute")):
        if ranges := [f"{one.get('IO', '')}/{one.text}" for one in node.findall(f"Distribution/{name}/Range")]:
            yield "r", f"d{kind}{':'.join(ranges)}"
    if _text(node, "Throughput") not in ("", "0"):
        in_iops = node.find("Throughput[@unit='IOPS']") is not None
        yield "g", f"{_text(node, 'Throughput')}{'i' if in_iops else ''}"
    source = "WriteBufferContent/RandomDataSource"
    if _text(node, "WriteBufferContent/Pattern") == "zero":
        yield "Z", ""
    elif _text(node, "WriteBufferContent/Pattern") == "random":
        file = _text(node, f"{source}/FilePath")
        yield "Z", f"{_text(node, f'{source}/SizeInBytes') or 1}{f',{file}' if file else ''}"
    if flush := _text(node, "FlushType"):
        yield "N", _FLUSHES.get(flush, flush)


def _of_span(node: ET.Element) -> Iterator[Switch]:
    yield from _switches(node, _OF_SPAN, _SPAN_FLAGS)
    processors = [
        f"g{one.get('Group', '0')},{one.get('Processor', '')}"
        for one in node.findall("Affinity/AffinityGroupAssignment")
    ]
    processors += [(one.text or "").strip() for one in node.findall("Affinity/AffinityAssignment")]
    if processors:
        yield "a", ",".join(processors)


def _note_unknown(node: ET.Element, span: Span) -> None:
    for child in node:
        if child.tag not in _KNOWN:
            span.notes.lost(f"<{child.tag}>", "not an element of DiskSpd's schema that is known here")


def read_profile(text: str, paths: Sequence[str]) -> list[Span]:
    """The time spans of a profile; `paths` replace the templates *1, *2, ... Raises UsageError for what is not a
    profile.
    """
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise UsageError("a profile has no business with a document type or entities", remedy="remove the declaration")
    with faults(UsageError, "not well-formed XML", remedy="correct the profile", of=ET.ParseError):
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314 - entities are refused above
    profile = root if root.tag == "Profile" else root.find(".//Profile")
    nodes = [] if profile is None else profile.findall("TimeSpans/TimeSpan")
    if not nodes:
        raise UsageError("it holds no <Profile> with a <TimeSpan>", remedy="give a DiskSpd profile")
    return [_span(node, paths) for node in nodes]


def _span(node: ET.Element, paths: Sequence[str]) -> Span:
    span = Span()
    for letter, value in _of_span(node):
        apply(span, Spec(), letter, value)
    _note_unknown(node, span)
    more = [("Z", "r")] if _text(node, "RandomWriteData").lower() in ("true", "1") else []
    for target in node.findall("Targets/Target"):
        spec = read_spec([*_of_target(target), *more], span)
        spec.path = _text(target, "Path")
        template = re.fullmatch(r"\*(\d+)", spec.path)
        if template and int(template.group(1)) <= len(paths):
            spec.path = paths[int(template.group(1)) - 1]
        if target.find("Weight") is not None or target.find("ThreadTargets") is not None:
            reason = "<Weight> and <ThreadTargets> give one thread several targets in proportion"
            span.notes.lost("weights of targets", reason)
        _note_unknown(target, span)
        span.targets.append(spec)
    if not span.targets:
        raise UsageError("a <TimeSpan> has no <Target>", remedy="add one")
    return span
