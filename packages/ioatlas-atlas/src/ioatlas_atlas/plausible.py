# SPDX-License-Identifier: Apache-2.0
"""What speaks against single loads of an upload: figures of raw output that cannot be true together, and bounds that
its link, its product's sheet and its own other loads set. A load that is doubted neither ranks nor is found.

It proves nothing: who makes up everything alike, within these bounds, is not seen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ioatlas.bundle.remade import LINES, samples_of
from ioatlas.load.fio.collect import OUTPUT
from ioatlas.load.fio.figures import buckets, latency_of
from ioatlas.load.fio.loose_json import documents
from ioatlas.load.fio.output import looks_like_job
from ioatlas.load.machine.telemetry import SCHEDULER, THREADS, Sample
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError
from ioatlas.model.units import format_count, format_latency, format_rate
from ioatlas.model.visit import Part, Visit
from ioatlas.store import confined
from ioatlas.store.journal import Journal

if TYPE_CHECKING:
    from ioatlas.answer.product.sheet import Sheet
    from ioatlas.store.journal import Journal

Key = tuple[str, str]
"""Of a cell, and its direction."""
ROUNDED, SAMPLED = 0.02, 0.25
"""Relative: what buckets of a histogram lose; what interval logs, which lack the ends of a load."""
FEWEST_IOS, FEWEST_INTERVALS = 200, 10
LEAST_CPU_SECONDS = 0.25e-6
"""No kernel and no engine makes an I/O with less."""
SLEPT_NS, MOST_CORES, SLEPT_SHARE = 200_000, 0.5, 0.5
"""An I/O alone in flight for so long is waited for asleep, unless processors are short: that is a switch of context."""
OTHER_SWITCHES = 1000
OF_FIO = 2
"""Threads beside those of its jobs."""
CLAIMED_SECONDS, SEEN_SHARE = 0.3, 0.3
TIMES_IN_FLIGHT, TIMES_BLOCK, OF_LINK = 2.0, 3.0, 1.02
"""More in flight gives at most so much beyond proportion; larger blocks so much more I/Os than smaller ones."""
_SSD, _DISK = (1.2e9, 4e5), (320e6, 600.0)
DRIVES = {"nvme": (16e9, 4e6), "ssd": _SSD, "flash": _SSD, "rpm": _DISK, "hdd": _DISK}
"""Bytes, and small reads, a second that the fastest drive of a kind gives."""
_PORT = re.compile(r"(\d+) ?x ?(\d+(?:\.\d+)?) ?GbE", re.IGNORECASE)
_SPEED = re.compile(r"(\d+(?:\.\d+)?) ?([MG])b", re.IGNORECASE)


def doubts(
    directory: Path, cells: Sequence[Mapping[str, Any]], sheet: Sheet | None, link: str, here: str
) -> dict[Key, str]:
    """{load: what speaks against it}. cells: as they are kept. here: where a target is that a NAS cannot be."""
    with closing(Journal.open(directory)) as journal:
        found = _of_raw_output(journal)
    for one in cells:
        why = f"its sheet names a NAS, and it is {here}" if here else next(_beyond(one, sheet, link), "")
        if why:
            found.setdefault((one["cell_key"], one["direction"]), why)
    sound = [one for one in cells if one["usable"] and (one["cell_key"], one["direction"]) not in found]
    return found | _out_of_step(sound)


# -- raw output ----------------------------------------------------------------------------------------------


def _of_raw_output(journal: Journal) -> dict[Key, str]:
    cells = {cell.key: cell for cell, _ in journal.cells()}
    batches: dict[int, list[Visit]] = defaultdict(list)
    for visit in journal.visits(with_series=True):
        if not (visit.discarded or visit.clients or visit.targets):
            batches[visit.batch_id].append(visit)
    found: dict[Key, str] = {}
    logs: dict[Any, int] = {}
    for row in journal.batches():
        place = journal.directory / row.directory
        jobs, lines = _jobs(place), place / LINES
        samples = samples_of(lines) if lines.exists() else ()
        of_all = [*_counted(jobs.values(), samples)]
        for visit in batches[row.batch_id]:
            cell, name = cells[visit.cell_key], f"v{visit.visit_id}"
            named = {stream: f"{name}-{number}" for number, (stream, _) in enumerate(cell.streams, 1)}
            for part in visit.parts:
                job = jobs.get(named.get(part.stream, name))
                same = part.histogram.bins
                if len(same) >= FEWEST_INTERVALS and logs.setdefault(same, visit.visit_id) != visit.visit_id:
                    found.setdefault((visit.cell_key, part.direction), "two of its visits have the same latencies")
                if job is None:
                    continue
                client = () if named else _of_client(visit, job, cell, samples)
                for why in (*of_all, *_of_figures(job[part.direction]), *_of_logs(part), *client):
                    found.setdefault((visit.cell_key, part.direction), why)
    return found


def _jobs(place: Path) -> dict[str, Mapping[str, Any]]:
    """{fio's name of a job: its record}, of what the batch was read from; nothing where the file is not fio's."""
    try:
        text = confined.read_text(place / OUTPUT)
    except (OSError, IoAtlasError):
        return {}
    told = [one.value["jobs"] for one in documents(text, []) if isinstance(one.value.get("jobs"), list)]
    return {str(one["jobname"]): one for one in (told[-1] if told else ()) if looks_like_job(one)}


def _counted(jobs: Any, samples: Sequence[Sample]) -> Iterator[str]:
    """What fio says of its own processor time and switches, against what the kernel counted of it and of all."""
    counts = [int(line.split()[1]) for one in samples for line in _lines(one, "/proc/stat") if line.startswith("ctxt ")]
    switches = sum(int(job.get("ctx") or 0) for job in jobs)
    if len(counts) > 1 and switches > counts[-1] - counts[0] + OTHER_SWITCHES:
        yield f"fio tells {switches:,} switches of context, the client made {counts[-1] - counts[0]:,}"
    threads = [[line.split() for line in _lines(one, SCHEDULER)] for one in samples]
    spent: dict[str, int] = {}
    for name, nanoseconds, *_ in (line for some in threads for line in some):
        spent[name] = int(nanoseconds)
    claimed, seen = sum(map(_cpu_seconds, jobs)), sum(spent.values()) / 1e9
    known = sum(map(bool, threads)) > 2 and max(map(len, threads)) < THREADS
    if known and claimed > CLAIMED_SECONDS and seen < SEEN_SHARE * claimed:
        yield f"fio tells {claimed:.2f} s of processor time, the process that ran used {seen:.2f} s"


def _of_figures(told: Mapping[str, Any]) -> Iterator[str]:
    """Rate, count, time and the distribution of latencies of one direction tell of the same I/Os."""
    ios, runtime = _number(told, "total_ios"), _number(told, "runtime")
    lat = latency_of(told, "lat") or latency_of(told, "clat")
    if ios < FEWEST_IOS or not runtime or lat is None:
        return
    for name, value, wanted in (
        ("iops", _number(told, "iops"), ios * 1000 / runtime),
        ("bw_bytes", _number(told, "bw_bytes"), _number(told, "io_bytes") * 1000 / runtime),
        ("io_kbytes", 1024 * _number(told, "io_kbytes"), _number(told, "io_bytes")),
        ("N of its latencies", float(lat.samples or 0), ios),
    ):
        if abs(value - wanted) > ROUNDED * wanted + (1024 if name == "io_kbytes" else 1):
            yield f"its {name} is {format_count(value)}, by its I/Os and its time {format_count(wanted)}"
    if _number(told, "iops_samples") > 3 and not 0.5 < _number(told, "iops_mean") * runtime / 1000 / ios < 2:
        yield "fio's own samples of its rate are of another rate"
    bins = np.asarray(lat.histogram.bins, dtype=np.int64)
    if not len(bins) or not lat.mean_ns or lat.min_ns is None or not lat.max_ns:
        return
    if np.any(buckets(bins[:, 0]) != bins[:, 0]):
        yield "its latencies lie in buckets that fio does not have"
    mean = float(bins[:, 0] @ bins[:, 1]) / bins[:, 1].sum()
    if abs(mean - lat.mean_ns) > ROUNDED * mean or abs(int(bins[:, 1].sum()) - ios) > ROUNDED * ios:
        yield f"its mean latency is {format_latency(lat.mean_ns)}, by its distribution {format_latency(mean)}"
    ends = (bins[0, 0] / lat.min_ns if lat.min_ns else 1.0, bins[-1, 0] / lat.max_ns)
    spread = float(np.sqrt(((bins[:, 0] - mean) ** 2) @ bins[:, 1] / bins[:, 1].sum()))
    off = abs(spread - (lat.stddev_ns or 0.0)) > 3 * ROUNDED * max(spread, mean)
    listed = [(lat.histogram.percentile_ns(at) or 0.0, value) for at, value in lat.percentiles if 50 <= at <= 99]
    off |= any(abs(one - value) > 2 * ROUNDED * value for one, value in listed)
    if off or any(abs(end - 1) > 2 * ROUNDED for end in ends):
        yield "its spread, ends or percentiles are not those of its distribution of latencies"


def _of_logs(part: Part) -> Iterator[str]:
    """Interval logs come to the totals."""
    rates = part.series.bw_bytes_per_s
    if len(rates) < FEWEST_INTERVALS or part.total_ios < FEWEST_IOS:
        return
    logged = sum(rates) * part.series.interval_ms / 1000
    if abs(logged / part.io_bytes - 1) > SAMPLED:
        yield f"its interval logs hold {logged / part.io_bytes:.2f} times the bytes that it tells"


def _of_client(visit: Visit, job: Mapping[str, Any], cell: Cell, samples: Sequence[Sample]) -> Iterator[str]:
    """What so many I/Os take of a processor, and the threads that made them."""
    ios, spent = sum(part.total_ios for part in visit.parts), _cpu_seconds(job)
    if ios < FEWEST_IOS:
        return
    if spent / ios < LEAST_CPU_SECONDS:
        yield f"each I/O took {1e9 * spent / ios:.0f} ns of processor time: none is made with so little"
    mean_ns = sum((part.lat_mean_ns or 0.0) * part.total_ios for part in visit.parts) / ios
    calm = mean_ns >= SLEPT_NS and 1000 * spent / max(visit.ran_ms, 1.0) < MOST_CORES
    if calm and cell.iodepth == 1 and _number(job, "ctx") < SLEPT_SHARE * ios:
        yield f"{ios:,} I/Os of {format_latency(mean_ns)} were waited for in {_number(job, 'ctx'):,.0f} sleeps"
    inside = [one for one in samples if 0.2 < one.at - visit.started_at < visit.ran_ms / 1000 - 0.2]
    threads = max((len(_lines(one, SCHEDULER)) for one in inside), default=THREADS)
    if 0 < threads < min(cell.numjobs + OF_FIO, THREADS):
        yield f"{cell.numjobs} jobs ran, and their program had {threads} threads"


def _lines(sample: Sample, name: str) -> list[str]:
    return sample.raw.get(name, "").splitlines()


def _cpu_seconds(job: Mapping[str, Any]) -> float:
    return (_number(job, "usr_cpu") + _number(job, "sys_cpu")) * _number(job, "job_runtime") / 1e5


def _number(told: Mapping[str, Any], name: str) -> float:
    value = told.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


# -- bounds --------------------------------------------------------------------------------------------------


def _beyond(one: Mapping[str, Any], sheet: Sheet | None, link: str) -> Iterator[str]:
    """What no such link, port or drive can do."""
    rate, iops, size = (one[name] or 0.0 for name in ("bw_bytes_per_s", "iops", "bs_bytes"))
    speed = next((float(value) * {"M": 125e3, "G": 125e6}[unit.upper()] for value, unit in _SPEED.findall(link)), 0.0)
    if speed and rate > OF_LINK * speed:
        yield f"{format_rate(rate)} do not fit through a link of {link}"
    if speed and one["lat_mean_ns"] and one["lat_mean_ns"] < 0.9e9 * size / speed:
        yield f"{size:,} bytes take longer through a link of {link} than {format_latency(one['lat_mean_ns'])}"
    if sheet is None:
        return
    ports = sheet.product.ports.value if sheet.product.ports else ""
    carried = sum(int(count) * float(each) * 125e6 for count, each in _PORT.findall(ports))
    if carried and rate > OF_LINK * carried:
        yield f"{format_rate(rate)} do not fit through its ports, {ports}"
    kinds = [
        (drive.count, next((DRIVES[word] for word in DRIVES if word in drive.kind.lower()), None))
        for drive in sheet.drives
    ]
    known = [(count, kind) for count, kind in kinds if kind is not None]
    if not known or len(known) < len(kinds):
        return
    if rate > (most_rate := sum(count * kind[0] for count, kind in known)):
        yield f"{format_rate(rate)}: drives of this kind do {format_rate(most_rate)} at most"
    if one["rw"] == "randread" and iops > (most_reads := sum(count * kind[1] for count, kind in known)):
        yield f"{format_count(iops)} IOPS: drives of this kind do {format_count(most_reads)} at most"


def _out_of_step(cells: Sequence[Mapping[str, Any]]) -> dict[Key, str]:
    """Loads that most of the like ones contradict: in flight by proportion, blocks by size."""
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for one in cells:
        if one["iops"] and one["bs_bytes"] and one["loop"] == "closed":
            alike[tuple(one[name] for name in ("target", "rw", "direction", "streams"))].append(one)
    found: dict[Key, str] = {}
    for some in alike.values():
        for one in some:
            said = [one["iops"] / most for other in some if other is not one and (most := _most(one, other))]
            if len(said) > 1 and sorted(said)[(len(said) - 1) // 2] > 1:
                few = f"{sum(each > 1 for each in said)} of {len(said)} like loads of the same target allow"
                found[one["cell_key"], one["direction"]] = f"{format_count(one['iops'])} IOPS are more than {few}"
    return found


def _most(one: Mapping[str, Any], other: Mapping[str, Any]) -> float:
    """What a load can reach beside another one; 0 where they say nothing of each other."""
    deep, flat = (int(each["numjobs"] * each["iodepth"]) for each in (one, other))
    if one["bs_bytes"] < other["bs_bytes"]:
        return 0.0
    times = TIMES_IN_FLIGHT if one["bs_bytes"] == other["bs_bytes"] else TIMES_BLOCK
    return float(other["iops"]) * times * max(1.0, deep / flat)
