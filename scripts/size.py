# SPDX-License-Identifier: Apache-2.0
"""Prints how large the program is, by room and package, and fails above the ceilings in pyproject.toml.

One ceiling is the core's, src/ioatlas; two, of lines and of files, hold for it and the packages together. A file of
fewer than 30 lines of code fails too: what it holds belongs where a reader would look for it.

Counted are lines of code: those that hold something other than a comment, a docstring or an import, in files as the
formatter leaves them. A ceiling only ever falls: whoever deletes code lowers it in the same commit.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "ioatlas"
PACKAGES = ROOT / "packages"
LEAST_LINES = 30
FACES = ("__init__.py", "__main__.py")
"""Files that may be shorter: a folder's face."""
_BY_HAND = re.compile(r"#\s*fmt:\s*(?:off|skip)")
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str) -> int:
    """Lines of a Python source that hold code."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_text(node):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - left_out)


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a string that nothing uses: the docstring of a module, class, function or constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def by_room(sources: Path, *, depth: int = 1) -> dict[str, tuple[int, int]]:
    """{room: (lines of code, files)}, the largest first. depth: how many folders name a room."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in sources.rglob("*.py"):
        if _BY_HAND.search(text := path.read_text(encoding="utf-8")):
            sys.exit(f"{path} keeps lines from the formatter (fmt: skip), and so from this count: remove that")
        room = "/".join(path.relative_to(sources).parts[:depth])
        lines[room] += code_lines(text)
        files[room] += 1
    return {room: (count, files[room]) for room, count in lines.most_common()}


def too_small(sources: Path) -> list[str]:
    """Files that say too little to be looked for."""
    files = (path for path in sorted(sources.rglob("*.py")) if path.name not in FACES)
    lines = {path: code_lines(path.read_text(encoding="utf-8")) for path in files}
    return [f"{path} has {n} lines of code: move them" for path, n in lines.items() if n < LEAST_LINES]


def ceilings(project: Path = ROOT / "pyproject.toml") -> dict[str, int]:
    """Lines that the core may have, `core`; lines and files that it with the packages may have, `lines` and `files`."""
    size: dict[str, int] = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["ioatlas"]["size"]
    return size


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--depth", type=int, default=1, help="how many folders name a room")
    parser.add_argument("--check", action="store_true", help="print the totals only")
    options = parser.parse_args(arguments)
    core = by_room(SOURCES, depth=options.depth)
    packages, small = {}, too_small(SOURCES)
    for source in sorted(PACKAGES.glob("*/src")):
        packages |= by_room(source, depth=options.depth)
        small += too_small(source)
    if not options.check:
        print(f"{'lines':>7} {'files':>5}  room")
        for room, (lines, files) in {**core, **packages}.items():
            print(f"{lines:>7} {files:>5}  {room}")
    status = 0
    most = ceilings()
    for name, rooms, ceiling in (
        ("ioatlas", core, most["core"]),
        ("ioatlas and its packages", {**core, **packages}, most["lines"]),
    ):
        total = sum(lines for lines, _ in rooms.values())
        print(f"{total:>7} {sum(files for _, files in rooms.values()):>5}  {name}; the ceiling is {ceiling} lines")
        if total > ceiling:
            print(f"{name} has {total - ceiling} lines of code too many: delete as many, do not raise the ceiling")
            status = 1
    files = sum(count for _, count in {**core, **packages}.values())
    if files > most["files"]:
        small.append(f"there are {files} files; the ceiling is {most['files']}: take one away for a new one")
    print("\n".join(small), end="\n" if small else "")
    return 1 if small else status


if __name__ == "__main__":
    sys.exit(main())
