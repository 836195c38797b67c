# SPDX-License-Identifier: Apache-2.0
"""What translated workloads describe beside what fio does with them, and how near the approximations come.

    python bench/translate/run.py [FOLDER OF FIO EXAMPLES]

Loads run on a file of 8 MiB in a temporary folder, about 25 s in all. Needs fio.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from reuse import calibrate

from ioatlas.load.fio.jobfile import JobSection
from ioatlas_translate import translate
from ioatlas_translate.translation import Job

MIB = 1 << 20
SD = "sd=s,lun=x,size=8m,threads=8\n"
SKEWED = "wd=a,sd=s,skew=60\nwd=b,sd=s,skew=30\nwd=c,sd=s,skew=10\nrd=r,wd=*,iorate=max,elapsed=30,warmup=5"


def run(translation, folder, *, seconds=2, log=True):
    jobs = []
    for number, job in enumerate(translation.jobs):
        options = {**job.section.options, "direct": 0}
        options.pop("ramp_time", None)
        if options.get("ioengine") == "io_uring":
            options["ioengine"] = "libaio"
        options["size"] = min(int(options.get("size") or 8 * MIB), 8 * MIB)
        if "time_based" in options:
            options["runtime"] = seconds
        if log:
            (folder / f"log{number}").unlink(missing_ok=True)
            options |= {"write_iolog": str(folder / f"log{number}"), "numjobs": 1}
        jobs.append(Job(JobSection(job.section.name, options), job.origin, job.waits))
    (folder / "x.fio").write_text(replace(translation, jobs=tuple(jobs)).job_file)
    text = subprocess.run(
        ["fio", "--output-format=json", "x.fio"], capture_output=True, text=True, cwd=folder, check=True
    ).stdout
    found = json.loads(text[text.index("{") :])["jobs"]
    words = [line.split() for line in (folder / "log0").read_text().splitlines()] if log else []
    return found, [(w[2], int(w[3]), int(w[4])) for w in words if len(w) == 5]


def share(values, wanted):
    return 100 * sum(value == wanted for value in values) / len(values)


def main():
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for tool, command, percent in (
            ("diskspd", "diskspd -c1G -b4K -o4 -r -w33 x", 67),
            ("xdd", "xdd -op read -target x -rwratio 25 -reqsize 4 -numreqs 8000 -seek random -seek range 8192", 25),
            ("orion", "orion -run advanced -matrix point -num_small 4 -num_large 0 -write 20 -num_disks 1", 80),
            ("vdbench", SD + "wd=w,sd=s,rdpct=67\nrd=r,wd=w,iorate=max,elapsed=30,warmup=5", 67),
            (
                "fio",
                "fio --name=j --rw=randrw --rwmixread=35 --bs=4k --size=8m --norandommap --time_based --runtime=9",
                35,
            ),
        ):
            _, log = run(translate(tool, command), folder)
            rows.append(
                (f"{tool}: reads, % of I/O", percent, f"{share([op for op, _, _ in log], 'read'):.2f}", len(log))
            )
        _, log = run(
            translate(
                "vdbench", SD + "wd=w,sd=s,xfersize=(4k,40,8k,35,64k,25)\nrd=r,wd=w,iorate=max,elapsed=30,warmup=5"
            ),
            folder,
        )
        for size, percent in ((4096, 40), (8192, 35), (65536, 25)):
            rows.append(
                (
                    f"vdbench: I/Os of {size} bytes, %",
                    percent,
                    f"{share([length for _, _, length in log], size):.2f}",
                    len(log),
                )
            )
        _, log = run(translate("diskspd", "diskspd -c1G -b4K -o1 -rs30 x"), folder)
        jumps = [b[1] != a[1] + a[2] and a[1] + a[2] < 8 * MIB for a, b in pairwise(log)]
        rows.append(("diskspd -rs30: I/Os at a new random place, %", 30, f"{share(jumps, True):.2f}", len(jumps)))
        _, log = run(translate("diskspd", "diskspd -c8M -b4K -o1 -rdpct60/10:30/20 x"), folder)
        hot = [offset < 0.8 * MIB for _, offset, _ in log]
        rows.append(("diskspd -rdpct: I/Os in the first tenth, %", 60, f"{share(hot, True):.2f}", len(log)))
        found, _ = run(translate("vdbench", SD + SKEWED), folder, log=False)
        total = sum(job["read"]["total_ios"] for job in found)
        for job, percent in zip(found, (60, 30, 10), strict=True):
            rows.append(
                ("vdbench skew: I/Os of a stream, %", percent, f"{100 * job['read']['total_ios'] / total:.3f}", total)
            )
        for tool, command, rate in (
            ("vdbench", SD + "wd=w,sd=s\nrd=r,wd=w,iorate=500,elapsed=30,warmup=5", 500),
            ("diskspd", "diskspd -c8M -b4K -o1 -g500i x", 500),
        ):
            found, _ = run(translate(tool, command), folder, seconds=4, log=False)
            rows.append(
                (
                    f"{tool}: offered I/Os per second",
                    rate,
                    f"{found[0]['read']['total_ios'] / 4:.1f}",
                    found[0]["read"]["total_ios"],
                )
            )
        rows += loads_by_work(folder)
    print("| described | value | fio 3.33 did | over |\n|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(
        "\nReuse walk of the SPC-1-like load against zipf, 20,000 accesses: largest gap of the cumulative reuse "
        "distances\n"
    )
    print("| leaves | best theta | gap, points |\n|---|---|---|")
    for leaves in (512, 4096, 16384):
        theta, error = calibrate(leaves)
        print(f"| {leaves} | {theta:g} | {100 * error:.1f} |")
    if len(sys.argv) > 1:
        examples(Path(sys.argv[1]))


def loads_by_work(folder):
    """IOzone's loads end by their work: how much of it, in which order; and a fio job with sizes and zones."""
    rows = []
    for test, operation in ((0, "write"), (2, "random-read"), (3, "backward-read")):
        command = f"iozone -s 8m -r 64k -i 0 {'' if test == 0 else f'-i {test}'} -+n"
        translation = translate("iozone", command)
        wanted = [job for job in translation.jobs if job.section.name.startswith(operation)][:1]
        _, log = run(replace(translation, jobs=(replace(wanted[0], waits=False),)), folder)
        rows.append(
            (f"iozone {operation}: I/Os of 65536 bytes", 128, sum(length == 65536 for _, _, length in log), len(log))
        )
        back = [b[1] + b[2] == a[1] for a, b in pairwise(log)]
        on = [b[1] == a[1] + a[2] for a, b in pairwise(log)]
        if operation == "write":
            rows.append(("iozone write: I/Os where the last one ended, %", 100, f"{share(on, True):.2f}", len(on)))
        if operation == "backward-read":
            rows.append(
                (
                    "iozone backward read: I/Os that end where the last one began, %",
                    100,
                    f"{share(back, True):.2f}",
                    len(back),
                )
            )
    job = (
        "[j]\nrw=randread\nbssplit=4k/60:16k/40\nrandom_distribution=zoned:70/25:30/75\nnorandommap\nsize=8m\n"
        "time_based\nruntime=9\n"
    )
    _, log = run(translate("fio", job), folder)
    rows.append(("fio: I/Os of 16384 bytes, %", 40, f"{share([length for _, _, length in log], 16384):.2f}", len(log)))
    rows.append(
        (
            "fio: I/Os in the first quarter, %",
            70,
            f"{share([offset < 2 * MIB for _, offset, _ in log], True):.2f}",
            len(log),
        )
    )
    return rows


def examples(folder):
    exact = jobs = exact_jobs = 0
    reasons: Counter[str] = Counter()
    files = sorted(folder.glob("*.fio"))
    for file in files:
        translation = translate("fio", str(file))
        exact += translation.is_exact
        jobs += len(translation.jobs)
        worse = [entry for entry in translation.fidelity if entry.level != "exact"]
        named = {name for entry in worse for name in (entry.jobs or [job.section.name for job in translation.jobs])}
        exact_jobs += sum(job.section.name not in named for job in translation.jobs)
        reasons.update({entry.attribute for entry in worse})
    print(
        f"\nfio's examples: {len(files)} files parse, {exact} translate exactly; {exact_jobs} of {jobs} jobs exactly."
    )
    print(
        "Files with something not exact, by option: "
        + ", ".join(f"{name} {count}" for name, count in reasons.most_common(12))
    )


if __name__ == "__main__":
    main()
