# SPDX-License-Identifier: Apache-2.0
"""Meters: a real command, a real small HTTP server, and what a person typed in."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ioatlas.load.machine import power
from ioatlas.load.machine.power import MeterError, PowerLog, PowerSample, idle_watts, mean_watts, open_meters, value_at
from ioatlas.load.machine.typed_in import facts_text, read_power
from ioatlas.model.errors import UsageError

ANSWERS: dict[str, Any] = {
    "/cm?cmnd=Status%208": {"StatusSNS": {"ENERGY": {"Total": 12.3, "Power": 41, "Voltage": 231}}},
    "/rpc/Switch.GetStatus?id=0": {"id": 0, "output": True, "apower": 8.9, "aenergy": {"total": 6.5}},
    "/outlets.json": {"outlets": [{"name": "a"}, {"name": "b", "load": {"watts": "74.5 W"}}]},
    "/plain": 42.25,
}


class Device(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/words" and self.path not in ANSWERS:
            self.send_error(404)
            return
        body = b"<html>no JSON</html>" if self.path == "/words" else json.dumps(ANSWERS[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Nothing on stderr."""


@pytest.fixture(scope="module")
def device() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Device)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("url", "path", "watts"),
    [
        ("/cm?cmnd=Status%208", "StatusSNS.ENERGY.Power", 41.0),
        ("/rpc/Switch.GetStatus?id=0", "apower", 8.9),
        ("/outlets.json", "outlets.1.load.watts", 74.5),
        ("/plain", "", 42.25),
    ],
)
def test_watts_of_a_url(device: str, url: str, path: str, watts: float) -> None:
    [meter] = open_meters({"nas": {"url": device + url, "path": path}})
    assert (meter.name, meter.of) == ("nas", "target")
    assert meter.sample() == watts


@pytest.mark.parametrize(
    ("url", "path", "says"),
    [
        ("/outlets.json", "", "no number at ''"),
        ("/outlets.json", "outlets.7.watts", "no number at"),
        ("/words", "", "neither a number nor JSON"),
        ("/none", "", "does not answer: Not Found"),
    ],
)
def test_a_url_without_watts(device: str, url: str, path: str, says: str) -> None:
    [meter] = open_meters({"plug": {"url": device + url, "path": path}})
    with pytest.raises(MeterError, match=says):
        meter.sample()


def test_a_url_where_nobody_listens() -> None:
    [meter] = open_meters({"plug": {"url": "http://127.0.0.1:9/status"}})
    with pytest.raises(MeterError, match="does not answer"):
        meter.sample()


@pytest.mark.parametrize("command", ["echo 220", "echo head; echo '220.0 W'", "printf '2.2e2\\n\\n'; false"])
def test_the_last_line_of_a_command_is_the_watts(command: str) -> None:
    [meter] = open_meters({"shelf": {"command": command}})
    assert meter.sample() == 220.0


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo no controller >&2; exit 3", "prints no watts: no controller"),
        ("exit 3", "exit status 3"),
        ("echo nan", "prints no watts"),
    ],
)
def test_a_command_without_watts(command: str, says: str) -> None:
    [meter] = open_meters({"shelf": {"command": command}})
    with pytest.raises(MeterError, match=says):
        meter.sample()


def test_a_command_is_ended_with_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(power, "TIMEOUT_SECONDS", 0.2)
    [meter] = open_meters({"shelf": {"command": f"echo $$ > {tmp_path}/pid; sleep 1000 | cat"}})
    with pytest.raises(MeterError, match="no answer within"):
        meter.sample()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "one way, not 0"),
        ({"url": "http://x", "command": "echo 1"}, "one way, not 2"),
        ({"url": "ftp://x/y"}, "not a URL"),
        ({"url": "http://x", "patj": "a"}, "no key 'patj'"),
        ({"rapl": True}, "use command"),
        ({"command": "a\nb"}, "no single line"),
        ({"loaded": "many"}, "not a power"),
        ({"loaded": "265 W", "of": "dog"}, "target or of the client"),
    ],
)
def test_a_mistaken_table_is_one_clear_error(entry: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_meters({"m": entry})


def test_what_was_typed_in_is_loaded_and_idle() -> None:
    [meter] = open_meters({"old": {"loaded": "265 W", "idle": "210 W"}})
    assert (meter.sample(), meter.idle_watts, meter.source) == (265.0, 210.0, "typed in")


def test_the_table_of_a_testbed_file(tmp_path: Path) -> None:
    file = tmp_path / "testbed.toml"
    file.write_text('[facts]\n"nic.speed" = "1 Gb/s"\n[power.nas]\nloaded = "40 W"\n')
    assert [meter.name for meter in open_meters(read_power(file))] == ["nas"]
    file.write_text('[power]\nnas = "40 W"\n')
    with pytest.raises(UsageError, match="must be a table"):
        read_power(file)


def test_a_command_is_taken_from_a_file_that_was_named_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("testbed.toml").write_text('[power.nas]\ncommand = "echo 5"\n')
    with pytest.raises(UsageError, match="--facts"):
        facts_text(None, {})
    assert "echo 5" in facts_text(Path("testbed.toml"), {})


def test_a_log_asks_beside_a_load_and_keeps_gaps_apart(device: str) -> None:
    *live, typed = open_meters(
        {"nas": {"url": f"{device}/plain"}, "gone": {"url": "http://127.0.0.1:9/"}, "typed": {"loaded": 5}}
    )
    with PowerLog([*(replace(one, interval_seconds=0.02) for one in live), typed]) as log:
        end = time.monotonic() + 300
        while not (log._samples and log.failures) and time.monotonic() < end:
            time.sleep(0.01)
    samples = log.stop()
    assert {one.meter for one in samples} == {"nas"}
    assert mean_watts(samples) == {"nas": pytest.approx(42.25)}
    assert "does not answer" in log.failures["gone"]


def test_idle_watts_are_measured_or_typed_in() -> None:
    shelf, typed = open_meters({"shelf": {"command": "echo 7"}, "typed": {"loaded": 9, "idle": 4}})
    shelf = replace(shelf, interval_seconds=0.02)
    assert idle_watts([shelf, typed], lambda: False, 0.5) == {"shelf": 7.0, "typed": 4.0}
    [broken] = open_meters({"shelf": {"command": "exit 1"}})
    broken = replace(broken, interval_seconds=0.02)
    with pytest.raises(MeterError, match="shelf: its command"):
        idle_watts([broken], lambda: False, 0.5)


def test_means_are_of_what_lies_inside() -> None:
    samples = [PowerSample("cpu", at, at, 10.0 * at) for at in range(5)] + [PowerSample("nas", 9, 9, 50.0)]
    assert mean_watts(samples, 1, 3) == {"cpu": 20.0}
    assert mean_watts(samples, 5, 6) == {}


def test_the_places_of_numbers() -> None:
    assert value_at({"a": [1, {"b": "12.5 W"}]}, "a.1.b") == 12.5
    assert value_at({"a": True}, "a") is None
    assert value_at({"a": 1}, "a.b") is None
