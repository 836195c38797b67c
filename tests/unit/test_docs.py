# SPDX-License-Identifier: Apache-2.0
"""Docs: scripts/check_docs.py finds faults alone; made pages are those of the code; pages name what the code has."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import check_docs
import click
import man
import pytest
import reference

from ioatlas.answer.analysis import many
from ioatlas.cli import ioatlas
from ioatlas.cli._commands import MOVED
from ioatlas.load.fio.series import MOST_ROWS
from ioatlas.measure.procedures.options import CAMPAIGN
from ioatlas.model.options import ALLOWED, REFUSED
from ioatlas.model.units import words
from ioatlas.model.verdict import VerdictCode
from ioatlas.plan import stopping
from ioatlas.plan.profiles import profiles
from ioatlas.stats import drift, gates, intervals, openloop, steadystate, verdict, warmup

DECISIONS = "docs/decisions"
RETIRED = """instead of,say,looked for in
odd cell,outlying cell,everywhere
hollow,hole check,names
pass,round,sentences
"""
RECORD = "# 0001 One\n- Status: accepted\n- Date: 2026-01-01\n- Topic: x\n## What would reverse it\n"
WHOLE = {
    "docs/glossary.md": "",
    "scripts/retired-words.csv": RETIRED,
    "docs/index.md": "[a](glossary.md#x) `docs/index.md` decision 0001, hollow, portrait",
    f"{DECISIONS}/0001-one.md": RECORD,
    "mkdocs.yml": "font: false\n- A: index.md\n- B: glossary.md\n",
    "src/ioatlas/report/export/a.py": "hollow = 'odd_cell'  # a hollow marker\n",
    "web/src/a.ts": "// a pass",
}

TOLD_OF = {"docs/more.md": "mkdocs.yml", f"{DECISIONS}/0001-again.md": DECISIONS}


def complaints(tmp_path, capsys, **changed):
    for name, text in {**WHOLE, **changed}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    failed = check_docs.main(tmp_path)
    found = capsys.readouterr().out.splitlines()
    assert failed == bool(found)
    return found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", "[a](none.md)"),
        ("README.md", "![a](https://example.org/a.png)"),
        ("README.md", "see `docs/none.md`"),
        ("README.md", "an odd cell"),
        ("docs/more.md", "not in the menu"),
        ("mkdocs.yml", WHOLE["mkdocs.yml"] + "- C: none.md\n"),
        ("mkdocs.yml", WHOLE["mkdocs.yml"].replace("font", "text")),
        (f"{DECISIONS}/0001-one.md", RECORD.replace("accepted", "perhaps")),
        (f"{DECISIONS}/0001-again.md", RECORD),
        ("bench/a.py", "# decision 0054"),
        ("src/ioatlas/a.py", "# see docs/none.md"),
        ("src/ioatlas/a.py", "isHollow = 1"),
        ("src/ioatlas/a.py", "# two odd cells"),
        ("web/src/a.ts", "const odd_cells = 1;"),
    ],
)
def test_a_fault_is_found(tmp_path, capsys, name, text):
    (found,) = complaints(tmp_path, capsys, **{name: text})
    assert found.split(": ")[0] in (name, Path(name).name, TOLD_OF.get(name))


def test_what_is_right_is_not_complained_of(tmp_path, capsys):
    assert complaints(tmp_path, capsys) == []


def test_the_check_tells_which_page_is_old(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(reference, "DOCS", tmp_path)
    (tmp_path / "reference").mkdir()
    (tmp_path / "decisions").mkdir()
    marks = [f"<!-- {name}: {end} -->" for name in ("keys", "options", "layouts") for end in ("begin", "end")]
    for page in ("campaign.md", "product.md"):
        (tmp_path / "reference" / page).write_text("\n".join(marks))
    assert reference.main(["--check"]) == 3
    assert "journal.md" in capsys.readouterr().err
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0


def test_every_command_has_a_section():
    text = reference.command_line()
    for name in ("lab list", "product show", *words("map plan resume show export compare tune import translate")):
        assert f"# ioatlas {name}\n" in text


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "campaign.md").read_text()
OPTIONS = PAGE.split("<!-- options: begin -->")[1].split("<!-- options: end -->")[0]


def test_every_option_that_may_be_set_is_documented():
    missing = [name for name in ALLOWED if f"`{name}`" not in OPTIONS]
    assert not missing, "run `make schema`"
    assert not [name for name in REFUSED if f"`{name}`" in OPTIONS]


def test_every_profile_and_key_is_documented():
    assert not [name for name in profiles() if f"| `{name}` |" not in PAGE]
    keys = PAGE.split("<!-- keys: begin -->")[1].split("<!-- keys: end -->")[0]
    assert not [key for key in CAMPAIGN.model.model_fields if f"`{key}`" not in keys]


def test_no_option_is_both_allowed_and_refused():
    assert not ALLOWED.keys() & REFUSED.keys()


def test_campaigns_of_the_examples_are_read():
    files = sorted((Path(__file__).parents[2] / "examples" / "campaigns").glob("*.toml"))
    assert files
    for path in files:
        spec = CAMPAIGN.read_file(path)
        assert spec.configurations or spec.axes, path


TEXT = (Path(__file__).parents[2] / "docs" / "method" / "statistics.md").read_text()


@pytest.mark.parametrize(
    "method",
    [
        *(intervals.LOG_T, intervals.MODERATED_LOG, intervals.PLAIN_T, intervals.MEDIAN),
        *(warmup.MSER, warmup.PELT, verdict.METHOD, intervals.VARIANCE_METHOD, drift.METHOD, many.METHOD),
        stopping.CERTIFIED_METHOD,
        *(stopping.MAP_METHOD, drift.FIT_METHOD, steadystate.METHOD, gates.METHOD),
        *("block-shift/1", "lost-cells/1", openloop.METHOD, "backlog-poisson/1"),
        intervals.SEEN_METHOD,
    ],
)
def test_every_method_is_in_the_docs(method):
    assert f"`{method}`" in TEXT


def test_every_verdict_is_in_the_docs():
    for label in (
        *verdict.STEADY,
        *(VerdictCode.DRIFTING, VerdictCode.BISTABLE, VerdictCode.UNSTABLE, VerdictCode.TOO_SHORT),
    ):
        assert label in TEXT


def test_the_docs_state_the_limits_of_the_code():
    assert f"{verdict.RELEVANT:.0%} of the level" in TEXT
    assert f"fewer than {verdict.FEWEST} intervals" in TEXT
    assert f"{drift.RELEVANT_SHIFT:.0%} off the others" in TEXT
    assert f"the tolerance ({many.TOLERANCE:.0%})" in TEXT
    assert f"each I/O, up to {MOST_ROWS:,} a visit" in TEXT
    assert f"above {gates.CEILING_LIMIT:.1%} of a ceiling" in TEXT
    assert f"at most {steadystate.RANGE_LIMIT:.0%} of their average" in TEXT
    assert ", ".join(str(look) for look in stopping.CERTIFIED_LOOKS[:-1]) in TEXT


ROOT = Path(__file__).parents[2]


def test_every_test_named_in_the_safety_page_exists():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs/reference/guards.md").read_text(encoding="utf-8")))
    files = [*(ROOT / "tests/unit/target").glob("test_*.py"), *(ROOT / "tests/real").glob("test_target_*.py")]
    there = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(named) > 40
    assert named <= there


END = {"|", ">", "<", "&&", ";"}
"""Where a shell goes on to something else than a word of the command."""
TO_BE_ADDED = "--soak"
"""The option that docs/extend/procedure.md shows how to add."""


def texts():
    """Pages, and by command what its help says in sentences and shows as examples."""
    for page in (*ROOT.glob("docs/**/*.md"), ROOT / "README.md", *ROOT.glob("packages/*/README.md")):
        if "decisions" not in page.parts and page.name != "command-line.md":  # which the code writes
            text = page.read_text().replace("\\\n", " ")
            blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
            yield str(page.relative_to(ROOT)), text, "".join(blocks).splitlines()
    below = [(("ioatlas",), ioatlas)]
    for names, command in below:
        text = f"{command.help}\n{command.epilog or ''}"
        # What an example is for stands behind it.
        yield " ".join(names), text, [re.split(r" {2,}", line.strip())[0] for line in text.splitlines()]
        if isinstance(command, click.Group):
            context = click.Context(command, **ioatlas.context_settings)
            below += [((*names, name), command.get_command(context, name)) for name in command.list_commands(context)]


def commands(text, lines):
    """Each as its words: lines, and code within a sentence that begins with the program's name."""
    for line in [*lines, *re.findall(r"`(ioatlas [^`\n]+)`", text)]:
        if found := re.search(r"^(?:\$ )?(?:sudo )?ioatlas (.+)|\$\(ioatlas ([^)]+)\)", line):
            words = shlex.split(found[1] or found[2], comments=True)
            yield words[: next((at for at, word in enumerate(words) if word in END), None)]


def parse(words):
    """Raises click.UsageError. Paths need not be there, nor arguments where a sentence names a command."""
    command, context = ioatlas, click.Context(ioatlas, **ioatlas.context_settings)
    values, rest = {}, words
    assert words[0] not in MOVED
    while rest:
        values, rest, _ = command.make_parser(context).parse_args(list(rest))
        for param in command.get_params(context):
            checked = isinstance(param.type, (click.Choice, click.IntRange, click.FloatRange))
            if checked and isinstance(values.get(param.name), (str, tuple, list)):
                param.type_cast_value(context, values[param.name])
        if rest:
            assert isinstance(command, click.Group)
            _, command, rest = command.resolve_command(context, rest)
            context = click.Context(command, parent=context)


TEXTS = {name: [*commands(text, lines)] for name, text, lines in texts()}


@pytest.mark.parametrize("name", [name for name, found in TEXTS.items() if found])
def test_what_is_documented_can_be_called(name):
    for line in TEXTS[name]:
        if TO_BE_ADDED not in line:
            parse(line)


def test_commands_are_found_in_docs_and_in_help():
    assert len(TEXTS["docs/guide/bundle.md"]) > 5
    assert len(TEXTS["ioatlas product"]) == 5
    with pytest.raises(click.NoSuchOption):
        parse(["map", "/mnt/nas", "--no-such"])


@pytest.fixture(scope="module")
def pages():
    return man.pages()


def test_every_command_has_a_page(pages):
    assert {"ioatlas.1", "ioatlas-atlas-serve.1"} <= pages.keys()
    assert {f"ioatlas-{name}.1" for name in ioatlas.said} <= pages.keys()


def test_a_page_tells_rare_options_examples_and_exit_status(pages):
    page = pages["ioatlas-map.1"].replace("\\-", "-")
    assert all(f".B {option}" in page for option in ("--budget", "--max-visits", "--engine", "-h, --help"))
    assert [line for line in page.splitlines() if line.startswith(".SH")] == [
        *(".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION", ".SH OPTIONS"),
        *(".SH EXAMPLES", ".SH EXIT STATUS", ".SH SEE ALSO"),
    ]
    assert re.search(r"^ioatlas map /mnt/nas ", page, re.MULTILINE)
    assert "\b" not in "".join(pages.values())


def examples():
    root = Path(__file__).parents[2]
    texts = "\n".join(
        path.read_text() for path in [*root.glob("src/**/examples.txt"), *root.glob("packages/*/src/**/examples.txt")]
    )
    return {told.strip() for told in re.findall(r"^  (?:.* )?(ioatlas .*?)(?=  |$| \||>|&&|\)\")", texts, re.MULTILINE)}


def test_every_example_names_commands_and_options_that_are_there():
    """None of them is run: their targets and servers are not there."""
    found = examples()
    assert len(found) > 100
    for line in found:
        command, words, context = ioatlas, shlex.split(line)[1:], None
        while command is not None:
            context = click.Context(command, parent=context, info_name=command.name, **command.context_settings)
            options, words, _ = command.make_parser(context).parse_args(list(words))
            assert options.keys() <= {one.name for one in command.get_params(context)}, line
            if not isinstance(command, click.Group) or not words:
                break
            _name, command, words = command.resolve_command(context, words)
        assert command is not None, line


@pytest.mark.parametrize("line", [".hidden", "'quoted", "a\\b -c"])
def test_text_stays_text(line):
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    done = subprocess.run(
        ["groff", "-Tascii", "-P-c"], input=man._text(line) + "\n", capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == line


@pytest.mark.needs("groff")
def test_groff_has_no_complaint(pages, tmp_path, capsys):
    assert man.main([str(tmp_path)]) == 0
    assert f"{len(pages)} pages" in capsys.readouterr().out
    files = sorted((tmp_path / "man1").iterdir())
    done = subprocess.run(["groff", "-man", "-ww", "-z", "-Kutf8", *files], capture_output=True, text=True, check=True)
    assert done.stderr == ""
