# SPDX-License-Identifier: Apache-2.0
"""A methods paragraph: every number that a reviewer asks for, from the result alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from statistics import median

from ioatlas.analysis.summary import summarise
from ioatlas.analysis.wording import plural
from ioatlas.model.cell import OptionValue
from ioatlas.model.options import SIZE_OPTIONS
from ioatlas.model.result import CampaignResult
from ioatlas.model.units import format_duration, format_size
from ioatlas.report.redact import PUBLIC_FACTS, names_site, redactor

CLIENT = (
    ("cpu.model", "processor"),
    ("cpu.threads", "hardware threads"),
    ("ram.size_bytes", "memory"),
    ("virtualisation.machine", "virtual machine"),
)
"""Facts of the client that a paper names, and their words."""
PATH = (
    ("protocol.name", "protocol"),
    ("protocol.version", "version"),
    ("nic.speed", "network interface"),
    ("nic.mtu", "MTU"),
    ("fs.type", "file system"),
    ("drive.model", "drive"),
    ("target.size_bytes", "size"),
)
SOURCES = {
    "log-t": "Student's t on the logarithms of the visits",
    "log-t-moderated": "Student's t on the logarithms of the visits, variances shrunk to their pool (Smyth 2004)",
    "log-t-pooled": "Student's t on the logarithms of the visits with the pooled variance",
    "t": "Student's t on the visits",
    "median-order": "order statistics of the median",
    "median-looks": "order statistics of the median, with looks that keep the coverage",
}
REFERENCES = (
    """Smyth, G. K. (2004). Linear models and empirical Bayes methods for assessing differential expression. Statistical
Applications in Genetics and Molecular Biology 3(1).""",
    "White, K. P. (1997). An effective truncation heuristic for bias reduction in simulation output. Simulation 69(6).",
    """Killick, R., Fearnhead, P., Eckley, I. A. (2012). Optimal detection of changepoints with a linear computational
cost. Journal of the American Statistical Association 107(500).""",
)


def methods(result: CampaignResult) -> list[str]:
    """Sentences, in the order of a methods section. No place of a target, no host and no user is named."""
    clean = redactor(result.targets)
    told = [
        *_tools(result),
        *_testbed(result, clean),
        *_loads(result, clean),
        *_visits(result),
        *_statistics(result),
        *_discards(result, clean),
        *_trust(result, clean),
    ]
    return [sentence for sentence in told if sentence]


def _tools(result: CampaignResult) -> Iterable[str]:
    fio = next((session["fio"] for session in result.sessions if session.get("fio")), "")
    tool = f"I/O Atlas {result.tool_version}"
    when = datetime.fromtimestamp(result.created_at, UTC).strftime("%Y-%m-%d") if result.created_at else ""
    on = f" on {when}" if when else ""
    if not result.n_visits and any(e.kind == "imported" for e in result.estimates):
        tools = dict.fromkeys(told["tool"] for told in result.methods.values() if told.get("tool"))
        yield f"The figures were measured by {', '.join(tools) or 'other tools'} and read by {tool}{on}."
        return
    yield f"Measurements were made with {tool}{f' and {fio}' if fio else ''}{on}."
    if len({session.get("fio") for session in result.sessions}) > 1:
        yield "The version of fio changed between sessions."


def _testbed(result: CampaignResult, clean: Callable[[str], str]) -> Iterable[str]:
    facts = result.sessions[-1] if result.sessions else {}
    client = [f"{word} {clean(_fact(facts[name]))}" for name, word in CLIENT if facts.get(name)]
    if client:
        yield f"The client: {', '.join(client)}."
    for target in result.targets:
        own = {name.removeprefix(f"{target.name}: "): value for name, value in facts.items()}
        told = [f"{word} {clean(_fact(own[name]))}" for name, word in PATH if own.get(name) and not names_site(name)]
        told += [f"{name.replace('_', ' ')} {value}" for name, value in target.identity.facts if name in PUBLIC_FACTS]
        how = result.methods.get(target.name, {})
        told += [f"{name} {clean(how[name])}" for name in ("page cache", "statistic", "engine") if how.get(name)]
        yield f"Target {target.name}: {', '.join([_kind(target.kind), *dict.fromkeys(told)])}."


def _fact(text: str) -> str:
    """'25276502016 B = 23.5 GiB' as '23.5 GiB'; what the system may have got wrong is said to be reported by it."""
    value, mark, _ = text.partition(" (doubtful)")
    return value.rpartition(" = ")[2] + (" (as the system reports)" if mark else "")


def _kind(kind: str) -> str:
    return {"block": "a block device", "uri": "a network target", "imported": "imported figures"}.get(kind, f"a {kind}")


def _loads(result: CampaignResult, clean: Callable[[str], str]) -> Iterable[str]:
    axes = [f"{name} in {{{_values(name, values)}}}" for name, values in result.axes.items()]
    constants = [f"{name}={_value(name, value)}" for name, value in result.constants.items() if name not in result.axes]
    kinds = Counter(e.kind for e in result.estimates)
    if axes:
        yield f"The loads: {', '.join(axes)}."
    if constants:
        yield f"All loads share {clean(', '.join(constants))}."
    counts = [f"{kinds[kind]:,} {kind}" for kind in ("measured", "predicted", "imported") if kinds[kind]]
    if result.unmeasured:
        counts.append(f"{len(result.unmeasured):,} without a value")
    if counts:
        yield f"Values of loads and directions: {', '.join(counts)}."
    if kinds["predicted"]:
        yield "Predicted values come from a model that was fitted to the measured ones; their intervals are of 90%."
    preparation = result.settings.get("preparation", "")
    if preparation:
        yield f"Preparation: {clean(preparation)}."
    sharing = result.settings.get("sharing", "")
    if sharing and kinds["measured"]:
        yield f"Files: {sharing}."


def _visits(result: CampaignResult) -> Iterable[str]:
    measured = [e for e in result.estimates if e.kind == "measured" and e.n_visits]
    if not measured:
        return
    counts = sorted(e.n_visits for e in measured)
    often = "once" if counts[-1] == 1 else f"{_span(counts)} times (median {median(counts):g})"
    yield (
        f"Each load was started independently {often}; "
        f"the order was random (seed {result.settings.get('order seed', 'unknown')})."
    )
    if result.set_ups:
        yield (
            f"Each configuration was set up and measured {result.set_ups} times, there and back; what moved between "
            "set-ups is in the intervals."
        )
    windows = sorted(e.window_seconds for e in measured if e.window_seconds)
    cuts = sorted(e.cut_seconds for e in measured if e.cut_seconds is not None)
    if windows:
        yield (
            f"Windows took {_span(windows)} s (median {median(windows):.3g} s), "
            f"after a warm-up of {median(cuts) if cuts else 0:.2g} s (median) was cut by MSER-5 and PELT."
        )
    if result.seconds:
        yield f"The campaign took {format_duration(result.seconds)}."


def _statistics(result: CampaignResult) -> Iterable[str]:
    if repeats := sorted(e.n_repeats for e in result.estimates if e.n_repeats):
        yield (
            f"An imported value is the mean of {_span(repeats)} repeats. "
            "Its 95% interval is that of Student's t, with n - 1 degrees of freedom."
        )
    measured = [e for e in result.estimates if e.kind == "measured" and e.method]
    if not measured:
        return
    names = Counter(e.method for e in measured if e.bw_bytes_per_s is None or e.bw_low is not None)
    yield "A value is the mean over these starts, never over the seconds of one run."
    told = [
        f"{SOURCES.get(name.partition('/')[0], name)} ({name}; {plural(count, 'value')})"
        for name, count in names.most_common()
    ]
    if told:
        yield f"Intervals are of 95%: {'; '.join(told)}."
    precision = result.settings.get("precision", "")
    if precision:
        yield f"The precision asked for: {precision}."
    withheld = sum(e.bw_bytes_per_s is not None and e.bw_low is None for e in result.estimates if e.kind == "measured")
    if withheld:
        yield f"{plural(withheld, 'value has', 'values have')} no interval."


def _discards(result: CampaignResult, clean: Callable[[str], str]) -> Iterable[str]:
    if not result.n_visits and not result.n_discarded:
        return
    total = result.n_visits + result.n_discarded
    if not result.n_discarded:
        yield f"None of {total:,} windows was discarded."
        return
    reasons = ", ".join(f"{clean(reason)} {count}" for reason, count in result.discard_reasons.items())
    yield f"Of {total:,} windows {result.n_discarded:,} were discarded by rules set before: {reasons}."


def _trust(result: CampaignResult, clean: Callable[[str], str]) -> Iterable[str]:
    summary = summarise(result)
    yield f"Trust by the rules of the tool: {summary.trust}."
    yield from (clean(doubt.sentence) for doubt in summary.doubts)
    if not result.complete:
        yield "The campaign was not finished."


def _span(values: Sequence[float]) -> str:
    low, high = (f"{value:.3g}" for value in (values[0], values[-1]))
    return low if low == high else f"{low} to {high}"


def _values(name: str, values: Sequence[OptionValue]) -> str:
    return ", ".join(_value(name, value) for value in values)


def _value(name: str, value: OptionValue) -> str:
    return format_size(value) if name in SIZE_OPTIONS and isinstance(value, int) else str(value)
