# SPDX-License-Identifier: Apache-2.0
"""Results as a folder of static pages: for GitHub Pages, an object store, a NAS, or a disk.

Everything is made from bundles, of which a campaign is packed first: a site names nothing that its bundle would not.
The summary has a line for each result; the values are parted by kind of load, so that a search loads one part.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
from numpy.typing import NDArray

import ioatlas.report
from ioatlas import __version__
from ioatlas.answer.analysis.best import SIGNS, Mark, mark_of
from ioatlas.answer.analysis.imported_answer import unsound
from ioatlas.answer.analysis.summary import summarise
from ioatlas.answer.product.figures import held_by_licence
from ioatlas.answer.product.kept import kept_sheet, with_costs
from ioatlas.answer.product.readings import Unit
from ioatlas.answer.results.imported import load_sets
from ioatlas.answer.results.library import BUNDLE_ENDING, JOURNAL, bundles, directories, stamp
from ioatlas.bundle.opening import looks_like_bundle, open_bundle, unpack
from ioatlas.bundle.pack import pack
from ioatlas.bundle.redaction import Redactor, RedactPlan
from ioatlas.measure.campaign import load_result
from ioatlas.model.cell import Cell
from ioatlas.model.errors import IoAtlasError, PartialResultError, RefusedError, UsageError, written
from ioatlas.model.estimate import Estimate
from ioatlas.model.result import SHEETS, CampaignResult
from ioatlas.model.target import Target
from ioatlas.model.units import format_size, grouped, words
from ioatlas.report.export.to_parquet import Parted, can, parquet
from ioatlas.report.page import drop_html, explorer_files, put_whole, report_html
from ioatlas.report.table import MEANINGS, Meaning, Value, entries, joint_table, meanings
from ioatlas.store import confined
from ioatlas_atlas.ui.commands import call
from ioatlas_atlas.views import harmless_csv

MARKER = ".ioatlas-site.json"
"""In the folder of a site: the files that the command wrote there, and may replace or remove."""
FORMAT = 1
LOAD_COLUMNS = words("result bw_bytes_per_s iops lat_p99_ns in_flight mark")
"""Of a kind of load: the best value of each result. result: how many lines of the summary behind the one before."""
UNRANKED = frozenset({Mark.UNSTABLE, Mark.DISAGREE, Mark.SUSPECT, Mark.PREDICTED})
_TEMPLATES = Path(__file__).parent / "templates"
SUMMARY = meanings(_TEMPLATES / "summary.txt")
"""Columns of the summary: a line for each result."""
CELLS = {"load": Meaning("")} | meanings(_TEMPLATES / "cells.txt") | MEANINGS
"""Columns of all values: a line for each cell and direction of each result. load: names the file that it stands in."""
_ARCHIVES = frozenset(words(".zip .tar .tgz .gz .xz .bz2"))
_ID = re.compile(r"[^A-Za-z0-9]+")


@dataclass
class Site:
    """What was written. results: lines of the summary. left_out: what could not be read, and why. changed: files that
    are new or other than before; removed: files of results that are gone.
    """

    results: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    files: int = 0


def write_site(
    folder: Path,
    sources: Sequence[Path],
    *,
    title: str,
    plan: RedactPlan,
    licence: str = "",
    permission: str = "",
    doubts: Callable[[Path], Mapping[tuple[str, str], str]] = lambda _: {},
) -> Site:
    """Make or renew the site in `folder` from campaigns, imports and bundles, and folders of them.

    permission: who allowed to publish what the licence of a product holds back, and when. doubts: of each source, as
    `CampaignResult.doubted` takes them. The same sources give the
    same bytes. Raises RefusedError for a folder with anything in it that no site left there, UsageError where there is
    no result, IoAtlasError where it cannot be written.
    """
    site = Site()
    made = Written(folder, _before(folder), site)
    loads: dict[str, list[list[Any]]] = defaultdict(list)
    with (
        written(folder, "name a folder that can be written", "the site"),
        tempfile.TemporaryDirectory(prefix="ioatlas-site-") as place,
    ):
        found = _sources(sources, Path(place), site.left_out)
        parted = Parted(CELLS, "load", Path(place)) if can() else None
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for path in found:
                try:
                    for data, result in _told(path, plan, licence, permission):
                        _add(data, result.doubted(doubts(path)), made, loads, parted)
                except IoAtlasError as error:
                    site.left_out.append(f"{path.name}: {error.what}")
            if not site.results:
                why = site.left_out[0] if site.left_out else "nothing was measured or imported there"
                raise UsageError(f"there is no result to show: {why}", where=", ".join(map(str, sources)))
            for load, data in parted.files() if parted else ():
                made.write(f"cells/{load}.parquet", data)
            write_pages(made, title, licence, loads)
            made.finish()
        except BaseException:
            if made.names:  # or the next run would take them for somebody else's
                made.mark(made.before | made.names)
            raise
    return site


def _sources(sources: Sequence[Path], place: Path, left_out: list[str]) -> list[Path]:
    """Campaigns, imports and bundles, none twice, in the order of their names: never of their times. What holds none,
    such as an archive of other tools' results, is imported into a folder of `place`. Other archives of a folder that
    holds some join `left_out`: they need not be results at all.
    """
    named = {path.resolve() for path in sources}
    found: dict[Path, Path] = {}
    for path in sources:
        # An atlas names its bundles by their digest alone.
        there = stamp(path) is not None or looks_like_bundle(path)
        inside = [path] if there else [*directories([path]), *bundles([path])]
        if not inside:
            inside = [place / str(len(found)) / path.resolve().name]
            said = call(["import", "-o", str(inside[0]), "--", str(path)])
            if said.status not in (0, PartialResultError.exit_code):
                raise UsageError(f"nothing to show: {said.text.strip().removeprefix('ioatlas: ')}")
        elif path.is_dir() and not there:
            archives = (one for one in sorted(path.iterdir()) if one.suffix in _ARCHIVES and one.resolve() not in named)
            what = "an archive beside results; name it too, and it is shown"
            left_out += [f"{one.name}: {what}" for one in archives if not one.name.endswith(BUNDLE_ENDING)]
        found |= {one.resolve(): one for one in inside}
    return sorted(found.values(), key=lambda one: (one.name, str(one.resolve())))


def _before(folder: Path) -> set[str]:
    """The files that an earlier run wrote. Raises RefusedError for a folder that is somebody else's."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return set()
    try:
        told = json.loads(confined.read_text(folder / MARKER))
        if told["format"] != FORMAT:
            raise ValueError("another format")
        files = {str(name) for name in told["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = "name a new folder, or an empty one"
        raise RefusedError("it holds files that no site left there", where=str(folder), remedy=remedy) from error
    confined.check_tree(folder, {name.split("/")[0] for name in files})
    return {name for name in files if ".." not in name.split("/") and not name.startswith("/")}


class Written:
    """Files of the site: one that is as it was is not written."""

    def __init__(self, folder: Path, before: set[str], site: Site) -> None:
        self.folder, self.before, self.site = folder, before, site
        self.names: set[str] = set()

    def write(self, name: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        path = self.folder / name
        if name not in self.before and path.exists():
            raise RefusedError("no site left this there", where=str(path), remedy="move it away")
        self.names.add(name)
        if path.is_file() and path.read_bytes() == data:
            return
        put_whole(data, confined.make_directory(self.folder, str(Path(name).parent)) / path.name)
        self.site.changed.append(name)

    def finish(self) -> None:
        """Removes what is no more, and keeps in mind what is there."""
        for name in sorted(self.before - self.names):
            path = self.folder / name
            path.unlink(missing_ok=True)
            if path.parent != self.folder and path.parent.is_dir() and not any(path.parent.iterdir()):
                path.parent.rmdir()
            self.site.removed.append(name)
        self.site.files = len(self.names)
        self.mark(self.names)

    def mark(self, names: set[str]) -> None:
        """Keep in mind that these files are ours."""
        marker = json.dumps({"format": FORMAT, "files": sorted(names)}, indent=1) + "\n"
        confined.write_text(self.folder / MARKER, marker, in_root=True)


def _told(path: Path, plan: RedactPlan, licence: str, permission: str) -> list[tuple[bytes, CampaignResult]]:
    """(its bundle, empty for an import; what is shown), of an import each set. Raises RefusedError where the licence of
    a product forbids.
    """
    if path.is_file():
        with open_bundle(path) as bundle, tempfile.TemporaryDirectory(prefix="ioatlas-site-") as place:
            unpack(bundle, Path(place))
            _check_licence(Path(place), permission)
            return [(path.read_bytes(), load_result(Path(place)))]
    _check_licence(path, permission)
    if (path / JOURNAL).exists():
        packed = pack(path, plan=plan, licence=licence)
        return [(packed.data(), packed.result)]
    return [(b"", _imported(with_costs(one, path), Redactor(plan))) for one in load_sets(path)]


def _check_licence(directory: Path, permission: str) -> None:
    for name in ("", *(sheet.stem for sheet in (directory / SHEETS).glob("*.toml"))):
        sheet = kept_sheet(directory, name)
        if sheet is not None and (held := held_by_licence(sheet.publishing, permission)):
            raise RefusedError(held, where=sheet.name, remedy="record it in [publishing], or give --permission")


def _add(
    data: bytes, result: CampaignResult, made: Written, loads: dict[str, list[list[Any]]], parted: Parted | None
) -> None:
    """A result: its report, values and bundle, its line of the summary, and its values among those of each load."""
    names, rows = joint_table([result])
    text = harmless_csv(names[1:], rows)
    digest = hashlib.sha256(data or text.encode()).hexdigest()[:8]
    name = _ID.sub("-", result.name.lower()).strip("-")[:40] or "result"
    line = _line(result, f"{name}-{digest}")
    if any(one["id"] == line["id"] for one in made.site.results):
        return
    for kind, row in _best(result.estimates):
        loads[kind].append([len(made.site.results), *row])
    if parted:
        parted.add(_told_of(line["id"], result, rows))
    made.site.results.append(line)
    here = f"r/{line['id']}"
    archive = f'<a href="{line["id"]}{BUNDLE_ENDING}">Bundle</a>' if data else ""
    nav = f'<a href="../../index.html">All results</a> <a href="cells.csv">Values (CSV)</a> {archive}'
    made.write(f"{here}/index.html", report_html(result, before=_NAV.format(nav), beside="../../"))
    made.write(f"{here}/cells.csv", text)
    if data:
        made.write(f"{here}/{line['id']}{BUNDLE_ENDING}", data)


def _told_of(name: str, result: CampaignResult, rows: Iterable[Mapping[str, Value]]) -> Iterator[Mapping[str, Value]]:
    for one, row in zip(entries(result), rows, strict=True):
        options = "; ".join(f"{key}={row[key]}" for key in row if key not in MEANINGS and row[key] is not None)
        load, mark = _load(one.cell, one.direction) or "other", _mark(one.estimate) if one.estimate else ""
        yield {**row, "result": name, "load": load, "mark": mark, "options": options}


def _imported(result: CampaignResult, redactor: Redactor) -> CampaignResult:
    """Imported readings have no bundle: the patterns of one are looked for in every text, and remarks are left out."""
    estimates = (replace(e, notes=tuple(redactor.text(note) for note in e.notes)) for e in result.estimates)
    return replace(result, name=redactor.text(result.name), estimates=tuple(estimates), settings={})


def _line(result: CampaignResult, name: str) -> dict[str, Any]:
    """A line of the summary. Of a number that is not believed, and of a kind that was not measured, there is none."""
    summary = summarise(result)
    best = {one.direction: one.value for one in reversed(summary.headlines) if one.quantity == "bw_bytes_per_s"}
    small = {one.direction: one.best.iops for one in reversed(summary.small) if one.bs_bytes == 4096}
    product = next((cost.product for cost in result.costs if cost.product), "")
    measured = [target for target in result.targets if target.kind != "imported"] or list(result.targets)
    protocol = " and ".join(dict.fromkeys(filter(None, map(_protocol, measured))))
    size = max((target.size_bytes or 0 for target in measured), default=0)
    parts = dict.fromkeys((product or summary.name, protocol, format_size(size) if size else ""))
    created = datetime.fromtimestamp(result.created_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if result.created_at else ""
    prices = ((unit.cost, cost.currency) for cost in result.costs for unit in cost.units if unit.unit == Unit.TIB)
    priced = next((found for found in prices if found[0]), (None, ""))
    values = (
        *(name, ", ".join(filter(None, parts)), ", ".join(target.name for target in result.targets), protocol),
        *(size or None, _rounded(best.get("read")), _rounded(best.get("write"))),
        *(_rounded(small.get("read")), _rounded(small.get("write")), summary.trust_text, created, *priced),
    )
    return dict(zip(SUMMARY, values, strict=True))


def _protocol(target: Target) -> str:
    """'nfs4', 'xfs', 'nbd', 'block device'; '' where nothing tells."""
    if target.kind == "uri":
        return target.location.split(":", 1)[0].partition("+")[0]
    return "block device" if target.kind == "block" else str(dict(target.identity.facts).get("fs_type", ""))


def _best(estimates: Iterable[Estimate]) -> Iterator[tuple[str, list[Any]]]:
    """Of each kind of load the best value, one that may rank before any that may not."""
    found = grouped((kind, e) for e in estimates if e.bw_bytes_per_s and (kind := _load(e.cell, e.direction)))
    for kind, members in found.items():
        e = max(members, key=lambda one: (not _mark(one), one.bw_bytes_per_s or 0.0))
        yield kind, [*map(_rounded, (e.bw_bytes_per_s, e.iops, e.lat_p99_ns)), e.cell.outstanding, _mark(e)]


def _load(cell: Cell, direction: str) -> str:
    """'randread-4096'; '' for what is no such load, as streams."""
    rw, bs = cell.option.get("rw"), cell.option.get("bs")
    if not isinstance(rw, str) or not isinstance(bs, int) or cell.streams:
        return ""
    return f"{_ID.sub('-', rw)}-{bs}" + (f"-{direction}" if len(cell.directions) > 1 else "")


def _mark(e: Estimate) -> str:
    """Why it may not rank; '' where it may."""
    return " ".join(SIGNS[mark_of(e)]) if mark_of(e) in UNRANKED or unsound(e) else ""


def _rounded(value: float | None) -> float | None:
    """Four digits: what a list needs, and little to load."""
    return None if value is None else float(f"{value:.4g}")


def write_pages(made: Written, title: str, licence: str, loads: Mapping[str, list[list[Any]]]) -> None:
    """The newest result first. loads: rows of `LOAD_COLUMNS`, but with the number of the result as it was added."""
    added = made.site.results
    order = sorted(range(len(added)), key=lambda n: (added[n]["created"], added[n]["id"]), reverse=True)
    place = {n: line for line, n in enumerate(order)}
    made.site.results = results = [added[n] for n in order]
    kinds = sorted(loads, key=lambda kind: (kind.split("-")[0], int(re.findall(r"\d+", kind)[-1]), kind))
    made.write("summary.csv", harmless_csv(list(SUMMARY), results))
    if can():
        made.write("summary.parquet", parquet(SUMMARY, results))
    columns = {name: [line[name] for line in results] for name in SUMMARY}
    # Where a result leads to is loaded last: half of what a list weighs.
    made.write("names.js", packed_script("window.ioatlasNames(%s)", {"id": columns.pop("id")}))
    columns["created"] = [text[:10] for text in columns["created"]]
    made.write("summary.js", packed_script("window.ioatlasSummary=%s", columns, loads=kinds))
    for kind in kinds:
        lines, *values = zip(*sorted((place[n], *row) for n, *row in loads[kind]), strict=True)
        found = dict(zip(LOAD_COLUMNS, [np.diff(lines, prepend=-1).tolist(), *values], strict=True))
        made.write(f"loads/{kind}.js", packed_script(f'window.ioatlasLoad("{kind}",%s)', found))
    # A site does not know its address: links are relative, and ids are those of results.
    told: dict[str, object] = {"title": title, "version": __version__, "newest": results, "licence": licence}
    told["identity"] = hashlib.sha256(title.encode()).hexdigest()[:16]
    told["files"] = sorted(one for one in made.names if one.startswith(("summary.csv", "summary.parquet", "cells/")))
    pages = jinja2.Environment(
        loader=jinja2.FileSystemLoader([_TEMPLATES, _TEMPLATES.parent.parent / "templates"]), autoescape=True
    )
    for name, template in (("index.html", "site.html"), ("feed.xml", "feed.xml")):
        made.write(name, pages.get_template(template).render(told))
    for name in ("chart.js", "site.js", "site.css"):
        made.write(name, (_TEMPLATES / name).read_bytes())
    for name, text in explorer_files().items():
        made.write(name, text)
    made.write("pages.css", (Path(ioatlas.report.__file__).parent / "static" / "pages.css").read_bytes())
    made.write("drop.html", drop_html(before=_NAV.format('<a href="index.html">All results</a>')))


_NAV = '<nav class="site-nav" aria-label="Site">{}</nav>\n'


def packed_script(call: str, columns: Mapping[str, Sequence[Any]], **more: Any) -> bytes:
    """call: with %s where the columns come. more: told beside them.

    A line of JSON says what codes stand for; the codes follow, part by part of each column, their lowest bytes first.
    Packed, a letter of two bytes holds 15 bits, from U+3000 on: a fifteenth is added, where base64 adds a third.
    """
    coded = {name: [*map(_coded, _parts(values))] for name, values in columns.items()}
    head = {name: [[told, len(planes)] for told, planes in parts] for name, parts in coded.items()}
    body = b"".join(plane.tobytes() for parts in coded.values() for _, planes in parts for plane in planes)
    told = {**more, "rows": len(next(iter(columns.values()))), "columns": head}
    line = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    data = gzip.compress(f"{line}\n".encode() + body, mtime=0)
    bits = np.unpackbits(np.frombuffer(data, np.uint8))
    letters = np.pad(bits, (0, -len(bits) % 15)).reshape(-1, 15) @ (1 << np.arange(14, -1, -1)) + 0x3000
    text = letters.astype("<u2").tobytes().decode("utf-16-le")
    return f"\ufeff{call % f'[{len(data)},{chr(34)}{text}{chr(34)}]'};\n".encode("utf-16-le")


def _parts(values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Of texts what stands between commas: it is repeated more often than the whole."""
    return list(zip_longest(*(value.split(", ") if isinstance(value, str) else [value] for value in values)))


def _coded(values: Sequence[Any]) -> tuple[Any, list[NDArray[np.uint8]]]:
    """(what codes stand for, their bytes): a list of values, from code 0 on, or of many numbers of four digits the
    power of ten p, where code 1 is 1000 * 10^p, code 9001 ten times as much, and 0 is no value.
    """
    told: Any = list(dict.fromkeys(values))
    codes = {value: code for code, value in enumerate(told)}
    if len(told) > 256 and all(map(_short, told)):  # more than codes of one byte could tell
        written = {value: f"{value:.3e}".replace(".", "").split("e") for value in told if value is not None}
        least = min(int(power) for _, power in written.values())
        codes = {value: 9000 * (int(power) - least) + int(four) - 999 for value, (four, power) in written.items()}
        codes[None], told = 0, least - 3
    found = np.array([codes[value] for value in values])
    return told, [(found >> low).astype(np.uint8) for low in range(0, int(found.max()).bit_length(), 8)]


def _short(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value > 0 and float(f"{value:.3e}") == value)
