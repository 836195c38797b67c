# SPDX-License-Identifier: Apache-2.0
"""CrystalDiskMark and KDiskMark: their presets and single tests, by name.

Facts: CrystalDiskMark 8 and 9 start DiskSpd with `-b -o -t -W0 -S -w [-r] -d5`, five times after one run that is thrown
away, and show the best; a sequential test with several threads adds `-si`. KDiskMark 3 starts fio with libaio, direct,
end_fsync and a cap of 5 s on a file of 1 GiB, five times, and shows the mean. Tests are written as in their windows:
SEQ1M Q8T1, RND4K Q32T16.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ioatlas.errors import UsageError
from ioatlas.interop.command import Source, binary_size, split_words, whole_number
from ioatlas.interop.fidelity import Fidelity, approximate, exact
from ioatlas.interop.options import Action, fixed, lost, put, whole
from ioatlas.interop.translation import Translation, from_workloads
from ioatlas.model.cell import OptionValue
from ioatlas.model.workload import Address, Stream, Workload

Test = tuple[str, int, int, int]
"""'SEQ' or 'RND', block in KiB, queues, threads."""

_SEQ8, _SEQ1, _R32, _R1 = ("SEQ", 1024, 8, 1), ("SEQ", 1024, 1, 1), ("RND", 4, 32, 1), ("RND", 4, 1, 1)
_DEFAULT = (_SEQ8, _SEQ1, _R32, _R1)
_NVME = (_SEQ8, ("SEQ", 128, 32, 1), ("RND", 4, 32, 16), _R1)
PRESETS: dict[str, tuple[Test, ...]] = {
    "default": _DEFAULT,
    "standard": _DEFAULT,
    "nvme": _NVME,
    "peak": (_SEQ8, _R32),
    "peak-nvme": (_SEQ8, ("RND", 4, 32, 16)),
    "real-world": (_SEQ1, _R1),
    "demo": (_SEQ8,),
}
# The default tests of older CrystalDiskMark versions.
_OLDER: dict[int, tuple[Test, ...]] = {
    3: (("SEQ", 1024, 1, 1), ("RND", 512, 1, 1), ("RND", 4, 1, 1), ("RND", 4, 32, 1)),
    4: (("SEQ", 128, 32, 1), ("RND", 4, 32, 1), ("SEQ", 1024, 1, 1), ("RND", 4, 1, 1)),
    5: (("SEQ", 128, 32, 1), ("RND", 4, 32, 1), ("SEQ", 1024, 1, 1), ("RND", 4, 1, 1)),
    6: (("SEQ", 128, 32, 1), ("RND", 4, 8, 8), ("RND", 4, 32, 1), ("RND", 4, 1, 1)),
    7: (("SEQ", 1024, 8, 1), ("SEQ", 1024, 1, 1), ("RND", 4, 32, 16), ("RND", 4, 1, 1)),
}
_TEST = re.compile(
    r"\b(SEQ|RND|RAND)\s*(\d+)\s*([KM])i?B?[\s:,(/_-]*Q\s*=?\s*(\d+)[\s,/x_-]*T\s*=?\s*(\d+)\)?", re.IGNORECASE
)
_OLD_TEST = re.compile(
    r"\b(?:(Seq)(?:uential)?(?:\s+Q\s*=?\s*(\d+)\s*,?\s*T\s*=?\s*(\d+))?|(?:Random\s+)?(4|512)\s?K(?:i?B)?\s+(?:QD?\s*=?\s*(\d+)(?:\s*,?\s*T\s*=?\s*(\d+))?))\b",
    re.IGNORECASE,
)
"""Names in the windows of CrystalDiskMark 3 to 6: Seq, Seq Q32T1, 4K QD32, 4KiB Q8T8."""


def _old_test(match: re.Match[str]) -> Test:
    if match[1]:  # with a queue these versions read 128 KiB at a time, without one 1 MiB
        return ("SEQ", 128, int(match[2]), int(match[3])) if match[2] else ("SEQ", 1024, 1, 1)
    return ("RND", int(match[4]), int(match[5] or 1), int(match[6] or 1))


_MIXED = 70
"""Per cent of reads in a mixed test, unless it is given."""


@dataclass
class Request:
    tests: list[Test]
    modes: tuple[str, ...]
    size_bytes: int = 1 << 30
    loops: int = 5
    seconds: int = 5
    read_percent: int | None = None
    zeros: bool = False
    direct: bool = True
    refill: bool = False
    version: int = 8
    path: str = ""
    notes: list[Fidelity] = field(default_factory=list)


def read_request(text: str, where: str, tool: str) -> tuple[Request, list[Fidelity]]:
    """Presets and tests by name, with the sizes, counts and times that the windows offer. Raises UsageError naming
    unknown words.
    """
    notes: list[Fidelity] = []
    version_match = re.search(r"(?:crystaldiskmark|cdm|version|v)\s*[:=]?\s*(\d+)(?:\.\d+)*", text, re.IGNORECASE)
    request = Request([], (), version=int(version_match.group(1)) if version_match else 8)
    rest = text
    named = False
    for match in _TEST.finditer(text):
        named = True
        kib = int(match.group(2)) * (1024 if match.group(3).upper() == "M" else 1)
        test = ("SEQ" if match.group(1).upper() == "SEQ" else "RND", kib, int(match.group(4)), int(match.group(5)))
        request.tests.append(test)
        rest = rest.replace(match.group(0), " ")
    for match in _OLD_TEST.finditer(rest):
        named = True
        request.tests.append(_old_test(match))
    rest = _OLD_TEST.sub(" ", rest)
    rest = re.sub(
        r"\b(peak|real[ _-]?world)[ _-]performance\b|\breal world\b",
        lambda m: "peak" if m[0].lower().startswith("peak") else "real-world",
        rest,
        flags=re.IGNORECASE,
    )
    rest = re.sub(r"\[?\+\s?mix\]?", " mix ", rest, flags=re.IGNORECASE)
    modes: list[str] = []
    presets: list[str] = []
    words = deque(split_words(rest.replace(",", " "), windows=True, where=where))
    while words:
        word = words.popleft()
        if not _named(word, words, (modes, presets), where):
            _setting(word, words, request, where)
    notes += request.notes
    if presets and not request.tests:
        nvme = "nvme" in presets
        base = next((p for p in presets if p not in ("nvme", "mix")), "nvme" if nvme else "default")
        name = (
            f"{base}-nvme"
            if nvme and f"{base}-nvme" in PRESETS
            else ("nvme" if nvme and base in ("default", "standard") else base)
        )
        request.tests = list(PRESETS[name])
    if not request.tests:
        older = _OLDER.get(request.version) if tool == "crystaldiskmark" else None
        request.tests = list(older or _DEFAULT)
        if older:
            notes.append(exact("preset", f"the tests of CrystalDiskMark {request.version}"))
    mixed = "mix" in modes or "mix" in presets
    asked = tuple(dict.fromkeys(mode for mode in modes if mode != "mix"))
    # A profile with mix adds the mixed tests to reads and writes; a single test with mix is that one.
    request.modes = (*(asked or (() if mixed and named else ("read", "write"))), *(("mix",) if mixed else ()))
    return request, notes


_PRESET_ALIASES = {
    "realworld": "real-world",
    "real": "real-world",
    "rwp": "real-world",
    "nvme-ssd": "nvme",
    "nvmessd": "nvme",
    "peak-performance": "peak",
}
_MODES = {"read": "read", "write": "write", "mixed": "mix", "rwmix": "mix", "read-write-mix": "mix"}
_PASSED_OVER = re.compile(
    r"(crystaldiskmark|kdiskmark|cdm|diskmark(32|64)?)(\.exe)?|v?\d+(\.\d+)*|version|tests?|all|ssd|mode|random|windows"
    r"|x(64|86)|-+|[a-z]:\\?"
)


def _size(text: str, option: str, where: str) -> int:
    return binary_size(text, option, where, unit=1 << 20)


def _seconds(text: str, option: str, where: str) -> int:
    return whole_number(text.removesuffix("s"), option, where, low=1, high=86400)


def _ratio(text: str, option: str, where: str) -> int:
    """70, R70% or R70%/W30%."""
    plain = re.sub(r"^R?(\d+)%?(/.*)?$", r"\1", text, flags=re.IGNORECASE)
    return whole_number(plain, option, where, high=100)


def _zeros(text: str, _option: str, _where: str) -> bool:
    return text.lower() in ("zero", "zeros", "0fill", "0x00")


def _text(text: str, _option: str, _where: str) -> str:
    return text


_WITH_VALUE: dict[str, Action] = {
    **dict.fromkeys(("size", "file-size", "filesize", "test-size"), put("size_bytes", _size)),
    **dict.fromkeys(("loops", "count", "runs", "loop"), put("loops", whole(1, 1000))),
    **dict.fromkeys(("time", "seconds", "measuring-time", "duration"), put("seconds", _seconds)),
    **dict.fromkeys(("interval", "interval-time"), lost("interval", "{value} s of rest between tests")),
    **dict.fromkeys(("mix-ratio", "rwmixread", "ratio", "read-percentage"), put("read_percent", _ratio)),
    **dict.fromkeys(("data", "test-data"), put("zeros", _zeros)),
    **dict.fromkeys(("drive", "path", "target"), put("path", _text)),
}
_ALONE: dict[str, Action] = {
    **dict.fromkeys(("zeros", "all-0x00", "0fill"), fixed(zeros=True)),
    **dict.fromkeys(("buffered", "no-bypass"), fixed(direct=False)),
    **dict.fromkeys(("refill", "continuous-generation"), fixed(refill=True)),
    **dict.fromkeys(
        ("flush", "flush-cache", "no-flush"), lost("cache flush", "dropping the system's caches between tests")
    ),
}


def _split(word: str) -> tuple[str, str | None]:
    """The plain name of an option, and the value attached to it."""
    key, equals, attached = word.lstrip("-/").partition("=")
    low = key.lower().replace("_", "-")
    return _PRESET_ALIASES.get(low, low), attached if equals else None


def _value(word: str, attached: str | None, words: deque[str], where: str) -> str:
    if attached is not None:
        return attached
    if not words:
        raise UsageError(f"{word} takes a value", where=where, remedy="add it")
    return words.popleft()


def _named(word: str, words: deque[str], found: tuple[list[str], list[str]], where: str) -> bool:
    """Whether the word names a mode or a preset, which join those found."""
    modes, presets = found
    low, attached = _split(word)
    if low in PRESETS or low in ("mix", "nvme"):
        presets.append(low)
    elif low in _MODES:
        modes.append(_MODES[low])
    elif low in ("profile", "preset"):
        name = _value(word, attached, words, where).lower().replace("_", "-").replace(" ", "-")
        for part in (_PRESET_ALIASES.get(p, p) for p in name.replace("+", " ").split()):
            if part not in PRESETS and part not in ("mix", "nvme"):
                raise UsageError(
                    f"there is no profile {part!r}",
                    where=where,
                    remedy="use " + ", ".join(PRESETS) + ", each with mix if wanted",
                )
            presets.append(part)
    else:
        return False
    return True


def _setting(word: str, words: deque[str], request: Request, where: str) -> None:
    low, attached = _split(word)
    if low in _WITH_VALUE:
        _WITH_VALUE[low](request, low, _value(word, attached, words, where), where)
    elif low in _ALONE:
        _ALONE[low](request, low, "", where)
    elif re.fullmatch(r"\d+(\.\d+)?[kmgt]i?b?", low) and request.path != word:
        request.size_bytes = binary_size(low, "size", where)
    elif not _PASSED_OVER.fullmatch(low) and "/" not in word and "\\" not in word:
        raise UsageError(
            f"{word!r} is neither a preset nor a test nor a setting",
            where=where,
            remedy="write a preset (" + ", ".join(PRESETS) + ") or tests such as SEQ1M Q8T1",
        )
    elif re.match(r"^[A-Za-z]:|^/|\\", word):
        request.path = word


def _crystal(request: Request, test: Test, mode: str) -> tuple[Workload, list[Fidelity]]:
    kind, _, queues, threads = test
    notes: list[Fidelity] = []
    shared = kind == "SEQ" and threads > 1
    options: dict[str, OptionValue] = {}
    if mode != "read":
        if request.zeros:
            options["zero_buffers"] = 1
            notes.append(exact("write data", "zeroes"))
        else:
            notes.append(
                approximate(
                    "write data",
                    "DiskSpd writes out of one random buffer, fio scrambles its own",
                    "incompressible in both",
                )
            )
    stream = _stream(request, test, mode, options)
    law = "random" if kind == "RND" else "shared-sequential" if shared else "sequential"
    stream = replace(stream, address=Address(law), engine="" if queues == 1 else "libaio")  # type: ignore[arg-type]
    return Workload(stream.name, (stream,), runtime_seconds=request.seconds), notes


def _stream(request: Request, test: Test, mode: str, options: dict[str, OptionValue]) -> Stream:
    kind, kib, queues, threads = test
    name = f"{kind}{kib // 1024}M" if kib % 1024 == 0 else f"{kind}{kib}K"
    return Stream(
        name=f"{name}-Q{queues}T{threads}-{mode}",
        operation=mode,
        read_percent={"read": 100.0, "write": 0.0}.get(
            mode, float(_MIXED if request.read_percent is None else request.read_percent)
        ),
        sizes=((kib << 10, 100.0),),
        jobs=threads,
        depth=queues,
        size_bytes=request.size_bytes,
        origin=request.path,
        direct=request.direct,
        options=options,
    )


def _kde(request: Request, test: Test, mode: str) -> tuple[Workload, list[Fidelity]]:
    options: dict[str, OptionValue] = {
        "refill_buffers": int(request.refill),
        "randrepeat": 0,
        "runtime": request.seconds,
        "end_fsync": 1,
    }
    if request.zeros:
        options["zero_buffers"] = 1
    notes = [
        exact("duration", f"a cap of {request.seconds} s on one pass over the file, as KDiskMark has it"),
        exact("write data", "zeroes" if request.zeros else "fio's own random data"),
    ]
    stream = replace(
        _stream(request, test, mode, options),
        address=Address("random", once=True) if test[0] == "RND" else Address("sequential"),
        engine="libaio",
    )
    return Workload(stream.name, (stream,)), notes


def translate(source: Source, tool: str) -> Translation:
    """Preset and test names: `nvme`, `default mix`, `SEQ1M Q8T1 read`, `--profile real-world --size 1g`."""
    text = " ".join(line for line in source.text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    request, notes = read_request(text, source.where, tool)

    def pairs() -> Iterator[tuple[Workload, list[Fidelity]]]:
        for mode in request.modes:
            for test in request.tests:
                yield _crystal(request, test, mode) if tool == "crystaldiskmark" else _kde(request, test, mode)

    made = list(pairs())
    if request.read_percent is not None and not set(request.modes) - {"read", "write"}:
        notes.append(exact("direction", "the ratio is of mixed tests, and none is asked for"))
    shown = "the best" if tool == "crystaldiskmark" else "the mean"
    notes += [note for _, entries in made for note in entries]
    if request.loops > 1:
        notes.append(
            approximate(
                "repeats",
                f"{request.loops} runs of each test, of which the program shows {shown}: ask for repeats by visits",
                "an interval over visits instead of " + shown,
            )
        )
    if tool == "crystaldiskmark":
        notes.append(exact("warm-up", "-W0: none inside a run; one run of each test is thrown away before the others"))
    notes.append(
        exact("caching", "the system's cache is bypassed" if request.direct else "the system's cache is in use")
    )
    return from_workloads(tool, source.where, [workload for workload, _ in made], notes)
