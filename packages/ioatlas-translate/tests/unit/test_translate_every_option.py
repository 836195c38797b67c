# SPDX-License-Identifier: Apache-2.0
"""Every option of every tool changes the load or is named, and none is both kept and left out."""

import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from read_samples import jobs, levels

import ioatlas.load.streams
import ioatlas_translate
from ioatlas.model.errors import UsageError
from ioatlas.model.options import ALLOWED, REFUSED
from ioatlas_translate import TOOLS, diskspd, diskspd_command, fio, iozone, orion, translate, vdbench_parm, xdd

VALUES = ("7", "3", "2", "128k", "70/30", "1,2", "on", "random", "write", "p", "/mnt", "0.5", "20:10", "native", "seq")
"""Of which each option takes some."""

RAW = (
    "sd=sd1,lun=/dev/x,size=10g{sd}\nwd=wd1,sd=sd1{wd}\nrd=rd1,wd=wd1,elapsed=10,iorate=max{rd}\n",
    "sd=sd1,lun=/dev/x,size=10g{sd}\nwd=wd1,sd=sd1,seekpct=0,xfersize=64k{wd}\nrd=rd1,wd=wd1,elapsed=9,iorate=9{rd}\n",
    "sd=sd1,lun=/dev/x{sd}\nwd=wd1,sd=sd1,seekpct=50,rdpct=0{wd}\nrd=rd1,wd=wd1,elapsed=10,iorate=max{rd}\n",
)
_TREE = "fsd=fsd1,anchor=/m,depth=1,width=2,files=4,size=1m{fsd}\n"
FILES = (
    f"{_TREE}fwd=fwd1,fsd=fsd1,operation=read{{fwd}}\nrd=rd1,fwd=fwd1,elapsed=10,fwdrate=max{{rd}}\n",
    f"{_TREE}fwd=fwd1,fsd=fsd1,rdpct=50,fileio=random{{fwd}}\nrd=rd1,fwd=fwd1,elapsed=10,fwdrate=100{{rd}}\n",
)
_OF_RUNS = {"sd", "wd", "fsd", "fwd", "rd", "lun", "anchor"}
"""Parameters that say what a definition is of."""


def _dashed(tool, bases, names, *, values=True, glue=" "):
    """(tool, name, [(text without it, texts with it), ...]) of each option of a command line."""
    for name in names:
        words = [f"{name}{glue}{value}" for value in VALUES] if values else [name]
        with_option = [
            [base.replace("OPTION", word) if "OPTION" in base else f"{base} {word}" for word in words] for base in bases
        ]
        yield tool, name, [(base.replace("OPTION ", ""), texts) for base, texts in zip(bases, with_option, strict=True)]


def _vdbench(kind, bases):
    empty = dict.fromkeys(("sd", "wd", "fsd", "fwd", "rd"), "")
    for name in sorted({*vdbench_parm._KEYWORDS[kind]} - _OF_RUNS - {kind}):
        texts = [
            (base.format(**empty), [base.format(**{**empty, kind: f",{name}={value}"}) for value in VALUES])
            for base in bases
            if f",{name}=" not in base
        ]
        yield "vdbench", f"{kind} {name}", texts


_FIO = sorted(
    {*ALLOWED, *REFUSED, *fio.CONTROL, *fio.REPORTING, *fio.NEWER, *fio.OF_ENGINES}
    - {"directory", "filename", "filename_format", "name", "rw", "bs", "size"}
)
FIO = (
    "fio --name=a --filename=/dev/x --rw=randread --bs=4k --size=1g",
    "fio --name=a --filename=/dev/x --rw=randrw --bs=4k --size=1g --ioengine=io_uring --iodepth=4 --direct=1",
)
OPTIONS = [
    *(one for kind in ("sd", "wd", "rd") for one in _vdbench(kind, RAW)),
    *(one for kind in ("fsd", "fwd", "rd") for one in _vdbench(kind, FILES)),
    *_dashed(
        "diskspd",
        ("diskspd -c1G -b4K -t2 -o4 OPTION x", "diskspd -c1G -b8K -t2 -r -w50 OPTION x"),
        [f"-{letter}" for letter in (*diskspd_command._SPAN_ACTIONS, *diskspd_command._SPEC_ACTIONS)],
        glue="",
    ),
    *_dashed(
        "iozone",
        ("iozone -i 0 -i 1 -s 1g -r 64k", "iozone -i 0 -i 2 -s 1g -r 4k -t 4"),
        [f"-{letter}" for letter in iozone._ACTIONS if letter not in ("word", "a", "f", "F")],
    ),
    *_dashed(
        "orion",
        ("orion -run simple -testname x -num_disks 4", "orion -run advanced -testname x -matrix row -num_large 2"),
        [f"-{name}" for name in orion._ACTIONS],
    ),
    *_dashed(
        "xdd",
        ("xdd -targets 2 /dev/x /dev/y -op write -reqsize 8 -numreqs 100 -seek random -seek range 100000",),
        [f"-{name}" for name in (*xdd._OF_PLAN, *xdd._OF_TARGET) if name != "operation"],
    ),
    *_dashed("fio", FIO, [f"--{name}" for name in _FIO], glue="="),
]


MANY = ("fio", "vdbench")
"""Tools with so many options that trying them takes seconds."""


@cache
def seen(tool, text):
    """All that a translation says; None for one that is refused as a whole."""
    try:
        made = translate(tool, text)
    except UsageError:
        return None
    return made.job_file, frozenset(made.fidelity)


@pytest.mark.long("translate", "fio")
@pytest.mark.parametrize(
    "tool", [pytest.param(one, marks=pytest.mark.long("translate")) if one in MANY else one for one in TOOLS]
)
def test_an_option_changes_the_load_or_is_named(tool):
    silent, options = [], [one for one in OPTIONS if one[0] == tool]
    assert options
    for _, name, pairs in options:
        for base, texts in pairs:
            before, after = seen(tool, base), [found for text in texts if (found := seen(tool, text))]
            assert before, base
            if f"{name} " in base.replace("=", " ") or not after:
                continue
            silent += [(name, base)] if all(found == before for found in after) else []
    assert silent == []


@pytest.mark.long("translate", "fio")
def test_an_option_of_fio_is_kept_or_left_out_never_both():
    for _, name, pairs in (one for one in OPTIONS if one[0] == "fio"):
        key = fio.ALIASES.get(name[2:], name[2:])
        for text in (text for _, texts in pairs for text in texts):
            _, fidelity = seen("fio", text) or ("", ())
            assert len({entry.level for entry in fidelity if entry.attribute == key}) <= 1, text


def test_a_size_of_two_directions_is_parted_by_a_comma_alone():
    job = "[a]\nrw=randrw\nsize=1g\nfilename=/x\nbs={}\n"
    assert "bs=4096,8192" in translate("fio", job.format("4k,8k")).job_file
    with pytest.raises(UsageError):
        translate("fio", job.format("4k/8k"))


@pytest.mark.parametrize(("align", "level"), [("4k", {"exact"}), ("1m", {"not expressible"})])
def test_sequential_blocks_follow_each_other_whatever_their_alignment(align, level):
    text = RAW[1].format(sd=f",align={align}", wd="", rd="")
    made = translate("vdbench", text)
    assert jobs("vdbench", text)[0]["rw"] == "read"
    assert levels(made, "align=") == level


@pytest.mark.parametrize("word", ["sd streams=0", "sd dedupratio=x", "wd rdpct=x", "wd xfersize=0"])
def test_a_value_that_is_none_is_refused_in_one_sentence(word):
    kind, given = word.split()
    with pytest.raises(UsageError):
        translate("vdbench", RAW[2].format(**{**dict.fromkeys(("sd", "wd", "rd"), ""), kind: f",{given}"}))


@pytest.mark.parametrize("package", [ioatlas.load.streams, ioatlas_translate])
def test_the_notes_of_the_tables_are_those_that_are_told(package):
    folder = Path(package.__file__).parent
    tables = tomllib.loads((folder / "fidelity.toml").read_text())
    codes = {
        code.removesuffix("-rounded")
        for tool, notes in tables.items()
        for code in notes
        if not tool.endswith("_without")
    }
    text = "".join(path.read_text() for path in folder.rglob("*.py"))
    asked = re.findall(r'(?:tell|append|told|rounded)\(_?TOLD(?:\[|, )"([\w-]+)"', text)
    assert set(asked) <= codes
    assert {code for code in codes if f'"{code}"' not in text} <= {f"{kind}-data" for kind in diskspd._DATA}
