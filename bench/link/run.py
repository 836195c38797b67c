# SPDX-License-Identifier: Apache-2.0
"""Link ceilings: computed, by iperf3 and by fio, over network namespaces with a token bucket. Needs root.

One command: python bench/link/run.py
"""

import contextlib
import json
import subprocess
from itertools import pairwise

import ioatlas_lab as lab
from ioatlas.answer.analysis.ceilings import Ethernet, goodput
from ioatlas_lab.catalog_root import IPERF_PORT

SECONDS = 4


def iperf(server):
    words = [
        "iperf3",
        "--client",
        server,
        "--port",
        str(IPERF_PORT),
        "--reverse",
        "--time",
        str(SECONDS),
        "--omit",
        "1",
        "--json",
    ]
    data = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    if "sum_received" not in data.get("end", {}):
        raise SystemExit(f"iperf3: {data.get('error')}")
    return data["end"]["sum_received"]["bits_per_second"] / 8


def fio(location, bs, depth):
    words = [
        "fio",
        "--name=j",
        "--ioengine=nbd",
        f"--uri={location}",
        "--rw=read",
        f"--bs={bs}",
        f"--iodepth={depth}",
        "--size=256m",
        "--time_based",
    ]
    # Work in flight at the start and the burst of the token bucket fall into the first second, which is left out.
    words += [
        f"--runtime={SECONDS + 1}",
        "--log_avg_msec=500",
        "--write_bw_log=/tmp/ioatlas-bench-link",
        "--output-format=json",
    ]
    subprocess.run(words, capture_output=True, check=True)
    with open("/tmp/ioatlas-bench-link_bw.1.log") as log:
        rows = [tuple(map(int, line.replace(",", " ").split()[:2])) for line in log]
    kept = [(now - before, rate) for (before, _), (now, rate) in pairwise(rows) if before >= 900]
    return sum(gap * rate for gap, rate in kept) / sum(gap for gap, _ in kept) * 1024


def main():
    # Before other programs where we may: a slow receiver is no slow link.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as out:
        out.write("-15")
    print(
        "| link | ceiling of the token bucket MB/s | iperf3 | fio 64k depth 16 | fio 1M depth 4 | the same rate on "
        "real Ethernet, NBD 64k |"
    )
    print("|---|---|---|---|---|---|")
    for name, rate, mtu in (
        ("link-100m", 10**8, 1500),
        ("link-100m-jumbo", 10**8, 9000),
        ("link-1g", 10**9, 1500),
        ("link-1g-jumbo", 10**9, 9000),
        ("link-1g", 25 * 10**8, 1500),
        ("link-1g", 10**10, 1500),
        ("link-1g-jumbo", 10**10, 9000),
    ):
        with lab.start(name, rate_bits_per_s=rate) as target:
            truth = target.value("bw_bytes_per_s")
            shown = [iperf(target.context["server"]), fio(target.location, "64k", 16), fio(target.location, "1m", 4)]
        cells = " | ".join(f"{value / 1e6:.2f} ({value / truth - 1:+.2%})" for value in shown)
        real = goodput(Ethernet(rate, mtu), "nbd", 65536) / 1e6
        print(f"| {rate / 1e9:g} Gb/s, MTU {mtu} | {truth / 1e6:.2f} | {cells} | {real:.2f} |", flush=True)


if __name__ == "__main__":
    main()
