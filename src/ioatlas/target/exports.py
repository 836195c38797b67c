# SPDX-License-Identifier: Apache-2.0
"""What a server says of a target that a URI names, whatever the protocol."""

from __future__ import annotations

from ioatlas.fio.uri import scheme_of
from ioatlas.target import gluster, nbd, rbd
from ioatlas.target.nbd import Export
from ioatlas.target.trouble import answer_within


def read_export(uri: str) -> Export:
    """Asks the server and lets go of it again. Raises IoAtlasError when it is dead, silent or refuses."""
    scheme = scheme_of(uri)
    if scheme == "rbd":
        return answer_within(lambda: rbd.read_image(uri), uri, rbd.PATIENCE_SECONDS)
    if scheme == "gfapi":
        return answer_within(lambda: gluster.read_file(uri), uri, gluster.PATIENCE_SECONDS)
    return nbd.read_export(uri)
