# SPDX-License-Identifier: Apache-2.0
"""Bundles in a bucket of an S3 service; the folder holds a copy of those that were used here.

A bundle is acknowledged once the bucket has it. The folder may be emptied at any time but for what is coming in.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ioatlas.atlas.blobs import STALE_SECONDS, Blobs, Incoming
from ioatlas.errors import IoAtlasError, UsageError

VARIABLE = "IOATLAS_S3"
ENDING = ".zip"
MISSING = ("NoSuchKey", "NoSuchObject")


class BucketError(IoAtlasError):
    """It does not answer, or refuses."""


class BucketBlobs(Blobs):
    """As `Blobs`. client: of `minio`."""

    def __init__(self, folder: Path, client: Any, bucket: str) -> None:
        """Raises BucketError for a bucket that is not there."""
        super().__init__(folder)
        self._client, self._bucket = client, bucket
        if not self._asked("look for the bucket", client.bucket_exists, bucket):
            raise BucketError("there is no such bucket", where=bucket, remedy="make it first")

    def path(self, sha256: str) -> Path:
        """Where a bundle lies, brought from the bucket where it is not here; nothing lies there if it has none."""
        path = self.place(sha256)
        if not path.exists():
            self._bring(sha256, path)
        return path

    def keep(self, upload: Incoming) -> None:
        """In the bucket first, then here."""
        upload.finish()
        self._asked("keep a bundle", self._client.fput_object, self._bucket, _name(upload.sha256), str(upload.path))
        super().keep(upload)

    def remove(self, sha256: str) -> None:
        """Gone from the bucket, then here."""
        self._asked("remove a bundle", self._client.remove_object, self._bucket, _name(sha256))
        super().remove(sha256)

    def sweep(self, wanted: frozenset[str], now: float | None = None) -> int:
        """In the bucket too: what no result has, and is old."""
        swept = super().sweep(wanted, now)
        oldest = (time.time() if now is None else now) - STALE_SECONDS
        for sha256, written_at in list(self._listed()):
            if sha256 not in wanted and written_at < oldest:
                self._asked("remove a bundle", self._client.remove_object, self._bucket, _name(sha256))
                swept += 1
        return swept

    def _listed(self) -> Iterator[tuple[str, float]]:
        """(SHA-256, when it was written) of every bundle in the bucket."""
        found = self._asked("list the bundles", lambda: list(self._client.list_objects(self._bucket, recursive=True)))
        for one in found:
            sha256 = str(one.object_name).rpartition("/")[2].removesuffix(ENDING)
            if one.object_name == _name(sha256) and len(sha256) == 64:
                yield sha256, one.last_modified.timestamp()

    def _bring(self, sha256: str, path: Path) -> None:
        """Whole and with the bytes of its name, or not at all."""
        from minio.error import S3Error

        new = path.with_name(f".{secrets.token_hex(8)}")
        path.parent.mkdir(exist_ok=True, mode=0o700)
        try:
            self._asked("bring a bundle", self._client.fget_object, self._bucket, _name(sha256), str(new))
            with new.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise BucketError("its bytes are not those of its name", where=sha256, remedy="restore a backup")
            new.replace(path)
        except BucketError as error:
            if not (isinstance(error.__cause__, S3Error) and error.__cause__.code in MISSING):
                raise
        finally:
            new.unlink(missing_ok=True)

    def _asked(self, what: str, ask: Any, *arguments: Any) -> Any:
        from minio.error import MinioException
        from urllib3.exceptions import HTTPError

        try:
            return ask(*arguments)
        except (MinioException, HTTPError, OSError) as error:
            said = getattr(error, "code", type(error).__name__)
            raise BucketError(
                f"the bucket does not {what}: {said}", where=self._bucket, remedy="see that it runs"
            ) from error


def _name(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}{ENDING}"


def open_bucket(folder: Path, url: str, environment: Mapping[str, str] = os.environ) -> BucketBlobs:
    """url: https://s3.example/BUCKET. Keys: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION. Raises UsageError."""
    parts = urlsplit(url)
    bucket = parts.path.strip("/")
    if parts.scheme not in ("http", "https") or not parts.netloc or not bucket or "/" in bucket:
        raise UsageError("this is no address of a bucket", where=VARIABLE, remedy="write https://s3.example/BUCKET")
    try:
        import urllib3
        from minio import Minio
    except ImportError as error:
        raise UsageError(
            "the client of S3 is not installed", where=VARIABLE, remedy="`pip install 'ioatlas[s3]'`"
        ) from error
    waits = urllib3.Timeout(connect=10, read=60)
    pool = urllib3.PoolManager(timeout=waits, retries=urllib3.Retry(total=3, backoff_factor=0.2))
    client = Minio(
        parts.netloc,
        access_key=environment.get("AWS_ACCESS_KEY_ID"),
        secret_key=environment.get("AWS_SECRET_ACCESS_KEY"),
        region=environment.get("AWS_REGION", "us-east-1"),
        secure=parts.scheme == "https",
        http_client=pool,
    )
    return BucketBlobs(folder, client, bucket)
