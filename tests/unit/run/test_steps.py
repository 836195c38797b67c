# SPDX-License-Identifier: Apache-2.0
"""What the steps of every procedure reach, by their source: the session and the record, never what makes the loads."""

import ast
from pathlib import Path

import ioatlas.measure

ROOM = Path(ioatlas.measure.__file__).parent
TREES = [
    ast.parse(path.read_text())
    for path in [*ROOM.glob("procedures/**/*.py"), ROOM / "run" / "steps.py", ROOM / "run" / "sequences.py"]
]
OF_THE_RUNNER = {"begin_batch", "finish_batch", "set_batch_process", "begin_session", "end_session", "set_complete"} | {
    *("running_batches", "set_plan", "add_cells", "together"),
}


def nodes(kind):
    return (node for tree in TREES for node in ast.walk(tree) if isinstance(node, kind))


def _functions(tree):
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _own(called):
    return ast.unparse(called).partition("self.")[2]


def test_steps_neither_reach_the_runner_nor_write_what_it_writes():
    texts = [ast.unparse(node) for node in nodes(ast.Attribute)]
    assert not [text for text in texts if text.startswith(("self.runner", "self.session.environment"))]
    assert not [text for text in texts if text.removeprefix("self.journal.") in OF_THE_RUNNER]
    changed = [ast.unparse(target) for node in nodes(ast.Assign) for target in node.targets]
    assert not [text for text in changed if text.startswith("self.session.") and not text.endswith(".pace.share")]


def test_what_steps_want_made_reaches_the_runner():
    """A call that is not waited for would make nothing, and nobody would be told."""
    found = {tree: {one.name: ast.unparse(one.returns or one) for one in _functions(tree)} for tree in TREES}
    everywhere = {name: told for told_here in found.values() for name, told in told_here.items()}
    awaited = {id(node.value) for node in nodes(ast.YieldFrom)}
    calls = [
        node
        for tree, here in found.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "Making[" in {**everywhere, **here}.get(_own(node.func), "")
    ]
    assert len(calls) > 30
    assert not [ast.unparse(node) for node in calls if id(node) not in awaited]
