# SPDX-License-Identifier: Apache-2.0
"""Every small change of a module's code: one number, comparison, argument, statement or text is another."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
RECKONED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor", "sorted": "list"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """The n-th change of a module. outside: of code that runs when the module is imported."""

    path: str
    number: int
    line: int
    last_line: int
    kind: str
    before: str
    after: str
    outside: bool


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """(kind, what takes the node's place) for each change of this one node."""
    for of_kind in (_operators, _constants, _calls, _statements, _tests, _arguments):
        yield from of_kind(node)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _operators(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare(ops=[first, *others]) if type(first) in COMPARED:
            yield "comparison", _with(node, ops=[COMPARED[type(first)](), *others])
        case ast.BinOp(op=op) if type(op) in RECKONED:
            yield "arithmetic", _with(node, op=RECKONED[type(op)]())
        case ast.AugAssign(op=op) if type(op) in RECKONED:
            yield "arithmetic", _with(node, op=RECKONED[type(op)]())
            yield "assignment", ast.Assign([copy.deepcopy(node.target)], copy.deepcopy(node.value))
        case ast.BoolOp(op=op):
            yield "condition", _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub() as op):
            yield "condition" if isinstance(op, ast.Not) else "arithmetic", copy.deepcopy(node.operand)


def _constants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Constant(value=bool() as value):
            yield "condition", ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield "number", ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield "number", ast.Constant(2 * value or 1.0)
        case ast.Constant(value=str() as value):
            yield "text", ast.Constant(f"XX{value}")


def _calls(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield "call", _with(node, func=ast.Name(CALLED[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name, value=value)) if name in CALLED:
            yield "call", _with(node, func=ast.Attribute(copy.deepcopy(value), CALLED[name], ast.Load()))


def _statements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Break():
            yield "statement", ast.Continue()
        case ast.Continue():
            yield "statement", ast.Break()
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield "statement", ast.Pass()
        case ast.Return(value=value) if value is not None and not _is_none(value):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Assign(value=value) if not _is_none(value):
            yield "assignment", _with(node, value=ast.Constant(None))


def _tests(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The condition of a branch turned round, where no change of a part of it does so."""
    if isinstance(node, ast.If | ast.While | ast.IfExp) and not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield "condition", _with(node, test=ast.UnaryOp(ast.Not(), copy.deepcopy(node.test)))


def _arguments(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Each named argument of a call left out."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg is not None:
                left = [copy.deepcopy(other) for other in node.keywords if other is not keyword]
                yield "argument", _with(node, keywords=left)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def fields(node: ast.AST) -> Iterator[tuple[str, int | None, ast.AST]]:
    """(field, place in it, child) of what is code: no annotation, docstring or other text that stands for itself."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_comment"} or isinstance(node, ast.Import | ast.ImportFrom):
            continue
        children = value if isinstance(value, list) else [value]
        for place, child in enumerate(children):
            said = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not said:
                yield name, place if isinstance(value, list) else None, child


def _children(node: ast.AST, inside: bool) -> Iterator[tuple[str, int | None, ast.AST, bool]]:
    """`fields`, and whether each runs inside a function; defaults and decorators run where the function is made."""
    for name, place, child in fields(node):
        yield name, place, child, inside or (isinstance(node, FUNCTIONS) and name == "body")


def _walk(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, bool]]:
    for name, place, child, within in _children(node, inside):
        yield node, name, place, child, within
        yield from _walk(child, inside=within)


def _all(tree: ast.Module) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, str, ast.AST, bool]]:
    for parent, name, place, child, inside in _walk(tree):
        for kind, new in changes(child):
            yield parent, name, place, child, kind, new, inside


def short(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node)).splitlines()
    return text[0] if len(text) == 1 else f"{text[0]} ..."


def mutants(path: Path, named: str) -> list[Mutant]:
    """All changes of a module, in one order."""
    found = []
    line = 0
    for number, (parent, _, _, child, kind, new, inside) in enumerate(_all(ast.parse(path.read_text()))):
        line = getattr(child, "lineno", line)
        of = child if isinstance(child, ast.stmt) or kind not in {"number", "text", "condition"} else parent
        before = short(of) if isinstance(of, ast.expr | ast.stmt | ast.keyword | ast.Slice) else short(child)
        test_only = isinstance(child, ast.If | ast.While)
        last = child.lineno if test_only else getattr(child, "end_lineno", line)
        found.append(Mutant(named, number, line, last, kind, before, short(new), not inside))
    return found


def mutated(source: str, number: int) -> ast.Module:
    """The module's tree with its n-th change made."""
    tree = ast.parse(source)
    for place, (parent, name, index, child, _, new, _) in enumerate(_all(tree)):
        if place == number:
            ast.copy_location(new, child)
            if index is None:
                setattr(parent, name, new)
            else:
                getattr(parent, name)[index] = new
            return ast.fix_missing_locations(tree)
    raise IndexError(number)
