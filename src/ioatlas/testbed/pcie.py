# SPDX-License-Identifier: Apache-2.0
"""The PCIe slot of a device: width and speed now, against what device and slot could do."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ioatlas.testbed.sheet import Sheet, as_int

_ADDRESS = re.compile(r"^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")


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
