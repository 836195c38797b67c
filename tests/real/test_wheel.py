# SPDX-License-Identifier: Apache-2.0
"""The wheel holds the explorer, which its build makes where it is missing, and works where the checkout is not."""

import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.unmeasured
ROOT = Path(__file__).resolve().parents[2]
EXPLORER = ROOT / "src" / "ioatlas" / "report" / "explorer"


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files a wheel is made of, on their own."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    skip = shutil.ignore_patterns("__pycache__", "explorer")
    shutil.copytree(ROOT / "src", copy / "src", ignore=skip)
    shutil.copytree(ROOT / "scripts", copy / "scripts", ignore=skip)
    return copy


@pytest.mark.long("report")
def test_what_git_holds_is_enough_to_build_it(tmp_path: Path) -> None:
    """As `pip install git+URL` does: nothing was built before, and the environment holds what the build asks for."""
    copy, out = tmp_path / "checkout", tmp_path / "out"
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if not name.startswith(("tests/", "bench/", "docs/")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", out, copy], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (source,) = out.glob("*.whl"), out.glob("*.tar.gz")
    assert "ioatlas/report/explorer/explorer.js" in zipfile.ZipFile(wheel).namelist()
    with tarfile.open(source) as held:
        assert any(name.endswith("/src/ioatlas/report/explorer/explorer.js") for name in held.getnames())


@pytest.mark.skipif(not EXPLORER.is_dir(), reason="needs the built explorer (make web)")
def test_the_wheel_works_on_its_own(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    shutil.copytree(EXPLORER, source / "src" / "ioatlas" / "report" / "explorer")
    man = [sys.executable, str(ROOT / "scripts" / "man.py"), str(source / "build" / "man")]
    subprocess.run(man, check=True, timeout=300, stdout=subprocess.DEVNULL)
    done = build(source, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert any(
        name.startswith("ioatlas/report/explorer/") and name.endswith(".js")
        for name in zipfile.ZipFile(wheel).namelist()
    )

    assert any(name.endswith("/share/man/man1/ioatlas-map.1") for name in zipfile.ZipFile(wheel).namelist())
    explorer = zipfile.ZipFile(wheel).read("ioatlas/report/explorer/explorer.js").decode()
    held = set(json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]) - {"vite"}
    assert all(f"\n{name}: Copyright" in explorer for name in held), "it goes with the terms of what it is made of"

    venv.create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]  # as good as one of its own, whose making takes long
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True, timeout=300)
    # The dependencies are those of this environment: a path line adds them without this checkout, whose own path file
    # is not read.

    def said(program: str, *words: str) -> str:
        command = [tmp_path / "venv" / "bin" / program, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout

    site = Path(said("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    assert said("python", "-c", "import ioatlas; print(ioatlas.__file__)").startswith(str(tmp_path))
    assert said("ioatlas", "--version").startswith("ioatlas, version ")
    plan = said("ioatlas", "plan", str(tmp_path), "--profile", "exhaustive")
    assert "numjobs      1, 2, 4, 8, 16, 32, 64" in plan
