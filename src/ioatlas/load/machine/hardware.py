# SPDX-License-Identifier: Apache-2.0
"""A device by its own word: a drive by smartctl and nvme-cli, both in JSON; a PCIe slot by its width and speed now,
against what device and slot could do.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ioatlas.load.machine.sheet import Sheet, as_int

_ADDRESS = re.compile(r"^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


def look_at_drive(sheet: Sheet, name: str, *, doubt: str = "") -> None:
    """Enter model, firmware, link and health of one drive; a drive asleep is left asleep (smartctl -n standby)."""
    node = f"/dev/{name.replace('!', '/')}"
    if not (name.startswith(("sd", "nvme", "hd", "vd", "xvd", "dasd"))):
        return  # loop, zram, nbd: no drive answers behind them
    if os.geteuid() != 0:
        sheet.absent(f"device.{name}.smart", f"smartctl {node}", "asking a drive needs root")
        return
    data = sheet.tool_json("smartctl", "-j", "-i", "-A", "-H", "-n", "standby", node, accept_failure=True)
    if isinstance(data, dict):
        facts_of_smartctl(sheet, name, data, doubt=doubt)
    if name.startswith("nvme"):
        data = sheet.tool_json("nvme", "id-ctrl", node, "-o", "json")
        if isinstance(data, dict):
            facts_of_nvme(sheet, name, data, doubt=doubt)


def facts_of_smartctl(sheet: Sheet, name: str, data: dict[str, Any], *, doubt: str = "") -> None:
    """Enter what `smartctl -j` says (json_format_version 1)."""
    prefix, source = f"device.{name}", f"smartctl -j /dev/{name}"
    messages = [str(entry.get("string", "")) for entry in data.get("smartctl", {}).get("messages", [])]
    if "model_name" not in data and "scsi_model_name" not in data:
        sheet.unknown(f"{prefix}.smart", source, "; ".join(messages) or "the drive does not tell its model")
        return

    def enter(key: str, value: Any, unit: str = "", *, private: bool = False) -> None:
        if value not in {None, ""}:
            sheet.stated(f"{prefix}.{key}", value, source, doubt=doubt, unit=unit, private=private)

    enter("model_name", data.get("model_name") or data.get("scsi_model_name"))
    enter("family", data.get("model_family"))
    enter("firmware", data.get("firmware_version") or data.get("scsi_revision"))
    enter("serial_number", data.get("serial_number"), private=True)
    enter("rotation_rpm", data.get("rotation_rate"), "rpm")
    enter("form_factor", (data.get("form_factor") or {}).get("name"))
    enter("protocol", (data.get("device") or {}).get("protocol"))
    speed = data.get("interface_speed") or {}
    for key in ("current", "max"):
        if key in speed and "units_per_second" in speed[key]:
            enter(f"link_{key}", speed[key]["units_per_second"] * speed[key]["bits_per_unit"], "bit/s")
    enter("temperature_c", (data.get("temperature") or {}).get("current"), "°C")
    enter("healthy", (data.get("smart_status") or {}).get("passed"))
    enter("power_on_hours", (data.get("power_on_time") or {}).get("hours"), "h")
    enter("trim", (data.get("trim") or {}).get("supported"))
    wear = (data.get("nvme_smart_health_information_log") or {}).get("percentage_used")
    enter("wear_percent", wear, "%")


def facts_of_nvme(sheet: Sheet, name: str, data: dict[str, Any], *, doubt: str = "") -> None:
    """Enter what `nvme id-ctrl -o json` says of the controller."""
    prefix, source = f"device.{name}", f"nvme id-ctrl /dev/{name}"
    for key, fact, private in (("mn", "model_name", False), ("fr", "firmware", False), ("sn", "serial_number", True)):
        text = str(data.get(key) or "").strip()
        if text and not any(one.name == f"{prefix}.{fact}" for one in sheet.facts):
            sheet.stated(f"{prefix}.{fact}", text, source, doubt=doubt, private=private)
    if isinstance(data.get("vwc"), int):
        sheet.stated(f"{prefix}.volatile_write_cache", bool(data["vwc"] & 1), source, doubt=doubt)
    if isinstance(data.get("mdts"), int) and data["mdts"]:
        # In units of the controller's least page, 4 KiB on all but exotic hosts (NVM Express base specification, MDTS).
        sheet.stated(f"{prefix}.max_transfer_bytes", 4096 << data["mdts"], source, doubt=doubt, unit="B")


def look_at_slot(sheet: Sheet, prefix: str, device: Path) -> None:
    """Enter `prefix.pcie.*` for the nearest PCI device above a device's place in /sys; nothing when it has none."""
    place = Path(os.path.realpath(device))
    chain = [folder for folder in (place, *place.parents) if _ADDRESS.match(folder.name)]
    if not chain:
        return
    slot = chain[0]
    values = {}
    for key in ("current_link_speed", "max_link_speed", "current_link_width", "max_link_width"):
        text = sheet.file(slot / key)
        name = f"{prefix}.pcie.{key}"
        if text is None or "unknown" in text.lower() or text in {"0", "255"}:
            sheet.absent(
                name, str(slot / key), "the device has no PCIe link that tells its speed (conventional PCI, or virtual)"
            )
            continue
        number = as_int(text)
        speed = re.match(r"([\d.]+) GT/s", text)
        values[key] = float(speed[1]) if speed else float(number or 0)
        sheet.known(name, values[key] if speed else number, str(slot / key), unit="GT/s" if speed else "lanes")
    if len(values) == 4:
        slower = (
            values["current_link_speed"] < values["max_link_speed"]
            or values["current_link_width"] < values["max_link_width"]
        )
        note = "the link runs slower or narrower than the device could (some devices slow down when idle)"
        sheet.known(f"{prefix}.pcie.below_capability", slower, str(slot), note=note if slower else "")
    numa = as_int(sheet.file(slot / "numa_node"))
    if numa is not None and numa >= 0:
        sheet.known(f"{prefix}.numa_node", numa, str(slot / "numa_node"))
