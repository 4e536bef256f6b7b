"""The objects of a bucket below a prefix, asked for with obstore. The only place that knows that library.

Each request ends: within `REQUEST_SECONDS`, or when no piece of a long answer comes for so long. A request that a
server did not answer is made again for `RETRY_SECONDS`; a read goes on where it was cut off.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from agentsvc_nb.service.ports import BlobsUnavailable

T = TypeVar("T")
log = logging.getLogger(__name__)

PART_BYTES: Final = 5 * 1024 * 1024
"""What is sent at a time: the least that S3 takes as a part of an upload. Up to it, an object is one request."""
PARTS_AT_ONCE: Final = 4
PIECE_BYTES: Final = 1024 * 1024
REQUEST_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 10.0
TRIES: Final = 3
"""How often a read goes on without a single piece."""
COPY_SECONDS: Final = 600.0

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")

_AWAY: Final = "The store of contents (S3) can't be reached, or does not answer: try again in a moment."
_NO_BUCKET: Final = "The bucket of AGENTSVC_BLOBS does not exist: its operator creates it, or corrects the setting."
_REFUSED: Final = (
    "The store of contents (S3) refuses the service: its operator corrects AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or what they may do in the bucket of AGENTSVC_BLOBS."
)
_NO_STORE: Final = (
    "The AWS_* variables name no store of contents: its operator corrects AWS_ENDPOINT_URL and AWS_REGION, and gives "
    "both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, without line breaks."
)
_ENDPOINT: Final = re.compile(r"https?://([\w.-]+|\[[0-9a-f:]+\])(:\d+)?(/[\w./~-]*)?", re.I | re.ASCII)
_SENT: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION")
"""What the library puts into headers."""
_DENIALS: Final = ("403 Forbidden", "401 Unauthorized", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>|(\d{3} [A-Z][A-Za-z ]{1,40}):")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a listing; `stored_at` in ms since 1970."""

    key: str
    size_bytes: int
    stored_at: int


class Bucket:
    """The objects whose keys begin with the prefix of `address` (`s3://BUCKET/PREFIX`); keys are given without it.

    Endpoint, region and keys are read from the `AWS_*` variables. Whatever it raises is `BlobsUnavailable`, or
    `FileNotFoundError` for a missing object.
    """

    def __init__(self, address: str) -> None:
        name, _, prefix = address.removeprefix("s3://").partition("/")
        self._store = _store(name, prefix, timedelta(seconds=REQUEST_SECONDS))
        # The time of a whole answer counts for the library, and a client may read a large one for hours.
        self._patient = _store(name, prefix, timedelta(days=1))

    def check(self) -> None:
        """Make one request. Raises `BlobsUnavailable`."""
        with _faults():
            next(iter(obstore.list(self._store, prefix="none/", chunk_size=1)), None)

    async def create(self, key: str, data: bytes) -> None:
        """Store an object, unless there is one already."""
        with contextlib.suppress(AlreadyExistsError):
            await _within(obstore.put_async(self._store, key, data, mode="create", use_multipart=False))

    async def upload(self, key: str, file: Path) -> None:
        """Store the file as an object in parts, of which a few are in memory. It appears when it is whole."""
        with _faults():
            await obstore.put_async(
                self._store, key, file, use_multipart=True, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE
            )

    async def copy(self, source: str, target: str) -> None:
        """Copy an object within the store: nothing of it comes here."""
        await _within(obstore.copy_async(self._patient, source, target), COPY_SECONDS)

    async def delete(self, key: str) -> None:
        await _within(obstore.delete_async(self._store, [key]))

    async def find(self, key: str) -> StoredObject:
        return _object(await _within(obstore.head_async(self._store, key)))

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """All objects below a prefix, which ends with `/`."""
        pages = aiter(obstore.list(self._store, prefix=prefix))
        while page := await _within(_next(pages)):
            for found in page:
                yield _object(found)

    async def read(self, key: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """The bytes from `start` to before `end`, in pieces. What is wrong at the beginning is raised at once; that
        the object ends before is `FileNotFoundError`, too."""
        pieces = await self._begin(key, start, end)
        return self._resumed(key, pieces, start, end)

    async def _begin(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        """The pieces of one request."""
        if start >= end:
            return _nothing()
        found = await _within(obstore.get_async(self._patient, key, options={"range": (start, end)}))
        if found.range != (start, end):
            raise FileNotFoundError(key)
        return aiter(found.stream(min_chunk_size=PIECE_BYTES))

    async def _resumed(self, key: str, pieces: AsyncIterator[bytes], at: int, end: int) -> AsyncGenerator[bytes]:
        left = TRIES
        while at < end:
            try:
                piece = await _within(_next(pieces))
                if piece:
                    yield piece
                    at, left = at + len(piece), TRIES
                    continue
                raise BlobsUnavailable(_AWAY, passing=True)
            except BlobsUnavailable as error:
                left -= 1
                if not error.passing or not left:
                    raise
                log.info("a read of a content was cut off; it goes on at its byte %d", at)
            pieces = await self._begin(key, at, end)


async def _nothing() -> AsyncGenerator[bytes]:
    return
    yield


async def _next(pages: AsyncIterator[T]) -> T | None:
    return await anext(pages, None)


def _store(name: str, prefix: str, timeout: timedelta) -> S3Store:
    endpoint = _endpoint()
    given: dict[str, Any] = {"endpoint": endpoint} if endpoint else {}
    backoff: Any = {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2), "base": 2}
    try:
        return S3Store(
            name,
            prefix=prefix or None,
            client_options={"allow_http": endpoint.lower().startswith("http://"), "timeout": timeout},
            retry_config={
                "max_retries": 1_000,  # the time is the limit: ten of them are over after three seconds
                "retry_timeout": timedelta(seconds=RETRY_SECONDS),
                "backoff": backoff,
            },
            **given,
        )
    except BaseError:
        raise BlobsUnavailable(_NO_STORE, passing=False) from None


def _endpoint() -> str:
    """The endpoint that the variables name, if any. Of what is wrong in them, this is where the library panics."""
    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    sent = "".join(os.environ.get(name, "") for name in _SENT)
    try:
        port = urlsplit(endpoint).port
    except ValueError:
        port = 0
    if port == 0 or (endpoint and not _ENDPOINT.fullmatch(endpoint)) or not (sent.isascii() and sent.isprintable()):
        raise BlobsUnavailable(_NO_STORE, passing=False)
    return endpoint


def _object(found: Any) -> StoredObject:
    return StoredObject(found["path"], found["size"], int(found["last_modified"].timestamp() * 1000))


async def _within(request: Awaitable[T], seconds: float = REQUEST_SECONDS + RETRY_SECONDS) -> T:
    """The request's result. Raises what `_faults` raises, also when there is none within `seconds`."""
    with _faults():
        async with asyncio.timeout(seconds):
            return await request


@contextlib.contextmanager
def _faults() -> Iterator[None]:
    """Raise the library's errors as ours. Theirs name the address and the key's id: they are neither shown nor logged,
    but for the code of S3 or the status of HTTP."""
    try:
        yield
    except AlreadyExistsError:
        raise
    except TimeoutError:
        log.warning("the store of contents did not answer in time")
        raise BlobsUnavailable(_AWAY, passing=True) from None
    except FileNotFoundError as error:
        if "NoSuchBucket" not in str(error):
            raise FileNotFoundError("There is no such content in the bucket of AGENTSVC_BLOBS.") from None
        raise BlobsUnavailable(_NO_BUCKET, passing=False) from None
    except BaseError as error:
        raise _unavailable(error) from None


def _unavailable(error: BaseError) -> BlobsUnavailable:
    text = str(error)
    said = _CODE.search(text)
    log.warning("the store of contents failed: %s", (said[1] or said[2]) if said else type(error).__name__)
    if "NoSuchBucket" in text:
        return BlobsUnavailable(_NO_BUCKET, passing=False)
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)) or any(one in text for one in _DENIALS):
        return BlobsUnavailable(_REFUSED, passing=False)
    return BlobsUnavailable(_AWAY, passing=True)
