# SPDX-License-Identifier: Apache-2.0
"""Where an atlas keeps its bundles, and the container of `ioatlas atlas serve`, by its parts without a builder."""

import json
import re
from pathlib import Path

import click
import pytest

from ioatlas.model.errors import UsageError
from ioatlas_atlas import app
from ioatlas_atlas.cli._serve_place import Place, blobs_of
from ioatlas_atlas.cli.serve import command

ROOT = Path(__file__).resolve().parents[4]
FILES = ROOT / "examples" / "serve"
CONTAINER = (FILES / "Containerfile").read_text(encoding="utf-8")
COMPOSE = (FILES / "compose.yaml").read_text(encoding="utf-8")


def options(of):
    return {name for one in of.params for name in one.opts}


def test_it_runs_without_root_and_writes_where_it_says():
    assert re.search(r"^USER 65532:65532$", CONTAINER, re.MULTILINE)
    assert CONTAINER.index("USER 65532") < CONTAINER.index("ENTRYPOINT")
    for said in ("read_only: true", "cap_drop: [ALL]", "no-new-privileges:true", "internal: true"):
        assert said in COMPOSE


def test_every_file_command_and_option_that_it_names_is_there():
    for copied in " ".join(re.findall(r"^COPY ((?:\S+ )+)\./$", CONTAINER, re.MULTILINE)).split():
        assert copied.startswith("dist/") or (ROOT / copied).is_file(), copied
    named = set(re.findall(r"--[a-z][a-z-]+(?==)", COMPOSE)) | set(re.findall(r'"(--[a-z-]+)"', CONTAINER))
    assert named
    assert named - {"--from", "--to"} <= options(command)
    context = click.Context(command)
    assert "migrate" in command.list_commands(context)
    started = re.findall(r"^(?:CMD|    command:) \[(.*)\]", f"{CONTAINER}\n{COMPOSE}", re.MULTILINE)
    assert [json.loads(f"[{words}]")[:2] for words in started].count(["atlas", "serve"]) == 2
    place = re.search(r"urlopen\('http://127.0.0.1:8760(/\w+)'", CONTAINER)[1]
    assert f'add_api_route("{place}"' in Path(app.__file__).read_text(encoding="utf-8")


def test_a_bucket_of_an_earlier_version_is_not_passed_over(tmp_path, monkeypatch):
    place = Place("sqlite://", tmp_path / "blobs", embedded=True)
    monkeypatch.setenv("IOATLAS_S3", "https://s3.example/atlas")
    with pytest.raises(UsageError, match="folder only") as refused:
        blobs_of(place)
    assert str(tmp_path / "blobs" / "kept") in refused.value.remedy
    monkeypatch.delenv("IOATLAS_S3")
    assert blobs_of(place).folder == tmp_path / "blobs"
