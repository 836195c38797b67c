# SPDX-License-Identifier: Apache-2.0
"""What a host is asked before a load, while the owner of the target exchanges what lies there."""

from types import SimpleNamespace

import pytest

from ioatlas.load.fio.held import moved, reached
from ioatlas.load.fleet.hosts import Host
from ioatlas.measure.run import environment
from ioatlas.model.target import Target
from ioatlas.target.opening import MARKER
from ioatlas.target.workspace import Workspace, directory_name


@pytest.mark.parametrize("forged", ["", '{"campaign_id": "c"}'], ids=["away", "forged"])
def test_a_host_looks_for_the_marker_of_the_directory_that_is_held(tmp_path, monkeypatch, forged):
    target, asked = Target("t", "directory", str(tmp_path)), []
    host = Host("alpha", "ssh")
    fleet = SimpleNamespace(
        fleet=SimpleNamespace(hosts=[host]),
        clients={"alpha": SimpleNamespace(name="alpha")},
        path_on=lambda _host, path: path,
        hold=lambda _name, _path, text: asked.append(text),
    )
    monkeypatch.setattr(environment, "check_far", lambda *_, **__: None)
    with Workspace(target, "c", lambda _: None) as workspace:
        ours = (tmp_path / directory_name("c") / MARKER).read_text()
        places = {path: reached(descriptor) for path, descriptor in workspace.held.items()}
        sites = SimpleNamespace(campaign_id="c", through=lambda path: moved(path, places))
        place = tmp_path / directory_name("c")
        place.rename(tmp_path / "away")
        if forged:
            place.mkdir()
            (place / MARKER).write_text(forged)
        environment.check_hosts(fleet, {"t": target}, sites, [SimpleNamespace(target="t", writes=True)])
    assert asked == [ours]
