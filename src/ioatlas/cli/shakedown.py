# SPDX-License-Identifier: Apache-2.0
"""`ioatlas shakedown`: can this client, link and path measure this target?"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ioatlas.answer.analysis.ceilings import Ceiling, ceilings_of
from ioatlas.answer.analysis.shakedown import (
    Check,
    background_checks,
    clients_needed,
    clock_check,
    headroom,
    mtu_check,
    nic_checks,
    path_checks,
)
from ioatlas.answer.analysis.wording import plural
from ioatlas.cli._arguments import PathOrWord, corrections_option, units_option
from ioatlas.cli._options import Measuring, how_options
from ioatlas.cli._output import room, say_json
from ioatlas.load.fio.executor import SystemExecutor
from ioatlas.load.machine.host import testbed
from ioatlas.load.machine.measured import (
    Memory,
    background,
    client_rate,
    network_rate,
    path_mtu_passes,
    stack_rate,
    target_rate,
)
from ioatlas.load.machine.telemetry import watched_of
from ioatlas.load.machine.typed_in import host_and_port, quantity
from ioatlas.model.errors import IoAtlasError, UsageError, written
from ioatlas.model.testbed import Testbed
from ioatlas.model.units import format_count, format_rate, format_size, parse_duration_seconds
from ioatlas.store import confined

MOST_CHECKS, MOST_CEILINGS = 5, 4
"""Columns, checks and ceilings of the first screen."""
_SMALL, _LARGE = 4096, 1 << 20
_MARKS = {"ok": "ok      ", "warning": "WARNING ", "failed": "FAILED  ", "unknown": "unknown "}


@click.command()
@click.argument("target", required=False, type=PathOrWord())
@corrections_option
@click.option(
    "--iperf",
    "iperf_host",
    metavar="HOST[:PORT]",
    help="Measure the network path with iperf3 to a server you started there (`iperf3 -s`).",
)
@click.option(
    "--expect", metavar="RATE", help="What the target should deliver, such as 2.5GB/s: how many clients that takes."
)
@click.option("--budget", metavar="TIME", help="Time it may take, at least 5s. Default: about 10s.")
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="Write the JSON object there too.")
@how_options("verbose quiet as_json", verbose="The checks that passed, and every ceiling.")
@click.option("--yes", is_flag=True, expose_value=False, hidden=True)
@click.option("--read-only", is_flag=True, expose_value=False, hidden=True)
@units_option
def command(
    how: Measuring,
    target: str | None,
    facts_file: Path | None,
    iperf_host: str | None,
    expect: str | None,
    budget: str | None,
    output: Path | None,
) -> None:
    """Check whether this client and path can measure TARGET, and say what to change.

    \b
    ioatlas shakedown /mnt/nas --iperf nas --expect 110MB/s
    ioatlas shakedown nbd://10.0.0.5

    Takes about 10 seconds. TARGET is never written; a file, device or NBD export is read for 4 seconds. Exit code 3
    when a check failed.
    """  # noqa: D301
    if target is None:
        raise UsageError("no target was named", remedy="name one: `ioatlas shakedown DIRECTORY`")
    times = _times(budget, bool(iperf_host))
    tell = (lambda _words: None) if how.quiet else _tell
    bed = testbed(target, facts_file)
    checks, ceilings = _look(target, bed, (iperf_host, expect), times, tell)
    data = {
        "target": target,
        "checks": [dataclasses.asdict(one) for one in checks],
        "ceilings": [dataclasses.asdict(one) for one in ceilings],
    }
    if output is not None:
        _write(output, data)
    if how.as_json:
        say_json(data)
    else:
        for line in answer(target, checks, ceilings, verbose=how.verbose):
            click.echo(line)
    if any(one.verdict == "failed" for one in checks):
        sys.exit(3)


def answer(target: str, checks: Sequence[Check], ceilings: Sequence[Ceiling], *, verbose: bool) -> list[str]:
    """Ready or not, what stands in the way and what to change, the ceilings that are reached first."""
    count = Counter(one.verdict for one in checks)
    told = [f"{plural(count['failed'], 'check')} failed"] if count["failed"] else []
    told += [plural(count["warning"], "warning")] if count["warning"] else []
    told += [f"{count['unknown']} not known"] if count["unknown"] else []
    head = "NOT READY" if count["failed"] else "READY"
    lines = [f"{target}: {', '.join([head, *told])}; {count['ok']} of {len(checks)} checks passed"]
    order = ("failed", "warning", "unknown", "ok")
    found = sorted(checks, key=lambda one: order.index(one.verdict))
    for one in found if verbose else [one for one in found if one.verdict != "ok"][:MOST_CHECKS]:
        lines += textwrap.wrap(f"{_MARKS[one.verdict]} {one.sentence}", room(), subsequent_indent=" " * 9)
        if one.advice:
            lines += textwrap.wrap(f"         change: {one.advice}", room(), subsequent_indent=" " * 17)
    for ceiling in ceilings if verbose else ceilings[:MOST_CEILINGS]:
        bw = ceiling.bw_bytes_per_s
        rate = format_rate(bw) if bw else f"{format_count(ceiling.iops or 0.0)} IOPS"
        because = f" ({ceiling.kind}; {ceiling.because})" if verbose else ""
        lines.append(f"ceiling  {rate:>12}  {ceiling.name}{because}")
    if not verbose:
        lines.append(
            "Next: " + ("change what failed, then run this again" if count["failed"] else f"ioatlas map {target}")
        )
        lines.append("All checks and ceilings: -v")
    return lines


USUAL_SECONDS, IPERF_SECONDS, SHORTEST_SECONDS, MOST_TIMES = 10.0, 4.0, 5.0, 6.0
"""What a look takes, with iperf3 so much more; the shortest budget; how many times as long its parts get at most."""


def _times(budget: str | None, iperf: bool) -> float:
    """How many times its usual time each part gets."""
    if budget is None:
        return 1.0
    seconds = parse_duration_seconds(budget, where="--budget")
    if seconds < SHORTEST_SECONDS:
        raise UsageError("a look takes 5 s at least", where="--budget", remedy="write --budget 10s")
    return min(MOST_TIMES, seconds / (USUAL_SECONDS + (IPERF_SECONDS if iperf else 0.0)))


def _write(path: Path, data: Mapping[str, Any]) -> None:
    """Beside what is printed. Raises IoAtlasError."""
    place = path / "shakedown.json" if path.is_dir() else path
    with written(place, "name another place with -o"):
        confined.write_text(place, json.dumps(data, indent=1) + "\n", in_root=True)


def _look(
    target: str, bed: Testbed, asked: tuple[str | None, str | None], times: float, tell: Callable[[str], None]
) -> tuple[list[Check], list[Ceiling]]:
    """asked: host of iperf3, and the rate that is expected. times: how many times its usual time each part gets."""
    iperf_host, expect = asked
    checks = list(path_checks(bed))
    checks.append(clock_check(bed))
    tell("watching what else runs")
    usage = background(watched_of(target), times)
    checks += [*background_checks(usage), *nic_checks(bed, usage)]
    server = bed.value("server.address")
    if server and bed.value("route.local") is not True:
        mtu = int(bed.number("nic.mtu") or 1500)
        checks.append(mtu_check(mtu, path_mtu_passes(str(server), mtu)))
    ceilings = list(ceilings_of(bed, _LARGE))
    if iperf_host:
        tell("measuring the network path")
        host, port = host_and_port(iperf_host, "--iperf")
        rate = network_rate(host, port=port, seconds=max(1, round(3 * times)))
        ceilings.append(
            Ceiling("network path, measured", "network path", rate.bw_bytes_per_s, None, "measured", rate.how)
        )
    tell("measuring the client")
    checks += _client(target, bed, ceilings, times)
    expected = _expected(expect)
    if expected is not None:
        # What small blocks carry bounds nobody's bandwidth.
        large = [
            one for one in ceilings if not (one.iops and one.bw_bytes_per_s) or one.bw_bytes_per_s > _SMALL * one.iops
        ]
        checks.append(clients_needed(expected, large))
    return checks, sorted(ceilings, key=lambda one: one.bw_bytes_per_s or float("inf"))


def _client(target: str, bed: Testbed, ceilings: list[Ceiling], times: float) -> Iterator[Check]:
    """What the client generates and its stack carries, against a short look at the target where it may be read."""
    executor = SystemExecutor()
    jobs = min(int(bed.number("cpu.allowed") or 1), 16)
    readable = bed.value("target.kind") in {"file", "block"} or target.startswith("nbd")
    for bs_bytes, rw in ((_SMALL, "randread"), (_LARGE, "read")):
        generated, of = client_rate(executor, bs_bytes, numjobs=jobs, seconds=times), f"{format_size(bs_bytes)} blocks"
        # The null engine moves no data: it bounds I/Os, not bytes.
        ceilings.append(Ceiling(f"client, {of}", "client", None, generated.iops, "measured", f"fio {generated.how}"))
        try:
            kind: Memory = "nbd" if target.startswith("nbd") else "file"
            carried = stack_rate(executor, kind, bs_bytes, numjobs=jobs, seconds=times)
            most = (carried.bw_bytes_per_s, carried.iops)
            name = f"path to a target in memory, {of}"
            ceilings.append(Ceiling(name, "stack", *most, "measured", f"fio {carried.how}"))
        except IoAtlasError as error:
            why = f"what the path carries from memory is not known: {error.what}"
            yield Check(f"stack {bs_bytes}", "unknown", why, error.remedy or "")
        if not readable:
            continue
        try:
            depth = 16 if bs_bytes == _SMALL else 4
            seen = target_rate(executor, target, rw, bs_bytes, iodepth=depth, seconds=2 * times)
        except IoAtlasError as error:
            yield Check(f"headroom {bs_bytes}", "unknown", f"the target could not be read: {error.what}")
            continue
        yield headroom(generated.iops, seen.iops, bs_bytes)
    if not readable:
        yield Check(
            "headroom",
            "unknown",
            "shakedown does not write to a directory, so its speed is unknown",
            "give --expect RATE, or name a file of it",
        )


def _expected(expect: str | None) -> float | None:
    if expect is None:
        return None
    rate = quantity(expect)
    if rate is None or rate[1] not in {"B/s", "bit/s"} or rate[0] <= 0:
        raise UsageError(f"{expect!r} is not a rate", where="--expect", remedy="write 110MB/s or 10Gb/s")
    return float(rate[0]) / (8 if rate[1] == "bit/s" else 1)


def _tell(words: str) -> None:
    if os.isatty(2):
        click.echo(f"{words} ...", err=True)
