# SPDX-License-Identifier: Apache-2.0
"""A bundle of configurations that were measured one after another: their records keep their names."""

import json
import zipfile

from ioatlas.bundle import layout
from tests.unit.procedures.test_configurations import Switching
from tests.unit.simulated import Shell


def test_records_of_one_configuration_are_no_users_at_a_host(tmp_path):
    world = Switching(tmp_path, blocks=2)
    world.run()
    found = Shell()("bundle", world.directory, "-o", tmp_path / "b.zip")
    assert found.returncode == 0, found.stderr
    name = next(name for name, table in layout.TABLES.items() if table == "outcome")
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        kept = {json.loads(line)["name"] for line in bundle.read(name).splitlines()}
    known = {row[0] for row in world.rows("select name from outcome where name like '%@d%'")}
    assert known
    assert known <= kept
