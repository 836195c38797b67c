# SPDX-License-Identifier: Apache-2.0
"""DiskSpd's XML profiles (`-X`, and the profile inside an XML result)."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from xml.etree import ElementTree as ET

from ioatlas.errors import UsageError, faults
from ioatlas.interop.fidelity import Fidelity, exact, not_expressible
from ioatlas.model.words import words
from ioatlas_translate.command import whole_number
from ioatlas_translate.diskspd_command import REPORTING, Span, Spec, set_priority

_TARGET_KNOWN = frozenset(
    words("""
    Path BlockSize StrideSize InterlockedSequential BaseFileOffset SequentialScan RandomAccess TemporaryFile
    UseLargePages RequestCount Random DisableAllCache DisableLocalCache DisableOSCache WriteThrough MemoryMappedIo
    FlushType WriteBufferContent BurstSize ThinkTime Throughput ThreadsPerFile FileSize MaxFileSize WriteRatio
    RandomRatio ParallelAsyncIO ThreadStride IOPriority Weight ThreadTargets Distribution
    """)
)
_SPAN_KNOWN = frozenset(
    words("""
    Targets Duration Warmup Cooldown RandSeed RandomWriteData ThreadCount RequestCount GroupAffinity Affinity
    DisableAffinity CompletionRoutines MeasureLatency CalculateIopsStdDev IoBucketDuration
    """)
)


def _number(node: ET.Element, name: str, where: str, default: int = 0) -> int:
    text = (node.findtext(name) or "").strip()
    return whole_number(text, f"<{name}>", where) if text else default


def _flag(node: ET.Element, name: str) -> bool:
    return (node.findtext(name) or "").strip().lower() in ("true", "1")


def _target(node: ET.Element, span: Span, where: str) -> Spec:
    block = _number(node, "BlockSize", where, 65536)
    spec = Spec(
        notes=span.notes,
        path=(node.findtext("Path") or "").strip(),
        block=block,
        threads=max(1, _number(node, "ThreadsPerFile", where, 1)),
        outstanding=max(1, _number(node, "RequestCount", where, 2)),
        interlocked=_flag(node, "InterlockedSequential"),
        parallel=_flag(node, "ParallelAsyncIO"),
        thread_stride=_number(node, "ThreadStride", where),
        write_percent=_number(node, "WriteRatio", where),
        file_size=_number(node, "FileSize", where) or None,
        base=_number(node, "BaseFileOffset", where),
        limit=_number(node, "MaxFileSize", where) or None,
        unbuffered=_flag(node, "DisableOSCache") or _flag(node, "DisableAllCache"),
        write_through=_flag(node, "WriteThrough") or _flag(node, "DisableAllCache"),
        mapped=_flag(node, "MemoryMappedIo"),
        remote_only=_flag(node, "DisableLocalCache"),
        burst=_number(node, "BurstSize", where),
        think_ms=_number(node, "ThinkTime", where),
        throughput=_number(node, "Throughput", where),
    )
    if block <= 0:
        raise UsageError("<BlockSize> must be at least 1", where=where, remedy="correct it")
    throughput = node.find("Throughput")
    spec.throughput_is_iops = throughput is not None and throughput.get("unit", "BPMS") == "IOPS"
    _addresses(node, spec, where)
    pattern = (node.findtext("WriteBufferContent/Pattern") or "").strip()
    spec.pattern = pattern if pattern in ("zero", "random") else "sequential"
    for tag, hint in (("SequentialScan", "sequential"), ("RandomAccess", "random")):
        if _flag(node, tag):
            spec.options["fadvise_hint"] = hint
            spec.notes.append(exact("access hint", f"<{tag}>: the same hint by posix_fadvise"))
    set_priority(spec, _number(node, "IOPriority", where, 3), "")
    _elements_without_counterpart(node, spec)
    return spec


def _addresses(node: ET.Element, spec: Spec, where: str) -> None:
    random, stride = _number(node, "Random", where), _number(node, "StrideSize", where)
    if random:
        spec.random, spec.align = True, random
        spec.random_percent = _number(node, "RandomRatio", where, 100)
    elif stride:
        spec.align = stride
    for kind, tag in (("pct", "Percent"), ("abs", "Absolute")):
        ranges = node.findall(f"Distribution/{tag}/Range")
        if ranges:
            spec.distribution, spec.random = kind, True
            spec.ranges = tuple(
                (whole_number(r.get("IO", ""), "IO", where, high=100), whole_number(r.text or "", "Range", where))
                for r in ranges
            )


def _elements_without_counterpart(node: ET.Element, spec: Spec) -> None:
    for found, attribute, reason in (
        (
            node.findtext("WriteBufferContent/RandomDataSource/FilePath"),
            "write data",
            "data out of a named file is not taken; random data stands in",
        ),
        (_flag(node, "TemporaryFile"), "file attribute", "<TemporaryFile> exists on Windows only"),
        (
            _flag(node, "UseLargePages"),
            "buffer memory",
            "<UseLargePages>: an option that names memory is not taken",
        ),
        (
            (node.findtext("FlushType") or "").strip(),
            "flush of mapped writes",
            "<FlushType>: the Windows flush calls have no counterpart in fio's mmap engine",
        ),
        (
            node.find("Weight") is not None or node.find("ThreadTargets") is not None,
            "weights of targets",
            "<Weight> and <ThreadTargets> give one thread several targets in proportion",
        ),
    ):
        if found:
            spec.notes.append(not_expressible(attribute, reason))
    _unknown(node, _TARGET_KNOWN, spec.notes)


def _unknown(node: ET.Element, known: Container[str], notes: list[Fidelity]) -> None:
    for child in node:
        if child.tag not in known:
            notes.append(not_expressible(f"<{child.tag}>", "not an element of DiskSpd's schema that is known here"))


def read_profile(text: str, where: str, paths: Sequence[str]) -> list[Span]:
    """The time spans of a profile; `paths` replace the templates *1, *2, ... Raises UsageError for what is not a
    profile.
    """
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise UsageError(
            "a profile has no business with a document type or entities", where=where, remedy="remove the declaration"
        )
    with faults(UsageError, "not well-formed XML", where=where, remedy="correct the profile", of=ET.ParseError):
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314 - entities are refused above
    profile = root if root.tag == "Profile" else root.find(".//Profile")
    nodes = [] if profile is None else profile.findall("TimeSpans/TimeSpan")
    if not nodes:
        raise UsageError("it holds no <Profile> with a <TimeSpan>", where=where, remedy="give a DiskSpd profile")
    return [_span(node, where, paths) for node in nodes]


def _span(node: ET.Element, where: str, paths: Sequence[str]) -> Span:
    span = Span(
        duration=_number(node, "Duration", where, 10),
        warmup=_number(node, "Warmup", where, 5),
        cooldown=_number(node, "Cooldown", where),
        total_threads=_number(node, "ThreadCount", where),
        per_thread_requests=_number(node, "RequestCount", where),
        completion_routines=_flag(node, "CompletionRoutines"),
        seed=_number(node, "RandSeed", where) or None,
    )
    _unknown(node, _SPAN_KNOWN, span.notes)
    for tag in ("MeasureLatency", "CalculateIopsStdDev"):
        if _flag(node, tag):
            span.notes.append(exact("reporting", f"<{tag}> {REPORTING}"))
    _affinity(node, span, where)
    for target in node.findall("Targets/Target"):
        spec = _target(target, span, where)
        template = re.fullmatch(r"\*(\d+)", spec.path)
        if template and int(template.group(1)) <= len(paths):
            spec.path = paths[int(template.group(1)) - 1]
        if _flag(node, "RandomWriteData"):
            spec.pattern = "per-io"
        span.targets.append(spec)
    if not span.targets:
        raise UsageError("a <TimeSpan> has no <Target>", where=where, remedy="add one")
    return span


def _affinity(node: ET.Element, span: Span, where: str) -> None:
    assigned = node.findall("Affinity/AffinityGroupAssignment")
    if any(n.get("Group", "0") != "0" for n in assigned):
        span.notes.append(not_expressible("processor affinity", "processor groups exist on Windows only"))
        return
    processors = [n.get("Processor", "") for n in assigned]
    processors += [(n.text or "").strip() for n in node.findall("Affinity/AffinityAssignment")]
    span.affinity = ",".join(str(whole_number(p, "Processor", where)) for p in processors)
