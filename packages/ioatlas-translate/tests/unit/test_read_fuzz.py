# SPDX-License-Identifier: Apache-2.0
"""Every importer on damaged files: nothing raised, figures finite, and a cut file never gives a figure the whole one
does not.

IOATLAS_FUZZ_EXAMPLES sets how many inputs each test tries (default 20).
"""

import math
import os
import tempfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.samples import SAMPLES

from ioatlas.model.units import words
from ioatlas_translate.read.importer import formats_of
from ioatlas_translate.read.source import Source

EXAMPLES = int(os.environ.get("IOATLAS_FUZZ_EXAMPLES", "20"))
FOLDERS = words("fio/json fio/text fio/logs iozone diskspd vdbench xdd elbencho crystaldiskmark bonnie io500")
FIGURES = words(
    "iops bw_bytes_per_s lat_mean_ns lat_p99_ns bs_bytes size_bytes numjobs iodepth io_bytes "
    "runtime_seconds rwmixread spread"
)
ROUNDED = (("fio", "iops"), ("fio", "bw_bytes_per_s"), ("elbencho", "bw_bytes_per_s"))
"""Printed rounded; what tells them exactly stands further down."""
NASTY = [
    *(b"\0", b"\xff\xfe", b"9" * 400, b"1e999", b"-1", b"NaN", b'"', b"{", b"}" * 50, b"[" * 3000, b"\r", b"\n" * 20),
    *(b";" * 100, b"," * 100, b"<", b"&x;", "２".encode(), b"%s", b"../" * 10),
]

pytestmark = pytest.mark.skipif(
    not SAMPLES.exists(), reason="needs other tools' results: IOATLAS_SAMPLES names their folder"
)


@cache
def files(folder: str) -> tuple[tuple[str, bytes], ...]:
    found = (path for path in sorted((SAMPLES / folder).rglob("*")) if path.is_file() and path.stat().st_size < 40_000)
    return tuple(
        (path.name, path.read_bytes()) for path in found if "virtualclient" not in path.name and path.suffix != ".sch"
    )


def read_unguarded(raw: bytes, name: str):
    """Readings with no net under the readers: what they raise is a bug."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(raw)
        source = Source.of(path, name)
        return [reading for item in formats_of(source) for reading in item.read(source)]


def check(readings):
    for reading in readings:
        for name in FIGURES:
            value = getattr(reading, name)
            assert value is None or (math.isfinite(value) and value >= 0), (name, value)
        assert reading.line >= 0
        assert reading.n is None or reading.n >= 1


@pytest.mark.parametrize("folder", FOLDERS)
@examples(EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_files(folder, data):
    name, raw = files(folder)[data.draw(st.integers(0, len(files(folder)) - 1))]
    for _ in range(data.draw(st.integers(1, 4))):
        kind = data.draw(st.sampled_from(["cut", "front", "flip", "insert", "shuffle", "repeat", "drop", "digits"]))
        at = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        lines = raw.split(b"\n")
        place = data.draw(st.integers(0, len(lines) - 1))
        if kind == "cut":
            raw = raw[:at]
        elif kind == "front":
            raw = raw[at:]
        elif kind == "flip" and raw:
            raw = raw[:at] + bytes([raw[at] ^ (1 << data.draw(st.integers(0, 7)))]) + raw[at + 1 :]
        elif kind == "insert":
            raw = raw[:at] + data.draw(st.sampled_from(NASTY)) + raw[at:]
        elif kind == "shuffle":
            other = data.draw(st.integers(0, len(lines) - 1))
            lines[place], lines[other] = lines[other], lines[place]
            raw = b"\n".join(lines)
        elif kind == "repeat":
            raw = b"\n".join(lines[:place] + [lines[place]] * 30 + lines[place:])
        elif kind == "drop":
            raw = b"\n".join(lines[:place] + lines[place + 1 :])
        else:
            raw = raw[:at] + raw[at : at + 40].replace(b"1", b"9" * 25) + raw[at + 40 :]
    check(read_unguarded(raw, name))


@pytest.mark.parametrize(
    "folder", ["fio/json", "fio/text", "iozone", "diskspd", "vdbench", "xdd", "elbencho", "crystaldiskmark", "io500"]
)
@examples(EXAMPLES, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_cut_files_give_no_figure_of_their_own(folder, data):
    name, raw = files(folder)[data.draw(st.integers(0, len(files(folder)) - 1))]
    whole = read_unguarded(raw, name)
    true = {figure: {getattr(reading, figure) for reading in whole} for figure in FIGURES}
    # a cut can leave only the row before the last, whose figures are true but not those of the whole file
    true["lat_mean_ns"] |= {
        value for reading in whole for key, value in reading.details.items() if key.endswith("mean_ns")
    }
    cut = data.draw(st.integers(0, len(raw)))
    for reading in read_unguarded(raw[:cut], name):
        if (
            reading.statistic == "unknown"
            or reading.tool == "xdd"
            or reading.details.get("interval") is not None
            or "log" in (reading.label or "")
        ):
            continue
        if reading.direction == "mixed" or (reading.tool == "diskspd" and reading.lat_p99_ns is None):
            continue
        if reading.tool == "fio" and reading.lat_kind == "completion":
            continue
        for figure in FIGURES:
            value = getattr(reading, figure)
            if value is not None and (reading.tool, figure) in ROUNDED and value not in true[figure]:
                near = {"rel": 0.01, "abs": 1 if figure == "iops" else 2048}
                assert any(value == pytest.approx(exact, **near) for exact in true[figure] if exact)
                continue
            assert value is None or value in true[figure], (figure, value, name, cut)
