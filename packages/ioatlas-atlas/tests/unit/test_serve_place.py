# SPDX-License-Identifier: Apache-2.0
"""Where an atlas keeps its bundles."""

import pytest

from ioatlas.model.errors import UsageError
from ioatlas_atlas.cli._serve_place import Place, blobs_of


def test_a_bucket_of_an_earlier_version_is_not_passed_over(tmp_path, monkeypatch):
    place = Place("sqlite://", tmp_path / "blobs", embedded=True)
    monkeypatch.setenv("IOATLAS_S3", "https://s3.example/atlas")
    with pytest.raises(UsageError, match="folder only") as refused:
        blobs_of(place)
    assert str(tmp_path / "blobs" / "kept") in refused.value.remedy
    monkeypatch.delenv("IOATLAS_S3")
    assert blobs_of(place).folder == tmp_path / "blobs"
