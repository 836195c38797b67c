# SPDX-License-Identifier: Apache-2.0
"""fio's options as its job files give them: other names, which kind each is of, and its value in bare integers."""

from __future__ import annotations

import re
from collections.abc import Callable

from ioatlas.errors import UsageError
from ioatlas.fio.jobfile import JobValue
from ioatlas.interop.compile import seconds_option
from ioatlas.interop.fidelity import Notes
from ioatlas.model.options import RW_VALUES
from ioatlas.model.units import pairs, words
from ioatlas_translate.jobfile_read import read_seconds, read_size

ALIASES = pairs("""
    readwrite=rw blocksize=bs io_limit=io_size ba=blockalign fill_fs=fill_device nr_files=nrfiles timeout=runtime
    start_delay=startdelay blocksize_range=bsrange blocksize_unaligned=bs_unaligned wait_for_previous=stonewall
    fileoffset=offset iodepth_batch_submit=iodepth_batch iodepth_batch_complete=iodepth_batch_complete_min
    ratemin=rate_min iomem=mem sync_io=sync ss=steadystate ss_dur=steadystate_duration allrandrepeat=randrepeat
    ratecycle=rate_cycle disable_bw=disable_bw_measurement iomem_align=mem_align data_placement=dataplacement
    fdp_pli=plids size_range=filesize
""")
_SIZES = frozenset(
    words("""
    bs blockalign size io_size offset offset_increment offset_align zonesize zonerange zoneskip zonecapacity
    buffer_compress_chunk rate rate_min
    """)
)
_COUNTS = frozenset(
    words("""
    number_ios iodepth numjobs nrfiles openfiles loops thinktime_blocks fsync fdatasync randseed iodepth_batch
    iodepth_batch_complete_min iodepth_batch_complete_max iodepth_low flow flow_id
    """)
)
CONTROL = frozenset(
    words("""
    runtime ramp_time time_based stonewall wait_for startdelay new_group group_reporting thread randseed randrepeat
    exitall exitall_on_error exit_what create_serialize bsrange filesize filename_format rate_min rate_cycle
    rate_iops_min offset_align buffered max_latency unified_rw_reporting fill_device overwrite latency_run flow_sleep
    thinktime_iotime iodepth_batch trim_percentage trim_backlog trim_backlog_batch trim_verify_zero atomic
    cmdprio_percentage cmdprio_class cmdprio cmdprio_bssplit priohint nowait sync_file_range clocksource disable_lat
    disable_clat disable_slat disable_bw_measurement gtod_reduce ignore_error continue_on_error max_open_zones
    job_max_open_zones zone_reset_threshold zone_reset_frequency zonecapacity read_beyond_wp numa_cpu_nodes
    steadystate steadystate_duration steadystate_ramp_time allow_file_create unlink unlink_each_loop create_on_open
    create_fsync dedupe_global write_hint sqthread_poll_cpu hipri_percentage block_error_percentiles verify_backlog
    touch_objects
    """)
)
"""Job control and safe options that the job file keeps as they are, beyond what a campaign may set."""
REPORTING = frozenset(
    words("""
    description write_bw_log write_lat_log write_iops_log write_hist_log log_avg_msec log_offset log_hist_msec
    log_hist_coarseness log_compression log_compression_cpus log_store_compressed per_job_logs log_unix_epoch
    log_alternate_epoch log_window_value log_max_value log_issue_time log_prio log_entries
    log_alternate_epoch_clock_id lat_percentiles clat_percentiles slat_percentiles percentile_list significant_figures
    bwavgtime iopsavgtime stats disk_util error_dump kb_base unit_base gtod_cpu status-interval eta name
    job_start_clock_id write_iolog
    """)
)
"""Options that change what fio reports, not its load."""
NEWER = frozenset(
    words("""
    sprandom spr_num_regions spr_op spr_cs fdp plids plid_select dataplacement uncached steadystate_check_interval
    ramp_size num_range end_syncfs dp_scheme random_sequence_stride
    """)
)
"""Options of a later fio than 3.33."""
NOT_STORAGE = {
    "net": "a network test",
    "netsplice": "a network test",
    "rdma": "a network test",
    "cpuio": "a processor load",
    "exec": "runs a command",
    "filecreate": "creates files only",
    "filestat": "stats files only",
    "filedelete": "deletes files only",
    "dircreate": "makes directories only",
    "dirstat": "stats directories only",
    "dirdelete": "deletes directories only",
    "nvmstat": "a metadata load",
}
"""Engines that make no storage load, and what they are."""
OF_ENGINES = {
    **dict.fromkeys(
        ("fixedbufs", "registerfiles", "sqthread_poll", "sqthread_poll_cpu", "nonvectored", "cmdprio_bssplit"),
        ("io_uring",),
    ),
    "hipri": ("io_uring", "pvsync2"),
    "hipri_percentage": ("io_uring", "pvsync2"),
    "nowait": ("io_uring", "libaio", "pvsync2"),
    "cmdprio_percentage": ("io_uring", "libaio"),
    "cmdprio_class": ("io_uring", "libaio"),
    "cmdprio": ("io_uring", "libaio"),
    "userspace_reap": ("libaio",),
}
"""Options that only these engines have."""


_Size = Callable[[str], int | str]


def _each(value: str, read: _Size) -> JobValue:
    """Of reads, writes and trims, each read alone; an empty direction stays empty."""
    parts = [read(part) if part.strip() else "" for part in value.split(",")]
    return parts[0] if len(parts) == 1 else ",".join(map(str, parts)).rstrip(",")


def _range(value: str, size: _Size) -> JobValue:
    """low-high of each direction; one size is both."""
    pairs = (re.split("[-:]", one, maxsplit=1) for one in re.split("[,/]", value))
    return ",".join(f"{size(pair[0])}-{size(pair[-1] or pair[0])}" for pair in pairs)


def _bssplit(value: str, size: _Size) -> JobValue:
    """Sizes and ranges of sizes in bytes, shares as they are; a direction without a split stays empty."""

    def entry(text: str) -> str:
        sizes, slash, share = text.partition("/")
        return "-".join(str(size(one)) for one in sizes.split("-")) + slash + share

    return ",".join(":".join(map(entry, way.split(":"))) if way.strip() else "" for way in value.split(","))


def _distribution(value: str, size: _Size) -> JobValue:
    zoned = value.startswith("zoned_abs:")
    return re.sub("(?<=/)[^:,]+", lambda extent: str(size(extent[0])), value) if zoned else value


def _times(value: str, where: str) -> JobValue:
    return value if "-" in value else _each(value, lambda text: seconds_option(read_seconds(text, where, unit="s")))


def _rw(value: str, size: _Size, where: str) -> str:
    mode, _, postfix = value.partition(":")
    mode = {"readwrite": "rw"}.get(mode.strip(), mode.strip())
    if mode not in RW_VALUES:
        raise UsageError(f"rw={value!r} is not one of fio's", where=where, remedy="use " + ", ".join(RW_VALUES))
    return f"{mode}:{'-' * postfix.startswith('-')}{size(postfix.removeprefix('-'))}" if postfix else mode


_TIMES = frozenset(words("runtime ramp_time startdelay steadystate_duration steadystate_ramp_time thinktime_iotime"))
_OF_SIZES: dict[str, Callable[[str, _Size], JobValue]] = {
    **dict.fromkeys((*_SIZES, "rate_iops"), _each),
    "bsrange": _range,
    "bssplit": _bssplit,
    "random_distribution": _distribution,
    "filesize": lambda value, size: _range(value, size) if re.search(r"\d[a-zA-Z]*[-:]", value) else size(value),
}
"""How options that hold sizes are read, by (value, reader of one size)."""


def convert(name: str, value: str | None, where: str, kb_base: int, notes: Notes) -> JobValue:
    """The value of an option in bare integers. Raises UsageError for what fio would not take either."""

    def size(text: str) -> int | str:
        if re.search(r"[kmgtp]ib?$", text.strip(), re.IGNORECASE) and kb_base != 1000:
            notes.nearly(
                "size suffix",
                f"{text.strip()}: by fio's manual a decimal unit with kb_base=1024, as taken here. fio 3.33 "
                "itself reads `ki` as binary and `KiB` as decimal",
                "2.4% for each power where another reading was meant",
            )
        if text.strip().endswith("z"):
            raise UsageError("sizes in zones depend on the device", where=where, remedy="write bytes")
        return read_size(text, where, kb_base=kb_base)

    if value is None:
        return None
    if name == "rw":
        return _rw(value, size, where)
    if name in _TIMES:
        return _times(value, where)
    if name in ("thinktime", "thinktime_spin"):
        return int(read_seconds(value, where, unit="us") * 10**6)
    if name in _COUNTS:
        counted = re.fullmatch(r"[\d.]+[kmgtpib]*|\(.*\)|0x[0-9a-f]+", value, re.IGNORECASE)
        return size(value) if counted else value
    return _OF_SIZES[name](value, size) if name in _OF_SIZES else value
