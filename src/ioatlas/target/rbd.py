# SPDX-License-Identifier: Apache-2.0
"""A Ceph RBD image asked about itself through librbd, as fio's own `rbd` engine opens it: by the configuration that
`CEPH_CONF` names, else /etc/ceph/ceph.conf.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from ioatlas.errors import IoAtlasError
from ioatlas.fio.uri import parts_of
from ioatlas.target.nbd import Export

PATIENCE_SECONDS = 20.0
"""How long it may take: a cluster has several servers to try."""
_WAIT = b"8"
"""Seconds that librados looks for a monitor."""
_MOST_WATCHERS = 64


class _Watcher(ctypes.Structure):
    """rbd_image_watcher_t of librbd.h."""

    _fields_ = (("addr", ctypes.c_char_p), ("id", ctypes.c_int64), ("cookie", ctypes.c_uint64))


@cache
def _libraries() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    try:
        return ctypes.CDLL("librados.so.2"), ctypes.CDLL("librbd.so.1")
    except OSError as error:
        raise IoAtlasError(
            "librbd is missing, which fio's rbd engine needs too",
            remedy="install librbd1, or map the image (`rbd map`) and name its block device",
        ) from error


def read_image(uri: str) -> Export:
    """Opens the image for reading and closes it again. Raises IoAtlasError when that fails."""
    parts = parts_of(uri)
    rados, rbd = _libraries()
    with _cluster(rados, uri, parts["clientname"]) as cluster:
        pool = ctypes.c_void_p()
        _must(rados.rados_ioctx_create(cluster, parts["pool"].encode(), ctypes.byref(pool)), uri, "the pool")
        fsid = ctypes.create_string_buffer(64)
        rados.rados_cluster_fsid(cluster, fsid, ctypes.c_size_t(len(fsid)))
        try:
            return _image(rbd, pool, uri, parts["rbdname"], fsid.value.decode())
        finally:
            rados.rados_ioctx_destroy(pool)


@contextmanager
def _cluster(rados: ctypes.CDLL, uri: str, client: str) -> Iterator[ctypes.c_void_p]:
    cluster = ctypes.c_void_p()
    _must(rados.rados_create(ctypes.byref(cluster), client.encode()), uri, "a client of the cluster")
    try:
        _must(rados.rados_conf_read_file(cluster, None), uri, "the configuration (/etc/ceph/ceph.conf or CEPH_CONF)")
        rados.rados_conf_set(cluster, b"client_mount_timeout", _WAIT)
        _must(rados.rados_connect(cluster), uri, "the cluster")
        yield cluster
    finally:
        rados.rados_shutdown(cluster)


def _image(rbd: ctypes.CDLL, pool: ctypes.c_void_p, uri: str, name: str, fsid: str) -> Export:
    image = ctypes.c_void_p()
    _must(rbd.rbd_open_read_only(pool, name.encode(), ctypes.byref(image), None), uri, "the image")
    try:
        size = ctypes.c_uint64()
        _must(rbd.rbd_get_size(image, ctypes.byref(size)), uri, "the size of the image")
        number = ctypes.create_string_buffer(128)
        known = rbd.rbd_get_id(image, number, ctypes.c_size_t(len(number))) == 0
        facts = [("cluster", fsid)] if fsid else []
        facts += [("image_id", number.value.decode())] if known else []
        return Export(size.value, read_only=False, facts=tuple(facts), users=_watchers(rbd, image))
    finally:
        rbd.rbd_close(image)


def _watchers(rbd: ctypes.CDLL, image: ctypes.c_void_p) -> tuple[str, ...]:
    """Clients that have the image open for writing; this one opens it for reading and is none of them."""
    found = (_Watcher * _MOST_WATCHERS)()
    count = ctypes.c_size_t(_MOST_WATCHERS)
    if rbd.rbd_watchers_list(image, found, ctypes.byref(count)) != 0:
        return ()
    users = tuple((one.addr or b"a client").decode() for one in found[: count.value])
    rbd.rbd_watchers_list_cleanup(found, count)
    return users


def _must(answer: int, uri: str, what: str) -> None:
    """Raises for the negative errno of a call that failed."""
    if answer < 0:
        raise IoAtlasError(
            f"{what} could not be opened ({os.strerror(-answer)})",
            where=uri,
            remedy="check pool, image and client name with `rbd info POOL/IMAGE`, and the configuration it reads",
        )
