# SPDX-License-Identifier: Apache-2.0
"""examples/kubernetes: commands of this version, journals where the guards allow them, and objects as the API has them.

The API's schema is that of the package kubernetes-validate (110 MB), where it is installed; the chart needs `helm`.
"""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from ioatlas.cli import ioatlas

try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

FOLDER = Path(__file__).parents[3] / "examples" / "kubernetes"
EXAMPLES = sorted(FOLDER.glob("*.yaml"))
COMMANDS = [
    (file.stem, words)
    for file in EXAMPLES
    for words in [
        *(line.split() for line in re.findall(r"^ +ioatlas (.*?)(?: &&)?$", file.read_text(), re.MULTILINE)),
        *map(json.loads, re.findall(r"args: (\[.*\])", file.read_text())),
    ]
]


@pytest.mark.parametrize(("name", "words"), COMMANDS, ids=lambda one: one if isinstance(one, str) else one[0])
def test_arguments_are_those_of_a_command(name, words, tmp_path):
    (tmp_path / "compare.toml").touch()
    words = [word.replace("/config", str(tmp_path)) for word in words]
    ioatlas.get_command(None, words[0]).make_context(words[0], words[1:])


def test_a_journal_is_made_where_the_guards_allow_it_and_copied_to_whatever_the_claim_is():
    for name, words in COMMANDS:
        text = (FOLDER / f"{name}.yaml").read_text()
        if "-o" in words and name != "watch":
            assert words[words.index("-o") + 1].startswith("/out/")
            assert re.search(r"- name: out\n +emptyDir:", text)
            assert "cp -r /out/. /results" in text


def objects(text):
    """Each has what every object of the API has, and is valid where its schema is at hand."""
    found = [one for one in yaml.safe_load_all(text) if one]
    for one in found:
        assert {"apiVersion", "kind", "metadata"} <= one.keys()
        if kubernetes_validate is not None:
            kubernetes_validate.validate(one, "1.34", strict=True)
    return found


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_they_are_objects_of_the_api(file):
    assert objects(file.read_text())


def test_two_classes_are_compared_as_two_volumes_are_in_ci():
    configuration = objects((FOLDER / "compare.yaml").read_text())[0]
    here = tomllib.loads(configuration["data"]["compare.toml"])
    there = tomllib.loads((FOLDER.parent / "ci" / "before-after.toml").read_text())
    for target in (*here["target"], *there["target"]):
        target.pop("path")
    assert here == there


@pytest.mark.needs("helm")
def test_the_chart_gives_a_job_for_each_class():
    for results in ("", "kept"):
        settings = ["--set", "storageClasses={fast,slow}", "--set", f"results={results}"]
        done = subprocess.run(
            ["helm", "template", "nas", str(FOLDER / "chart"), *settings], check=True, capture_output=True, text=True
        )
        jobs = objects(done.stdout)
        assert [job["metadata"]["name"] for job in jobs] == ["nas-fast", "nas-slow"]
        for job in jobs:
            _, _, *words = job["spec"]["template"]["spec"]["containers"][0]["args"]
            ioatlas.get_command(None, words[0]).make_context(words[0], words[1:])
