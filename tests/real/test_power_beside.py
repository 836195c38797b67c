# SPDX-License-Identifier: Apache-2.0
"""A map with meters beside it, HTTP as of a plug and a typed-in one: in the journal, the result and the export."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ioatlas.measure.campaign import load_result, open_plan, run, start
from ioatlas.model.outcomes import IdleWatts
from ioatlas.plan.spec import CampaignSpec
from ioatlas.report.export.to_json import document

pytestmark = [pytest.mark.needs("fio"), pytest.mark.unmeasured]


class Plug(BaseHTTPRequestHandler):
    """A Shelly of the second generation."""

    def do_GET(self) -> None:
        body = json.dumps({"id": 0, "output": True, "apower": 40.0, "aenergy": {"total": 1.0}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def plug() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Plug)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/rpc/Switch.GetStatus?id=0"
    server.shutdown()
    thread.join()
    server.server_close()


def test_watts_stand_beside_the_values(plug: str, tmp_path: Path) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text(
        f'[power.nas]\nurl = "{plug}"\npath = "apower"\n[power.shelf]\nloaded = "10 W"\nidle = "6 W"\n'
        '[power.client]\nloaded = "90 W"\nof = "client"\n'
    )
    data = tmp_path / "data"
    data.write_bytes(bytes(range(256)) * (1 << 14))
    spec = CampaignSpec(
        targets=(("", str(data)),),
        axes={"rw": ("read",), "bs": (65536,)},
        constants={"size": 4 << 20, "direct": 0},
        visits=1,
        window_seconds=1.2,
    )
    journal = start(open_plan(spec, read_only=True), tmp_path / "run", facts=facts)
    try:
        run(journal, emit=lambda _event: None, stop_asked=lambda: False)
        idle = journal.kept(IdleWatts)
    finally:
        journal.close()
    assert idle.watts == {"nas": 40.0, "shelf": 6.0}
    result = load_result(tmp_path / "run")
    (estimate,) = result.estimates
    assert estimate.watts == pytest.approx(50.0)  # the plug and the shelf, not the client
    assert estimate.iops_per_watt == pytest.approx((estimate.iops or 0) / 50)
    assert [one.values["most_watts"] for one in result.findings if one.code == "power"] == [pytest.approx(50.0)]
    (row,) = document(result)["rows"]
    assert row["watts"] == pytest.approx(50.0)
    assert row["bw_bytes_per_s_per_watt"] == pytest.approx(row["bw_bytes_per_s"] / 50)
    assert plug not in json.dumps(document(result))
