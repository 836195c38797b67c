# SPDX-License-Identifier: Apache-2.0
"""Meters against a real small HTTP server that answers as the devices' manuals say,
and RAPL against a tree of files as in /sys.
"""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ioatlas.errors import UsageError
from ioatlas.testbed.power import MeterError, RaplMeter, open_meters, plug_watts, value_at
from ioatlas.testbed.power_log import PowerLog, PowerSample, mean_watts
from ioatlas.testbed.typed_in import read_power

ANSWERS: dict[str, Any] = {
    # Tasmota, "Status 8"; one with two channels, "Status 10"
    "/cm?cmnd=Status%208": {
        "StatusSNS": {
            "Time": "2026-03-01T12:00:00",
            "ENERGY": {
                "TotalStartTime": "2025-01-01T00:00:00",
                "Total": 12.3,
                "Yesterday": 0.4,
                "Today": 0.2,
                "Power": 41,
                "ApparentPower": 60,
                "ReactivePower": 43,
                "Factor": 0.68,
                "Voltage": 231,
                "Current": 0.26,
            },
        }
    },
    "/two": {"StatusSNS": {"ENERGY": {"Power": [10.5, 20.25], "Total": 1}}},
    # Shelly, first generation: /status of a Plug S; an EM
    "/status": {
        "relays": [{"ison": True}],
        "meters": [{"power": 27.31, "is_valid": True, "timestamp": 1, "counters": [1, 2, 3], "total": 99}],
        "temperature": 30,
    },
    "/em": {
        "emeters": [
            {"power": 100.5, "pf": 0.9, "is_valid": True},
            {"power": 50.0, "is_valid": True},
            {"power": 9.0, "is_valid": False},
        ]
    },
    "/meter/0": {"power": 8.1, "overpower": 0, "is_valid": True, "timestamp": 1, "counters": [], "total": 12},
    # Shelly, second generation
    "/rpc/Switch.GetStatus?id=0": {
        "id": 0,
        "source": "init",
        "output": True,
        "apower": 8.9,
        "voltage": 237.5,
        "aenergy": {"total": 6.5, "by_minute": [0, 0]},
    },
    "/rpc/Shelly.GetStatus": {
        "ble": {},
        "switch:0": {"id": 0, "apower": 5.5},
        "switch:1": {"id": 1, "apower": 6.5},
        "sys": {"uptime": 1},
    },
    "/rpc/EM.GetStatus?id=0": {"id": 0, "a_act_power": 1.0, "total_act_power": 33.0},
    "/outlets.json": {"outlets": [{"name": "a"}, {"name": "b", "load": {"watts": "74.5 W", "mW": 74500}}]},
    "/nothing": {"hello": "world"},
    # Redfish, DSP0266 and the Power schema; EnvironmentMetrics 1.0
    "/redfish/v1/": {"@odata.id": "/redfish/v1/", "Chassis": {"@odata.id": "/redfish/v1/Chassis"}},
    "/redfish/v1/Chassis": {
        "Members@odata.count": 2,
        "Members": [{"@odata.id": "/redfish/v1/Chassis/1U"}, {"@odata.id": "/redfish/v1/Chassis/JBOD"}],
    },
    "/redfish/v1/Chassis/1U": {
        "@odata.id": "/redfish/v1/Chassis/1U",
        "Power": {"@odata.id": "/redfish/v1/Chassis/1U/Power"},
    },
    "/redfish/v1/Chassis/1U/Power": {
        "PowerControl": [
            {
                "Name": "System Power Control",
                "PowerConsumedWatts": 344,
                "PowerRequestedWatts": 800,
                "PowerMetrics": {"AverageConsumedWatts": 319},
            },
            {"Name": "CPU", "PowerConsumedWatts": 120},
        ]
    },
    "/redfish/v1/Chassis/JBOD": {
        "EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/JBOD/EnvironmentMetrics"},
        "Power": {"@odata.id": "/gone"},
    },
    "/redfish/v1/Chassis/JBOD/EnvironmentMetrics": {
        "PowerWatts": {"Reading": 374.5, "DataSourceUri": "x"},
        "EnergykWh": {"Reading": 325675},
    },
}


class Device(BaseHTTPRequestHandler):
    """Answers ANSWERS; /locked asks for a name and a password."""

    def do_GET(self) -> None:
        if self.path == "/locked" and self.headers.get("Authorization") != "Basic cmVhZGVyOnRvcCBzZWNyZXQ=":
            self.send_error(401)
            return
        if self.path == "/words":
            body = b"<html>no JSON</html>"
        elif self.path == "/locked":
            body = json.dumps({"apower": 1.5}).encode()
        elif self.path in ANSWERS:
            body = json.dumps(ANSWERS[self.path]).encode()
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
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
    ("path", "watts"),
    [
        ("/cm?cmnd=Status%208", 41.0),
        ("/two", 30.75),
        ("/status", 27.31),
        ("/em", 150.5),
        ("/meter/0", 8.1),
        ("/rpc/Switch.GetStatus?id=0", 8.9),
        ("/rpc/Shelly.GetStatus", 12.0),
        ("/rpc/EM.GetStatus?id=0", 33.0),
    ],
)
def test_plugs_are_known_by_what_they_answer(device: str, path: str, watts: float) -> None:
    [meter] = open_meters({"nas": {"url": device + path}})
    assert meter.name == "nas"
    assert meter.of == "target"
    assert meter.sample() == pytest.approx(watts)


def test_any_other_json_by_its_path(device: str) -> None:
    spec: dict[str, dict[str, object]] = {
        "a": {"url": f"{device}/outlets.json", "path": "outlets.1.load.watts"},
        "b": {"url": f"{device}/outlets.json", "path": "outlets.1.load.mW", "scale": 0.001},
    }
    assert [meter.sample() for meter in open_meters(spec)] == [74.5, 74.5]


@pytest.mark.parametrize(
    ("path", "watts"),
    [
        ("/redfish/v1/Chassis/1U/Power", 344.0),
        ("/redfish/v1/Chassis/JBOD/EnvironmentMetrics", 374.5),
        ("/redfish/v1/Chassis/1U", 344.0),
        ("/redfish/v1/", 718.5),
    ],
)
def test_redfish_is_followed_from_the_service_down(device: str, path: str, watts: float) -> None:
    [meter] = open_meters({"shelf": {"redfish": device + path}})
    assert meter.sample() == pytest.approx(watts)
    assert meter.sample() == pytest.approx(watts)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"url": "/nothing"}, "no power that is known"),
        ({"url": "/outlets.json", "path": "outlets.7.watts"}, "no number at"),
        ({"url": "/words"}, "not JSON"),
        ({"url": "/none"}, "404"),
        ({"url": "/locked"}, "401"),
        ({"redfish": "/redfish/v1/Chassis/nothing"}, "404"),
    ],
)
def test_what_cannot_be_read_is_one_clear_error(device: str, entry: dict[str, object], says: str) -> None:
    spec = {key: f"{device}{value}" if key in {"url", "redfish"} else value for key, value in entry.items()}
    [meter] = open_meters({"plug": spec})
    with pytest.raises(MeterError, match=says):
        meter.sample()


def test_a_password_comes_from_the_environment(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLUG_PASSWORD", "top secret")
    [meter] = open_meters({"plug": {"url": f"{device}/locked", "user": "reader", "password_env": "PLUG_PASSWORD"}})
    assert meter.sample() == 1.5
    monkeypatch.delenv("PLUG_PASSWORD")
    with pytest.raises(UsageError, match="PLUG_PASSWORD"):
        meter.sample()


def test_a_meter_that_is_not_there() -> None:
    [meter] = open_meters({"plug": {"url": "http://127.0.0.1:9/status"}})
    with pytest.raises(MeterError, match="does not answer"):
        meter.sample()


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({}, "one way, not 0"),
        ({"url": "http://x", "rapl": True}, "one way, not 2"),
        ({"url": "ftp://x/y"}, "not a URL"),
        ({"url": "http://x", "patj": "a"}, "no key 'patj'"),
        ({"loaded": "many"}, "not a power"),
        ({"loaded": "265 W", "of": "dog"}, "target or of the client"),
        ({"url": "http://x", "scale": "much"}, "not a number"),
    ],
)
def test_a_mistaken_table_is_one_clear_error(entry: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        open_meters({"m": entry})


def zone(tree: Path, name: str, called: str, energy_uj: int, most_uj: int = 262143328850) -> Path:
    place = tree / name
    place.mkdir()
    (place / "name").write_text(called + "\n")
    (place / "energy_uj").write_text(f"{energy_uj}\n")
    (place / "max_energy_range_uj").write_text(f"{most_uj}\n")
    return place / "energy_uj"


def test_rapl_adds_packages_and_memory_and_counts_over_its_range(tmp_path: Path) -> None:
    first = zone(tmp_path, "intel-rapl:0", "package-0", 1_000_000)
    second = zone(tmp_path, "intel-rapl:1", "package-1", 9_999_999, most_uj=10_000_000)
    core = zone(tmp_path, "intel-rapl:0:0", "core", 0)
    memory = zone(tmp_path, "intel-rapl:0:1", "dram", 500)
    system = zone(tmp_path, "intel-rapl:2", "psys", 7)
    began = time.monotonic()
    [meter] = open_meters({"client": {"rapl": str(tmp_path)}})
    assert meter.of == "client"
    time.sleep(0.05)
    first.write_text("3000000\n")  # 2 J
    second.write_text("999999\n")  # 1 J, over the end of its range
    memory.write_text("500500\n")  # 0.5 J
    core.write_text("900000000\n")  # part of the package
    system.write_text("900000000\n")
    watts = meter.sample()
    assert watts <= 3.5 / 0.05
    assert watts >= 3.5 / (time.monotonic() - began)


def test_rapl_that_is_absent_or_closed(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match="tells no processor energy"):
        RaplMeter("client", tree=tmp_path)
    energy = zone(tmp_path, "intel-rapl:0", "package-0", 1)
    energy.chmod(0)
    if os.geteuid() == 0:
        energy.unlink()
    with pytest.raises(MeterError, match="cannot be read"):
        RaplMeter("client", tree=tmp_path)


def test_ipmi_by_the_tool_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of ipmitool that prints what its manual shows: what is tested is the reading,
    there is no controller here.
    """
    said = """
    Instantaneous power reading:                   220 Watts
    Minimum during sampling period:                 18 Watts
    Maximum during sampling period:                377 Watts
    Average power reading over sample period:      223 Watts
"""
    tool = tmp_path / "ipmitool"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\ncat <<END{said}END\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr("ioatlas.testbed.sheet.PATH", f"{tmp_path}:{os.environ['PATH']}")
    own, other = open_meters({"own": {"ipmi": True}, "other": {"ipmi": "10.0.0.9", "user": "reader"}})
    assert own.sample() == 220.0
    assert other.sample() == 220.0
    assert (tmp_path / "asked").read_text().splitlines() == [
        "dcmi power reading",
        "-I lanplus -H 10.0.0.9 -U reader dcmi power reading",
    ]


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


def test_a_log_asks_beside_a_load_and_keeps_gaps_apart(device: str) -> None:
    meters = open_meters(
        {"nas": {"url": f"{device}/status"}, "gone": {"url": "http://127.0.0.1:9/"}, "typed": {"loaded": 5}}
    )
    for meter in meters[:2]:
        meter.interval_seconds = 0.02
    with PowerLog(meters) as log:
        end = time.monotonic() + 300
        while not (log._samples and log.failures) and time.monotonic() < end:
            time.sleep(0.01)
    samples = log.stop()
    assert {one.meter for one in samples} == {"nas"}
    assert mean_watts(samples) == {"nas": pytest.approx(27.31)}
    assert "does not answer" in log.failures["gone"]


def test_means_weigh_stretches_by_what_lies_inside() -> None:
    samples = [
        PowerSample("cpu", 0, 2, 10.0),
        PowerSample("cpu", 2, 3, 40.0),
        PowerSample("nas", 1, 1, 5.0),
        PowerSample("nas", 9, 9, 50.0),
    ]
    assert mean_watts(samples, 1, 3) == {"cpu": 25.0, "nas": 5.0}
    assert mean_watts(samples, 5, 6) == {}


def test_the_places_of_numbers() -> None:
    assert value_at({"a": [1, {"b": "12.5 W"}]}, "a.1.b") == 12.5
    assert value_at({"a": True}, "a") is None
    assert value_at({"a": 1}, "a.b") is None
    assert plug_watts([1, 2]) is None
    assert plug_watts({"apower": None}) is None
