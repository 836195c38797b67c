# SPDX-License-Identifier: Apache-2.0
"""examples/kubernetes: the commands in the pods are commands of this version."""

import json
import re
from pathlib import Path

import pytest

from ioatlas.cli import ioatlas

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "kubernetes").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_arguments_are_those_of_a_command(file):
    (arguments,) = (json.loads(text) for text in re.findall(r"args: (\[.*\])", file.read_text()))
    command = ioatlas.get_command(None, arguments[0])
    assert "/data" in str(command.make_context(arguments[0], arguments[1:]).params)
