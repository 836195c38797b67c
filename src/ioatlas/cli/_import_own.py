# SPDX-License-Identifier: Apache-2.0
"""Campaigns of ioatlas and their bundles as sources of `ioatlas import`: what `ioatlas export` would write of them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ioatlas.interop.read.source import Source


def is_campaign(name: str) -> bool:
    """Whether a path is a campaign's directory: its raw output is read by the campaign, visit by visit."""
    from ioatlas.store.journal import FILE_NAME

    return (Path(name) / FILE_NAME).is_file()


def is_own(name: str) -> bool:
    """Whether a path is a campaign's directory or a bundle."""
    from ioatlas.bundle.opening import looks_like_bundle

    return is_campaign(name) or (name.endswith(".zip") and looks_like_bundle(Path(name)))


def source_of(name: str) -> Source:
    """Its values as a source. What is wrong with it is a problem of the source."""
    from ioatlas.bundle.opening import opened_directory
    from ioatlas.campaign import load_result
    from ioatlas.errors import IoAtlasError
    from ioatlas.interop.read.source import Source
    from ioatlas.report.export.to_json import write_json

    try:
        directory = Path(name) if is_campaign(name) else opened_directory(Path(name))
        text = io.StringIO()
        write_json(load_result(directory), text)
        return Source.made(name, text.getvalue().encode())
    except IoAtlasError as error:
        source = Source.made(name, b"")
        source.problem(0, error.what)
        return source
