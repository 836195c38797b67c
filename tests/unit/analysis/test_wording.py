# SPDX-License-Identifier: Apache-2.0
"""Names of loads: fio's defaults for its own, only what is told for those of other tools."""

from ioatlas.answer.analysis.wording import Namer
from ioatlas.model.cell import Cell


def short(options, state="laid-out"):
    cell = Cell.of("t", options, state=state)
    return Namer([cell], ["t"]).short(cell)


def test_what_another_tool_does_not_say_is_not_told():
    assert short({"rw": "read"}) == "4 KiB, 1 job"
    assert short({"rw": "read"}, "unknown") == "load not told"
    assert short({"rw": "randread", "numjobs": 4}, "unknown") == "random, 4 jobs"
    assert short({"rw": "randread", "bs": 8192}, "unknown") == "8 KiB random"
    assert short({"rw": "randrw", "bssplit": "4k/50:8k/50", "iodepth": 8}, "unknown") == "mixed sizes randrw, iodepth 8"


def test_a_load_of_our_own_has_all_its_parts():
    assert short({"rw": "randrw", "bs": 65536, "numjobs": 16}) == "64 KiB randrw, 16 jobs"
