# SPDX-License-Identifier: Apache-2.0
"""Reads one upload in a process of its own, under limits: `python -m ioatlas_atlas.extract BUNDLE LIMITS DECLARED`.

It writes one JSON document to standard output: {"found": ...}, or {"refused": ..., "checks": [...]}.
The limits hold before anything of the upload is read.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import resource
import signal
import sys
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ioatlas.model.errors import IoAtlasError, UsageError
from ioatlas.model.units import format_size, words
from ioatlas_atlas.extracted import kind_of, link_speed, media_of, plain_facts

if TYPE_CHECKING:
    from ioatlas.answer.product.sheet import Sheet
    from ioatlas.bundle.verify import Verification
    from ioatlas.measure.procedures.fit.fits import Fit
    from ioatlas.model.estimate import Estimate
    from ioatlas.model.result import CampaignResult

MOST_TEXT = 480
DISK_FULL = 28
"""Exit status where the disk takes no more: that is no fault of the upload."""
LEAST_FREE = 1 << 20
TIMES_UNPACKED = 3
"""How often a bundle lies unpacked on disk while it is read: twice, and as a database."""
GRACE = {resource.RLIMIT_CPU: 5}
"""At the lower limit a process is told why it ends, at the upper one it is killed."""
VALUES = words("""
    iops iops_low iops_high bw_bytes_per_s bw_low bw_high lat_mean_ns lat_mean_low_ns lat_mean_high_ns lat_p99_ns
    lat_p99_low_ns lat_p99_high_ns
""")
"""What was measured of a cell, as its estimate names it."""
_AWAY = {"nfs": "NFS", "nfs4": "NFS", "cifs": "SMB", "smb3": "SMB", "smb2": "SMB", "fuse.sshfs": "SSHFS"}
TYPED_IN = " (typed in)"
"""With what the value of a fact ends that a person typed in."""
_CLIENT = ("cpu.model", "cpu.sockets", "cpu.cores_per_socket", "cpu.threads", "host.architecture", "ram.size_bytes")
_FAMILIES = {"nfs.": "NFS", "cifs.": "SMB", "smb.": "SMB", "iscsi.": "iSCSI", "nvmf.": "NVMe-oF", "nbd.": "NBD"}


def main(arguments: list[str]) -> int:
    """0 with one document on standard output."""
    path, limits, declared = Path(arguments[0]), json.loads(arguments[1]), json.loads(arguments[2])
    confine(limits)
    told = _read(path, limits, declared)
    if "refused" in told and not has_room(LEAST_FREE):
        return DISK_FULL
    try:
        sys.stdout.write(json.dumps(told, allow_nan=False))
        sys.stdout.flush()
    except OSError:
        return DISK_FULL
    return 0


def has_room(wanted_bytes: int) -> bool:
    """Whether the disk under the working directory has so much left."""
    disk = os.statvfs(".")
    return disk.f_bavail * disk.f_frsize >= wanted_bytes


def confine(limits: Mapping[str, int]) -> None:
    """The limits hold for this process from now on."""
    for what, name in (
        (resource.RLIMIT_AS, "memory_bytes"),
        (resource.RLIMIT_CPU, "cpu_seconds"),
        (resource.RLIMIT_FSIZE, "file_bytes"),
        (resource.RLIMIT_NOFILE, "files"),
    ):
        resource.setrlimit(what, (limits[name], limits[name] + GRACE.get(what, 0)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The service may be killed meanwhile: nobody else ends this process then.
    signal.alarm(limits["wall_seconds"])


def _read(path: Path, limits: Mapping[str, int], declared: Mapping[str, Any]) -> dict[str, Any]:
    from ioatlas.bundle.opening import NotABundleError, open_bundle, opened_directory
    from ioatlas.bundle.verify import UNFIT, verify

    try:
        if refused := _too_much(path, limits):
            return {"refused": refused, "checks": []}
        checked = verify(path)
        checks = [{"name": one.name, "state": one.state, "text": _clean(one.text, 3900)} for one in checked.checks]
        if checked.refused:
            return {"refused": "it is not verified: see its checks", "checks": checks}
        with open_bundle(path) as bundle:
            index = dict(bundle.index)
        return {"found": {**_found(opened_directory(path), index, checked, declared), "checks": checks}}
    except NotABundleError as error:
        return {"refused": error.what, "checks": []}
    except IoAtlasError as error:
        return {"refused": _clean(error.what), "checks": []}
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            sys.exit(DISK_FULL)
        return {"refused": f"it cannot be read within the limits ({os.strerror(error.errno or 0)})", "checks": []}
    except (*UNFIT, MemoryError) as error:
        return {"refused": f"it cannot be read within the limits ({type(error).__name__})", "checks": []}


def _too_much(path: Path, limits: Mapping[str, int]) -> str:
    """What a bundle would unpack to is known from its list of files alone."""
    from ioatlas.bundle.opening import looks_like_bundle
    from ioatlas.store import archive

    if not looks_like_bundle(path):
        return "this is no bundle"
    unpacked = logs = 0
    with archive.open_file(path) as opened:
        if len(opened.members) > limits["members"]:
            return f"it has more than {limits['members']:,} files"
        for name, outer in opened.members.items():
            inside = archive.of_bytes(opened.read(name), name).members if name.endswith(".zip") else {}
            unpacked += outer.size_bytes + sum(one.size_bytes for one in inside.values())
            logs += len(inside)
            if logs > limits["logs"]:
                return f"it has more than {limits['logs']:,} logs"
            if unpacked > limits["unpacked_bytes"]:
                return f"it would unpack to more than {limits['unpacked_bytes'] >> 20:,} MiB"
    if not has_room(TIMES_UNPACKED * unpacked + LEAST_FREE):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return ""


def _found(
    directory: Path, index: Mapping[str, Any], checked: Verification, declared: Mapping[str, Any]
) -> dict[str, Any]:
    from ioatlas.answer.product.figures import drives_line, figures
    from ioatlas.answer.product.kept import kept_sheet
    from ioatlas.bundle.verify import Signature
    from ioatlas.report.export.to_json import document
    from ioatlas_atlas import fairness, plausible

    result = checked.result
    assert result is not None
    sheet = kept_sheet(directory, result.targets[0].name if result.targets else "")
    priced = figures(sheet) if sheet else None
    said = fairness.Declaration(**declared)
    signed = checked.signature is not Signature.NONE
    conditions = fairness.checklist(result, sheet, said, signed=signed, licence=index["licence"])
    cells = _cells(result)
    here = _here(result) if _kind(sheet) == "NAS" else ""
    doubted = plausible.doubts(directory, cells, sheet, _link(result), here)
    for one in cells:
        one["doubt"] = _clean(doubted.get((one["cell_key"], one["direction"]), ""))
        one["usable"] &= not one["doubt"]
    sound = result.doubted(doubted)
    return {
        "verified": checked.verified,
        "signature": str(checked.signature),
        "signer": checked.fingerprint,
        "testbed": _testbed(result),
        "campaign_id": _clean(index["campaign"]["id"]),
        "title": title_of(result, sheet),
        "procedure": _clean(index["campaign"]["procedure"]),
        "measured_at": float(result.created_at),
        "method_version": _clean(str((index.get("methods") or {}).get("gates", ""))),
        "tool_version": _clean(result.tool_version),
        "licence": _clean(index["licence"]),
        "has_sheet": sheet is not None,
        "vendor": _clean(sheet.vendor if sheet else ""),
        "model": _clean(sheet.model if sheet else ""),
        "kind": _kind(sheet),
        "media": media_of(drives_line(sheet)) if sheet else "",
        "year": int(sheet.product.released.value[:4]) if sheet and sheet.product.released else None,
        "licence_says": str(sheet.publishing.licence) if sheet else "",
        "licence_permission": _clean(sheet.publishing.permission if sheet else ""),
        "protocol": _protocol(result),
        "link": _clean(_link(result)),
        "drive": _clean(drives_line(sheet) if sheet else ""),
        "hardware": _hardware(result),
        "price_per_tib": _finite(priced.price_per_tib) if priced else None,
        "currency": _clean(priced.currency if priced else ""),
        "grade": str(fairness.grade(conditions)),
        "conditions": _plain([vars(one) for one in conditions]),
        "summary": _plain(document(sound)["summary"]),
        "fits": _fits(directory, sound),
        "cells": cells,
    }


def _fits(directory: Path, result: CampaignResult) -> list[dict[str, Any]]:
    """Of the uses that come with this program those of which the campaign tells something: its own windows of their
    loads, else what else it measured, and the law; not that something was not measured. What a bundle says of uses is
    not believed, nor less than a use works on taken for it: a cache may hold that.
    """
    from ioatlas.measure.procedures.fit.fits import fits_measured, fits_of, value_text
    from ioatlas.measure.procedures.fit.plan import asked
    from ioatlas.measure.procedures.fit.read import read_uses, ready
    from ioatlas.model.cell import directions_of
    from ioatlas.store.journal import Journal

    found: list[Fit] = []
    with suppress(UsageError, ValueError), closing(Journal.open(directory)) as journal:  # no flushes; several targets
        uses, (target,) = read_uses(",".join(ready())), journal.targets()
        known = {cell.key for cell, _ in journal.cells()}
        named = [asked(use, replace(target, size_bytes=None, free_bytes=None), {}) for use in uses]
        made = [one for one in named if known.issuperset(key for key, _ in one.cells.values())]
        found += fits_of(journal, made, journal.visits(with_series=True))
        rest = [one for one in uses if one not in [fit.use for fit in found]]
        fits = fits_measured(journal, rest, result.estimates)
        found += [fit for fit in fits if any(o.value is not None and o.answer is fit.answer for _, o in fit.judged)]
    return [
        {
            "use": fit.use.name,
            "title": _clean(fit.use.title),
            "answer": str(fit.answer),
            "margin": _finite(fit.margin),
            "text": _clean(value_text(one)),
            "ways": sorted({way for load in chain(*fit.use.phases) for way in directions_of(str(load.options["rw"]))}),
        }
        for fit in found
        if any(one.windows for _, one in fit.judged)
        for one in [min((o for _, o in fit.judged if o.answer is fit.answer), key=lambda o: o.margin or math.inf)]
    ]


def title_of(result: CampaignResult, sheet: Sheet | None) -> str:
    """Product, protocol, and the size of file or space: what tells a result from others."""
    size = max((one.cell.footprint_bytes for one in result.estimates), default=0)
    parts = (sheet.name if sheet else "Unnamed product", _protocol(result), format_size(size) if size else "")
    return _clean(", ".join(part for part in parts if part))


def _kind(sheet: Sheet | None) -> str:
    if sheet is None:
        return ""
    return "cloud volume" if sheet.volume else kind_of(sheet.product.kind.value if sheet.product.kind else "")


def _testbed(result: CampaignResult) -> str:
    """Digest of what stays the same of a client: its processors and memory, as they were read there.

    '' where no processor was read, or where one of these facts was typed in: that tells no client apart.
    """
    facts = plain_facts(result.sessions)
    named = {name: facts[name] for name in _CLIENT if name in facts}
    if "cpu.model" not in named or any(value.endswith(TYPED_IN) for value in named.values()):
        return ""
    return hashlib.sha256(json.dumps(named).encode()).hexdigest()


def _hardware(result: CampaignResult) -> str:
    """What an NFS server, or the drives behind the target, call themselves, as the client reads it: model, firmware and
    size of each, and which unit they are together, by what the signer's key makes of their serial numbers. '' where
    none does.
    """
    facts, drives = plain_facts(result.sessions), defaultdict[str, dict[str, str]](dict)
    for name, value in facts.items():
        if name.startswith("device.") and name.count(".") > 1 and not value.endswith(TYPED_IN):
            drives[name.split(".")[1]][name.rpartition(".")[2]] = value
    told = [facts["nfs.implementation"]] if "nfs.implementation" in facts else []
    for one in drives.values():
        model = one.get("model_name") or ("model" in one and f"{one.get('vendor', '')} {one['model']}".strip())
        firmware, size = one.get("firmware") or one.get("rev"), one.get("size_bytes", "").rpartition(" = ")[2]
        if model and one.get("type") != "part":
            told.append(", ".join(filter(None, (model, firmware and f"firmware {firmware}", size))))
    units = sorted({one["identity"] for one in drives.values() if "identity" in one})
    if told and units:
        told.append(f"unit {hashlib.sha256(' '.join(units).encode()).hexdigest()[:12]}")
    return _clean("; ".join(dict.fromkeys(told)))


def _cells(result: CampaignResult) -> list[dict[str, Any]]:
    """What was measured, with the values of fresh visits; nothing that a model said or another tool."""
    from ioatlas.report.table import swept_options

    swept = swept_options(result)
    return [_cell(one, swept) for one in result.estimates if one.kind == "measured"]


def _cell(one: Estimate, swept: tuple[str, ...]) -> dict[str, Any]:
    from ioatlas.answer.analysis.best import usable
    from ioatlas.model.verdict import VerdictCode

    cell = one.cell
    return {
        "target": _clean(cell.target),
        "cell_key": cell.key,
        "direction": one.direction,
        "rw": _clean(cell.rw),
        "bs_bytes": cell.bs_bytes,
        "iodepth": cell.iodepth,
        "numjobs": cell.numjobs,
        "footprint_bytes": cell.footprint_bytes,
        "streams": _clean("+".join(name for name, _ in cell.streams)),
        "loop": cell.loop,
        "options": {_clean(name): _clean(str(cell.option[name])) for name in swept if name in cell.option},
        "n_visits": one.n_visits,
        **{name: _finite(getattr(one, name)) for name in VALUES},
        "verdict": str(one.verdict),
        "cached": one.verdict is VerdictCode.CACHED,
        "usable": usable(one),
    }


def _protocol(result: CampaignResult) -> str:
    """How the target is reached, as far as its facts say it; 'local' where nothing says otherwise."""
    kinds = {str(value) for target in result.targets for name, value in target.identity.facts if name == "fs_type"}
    found = [_AWAY[kind] for kind in sorted(kinds) if kind in _AWAY]
    facts = plain_facts(result.sessions)
    found += [said for begin, said in _FAMILIES.items() if any(name.startswith(begin) for name in facts)]
    schemes = {target.location.partition("://")[0] for target in result.targets if "://" in target.location}
    found += [scheme.upper() for scheme in sorted(schemes)]
    return _clean(found[0]) if found else "local"


def _here(result: CampaignResult) -> str:
    """How a target is reached that is on this very client; '' for one elsewhere, as far as facts tell."""
    facts = plain_facts(result.sessions)
    if _protocol(result) == "local":
        return "a local disk or directory"
    return "on the client itself" if facts.get("nic.kind") == "loopback" or "UNIX" in _protocol(result) else ""


def _link(result: CampaignResult) -> str:
    return "" if _protocol(result) == "local" else link_speed(plain_facts(result.sessions))


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _clean(text: str, most: int = MOST_TEXT) -> str:
    """What can be shown of a text, cut to what one field may hold."""
    return "".join(mark if mark.isprintable() else " " for mark in text)[:most].strip()


def _plain(value: Any) -> Any:
    """As JSON, its texts cleaned, its numbers finite."""
    if isinstance(value, Mapping):
        return {_clean(str(name)): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return _finite(value)
    return _clean(value, 2000) if isinstance(value, str) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
