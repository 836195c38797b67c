# SPDX-License-Identifier: Apache-2.0
"""What a fresh checkout installs: locks hold all that pyproject.toml asks for, with hashes, and name no place."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ioatlas import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
PACKAGES = {
    name: tomllib.loads((ROOT / "packages" / f"ioatlas-{name}" / "pyproject.toml").read_text())["project"]
    for name in ("atlas", "lab", "translate")
}
"""Of the extras that name a package of packages/."""
OF_ATLAS = PACKAGES["atlas"]["optional-dependencies"]
NEEDED = [
    *PROJECT["project"]["dependencies"],
    *(one for package in PACKAGES.values() for one in package["dependencies"] if not one.startswith("ioatlas")),
]
RUN = [*NEEDED, *EXTRAS["figures"]]
"""What `make demo` installs: Parquet is not worth its 45 MB there."""
GROUPS = PROJECT["dependency-groups"]


def locked(name: str) -> dict[str, set[str]]:
    """Versions of each package in a lock file."""
    found: dict[str, set[str]] = {}
    pins = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[a-z0-9,-]+\])?==([^ \\;]+)", (ROOT / name).read_text(), re.MULTILINE)
    for package, version in pins:
        found.setdefault(package.lower().replace("_", "-"), set()).add(version)
    return found


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [
        ("requirements.txt", [*RUN, *GROUPS["build"]]),
        (
            "requirements-dev.txt",
            [
                *RUN,
                *EXTRAS["parquet"],
                *(r for extra in OF_ATLAS.values() for r in extra),
                *GROUPS["build"],
                *GROUPS["dev"],
            ],
        ),
        ("requirements-serve.txt", [*NEEDED, *OF_ATLAS["postgresql"], *OF_ATLAS["oidc"], *EXTRAS["parquet"]]),
        ("requirements-node.txt", GROUPS["node"]),
        ("requirements-docs.txt", GROUPS["docs"]),
    ],
)
def test_locks_satisfy_what_the_project_asks_for(lock: str, wanted: list[str]) -> None:
    there = locked(lock)
    for text in wanted:
        requirement = Requirement(text)
        versions = there.get(requirement.name.lower().replace("_", "-"), set())
        assert versions, f"{requirement.name} is not in {lock}: run `make lock`"
        assert all(requirement.specifier.contains(version) for version in versions), (
            f"{text} against {versions}: run `make lock`"
        )


@pytest.mark.parametrize("lock", sorted(path.name for path in ROOT.glob("requirements*.txt")))
def test_locks_have_a_hash_for_everything_and_name_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text()
    entries = re.split(r"\n(?=[A-Za-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|^-|/opt|find-links|index-url", text, re.MULTILINE)


def test_the_front_ends_lock_names_no_place() -> None:
    text = (ROOT / "web" / "package-lock.json").read_text()
    assert '"integrity"' in text
    assert '"resolved"' not in text


def test_every_script_is_sound_shell() -> None:
    scripts = [
        path
        for path in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]
        if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
    ]
    assert len(scripts) >= 5
    for script in scripts:
        assert "set -euo pipefail" in script.read_text()
        assert script.stat().st_mode & 0o111
        subprocess.run(["bash", "-n", str(script)], check=True)


def test_package_list_is_well_formed() -> None:
    for line in (ROOT / "scripts" / "packages.apt").read_text().splitlines():
        if line and not line.startswith("#"):
            assert re.fullmatch(r"(run|test|lab)\s+\??[a-z0-9.+-]+\s+(cmd|py|file):\S+", line), line


def test_the_version_is_told_everywhere_alike() -> None:
    for package in PACKAGES.values():
        assert package["version"] == __version__
        assert f"ioatlas=={__version__}" in package["dependencies"]
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    released = [section.split()[0] for section in sections if " - " in section.splitlines()[0]]
    assert f"\nversion: {released[0]}\n" in (ROOT / "CITATION.cff").read_text()
    # What changed since a release is not that release: its bundles would be held against other methods than its own.
    changed = len(sections[0].split()) > 1 and sections[0].startswith("Unreleased")
    assert __version__.endswith(".dev0") if changed else __version__ == released[0]


def test_no_wheel_of_fio_is_made_without_fio(tmp_path: Path) -> None:
    copy, out = tmp_path / "package", tmp_path / "out"
    shutil.copytree(ROOT / "packages" / "ioatlas-fio", copy, ignore=shutil.ignore_patterns("fio", "COPYING", "dist"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    assert subprocess.run(command, cwd=copy, check=False, capture_output=True).returncode != 0
    assert not list(out.glob("*.whl"))
    for name in ("fio", "COPYING"):
        (copy / "src" / "ioatlas_fio" / name).write_text("made")
    subprocess.run(command, cwd=copy, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    assert "ioatlas_fio/fio" in zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize("file", ["homebrew/ioatlas.rb", "nix/flake.nix"])
def test_a_release_writes_its_version_and_hash_into_what_other_package_managers_read(file: str) -> None:
    text = (ROOT / "packaging" / file).read_text()
    assert text.count("@VERSION@") == text.count("@SHA256@") == 1
    assert f"packaging/{file}" in (ROOT / "scripts" / "release").read_text()


def test_the_flake_asks_for_what_the_project_asks_for() -> None:
    text = (ROOT / "packaging" / "nix" / "flake.nix").read_text()
    listed = re.search(r"dependencies = with .*?; \[(.*?)\]", text, re.DOTALL)
    assert listed
    assert listed[1].split() == sorted(Requirement(one).name for one in PROJECT["project"]["dependencies"])
