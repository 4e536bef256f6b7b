"""Create the service's storage from its settings: the database, and the blob store.

The database is SQLite or PostgreSQL, and contains the full-text index. A blob is the content of a file. The blob store
is a folder or an S3 bucket.
"""

from __future__ import annotations

import logging
import socket
from pathlib import Path

from agentsvc_nb.extras import pip_install
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Blobs, BlobsUnavailable, DatabaseEngine, StoreUnusable
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.settings import Settings

log = logging.getLogger(__name__)


def create_database(folder: DataFolder) -> DatabaseEngine:
    """Return the database of a data folder, without opening it.

    Raises `StoreUnusable` if the database is PostgreSQL and its driver is not installed.
    """
    if not folder.address:
        from agentsvc_nb.service.store.sqlite import SqliteDatabase

        return SqliteDatabase(folder.database)
    try:
        from agentsvc_nb.service.store.postgres import PostgresDatabase
    except ImportError as error:
        needed = f"AGENTSVC_DATABASE needs the PostgreSQL driver: {pip_install('scale')}"
        raise StoreUnusable(f"{needed} ({error}).") from None
    return PostgresDatabase(folder.address)


def describe_blob_place(settings: Settings) -> str:
    """Return a text that names the place of the blobs. All processes that share the blobs get the same text."""
    return settings.blobs or f"the folder {DataFolder(settings.data).blobs.absolute()} of {socket.gethostname()}"


def create_blobs(settings: Settings, scratch: Path | None = None) -> Blobs:
    """Return the blob store.

    If blobs are in S3, keep local copies in the service's cache. With `scratch`, keep them in that folder, only while
    they are in use. Raises `BlobsUnavailable` if the store can't be used and a retry would not help. The error says
    what to do.
    """
    folder = DataFolder(settings.data)
    if settings.blobs is None:
        return LocalBlobs(folder.blobs)
    try:
        from agentsvc_nb.service.store.s3 import S3Blobs
    except ImportError:
        raise BlobsUnavailable(
            f"AGENTSVC_BLOBS needs a package that is not installed: {pip_install('scale')}.", temporary=False
        ) from None
    if folder.has_blobs():
        raise BlobsUnavailable(
            f"This service stores the contents of its files in {folder.blobs}: choose another folder (--data), "
            "or unset AGENTSVC_BLOBS.",
            temporary=False,
        )
    cache, cache_bytes = (folder.cache, settings.blobs_cache_bytes) if scratch is None else (scratch, 0)
    blobs = S3Blobs(settings.blobs, cache, cache_bytes)
    try:
        blobs.check()
    except BlobsUnavailable as error:
        if not error.temporary:
            raise
        log.warning("%s The service starts without its file store, and uses the store once it responds.", error.message)
    return blobs
