# SPDX-License-Identifier: Apache-2.0
"""A file of a real GlusterFS volume, without a mount: each guard is fired by its server."""

import os
from pathlib import Path

import pytest

import ioatlas_lab as lab
from ioatlas.errors import IoAtlasError, RefusedError
from ioatlas.fio.executor import lacks_engine
from ioatlas.target import check_before_start, check_identity, confirm_overwrite, open_target
from ioatlas_lab.running import missing

pytestmark = [
    pytest.mark.long("target"),
    pytest.mark.unmeasured,
    pytest.mark.usefixtures("own_lab"),
    pytest.mark.skipif(os.geteuid() != 0 or bool(missing(lab.scenarios()["cluster"])), reason="root and GlusterFS"),
    pytest.mark.skipif(lacks_engine("gfapi_async"), reason="fio without gfapi"),
]
SIZE = 1 << 20


def test_its_guards_fire_on_a_real_volume():
    with lab.start("cluster", kind="distributed", nodes=1, rate_bits_per_s=10**9) as volume:
        file = Path(volume.location, "data")
        file.write_bytes(os.urandom(SIZE))
        uri = f"gfapi://{volume.context['server']}/lab/data"
        target = open_target(uri)
        assert target.size_bytes == SIZE
        check_before_start(target, writes=True)
        confirm_overwrite(target, f"{uri} {SIZE}")
        for typed in (None, uri, f"{uri} {SIZE + 1}"):
            with pytest.raises(RefusedError, match="will be lost"):
                confirm_overwrite(target, typed)
        with pytest.raises(IoAtlasError, match="the file could not be opened"):
            open_target(f"{uri}x")
        os.truncate(file, SIZE // 2)
        with pytest.raises(RefusedError, match=f"size_bytes was {SIZE}, is {SIZE // 2}"):
            check_identity(target)
        file.unlink()
        with pytest.raises(IoAtlasError, match="the file could not be opened"):
            check_identity(target)
