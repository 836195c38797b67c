# SPDX-License-Identifier: Apache-2.0
"""Tests in rounds purge a real device once it is named.

The steady state, and a test that is stopped and goes on, are in tests/unit/cli/test_snia_simulated.py.
"""

import json
import os

import pytest

from tests.real.conftest import ioatlas
from tests.real.target_lab import Bench

pytestmark = pytest.mark.needs("fio")
SIZE = 8 << 20


def campaign(directory, profile="snia-pts", window="200ms", more="", **sweep):
    path = directory / "c.toml"
    lines = "\n".join(f"{name} = {value}" for name, value in {"size": SIZE, **sweep}.items())
    path.write_text(f'profile = "{profile}"\nwindow = "{window}"\n{more}\n[sweep]\n{lines}\n')
    return path


def exported(directory):
    done = ioatlas("export", directory, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.unmeasured
@pytest.mark.needs("root")
def test_a_block_device_is_purged_only_once_it_is_named(tmp_path):
    bench = Bench(tmp_path)
    try:
        image = bench.image(SIZE)
        image.write_bytes(os.urandom(SIZE))
        before = image.read_bytes()
        device = bench.loop(image)
        file = campaign(tmp_path, rwmixread="[0]", bs='["4k"]')
        refused = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "no")
        assert refused.returncode == 2
        assert "not confirmed" in refused.stderr
        assert image.read_bytes() == before
        file = campaign(tmp_path, rwmixread="[0]", bs='["4k"]', more='budget = "4s"')
        done = ioatlas("map", device, "--campaign", file, "-o", tmp_path / "o", "--destroy", str(SIZE))
        assert done.returncode == 0, done.stderr
    finally:
        bench.clear()
    (test,) = exported(tmp_path / "o")["rounds"]
    assert "BLKDISCARD" in test["purge"]
    assert not any("active range" in text for text in test["deviations"])  # the whole device
