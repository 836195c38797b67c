# SPDX-License-Identifier: Apache-2.0
"""Mounted directories for names: what a look-up, a new file or a removal costs over a network."""

from __future__ import annotations

from collections.abc import Mapping

from ioatlas.errors import UsageError
from ioatlas_lab.catalog_root import FAR_PACKAGES, SMB_FAR_PACKAGES, SMB_SHARE, smb_steps
from ioatlas_lab.catalog_shares import CACHES, GLUSTER_PACKAGES, NFS_PACKAGES, gluster_steps, nfs_steps
from ioatlas_lab.recipes import number, scenario, whole
from ioatlas_lab.scenario import FarLink, Nodes, Recipe, Requirement, Run, Serve, Setting, Truth

# The client asks the server for each name and each stat: its kernel keeps neither.
NOTHING_KEPT = ("--entry-timeout=0", "--negative-timeout=0", "--attribute-timeout=0")


@scenario(
    "names", "latency", GLUSTER_PACKAGES, {"lookup_ms": 0.0, "rate_bits_per_s": 10**9, "mtu": 1500}, needs_root=True
)
def _names(s: Mapping[str, Setting]) -> Recipe:
    """A mounted GlusterFS directory whose client asks for every name; its server may take longer to look up each."""
    lookup_ms = number(s, "lookup_ms")
    if not 0 <= lookup_ms <= 1000:
        raise UsageError(f"a look-up cannot take {lookup_ms:g} ms more", remedy="use 0 to 1000")
    set_up = {f"performance.{cache}": "off" for cache in CACHES}
    if lookup_ms:
        set_up |= {
            "debug.delay-gen": "posix",
            "delay-gen.enable": "lookup",
            "delay-gen.delay-percentage": "100",
            "delay-gen.delay-duration": f"{round(lookup_ms * 1000)}",
        }
    steps = gluster_steps(Nodes(1, whole(s, "rate_bits_per_s"), whole(s, "mtu")), (), set_up, NOTHING_KEPT)
    truth = {
        "lookup_ms": Truth(
            lookup_ms,
            "ms",
            note="that the server waits before it looks up a name: of each name of a path, the mounted directory's too",
        ),
    }
    return Recipe(steps, "{dir}/mount", truth, kind="directory", options={"direct": 1})


@scenario("names-smb", "latency", SMB_FAR_PACKAGES, {"round_trip_ms": 1.0}, needs_root=True)
def _names_smb(s: Mapping[str, Setting]) -> Recipe:
    """A directory on an SMB server (samba) at the end of a link of known round trip, mounted by smbnetfs."""
    trip = number(s, "round_trip_ms")
    truth = {
        "round_trip_ms": Truth(trip, "ms", note="of each request: a call takes at least one, and several on SMB"),
    }
    return Recipe(smb_steps(FarLink(trip, 1500), 4096), SMB_SHARE, truth, kind="directory")


# It puts itself into the background and writes no number: the shell stays as long as the mount does.
FUSE_NFS = (
    "fuse-nfs -n nfs://{server}{dir}/export -m {dir}/mount -E 0 -N 0 -T 0 && "
    "while mountpoint -q {dir}/mount; do sleep 1; done"
)


@scenario(
    "names-nfs",
    "latency",
    (
        *FAR_PACKAGES,
        *NFS_PACKAGES,
        Requirement("fuse-nfs", "fuse-nfs built from github.com/sahlberg/fuse-nfs; Debian has no package"),
        Requirement("/dev/fuse", "a kernel with FUSE"),
    ),
    {"round_trip_ms": 1.0},
    needs_root=True,
)
def _names_nfs(s: Mapping[str, Setting]) -> Recipe:
    """A directory on an NFS server (Ganesha) at the end of a link of known round trip, mounted by fuse-nfs."""
    trip = number(s, "round_trip_ms")
    steps = (
        *nfs_steps(FarLink(trip, 1500), 1 << 30, 4096),
        Run(("mkdir", "{dir}/mount")),
        Serve("client", ("sh", "-c", FUSE_NFS), "{dir}/mount/data"),
    )
    truth = {"round_trip_ms": Truth(trip, "ms", note="of each request: a call takes at least one")}
    return Recipe(steps, "{dir}/mount", truth, kind="directory")
