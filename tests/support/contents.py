"""Where a test's service keeps its contents: a look from beside it, in a folder as in a bucket."""

from __future__ import annotations

import hashlib
from pathlib import Path

import obstore
from obstore.store import S3Store

from agentsvc_nb.service.config import StoredSettings
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.store.blobs import blob_path
from agentsvc_nb.service.store.s3 import Bucket
from agentsvc_nb.testing import RunningService


def incoming(service: RunningService) -> Path:
    """The folder of what it is receiving."""
    place = "cache" if _address(service) else "blobs"
    return service.data / place / "incoming"


def content(service: RunningService, sha256: str) -> bytes:
    if address := _address(service):
        return bytes(obstore.get(_bucket(address), f"contents/{sha256}").bytes())
    return blob_path(service.data / "blobs", sha256).read_bytes()


def lose(service: RunningService, data: bytes) -> None:
    """Remove a content, as a store does that failed; the copy of it, too, that the service has of one in a bucket."""
    sha256 = hashlib.sha256(data).hexdigest()
    if address := _address(service):
        obstore.delete(_bucket(address), [f"contents/{sha256}"])
        blob_path(service.data / "cache", sha256).unlink(missing_ok=True)
    else:
        blob_path(service.data / "blobs", sha256).unlink()


def _address(service: RunningService) -> str | None:
    return StoredSettings.read(DataFolder(service.data)).settings.get("AGENTSVC_BLOBS")


def _bucket(address: str) -> S3Store:
    return Bucket(address).store
