# SPDX-License-Identifier: Apache-2.0
import pytest

from ioatlas.load.fio.jobfile import JobSection, render_job
from ioatlas.model.errors import UsageError


def test_order_does_not_depend_on_the_mapping():
    a = render_job([JobSection("a", {"size": 1 << 20, "rw": "read", "bs": 4096})], {"direct": 1, "ioengine": "psync"})
    b = render_job([JobSection("a", {"bs": 4096, "rw": "read", "size": 1 << 20})], {"ioengine": "psync", "direct": 1})
    assert a == b == "[global]\nioengine=psync\ndirect=1\n\n[a]\nrw=read\nbs=4096\nsize=1048576\n"


def test_values_of_every_kind():
    text = render_job(
        [
            JobSection(
                "x",
                {
                    "stonewall": None,
                    "invalidate": True,
                    "thinktime": 2.5,
                    "filename": ("/a:b", "/c"),
                    "bs": "4096,8192",
                },
            )
        ]
    )
    assert text == "[x]\nfilename=/a\\:b:/c\nbs=4096,8192\ninvalidate=1\nstonewall\nthinktime=2.5\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rw", "read\nexec_prerun=id"),
        ("rw", "read\r"),
        ("rw", "read;x"),
        ("rw", "read # x"),
        ("rw", ""),
        ("rw", " read"),
        ("rw", "[a]"),
        ("filename", "/x/${HOME}"),
        ("filename", "/x/$ncpus"),
        ("bs", "4k"),
        ("size", "1GiB"),
        ("thinktime", float("nan")),
        ("include", "/etc/passwd"),
        ("a b", 1),
        ("[x", 1),
        ("rw=read\nx", 1),
        ("filename", "/" + "a" * 5000),
        ("rw", ("a", "b")),
    ],
)
def test_what_fio_would_read_differently_is_refused(name, value):
    with pytest.raises(UsageError):
        render_job([JobSection("x", {name: value})])


@pytest.mark.parametrize("name", ["", "a]", "[a", "a\nb", "global", "globalx", "a;b", "a#b", "x" * 300, " a"])
def test_section_names_are_checked(name):
    with pytest.raises(UsageError):
        render_job([JobSection(name, {"rw": "read"})])
