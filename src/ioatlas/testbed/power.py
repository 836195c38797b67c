# SPDX-License-Identifier: Apache-2.0
"""Power where it can be read: the processor's own energy counters (RAPL), the board's controller (IPMI, Redfish), a
plug or PDU by URL, or typed in.

    [power.nas]
    url = "http://10.0.0.7/cm?cmnd=Status%208"       # Tasmota and Shelly are known by what they answer
    [power.pdu]
    url = "http://10.0.0.8/outlets.json"
    path = "outlets.3.watts"                         # where the watts stand in any other JSON
    [power.shelf]
    redfish = "https://10.0.0.9/redfish/v1/Chassis/1/Power"
    user = "reader"
    password_env = "SHELF_PASSWORD"                  # name of an environment variable
    [power.server]
    ipmi = true                                      # this machine's; "10.0.0.10" asks another one
    [power.client]
    rapl = true
    [power.old-array]
    idle = "210 W"
    loaded = "265 W"

`of` says whose power it is: 'target' (what IOPS per watt are reckoned with) or 'client' (told, not reckoned with); RAPL
is 'client' unless it says otherwise.
"""

from __future__ import annotations

import json
import math
import os
import re
import ssl
import time
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import urljoin, urlsplit

from ioatlas.errors import IoAtlasError, UsageError
from ioatlas.testbed.sheet import Sheet

if TYPE_CHECKING:
    import urllib.request

Of = Literal["target", "client"]
POWERCAP = Path("/sys/class/powercap")
TIMEOUT_SECONDS = 3.0
_SLOWEST_BYTES = 4 << 20
_WAYS = ("url", "redfish", "ipmi", "rapl", "loaded")
_KEYS = {*_WAYS, "path", "user", "password_env", "insecure", "idle", "of", "scale"}


class MeterError(IoAtlasError):
    """A meter did not answer, or what it said holds no power."""


class Meter(ABC):
    """One source of watts.

    name: as the person called it. of: whose power. interval_seconds: no sense in asking it more often.
    idle_watts, loaded_watts: typed in; None where they have to be measured. counts: a sample is a mean since the one
    before, not a moment.
    """

    idle_watts: float | None = None
    loaded_watts: float | None = None
    counts = False

    def __init__(self, name: str, of: Of = "target", interval_seconds: float = 1.0) -> None:
        self.name = name
        self.of: Of = of
        self.interval_seconds = interval_seconds

    @abstractmethod
    def sample(self) -> float:
        """Watts now; of an energy counter the mean since the sample before. Raises MeterError."""

    @property
    @abstractmethod
    def source(self) -> str:
        """How it is read, without addresses."""


class TypedMeter(Meter):
    """What a person read off a meter by hand: one value under load, one at rest."""

    def __init__(self, name: str, loaded_watts: float, idle_watts: float | None, of: Of = "target") -> None:
        super().__init__(name, of, math.inf)
        self._watts = self.loaded_watts = loaded_watts
        self.idle_watts = idle_watts

    @property
    def source(self) -> str:
        return "typed in"

    def sample(self) -> float:
        return self._watts


class RaplMeter(Meter):
    """Energy counters of the processor packages and of the memory behind them (Documentation/power/powercap).

    A zone's own zones are parts of it, except memory ('dram'), which a package does not count.
    """

    counts = True

    def __init__(self, name: str, of: Of = "client", tree: Path = POWERCAP) -> None:
        super().__init__(name, of, 0.2)
        zones = sorted(path for path in tree.glob("*") if re.fullmatch(r"intel-rapl:\d+(:\d+)?", path.name))
        self._zones = [
            zone for zone in zones if _word(zone / "name").startswith("package") and zone.name.count(":") == 1
        ]
        self._zones += [zone for zone in zones if _word(zone / "name") == "dram" and zone.name.count(":") == 2]
        if not self._zones:
            raise MeterError(
                "this machine tells no processor energy",
                where=str(tree),
                remedy="load intel_rapl_common, or use a plug, IPMI or Redfish",
            )
        self._before = self._read()

    @property
    def source(self) -> str:
        return f"RAPL, {', '.join(_word(zone / 'name') for zone in self._zones)}"

    def _read(self) -> tuple[float, dict[Path, int]]:
        at, energy = time.monotonic(), {}
        for zone in self._zones:
            try:
                energy[zone] = int((zone / "energy_uj").read_text())
            except (OSError, ValueError) as error:
                remedy = "run as root, or make energy_uj readable" if isinstance(error, PermissionError) else ""
                raise MeterError(
                    f"the energy counter cannot be read: {error}", where=str(zone), remedy=remedy
                ) from error
        return at, energy

    def sample(self) -> float:
        now, energy = self._read()
        then, before = self._before
        if now - then <= 0:
            raise MeterError("two readings at the same time give no power", where=self.name)
        joules = 0.0
        for zone, microjoules in energy.items():
            change = microjoules - before[zone]
            if change < 0:  # it starts again at its range
                change += int(_word(zone / "max_energy_range_uj") or 0)
            joules += max(0, change) / 1e6
        self._before = now, energy
        return joules / (now - then)


class IpmiMeter(Meter):
    """The board's controller by `ipmitool dcmi power reading`. host: empty for this machine's own."""

    def __init__(self, name: str, host: str = "", user: str = "", password_env: str = "", of: Of = "target") -> None:
        super().__init__(name, of, 2.0)
        words = (
            ["-I", "lanplus", "-H", host, *(["-U", user] if user else []), *(["-E"] if password_env else [])]
            if host
            else []
        )
        self._words = [*words, "dcmi", "power", "reading"]
        self._password_env = password_env

    @property
    def source(self) -> str:
        return "IPMI, dcmi power reading"

    def sample(self) -> float:
        environment = {"IPMI_PASSWORD": _secret(self._password_env)} if self._password_env else {}
        said = Sheet().tool(
            "ipmitool", *self._words, accept_failure=True, environment=environment, seconds=TIMEOUT_SECONDS
        )
        found = re.search(r"Instantaneous power reading\s*:\s*(\d+(?:\.\d+)?)\s*Watts", said or "")
        if found is None:
            remedy = "apt-get install ipmitool" if said is None else "ask it by hand: ipmitool dcmi power reading"
            raise MeterError("the controller tells no power", where=self.name, remedy=remedy)
        return float(found[1])


@dataclass
class _Http:
    """How to ask: credentials never leave this process, addresses never leave the journal."""

    user: str = ""
    password_env: str = ""
    insecure: bool = False
    _opener: urllib.request.OpenerDirector | None = field(default=None, repr=False)

    def json(self, url: str) -> Any:
        import urllib.error
        import urllib.request

        request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - checked by open_meters
        if self.user:
            token = b64encode(f"{self.user}:{_secret(self.password_env)}".encode()).decode()
            request.add_header("Authorization", f"Basic {token}")
        place = urlsplit(url)
        where = f"{place.scheme}://{place.hostname}{place.path}"
        try:
            with self._open().open(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.loads(answer.read(_SLOWEST_BYTES))
        except urllib.error.HTTPError as error:
            remedy = "give user and password_env" if error.code in {401, 403} else ""
            raise MeterError(f"it answers {error.code} {error.reason}", where=where, remedy=remedy) from error
        except (OSError, urllib.error.URLError) as error:
            reason = getattr(error, "reason", error)
            remedy = (
                "insecure = true accepts a certificate that nobody signed"
                if "CERTIFICATE" in str(reason)
                else "is the address right?"
            )
            raise MeterError(f"the meter does not answer: {reason}", where=where, remedy=remedy) from error
        except (ValueError, RecursionError) as error:
            raise MeterError(
                "what it says is not JSON", where=where, remedy="open the URL in a browser: it must answer JSON"
            ) from error

    def _open(self) -> urllib.request.OpenerDirector:
        import urllib.request

        if self._opener is None:
            context = ssl.create_default_context()
            if self.insecure:
                context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            # A meter stands in the same room: no proxy lies between.
            self._opener = urllib.request.build_opener(
                urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
            )
        return self._opener


class JsonMeter(Meter):
    """A plug or PDU that answers JSON. path: where the watts stand ('outlets.3.watts'); empty: Tasmota or Shelly,
    known by the answer.
    """

    def __init__(
        self, name: str, url: str, path: str = "", http: _Http | None = None, of: Of = "target", scale: float = 1.0
    ) -> None:
        super().__init__(name, of, 1.0)
        self._url, self._path, self._http, self._scale = url, path, http or _Http(), scale

    @property
    def source(self) -> str:
        return f"JSON over HTTP{f', {self._path}' if self._path else ''}"

    def sample(self) -> float:
        data = self._http.json(self._url)
        watts = value_at(data, self._path) if self._path else plug_watts(data)
        if watts is None:
            known = "Tasmota (/cm?cmnd=Status%208) or Shelly (/status, /rpc/Switch.GetStatus?id=0)"
            what = f"there is no number at {self._path!r}" if self._path else "it holds no power that is known"
            raise MeterError(
                what, where=self.name, remedy=f'set path = "a.b.0.watts"; without it the answer must be that of {known}'
            )
        return watts * self._scale


class RedfishMeter(Meter):
    """A controller that speaks Redfish (DSP0266). url: a Power or EnvironmentMetrics resource, a chassis,
    or the service itself.
    """

    def __init__(self, name: str, url: str, http: _Http | None = None, of: Of = "target") -> None:
        super().__init__(name, of, 2.0)
        self._url, self._http = url, http or _Http()
        self._places: list[str] = []

    @property
    def source(self) -> str:
        return "Redfish"

    def sample(self) -> float:
        if not self._places:
            self._places = self._find(self._url, 4)
            if not self._places:
                raise MeterError(
                    "no resource below it tells a power",
                    where=self.name,
                    remedy="give the URL of /redfish/v1/Chassis/ID/Power",
                )
        return sum(watts for place in self._places if (watts := redfish_watts(self._http.json(place))) is not None)

    def _find(self, url: str, depth: int) -> list[str]:
        """Resources with watts at or below `url`: service -> chassis -> EnvironmentMetrics,
        or Power where that is not there.
        """
        data = self._http.json(url)
        if not isinstance(data, dict) or not depth:
            return []
        if redfish_watts(data) is not None:
            return [url]
        for key in ("EnvironmentMetrics", "Power", "Chassis"):
            link = data.get(key)
            if isinstance(link, dict) and isinstance(link.get("@odata.id"), str):
                found = self._find(urljoin(url, link["@odata.id"]), depth - 1)
                if found:
                    return found
        members = data.get("Members")
        links = (
            [one["@odata.id"] for one in members if isinstance(one, dict) and "@odata.id" in one]
            if isinstance(members, list)
            else []
        )
        return [place for link in links for place in self._find(urljoin(url, link), depth - 1)]


# -- what the devices say ----------------------------------------------------------------------------------------------


def plug_watts(data: Any) -> float | None:
    """Active power in a Tasmota or Shelly answer, all channels added; None when it is neither.

    Tasmota: StatusSNS.ENERGY.Power (Status 8 and 10), a list where there are several channels.
    Shelly, first generation: meters[].power and emeters[].power (/status), power (/meter/0). Second and later: apower
    of a switch, cover, light or PM1 component, total_act_power of EM, act_power of EM1; in Shelly.GetStatus under
    'switch:0', 'em:0' and so on.
    """
    if not isinstance(data, dict):
        return None
    energy = value_of(data, "StatusSNS", "ENERGY") or value_of(data, "ENERGY")
    if isinstance(energy, dict) and "Power" in energy:
        return _summed(energy["Power"] if isinstance(energy["Power"], list) else [energy["Power"]])
    for key in ("apower", "total_act_power", "act_power"):
        if key in data:
            return _summed([data[key]])
    meters = [
        one
        for key in ("meters", "emeters")
        if isinstance(data.get(key), list)
        for one in data[key]
        if isinstance(one, dict)
    ]
    if meters:
        return _summed([one.get("power") for one in meters if one.get("is_valid", True)])
    if "power" in data and ("is_valid" in data or "total" in data):
        return _summed([data["power"]])
    parts = [value for key, value in data.items() if re.fullmatch(r"(switch|cover|light|pm1|em|em1):\d+", key)]
    found = [watts for part in parts if (watts := plug_watts(part)) is not None]
    return sum(found) if found else None


def redfish_watts(data: Any) -> float | None:
    """PowerControl[].PowerConsumedWatts of a Power resource, PowerWatts.Reading of EnvironmentMetrics;
    None when it is neither.
    """
    if not isinstance(data, dict):
        return None
    reading = value_of(data, "PowerWatts", "Reading")
    if _is_number(reading):
        return float(reading)
    controls = data.get("PowerControl")
    if not isinstance(controls, list):
        return None
    # Entries beside the first are parts of the chassis (CPU, memory) unless the first has no value.
    return next(
        (
            float(one["PowerConsumedWatts"])
            for one in controls
            if isinstance(one, dict) and _is_number(one.get("PowerConsumedWatts"))
        ),
        None,
    )


def value_at(data: Any, path: str) -> float | None:
    """The number at 'a.b.0.c': names of objects and places in lists; None when there is none."""
    for step in path.split("."):
        if isinstance(data, dict) and step in data:
            data = data[step]
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return None
    if isinstance(data, str):
        found = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*W?\s*", data)
        return float(found[1]) if found else None
    return float(data) if _is_number(data) else None


def value_of(data: Any, *keys: str) -> Any:
    """data[key][key]..., None where one is missing."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _summed(values: Iterable[Any]) -> float | None:
    numbers = [float(value) for value in values if _is_number(value)]
    return sum(numbers) if numbers else None


def _word(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _secret(variable: str) -> str:
    value = os.environ.get(variable)
    if variable and value is None:
        raise UsageError(
            f"the environment variable {variable!r} is not set", remedy=f"export {variable}=... before the run"
        )
    return value or ""


# -- from what was typed in to meters ----------------------------------------------------------------------------------


def open_meters(spec: Mapping[str, Mapping[str, object]], *, where: str = "power") -> list[Meter]:
    """The meters of a `[power]` table: name -> its settings (see the head of this file). Nothing is asked yet, except
    that RAPL must be there.

    Raises UsageError for what is mistaken, MeterError when RAPL is not there.
    """
    meters = []
    for name, entry in spec.items():
        if not isinstance(entry, Mapping):
            raise UsageError(
                f"power.{name} must be a table",
                where=where,
                remedy=f'write [power.{name}] and below it a line such as url = "http://..."',
            )
        meters.append(_open(name, entry, f"{where}: power.{name}"))
    return meters


def _open(name: str, entry: Mapping[str, object], where: str) -> Meter:
    unknown = sorted(entry.keys() - _KEYS)
    if unknown:
        raise UsageError(
            f"there is no key {unknown[0]!r}", where=where, remedy=f"a meter has {', '.join(sorted(_KEYS))}"
        )
    ways = [way for way in _WAYS if entry.get(way) not in {None, False}]
    if len(ways) != 1:
        raise UsageError(
            f"a meter is read in one way, not {len(ways)}",
            where=where,
            remedy='give one of url, redfish, ipmi, rapl, or loaded = "265 W"',
        )
    [way] = ways
    of = str(entry.get("of", "client" if way == "rapl" else "target"))
    if of not in {"target", "client"}:
        raise UsageError(f"of = {of!r}", where=where, remedy="it is the power of the target or of the client")
    whose = cast(Of, of)
    http = _Http(str(entry.get("user", "")), str(entry.get("password_env", "")), entry.get("insecure") is True)
    value = entry[way]
    if way == "rapl":
        return RaplMeter(name, whose, Path(value) if isinstance(value, str) else POWERCAP)
    if way == "ipmi":
        return IpmiMeter(name, value if isinstance(value, str) else "", http.user, http.password_env, whose)
    if way == "loaded":
        idle = entry.get("idle")
        return TypedMeter(name, _watts(value, where), None if idle is None else _watts(idle, where), whose)
    url = str(value)
    if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
        raise UsageError(f"{url!r} is not a URL of a meter", where=where, remedy="write http://ADDRESS/PATH")
    if way == "redfish":
        return RedfishMeter(name, url, http, whose)
    scale = entry.get("scale", 1.0)
    if not _is_number(scale):
        raise UsageError(f"scale = {scale!r} is not a number", where=where, remedy="0.001 makes watts of milliwatts")
    return JsonMeter(name, url, str(entry.get("path", "")), http, whose, float(cast(float, scale)))


def _watts(value: object, where: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*W?\s*", str(value))
    if found is None:
        raise UsageError(f"{value!r} is not a power", where=where, remedy='write "265 W"')
    return float(found[1])
