"""The blob store of a service: its folder, or the bucket that its settings name."""

from __future__ import annotations

import logging
import socket
from typing import Final

from agentsvc_nb.extras import pip_install
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import Blobs, BlobsUnavailable
from agentsvc_nb.service.store.blobs import LocalBlobs
from agentsvc_nb.settings import Settings

log = logging.getLogger(__name__)
_NO_PACKAGE: Final = f"AGENTSVC_BLOBS needs a package: {pip_install('scale')}."


def contents_place(settings: Settings) -> str:
    """Where the contents of files lie: the same text for processes that have the same contents."""
    return settings.blobs or f"the folder {DataFolder(settings.data).blobs.absolute()} of {socket.gethostname()}"


def blobs_of(settings: Settings) -> Blobs:
    """The blob store. Raises `BlobsUnavailable`, with what to do, for one that no later try can use."""
    folder = DataFolder(settings.data)
    if settings.blobs is None:
        return LocalBlobs(folder.blobs)
    try:
        from agentsvc_nb.service.store.s3 import S3Blobs
    except ImportError:
        raise BlobsUnavailable(_NO_PACKAGE, passing=False) from None
    if folder.has_blobs():
        raise BlobsUnavailable(
            f"The contents of this service's files lie in {folder.blobs}: give another folder (--data), or leave out "
            f"AGENTSVC_BLOBS.",
            passing=False,
        )
    blobs = S3Blobs(settings.blobs, folder.cache, settings.blobs_cache_bytes)
    try:
        blobs.check()
    except BlobsUnavailable as error:
        if not error.passing:
            raise
        log.warning("%s The service goes on without it.", error.message)
    return blobs
