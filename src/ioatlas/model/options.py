# SPDX-License-Identifier: Apache-2.0
"""The fio options a campaign may set: an allow-list of what shapes I/O, and what is refused by name and why.

Options that name a path, a device, a command or a library are ours alone, from whatever file they come:
a job file found on the web must not be able to write elsewhere or to run something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ioatlas.errors import UsageError
from ioatlas.model.cell import CLIENT_RANGE, CLIENTS, TARGETS, OptionValue
from ioatlas.model.units import parse_size_bytes
from ioatlas.model.words import words

RW_VALUES = words("read write randread randwrite rw readwrite randrw trim randtrim trimwrite randtrimwrite")
SYNCHRONOUS_ENGINES = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})
ASYNCHRONOUS_ENGINES = frozenset({"libaio", "io_uring", "posixaio", "nbd", "rbd", "gfapi_async", "windowsaio"})
LARGEST = 2**63 - 1
LONGEST_VALUE = 4000
"""Characters of a value; fio cuts a line after 4,095."""
GROWING = ("file_append", "nrfiles", "zonerange")
"""Options with which fio leaves the range of the one file it was given: for directories only."""
ENGINES = (*sorted(SYNCHRONOUS_ENGINES), *sorted(ASYNCHRONOUS_ENGINES), "null")


@dataclass(frozen=True)
class Option:
    """One allowed option. `read` turns what a person wrote into the normal form, raising UsageError with `where`."""

    name: str
    read: Callable[[object, str], OptionValue]
    summary: str


def _bad(value: object, where: str, expected: str) -> UsageError:
    said = repr(value)[:60]
    return UsageError(f"{said} is not {expected}", where=where, remedy=f"write {expected}")


def _integer(low: int, high: int | None = None) -> Callable[[object, str], OptionValue]:
    def read(value: object, where: str) -> OptionValue:
        try:
            if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
                raise ValueError
            number = int(value) if isinstance(value, float) else int(str(value).strip())
        except (ValueError, OverflowError) as error:
            raise _bad(value, where, "a whole number") from error
        if number < low or number > (high if high is not None else LARGEST):
            allowed = f"from {low} to {high}" if high is not None else f"of at least {low}"
            raise UsageError(f"{number} is out of range", where=where, remedy=f"write a whole number {allowed}")
        return number

    return read


def _size(value: object, where: str) -> OptionValue:
    if not isinstance(value, (str, int)):
        raise _bad(value, where, "a size such as 4k or 4096")
    return parse_size_bytes(value, where=where)


def _positive_size(value: object, where: str) -> OptionValue:
    size = _size(value, where)
    if int(size) <= 0:
        raise _bad(value, where, "a size of at least 1 byte")
    return size


def _sizes(value: object, where: str) -> OptionValue:
    """`bs`: one size, or read,write,trim sizes."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _positive_size(value, where)
    parts = str(value).split(",")
    if not parts[0].strip() or len(parts) > 3:
        raise _bad(value, where, "a size such as 4k, or read,write,trim sizes such as 4k,8k")
    sizes = [str(_positive_size(part, where)) if part else "" for part in parts]
    return int(sizes[0]) if len(sizes) == 1 else ",".join(sizes)


def _choice(*values: str) -> Callable[[object, str], OptionValue]:
    def read(value: object, where: str) -> OptionValue:
        text = str(value).strip()
        if text not in values:
            raise _bad(value, where, "one of " + ", ".join(values))
        return text

    return read


def _flag(value: object, where: str) -> OptionValue:
    if value in (0, 1, True, False, "0", "1"):
        return int(value)
    raise _bad(value, where, "0 or 1")


def _rw(value: object, where: str) -> OptionValue:
    """A mode, optionally with fio's postfix: `randread:8` (offsets per draw) or `read:-8k`, `write:4k` (skip)."""
    mode, _, postfix = str(value).strip().partition(":")
    if mode not in RW_VALUES:
        raise _bad(value, where, "one of " + ", ".join(RW_VALUES))
    if not postfix:
        return mode
    sign = "-" if postfix.startswith("-") else ""
    return f"{mode}:{sign}{parse_size_bytes(postfix.removeprefix('-'), where=where)}"


def _bssplit(value: object, where: str) -> OptionValue:
    """`4k/40:8k/60`, with `,` between directions; percentages may be left out, and a direction without a split (it has
    `bs`) is empty, as in fio.
    """
    directions = []
    for direction in str(value).split(","):
        entries: list[str] = []
        if not direction.strip() and str(value).strip(", "):
            directions.append("")
            continue
        for entry in direction.split(":"):
            size, slash, percent = entry.partition("/")
            if percent and not (percent.isascii() and percent.isdigit() and int(percent) <= 100):
                raise _bad(value, where, "a mix such as 4k/40:64k/60")
            entries.append(f"{parse_size_bytes(size, where=where)}{slash}{percent}")
        directions.append(":".join(entries))
    return ",".join(directions)


_PATTERN = re.compile(r"^[A-Za-z0-9_.,:/%+\-]+$")


def _token(value: object, where: str) -> OptionValue:
    """A value passed to fio as it stands; letters, digits and _ . , : / % + - only, so it cannot start a new line or
    option.
    """
    text = str(value).strip()
    if not _PATTERN.match(text):
        raise _bad(value, where, "a plain word or number")
    return text


def _sync_file_range(value: object, where: str) -> OptionValue:
    """`write:8`: which of wait_before, write, wait_after, and after how many writes."""
    text = str(value).strip()
    if not re.fullmatch(r"(wait_before|write|wait_after)(,(wait_before|write|wait_after)){0,2}:[1-9]\d{0,8}", text):
        raise _bad(value, where, "what to wait for and a number of writes, such as write:8")
    return text


def _buffer_pattern(value: object, where: str) -> OptionValue:
    """A literal pattern: 0x..., a number or a quoted string; fio's 'FILE' in single quotes is refused."""
    text = str(value).strip()
    if not re.match(r'^(0x[0-9a-fA-F]+|-?\d+|"[A-Za-z0-9 ]*")$', text):
        raise _bad(value, where, "a pattern such as 0xdeadbeef (reading the pattern from a file is not allowed)")
    return text


_percent = _integer(0, 100)
_count = _integer(0)
_positive = _integer(1)


def _table() -> dict[str, Option]:
    rows: list[tuple[str, Callable[[object, str], OptionValue], str]] = [
        ("rw", _rw, "direction and order of the I/O"),
        ("bs", _sizes, "block size in bytes"),
        ("bssplit", _bssplit, "mix of block sizes"),
        ("bs_unaligned", _flag, "allow any block size of a range"),
        ("bs_is_seq_rand", _flag, "bs is sequential,random instead of read,write"),
        ("blockalign", _sizes, "alignment of random offsets in bytes"),
        ("size", _positive_size, "bytes of the file or device the load covers"),
        ("io_size", _positive_size, "bytes to move before the load ends (work-bounded)"),
        ("number_ios", _positive, "I/Os to do before the load ends (work-bounded)"),
        ("loops", _positive, "passes over the work (work-bounded)"),
        ("offset", _size, "where on the file or device the load starts, in bytes"),
        ("offset_increment", _size, "distance between the starts of successive jobs, in bytes"),
        ("numjobs", _integer(1, 4096), "jobs doing the same work at once"),
        ("iodepth", _integer(1, 65536), "I/Os each job keeps in flight"),
        ("iodepth_batch", _positive, "I/Os submitted at once"),
        ("iodepth_batch_submit", _positive, "I/Os submitted at once"),
        ("iodepth_batch_complete_min", _count, "completions reaped at once, at least"),
        ("iodepth_batch_complete_max", _count, "completions reaped at once, at most"),
        ("iodepth_low", _positive, "depth at which the queue is filled again"),
        ("serialize_overlap", _flag, "keep overlapping I/Os from being in flight together"),
        ("io_submit_mode", _choice("inline", "offload"), "who submits: the job or a helper thread"),
        ("ioengine", _choice(*ENGINES), "how I/O is issued"),
        ("direct", _flag, "bypass the client's page cache"),
        ("sync", _choice("0", "1", "none", "sync", "dsync"), "O_SYNC or O_DSYNC writes"),
        ("fsync", _count, "fsync after this many writes"),
        ("fdatasync", _count, "fdatasync after this many writes"),
        ("sync_file_range", _sync_file_range, "write back the range of this many writes"),
        ("end_fsync", _flag, "fsync at the end of the load"),
        ("fsync_on_close", _flag, "fsync when the file is closed"),
        ("rwmixread", _percent, "per cent of the I/O that are reads"),
        ("rwmixwrite", _percent, "per cent of the I/O that are writes"),
        ("percentage_random", _token, "per cent of the I/O at random offsets"),
        ("random_distribution", _token, "skew of random offsets: random, zipf:T, pareto:T, normal:D, zoned:..."),
        ("random_generator", _choice("tausworthe", "lfsr", "tausworthe64"), "generator of random offsets"),
        ("norandommap", _flag, "draw random offsets independently"),
        ("softrandommap", _flag, "go on without a random map when memory is short"),
        ("rw_sequencer", _choice("sequential", "identical"), "what the rw postfix counts"),
        ("rate", _sizes, "bytes per second offered by each job (open loop)"),
        ("rate_iops", _token, "I/Os per second offered by each job (open loop)"),
        ("rate_process", _choice("linear", "poisson"), "spacing of the offered I/Os"),
        ("rate_ignore_thinktime", _flag, "do not make up for think time"),
        ("thinktime", _token, "pause after an I/O; bare numbers are microseconds"),
        ("thinktime_spin", _token, "part of the pause spent spinning"),
        ("thinktime_blocks", _positive, "I/Os between two pauses"),
        ("thinktime_blocks_type", _choice("complete", "issue"), "what thinktime_blocks counts"),
        ("latency_target", _token, "latency that fio's own depth search keeps"),
        ("latency_window", _token, "window of fio's own depth search"),
        ("latency_percentile", _token, "percentile of fio's own depth search"),
        ("buffer_compress_percentage", _percent, "compressibility of the data"),
        ("buffer_compress_chunk", _positive_size, "unit of the compressible pattern"),
        ("dedupe_percentage", _percent, "share of identical blocks"),
        ("dedupe_mode", _choice("repeat", "working_set"), "which blocks repeat"),
        ("dedupe_working_set_percentage", _percent, "size of the set of repeated blocks"),
        ("buffer_pattern", _buffer_pattern, "data to write"),
        ("refill_buffers", _flag, "new data for every write"),
        ("scramble_buffers", _flag, "vary the data a little for every write"),
        ("zero_buffers", _flag, "write zeroes"),
        ("zonemode", _choice("none", "strided"), "how the range is divided into zones"),
        ("zonesize", _positive_size, "bytes of a zone"),
        ("zonerange", _positive_size, "distance between two zones"),
        ("zoneskip", _size, "bytes skipped after a zone"),
        ("nrfiles", _positive, "files each job works on"),
        ("openfiles", _positive, "files each job keeps open"),
        ("file_service_type", _token, "order in which a job's files are used"),
        ("fallocate", _choice("none", "native", "posix", "keep", "truncate"), "how new files get their space"),
        ("overwrite", _flag, "files exist in full before they are written"),
        ("file_append", _flag, "write at the end of the file"),
        ("invalidate", _flag, "drop the client's cached pages of the file first"),
        ("fadvise_hint", _choice("0", "1", "random", "sequential"), "hint given to the kernel"),
        ("pre_read", _flag, "read the file before the load"),
        ("hipri", _flag, "polled completions"),
        ("fixedbufs", _flag, "registered buffers (io_uring)"),
        ("registerfiles", _flag, "registered files (io_uring)"),
        ("sqthread_poll", _flag, "kernel submission thread (io_uring)"),
        ("nonvectored", _flag, "plain instead of vectored reads and writes (io_uring)"),
        ("userspace_reap", _flag, "reap in user space (libaio)"),
        ("cpus_allowed", _token, "processors the jobs may use"),
        ("cpus_allowed_policy", _choice("shared", "split"), "how the jobs share them"),
        ("numa_cpu_nodes", _token, "NUMA nodes to run on"),
        ("numa_mem_policy", _token, "NUMA memory policy"),
        ("prio", _integer(0, 7), "I/O priority"),
        ("prioclass", _integer(0, 3), "I/O priority class"),
        ("nice", _integer(-20, 19), "process priority"),
        ("flow", _token, "share of a stream among streams"),
        ("flow_id", _count, "which streams share"),
        ("flow_sleep", _count, "microseconds to wait when ahead"),
        (CLIENTS, _integer(1, 1000), "hosts of --clients that make the load together (not an option of fio)"),
        (TARGETS, _integer(1, 256), "targets of --together that are loaded at once (not an option of fio)"),
        (CLIENT_RANGE, _choice("own", "same"), "whether each client has its own file or range (not an option of fio)"),
    ]
    return {name: Option(name, read, summary) for name, read, summary in rows}


ALLOWED: dict[str, Option] = _table()
"""Every option a campaign may set or sweep."""
SIZE_OPTIONS = frozenset(name for name, option in ALLOWED.items() if option.read in (_size, _positive_size, _sizes))
"""Options that hold bytes; `rate` holds bytes per second."""

ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "io_limit": "io_size",
    "ba": "blockalign",
    "fill_device": "fill_fs",
    "sync_io": "sync",
}

_PATHS = "it names a path, device, command or library, which ioatlas alone sets"
_OURS = "ioatlas sets it itself"
_CAP = "it caps how long a job runs and is not a repeat count: use `visits` for repeats, `window` for longer windows"
REFUSED: dict[str, str] = {
    **dict.fromkeys(
        words(
            "filename directory filename_format opendir lockfile exec_prerun exec_postrun read_iolog write_iolog "
            "replay_redirect merge_blktrace_file replay_no_stall replay_scale write_bw_log write_lat_log "
            "write_iops_log write_hist_log include external uri hostname port pool rbdname clientname volume brick "
            "chunk_size nfs_url http_host http_user http_pass http_s3_key http_s3_keyid cgroup mem iomem mmapfile uid "
            "gid aux-path unlink unlink_each_loop verify_state_load ioscheduler trigger trigger-file libblkio_path "
            "libblkio_driver spdk_conf transport_conf profile options create_on_open allow_mounted_write"
        ),
        _PATHS,
    ),
    **dict.fromkeys(
        words(
            "startdelay start_delay stonewall wait_for new_group group_reporting time_based thread name description "
            "clocksource gtod_reduce gtod_cpu randseed randrepeat allrandrepeat log_avg_msec log_offset per_job_logs "
            "log_unix_epoch log_hist_msec lat_percentiles clat_percentiles slat_percentiles percentile_list "
            "disable_lat disable_clat disable_slat disable_bw_measurement unified_rw_reporting continue_on_error "
            "allow_file_create create_only create_serialize readonly kb_base unit_base status-interval eta exitall "
            "exitall_on_error exit_what exec steadystate steadystate_duration ss ss_dur"
        ),
        _OURS,
    ),
    **dict.fromkeys(("runtime", "timeout"), _CAP),
    "ramp_time": "it credits work in flight to the measured window; "
    "ioatlas cuts the warm-up from the recorded series instead",
    **dict.fromkeys(
        ("verify", "do_verify"),
        "nothing is read back to be compared: run fio itself for that",
    ),
    **dict.fromkeys(("fill_fs", "fill_device"), "it would fill the file system; ioatlas keeps a tenth of what is free"),
}


def read_option(name: str, value: object, *, where: str = "") -> tuple[str, OptionValue]:
    """The normal name and value of an option as a person wrote it.

    Raises UsageError when the option is refused or unknown, or its value is not one it takes.
    """
    name = ALIASES.get(name.strip(), name.strip())
    where = where or name
    if isinstance(value, str) and len(value) > LONGEST_VALUE:
        raise UsageError(
            f"the value has {len(value)} characters, fio takes {LONGEST_VALUE}", where=where, remedy="write less"
        )
    if name in REFUSED:
        raise UsageError(f"option {name!r} is not taken: {REFUSED[name]}", where=where, remedy="remove it")
    option = ALLOWED.get(name)
    if option is None:
        import difflib

        close = difflib.get_close_matches(name, ALLOWED, n=1)
        hint = (
            f"did you mean {close[0]!r}?" if close else "docs/reference/campaign.md lists the options that can be set"
        )
        raise UsageError(f"option {name!r} is not supported", where=where, remedy=hint)
    return name, option.read(value, where)


def check_option(name: str, value: object, *, where: str = "") -> None:
    """An option as it was kept: one that a person could have set, in its normal form. Raises UsageError."""
    known, normal = read_option(name, value, where=where)
    if known != name or isinstance(value, bool) or str(normal) != str(value):
        raise UsageError(f"option {name!r} is not in its normal form", where=where, remedy="write it as fio names it")
