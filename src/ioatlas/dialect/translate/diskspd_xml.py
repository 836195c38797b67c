# SPDX-License-Identifier: Apache-2.0
"""DiskSpd's XML profiles (`-X`, and the profile inside an XML result)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from ioatlas.dialect.command import whole_number
from ioatlas.dialect.fidelity import approximate, exact, not_expressible
from ioatlas.dialect.translate.diskspd import REPORTING, Span, Spec
from ioatlas.errors import UsageError

_TARGET_KNOWN = frozenset(
    {
        "Path", "BlockSize", "StrideSize", "InterlockedSequential", "BaseFileOffset", "SequentialScan", "RandomAccess", "TemporaryFile", "UseLargePages",
        "RequestCount", "Random", "DisableAllCache", "DisableLocalCache", "DisableOSCache", "WriteThrough", "MemoryMappedIo", "FlushType",
        "WriteBufferContent", "BurstSize", "ThinkTime", "Throughput", "ThreadsPerFile", "FileSize", "MaxFileSize", "WriteRatio", "RandomRatio",
        "ParallelAsyncIO", "ThreadStride", "IOPriority", "Weight", "ThreadTargets", "Distribution",
    }
)  # fmt: skip
_SPAN_KNOWN = frozenset(
    {
        "Targets", "Duration", "Warmup", "Cooldown", "RandSeed", "RandomWriteData", "ThreadCount", "RequestCount", "GroupAffinity", "Affinity",
        "DisableAffinity", "CompletionRoutines", "MeasureLatency", "CalculateIopsStdDev", "IoBucketDuration",
    }
)  # fmt: skip


def _number(node: ET.Element, name: str, where: str, default: int = 0) -> int:
    text = (node.findtext(name) or "").strip()
    return whole_number(text, f"<{name}>", where) if text else default


def _flag(node: ET.Element, name: str) -> bool:
    return (node.findtext(name) or "").strip().lower() in ("true", "1")


def _target(node: ET.Element, span: Span, where: str) -> Spec:
    block = _number(node, "BlockSize", where, 65536)
    spec = Spec(
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
    random, stride = _number(node, "Random", where), _number(node, "StrideSize", where)
    if random:
        spec.random, spec.align = True, random
        spec.random_percent = _number(node, "RandomRatio", where, 100)
    elif stride:
        spec.align = stride
    distribution = node.find("Distribution")
    for kind, tag in (("pct", "Percent"), ("abs", "Absolute")):
        ranges = distribution.findall(f"{tag}/Range") if distribution is not None else []
        if ranges:
            spec.distribution, spec.random = kind, True
            spec.ranges = tuple(
                (whole_number(r.get("IO", ""), "IO", where, high=100), whole_number(r.text or "", "Range", where)) for r in ranges
            )
    pattern = (node.findtext("WriteBufferContent/Pattern") or "sequential").strip()
    spec.pattern = {"sequential": "sequential", "zero": "zero", "random": "random"}.get(pattern, "sequential")
    if node.findtext("WriteBufferContent/RandomDataSource/FilePath"):
        span.notes.append(not_expressible("write data", "data out of a named file is not taken; random data stands in"))
    for tag, hint in (("SequentialScan", "sequential"), ("RandomAccess", "random")):
        if _flag(node, tag):
            spec.options["fadvise_hint"] = hint
            span.notes.append(exact("access hint", f"<{tag}>: the same hint by posix_fadvise"))
    if _flag(node, "TemporaryFile"):
        span.notes.append(not_expressible("file attribute", "<TemporaryFile> exists on Windows only"))
    if _flag(node, "UseLargePages"):
        span.notes.append(not_expressible("buffer memory", "<UseLargePages>: an option that names memory is not taken"))
    if (node.findtext("FlushType") or "").strip():
        span.notes.append(
            not_expressible("flush of mapped writes", "<FlushType>: the Windows flush calls have no counterpart in fio's mmap engine")
        )
    priority = _number(node, "IOPriority", where, 3)
    if priority in (1, 2):
        spec.options |= {"prioclass": 3} if priority == 1 else {"prioclass": 2, "prio": 7}
        span.notes.append(approximate("I/O priority", "a Windows hint; the nearest Linux class is set", "a scheduler may ignore either"))
    if node.find("Weight") is not None or node.find("ThreadTargets") is not None:
        span.notes.append(
            not_expressible("weights of targets", "<Weight> and <ThreadTargets> give one thread several targets in proportion")
        )
    for child in node:
        if child.tag not in _TARGET_KNOWN:
            span.notes.append(not_expressible(f"<{child.tag}>", "not an element of DiskSpd's schema that is known here"))
    return spec


def read_profile(text: str, where: str, paths: Sequence[str]) -> list[Span]:
    """The time spans of a profile; `paths` replace the templates *1, *2, ... Raises UsageError for what is not a profile."""
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise UsageError("a profile has no business with a document type or entities", where=where, remedy="remove the declaration")
    try:
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))  # noqa: S314 - entities are refused above
    except ET.ParseError as error:
        raise UsageError(f"not well-formed XML: {error}", where=where, remedy="correct the profile") from error
    profile = root if root.tag == "Profile" else root.find(".//Profile")
    nodes = [] if profile is None else profile.findall("TimeSpans/TimeSpan")
    if not nodes:
        raise UsageError("it holds no <Profile> with a <TimeSpan>", where=where, remedy="give a DiskSpd profile")
    spans = []
    for node in nodes:
        span = Span(
            duration=_number(node, "Duration", where, 10),
            warmup=_number(node, "Warmup", where, 5),
            cooldown=_number(node, "Cooldown", where),
            total_threads=_number(node, "ThreadCount", where),
            per_thread_requests=_number(node, "RequestCount", where),
            completion_routines=_flag(node, "CompletionRoutines"),
        )
        if node.findtext("RandSeed"):
            span.seed = _number(node, "RandSeed", where) or None
        for child in node:
            if child.tag not in _SPAN_KNOWN:
                span.notes.append(not_expressible(f"<{child.tag}>", "not an element of DiskSpd's schema that is known here"))
        for tag in ("MeasureLatency", "CalculateIopsStdDev"):
            if _flag(node, tag):
                span.notes.append(exact("reporting", f"<{tag}> {REPORTING}"))
        processors = [n.get("Processor", "") for n in node.findall("Affinity/AffinityGroupAssignment") if n.get("Group", "0") == "0"]
        processors += [(n.text or "").strip() for n in node.findall("Affinity/AffinityAssignment")]
        if any(n.get("Group", "0") != "0" for n in node.findall("Affinity/AffinityGroupAssignment")):
            span.notes.append(not_expressible("processor affinity", "processor groups exist on Windows only"))
        elif processors:
            span.affinity = ",".join(str(whole_number(p, "Processor", where)) for p in processors)
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
        spans.append(span)
    return spans
