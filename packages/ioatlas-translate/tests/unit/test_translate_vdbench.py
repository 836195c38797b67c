# SPDX-License-Identifier: Apache-2.0
"""What vdbench's parameter files mean, as its manual has it."""

import pytest
from read_samples import jobs, levels

from ioatlas.model.errors import UsageError
from ioatlas_translate import translate
from ioatlas_translate.translation import job_to_dict

MIB, GIB = 1 << 20, 1 << 30

VDBENCH = """
* a comment
compratio=2
hd=default,shell=ssh
sd=default,openflags=o_direct
sd=sd1,lun=/dev/sdb,size=10g   this is a comment too
sd=sd2,lun=/dev/sdc,size=10g,threads=4
wd=default,xf=4k
wd=wd1,sd=(sd1,sd2),rdpct=70,skew=60
wd=wd2,sd=sd1,xfersize=(4k,25,8k,75),
   seekpct=0,skew=30
wd=wd3,sd=sd2,range=(10,20),seekpct=50,skew=10
rd=r1,wd=*,iorate=1000,elapsed=1m,warmup=10,interval=5
rd=r2,wd=wd1,iorate=(100-300,100),elapsed=30,warmup=5,forthreads=(1-4,d),forrdpct=(0,100)
eof
rd=never,wd=wd1,iorate=max
"""


def test_vdbench_rates_may_end_with_max():
    found = jobs("vdbench", "sd=s,lun=x,size=1g\nwd=w,sd=s\nrd=r,wd=w,iorate=(100,max,300),elapsed=5")
    assert [job.get("rate_iops") for job in found] == [100, None, 300]


def test_vdbench_definitions_loops_and_skew():
    found = jobs("vdbench", VDBENCH)
    r1 = [j for j in found if j["name"].startswith("r1")]
    assert [j["target"] for j in r1] == ["/dev/sdb", "/dev/sdc", "/dev/sdb", "/dev/sdc"]
    assert r1[0]["rate_iops"] == [210, 90]
    assert r1[0]["rate_process"] == "poisson"
    assert r1[2]["rate_iops"] == 300
    assert r1[2]["bssplit_bytes"] == [[4096, 25], [8192, 75]]
    assert (r1[3]["offset_bytes"], r1[3]["size_bytes"], r1[3]["percentage_random"]) == (GIB, GIB, 50)
    assert r1[0]["direct"] == 1
    assert r1[0]["buffer_compress_percentage"] == 50
    assert "buffer_compress_percentage" not in r1[2]
    assert r1[0]["runtime_seconds"] == 60
    r2 = [j for j in found if j["name"].startswith("r2")]
    # threads is written first and is the outer loop, then rdpct, then the rates; two sds each.
    assert len(r2) == 3 * 2 * 3 * 2
    assert [j["rwmixread"] for j in r2[:12]] == [0] * 6 + [100] * 6
    assert not any(j["name"].startswith("never") for j in found)


def test_vdbench_max_rate_with_skew_keeps_shares_by_flow():
    text = "sd=s,lun=x,size=1g\nwd=a,sd=s,skew=75\nwd=b,sd=s,skew=25\nrd=r,wd=*,iorate=max,elapsed=10,warmup=5"
    found = jobs("vdbench", text)
    assert [j["flow"] for j in found] == [3, 1]


def test_vdbench_runs_that_only_make_files_are_no_load():
    text = (
        "fsd=f,anchor=/d,depth=1,width=1,files=4,size=1m\nfwd=w,fsd=f,operation=read,xfersize=64k\n"
        "rd=make,fwd=w,fwdrate=max,format=(clean,only),elapsed=5\nrd=r,fwd=w,fwdrate=max,format=no,elapsed=5,warmup=1"
    )
    translation = translate("vdbench", text)
    assert [job.section.name.split(".")[0] for job in translation.jobs] == ["r"]
    assert levels(translation, "format=only") == {"not expressible"}


def test_vdbench_curve_and_hosts_are_named():
    text = (
        "hd=a,system=n1\nhd=b,system=n2\nsd=s,lun=x\nwd=w,sd=s\nrd=r,wd=w,iorate=curve,elapsed=10,warmup=5,threads=32"
    )
    translation = translate("vdbench", text)
    assert levels(translation, "curve") == {"not expressible"}
    assert levels(translation, "hosts") == {"not expressible"}
    assert job_to_dict(translation.jobs[0])["iodepth"] == 32


def test_vdbench_file_workload():
    text = (
        "fsd=f,anchor=/d,depth=2,width=3,files=10,size=64k\n"
        "fwd=w,fsd=f,operation=read,xfersize=8k,fileio=random,fileselect=random,threads=4\n"
        "rd=r,fwd=w,fwdrate=max,format=yes,elapsed=10,warmup=2"
    )
    (job,) = jobs("vdbench", text)
    assert (job["nrfiles"], job["filesize_bytes"], job["numjobs"], job["rw"], job["bs_bytes"]) == (
        90,
        65536,
        4,
        "randread",
        8192,
    )


VDBENCH_SERIES = "sd=sd1,lun=x\nwd=wd1,sd=sd1\nrd=r,wd=wd1,iorate=max,{}"


@pytest.mark.parametrize(
    ("loop", "option", "values"),
    [
        ("forrdpct=(0-100,50)", "rwmixread", [0, 50, 100]),
        ("forrdpct=(100-0,50)", "rwmixread", [100, 50, 0]),
        ("forthreads=(8-1,d)", "iodepth", [8, 4, 2, 1]),
        ("forxfersize=(1k-4k,d)", "bs_bytes", [1024, 2048, 4096]),
    ],
)
def test_vdbench_series(loop, option, values):
    assert [job[option] for job in jobs("vdbench", VDBENCH_SERIES.format(loop))] == values


def test_vdbench_without_a_wd():
    rd = "sd=sd1,lun=x,size=1g\nrd=default,sd=sd*,elapsed=10,iorate=max,seekpct=seq,rdpct=0\nrd=r,xfersize=256k"
    assert [(job["rw"], job["bs_bytes"]) for job in jobs("vdbench", rd)] == [("write", 262144)]


def test_vdbench_counts_file_system_definitions():
    text = (
        "fsd=f,anchor=/x/d,count=(1,3),files=2,size=1m\nfwd=format,threads=9\nfwd=w,fsd=f*,operation=read\n"
        "rd=r,fwd=*,fwdrate=max,elapsed=5"
    )
    assert [job["target"] for job in jobs("vdbench", text)] == ["/x/d1", "/x/d2", "/x/d3"]


def test_vdbench_text_between_definitions_is_named():
    translation = translate("vdbench", VDBENCH_SERIES.format("elapsed=5") + "\nrate and six more points\n")
    assert levels(translation, "text") == {"not expressible"}


VDBENCH_FILES = (
    "fsd=f,anchor=/a,depth=1,width=1,files=10,size={}\nfwd=w,fsd=f,xfersize={}\nrd=r,fwd=w,fwdrate=max,elapsed=9{}"
)


def test_vdbench_runs_of_data_stand_beside_runs_of_metadata():
    text = VDBENCH_FILES.format("1m", "4k", ",foroperations=(create,write,getattr,read)")
    translation = translate("vdbench", text)
    assert [job_to_dict(job)["rw"] for job in translation.jobs] == ["write", "read"]
    assert {"operation=create", "operation=getattr"} <= {
        e.attribute for e in translation.fidelity if e.level == "not expressible"
    }
    with pytest.raises(UsageError, match="metadata"):
        translate("vdbench", VDBENCH_FILES.format("1m", "4k", ",foroperations=(create,delete)"))


def test_vdbench_lists_of_sizes_are_pairs():
    (job,) = jobs("vdbench", VDBENCH_FILES.format("(5m,0)", "(4k,25,8k,75)", ""))
    assert (job["filesize_bytes"], job["bssplit_bytes"]) == (5 * MIB, [[4096, 25], [8192, 75]])
    for size, transfers in (("1m", "(4k,8k,64k)"), ("1m", "(4k,8k)"), ("(1m,20,2m,20)", "4k")):
        with pytest.raises(UsageError, match="sum to 100"):
            translate("vdbench", VDBENCH_FILES.format(size, transfers, ""))
