# SPDX-License-Identifier: Apache-2.0
"""What a target can do, as far as it says so itself; a virtual device may say anything. What a server says
of a target that a URI names, whatever the protocol.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ioatlas.fio.uri import scheme_of
from ioatlas.model.target import Target
from ioatlas.target import gluster, nbd, rbd
from ioatlas.target.devices import device_of, devices_under_filesystem
from ioatlas.target.mounts import mount_of
from ioatlas.target.nbd import Export
from ioatlas.target.trouble import answer_within


@dataclass(frozen=True)
class Capabilities:
    """None means that the target does not say.

    can_trim: fio's trim modes work on it; fio 3.33 trims block devices and NBD exports, never files.
    devices:  nodes of the block devices a directory or file rests on.
    """

    can_trim: bool
    read_only: bool
    discard_max_bytes: int | None = None
    discard_granularity_bytes: int | None = None
    rotational: bool | None = None
    logical_block_bytes: int | None = None
    physical_block_bytes: int | None = None
    minimum_io_bytes: int | None = None
    optimal_io_bytes: int | None = None
    write_cache: str | None = None
    zoned: str | None = None
    can_multi_conn: bool | None = None
    fs_type: str | None = None
    is_network: bool | None = None
    devices: tuple[str, ...] = ()


def capabilities(target: Target) -> Capabilities:
    """What the target says of itself. Raises IoAtlasError when it has gone or does not answer."""
    if target.kind == "uri":
        export = read_export(target.location)
        return Capabilities(
            can_trim=export.can_trim and not export.read_only,
            read_only=export.read_only,
            rotational=export.rotational,
            logical_block_bytes=export.minimum_block_bytes,
            minimum_io_bytes=export.preferred_block_bytes,
            can_multi_conn=export.can_multi_conn,
        )
    if target.kind == "block":
        return answer_within(lambda: _of_device(target.location), target.location)
    return answer_within(lambda: _of_filesystem(target.location), target.location)


def _of_device(path: str) -> Capabilities:
    device = device_of(path)
    discard = device.queue("discard_max_bytes")
    rotational = device.queue("rotational")
    return Capabilities(
        can_trim=bool(discard) and not device.read_only,
        read_only=device.read_only,
        discard_max_bytes=discard,
        discard_granularity_bytes=device.queue("discard_granularity"),
        rotational=None if rotational is None else rotational == 1,
        logical_block_bytes=device.queue("logical_block_size"),
        physical_block_bytes=device.queue("physical_block_size"),
        minimum_io_bytes=device.queue("minimum_io_size"),
        optimal_io_bytes=device.queue("optimal_io_size"),
        write_cache=device.disk.read("queue/write_cache") or None,
        zoned=device.disk.read("queue/zoned") or None,
        devices=(device.node,),
    )


def _of_filesystem(path: str) -> Capabilities:
    path = path if os.path.lexists(path) else os.path.dirname(path)  # a file that ioatlas is to make
    mount = mount_of(path)
    devices = devices_under_filesystem(path)
    rotating = [value for device in devices if (value := device.queue("rotational")) is not None]
    return Capabilities(
        can_trim=False,
        read_only=mount.read_only,
        rotational=any(rotating) if rotating else None,
        logical_block_bytes=max((device.queue("logical_block_size") or 0 for device in devices), default=0) or None,
        physical_block_bytes=max((device.queue("physical_block_size") or 0 for device in devices), default=0) or None,
        fs_type=mount.fs_type,
        is_network=mount.is_network,
        devices=tuple(device.node for device in devices),
    )


def read_export(uri: str) -> Export:
    """Asks the server and lets go of it again. Raises IoAtlasError when it is dead, silent or refuses."""
    scheme = scheme_of(uri)
    if scheme == "rbd":
        return answer_within(lambda: rbd.read_image(uri), uri, rbd.PATIENCE_SECONDS)
    if scheme == "gfapi":
        return answer_within(lambda: gluster.read_file(uri), uri, gluster.PATIENCE_SECONDS)
    return nbd.read_export(uri)
