"""Store blobs in an S3 bucket (`ports.Blobs`), with a local cache.

A new blob is first written to a local file, because its key is its hash, which is known only at its end. Uploading the
local file is then faster than copying an object to another key. The file stays in the cache, because most files are
read soon after they arrive. Downloads by clients read ranges from the bucket and do not fill the cache. Documents,
tables and tools need a path, so they read a copy in the cache.

No lock covers all processes that share a bucket, and another process may be about to refer to a blob that has no row.
Therefore such a blob is first moved from `contents/SHA256` to `removed/SHA256/ID`, and deleted a day later. If a reader
does not find a blob, it looks under `removed/` and puts the blob back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import shutil
import uuid
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from agentsvc_nb.service.logs import fields
from agentsvc_nb.service.ports import BlobsUnavailable, ContentAltered
from agentsvc_nb.service.store.blobs import LocalBlobs, SpooledBlob

T = TypeVar("T")
log = logging.getLogger(__name__)

CONTENTS: Final = "contents/"
REMOVED: Final = "removed/"
COPY_MAX_BYTES: Final = 5_000_000_000
"""The largest object that S3 copies in one request. A larger blob is never moved to `removed/`."""
PART_BYTES: Final = 5 * 1024 * 1024
"""The size of each part of an upload, the smallest that S3 allows. A smaller object is sent in one request."""
PARTS_AT_ONCE: Final = 4
PIECE_BYTES: Final = 1024 * 1024
REQUEST_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 10.0
"""How long a request is retried while the store does not respond."""
COPY_SECONDS: Final = 600.0
READ_TRIES: Final = 3
"""The number of requests after which a read fails, if none of them received a single piece."""

_UNREACHABLE: Final = "The file store (S3) can't be reached, or does not answer. Try again in a moment."
_NO_BUCKET: Final = "The bucket of AGENTSVC_BLOBS does not exist. The operator must create it, or correct the setting."
_REFUSED: Final = (
    "The file store (S3) refuses the service. The operator must correct AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY, or the permissions on the bucket of AGENTSVC_BLOBS."
)
_MISCONFIGURED: Final = (
    "The AWS_* variables do not describe a usable file store. The operator must correct "
    "AWS_ENDPOINT_URL and AWS_REGION, and set both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
    "without line breaks."
)
_ALTERED: Final = "A file in the store (S3) does not match its hash. The operator must restore it from a backup."


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in a list. `stored_at` is in ms since 1970."""

    key: str
    size_bytes: int
    stored_at: int


class Bucket:
    """The objects under a prefix of an S3 bucket. `address` is `s3://BUCKET/PREFIX`. The methods use keys without the
    prefix.

    The endpoint, the region and the access key come from the `AWS_*` variables. A request fails after
    `REQUEST_SECONDS`. A long response fails if no piece of it arrives for that time. The methods raise
    `BlobsUnavailable`, or `FileNotFoundError` for a missing object.
    """

    def __init__(self, address: str) -> None:
        name, _, prefix = address.removeprefix("s3://").partition("/")
        self.store = _connect(name, prefix, timedelta(seconds=REQUEST_SECONDS))
        # obstore's timeout limits a whole response, but a client may need hours to read a large response.
        self._patient_store = _connect(name, prefix, timedelta(days=1))

    def check(self) -> None:
        """Check with one request that the store can be used. Raises `BlobsUnavailable` if it can't."""
        with _translate_errors():
            next(iter(obstore.list(self.store, prefix="none/", chunk_size=1)), None)

    async def create(self, key: str, data: bytes) -> None:
        """Store an object. Do nothing if an object with this key exists."""
        with contextlib.suppress(AlreadyExistsError):
            await _await_timed(obstore.put_async(self.store, key, data, mode="create", use_multipart=False))

    async def upload(self, key: str, file: Path) -> None:
        """Store a file as an object, in parts to save memory. The object appears when it is complete."""
        with _translate_errors():
            await obstore.put_async(
                self.store, key, file, use_multipart=True, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE
            )

    async def copy(self, source: str, target: str) -> None:
        await _await_timed(obstore.copy_async(self._patient_store, source, target), COPY_SECONDS)

    async def delete(self, key: str) -> None:
        await _await_timed(obstore.delete_async(self.store, [key]))

    async def find(self, key: str) -> StoredObject:
        return _stored_object(await _await_timed(obstore.head_async(self.store, key)))

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """Yield all objects whose keys begin with `prefix`, which must end with `/`."""
        pages = aiter(obstore.list(self.store, prefix=prefix))
        while page := await _await_timed(_next(pages)):
            for found in page:
                yield _stored_object(found)

    async def read(self, key: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """Return a generator of the object's bytes from `start` to before `end`.

        Raises errors of the first request at once. Raises `FileNotFoundError` if the object ends before `end`.
        """
        pieces = await self._request_range(key, start, end) if start < end else None
        return self._read_resuming(key, pieces, start, end)

    async def _request_range(self, key: str, start: int, end: int) -> AsyncIterator[bytes]:
        found = await _await_timed(obstore.get_async(self._patient_store, key, options={"range": (start, end)}))
        if found.range != (start, end):
            raise FileNotFoundError(key)
        return aiter(found.stream(min_chunk_size=PIECE_BYTES))

    async def _read_resuming(
        self, key: str, pieces: AsyncIterator[bytes] | None, at: int, end: int
    ) -> AsyncGenerator[bytes]:
        """Yield the pieces of an object. If the connection is lost, request the rest of the object."""
        tries_left = READ_TRIES
        while at < end:
            if pieces is None:
                pieces = await self._request_range(key, at, end)
            try:
                piece = await _await_timed(_next(pieces))
                if not piece:
                    raise BlobsUnavailable(_UNREACHABLE, temporary=True)
            except BlobsUnavailable as error:
                tries_left -= 1
                if not error.temporary or not tries_left:
                    raise
                log.info("a read from the file store was cut off and continues at byte %d", at)
                pieces = None
                continue
            yield piece
            at, tries_left = at + len(piece), READ_TRIES


class LocalCache:
    """Keeps local copies of blobs, at most `max_bytes` in total. It removes the least recently used copies first.

    It never removes a copy that is in use. Use a cache in only one event loop.
    """

    def __init__(
        self, folder: Path, max_bytes: int, download: Callable[[str], Awaitable[AsyncGenerator[bytes]]]
    ) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._download = download
        self._sizes: OrderedDict[str, int] = OrderedDict()  # the most recently used copy is the last
        self._bytes = 0
        self._users: Counter[str] = Counter()
        self._downloads: dict[str, asyncio.Task[None]] = {}
        self._files = LocalBlobs(folder)
        self.incoming = self._files.incoming

    def clear(self) -> None:
        """Remove all copies, because a crash of the machine may have left incomplete copies."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self.incoming.mkdir(parents=True, exist_ok=True)
        self._sizes.clear()
        self._bytes = 0

    @contextlib.asynccontextmanager
    async def file(self, sha256: str) -> AsyncGenerator[Path]:
        """Yield the path of a local copy of the blob. The copy exists at least until the context ends.

        If the blob is missing, the path does not exist. Raises `OSError`, and `BlobsUnavailable`, which also reports
        content that does not match the hash.
        """
        self._users[sha256] += 1
        try:
            with contextlib.suppress(FileNotFoundError):
                while sha256 not in self._sizes:
                    await self._wait_for_download(sha256)
                self._sizes.move_to_end(sha256)
            yield self._files.path(sha256)
        finally:
            self._users[sha256] -= 1
            if not self._users[sha256]:
                del self._users[sha256]
                self._shrink()

    def has(self, sha256: str, size_bytes: int) -> bool:
        """Return whether there is a copy of at least `size_bytes`. If a copy was truncated or removed, forget it."""
        size = self._sizes.get(sha256)
        if size is None or size < size_bytes:
            return False
        with contextlib.suppress(OSError):
            if self._files.path(sha256).stat().st_size == size:
                self._sizes.move_to_end(sha256)
                return True
        self._bytes -= self._sizes.pop(sha256)
        return False

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """Return a generator of the copy's bytes from `start` to before `end`. A shorter copy yields fewer bytes.

        After the first piece, all bytes can be read even if the copy is removed. Raises `OSError`.
        """
        return await self._files.read(sha256, start, end)

    def adopt(self, sha256: str, file: Path, size_bytes: int) -> None:
        """Move a file into the cache as the copy of the blob with this hash, or delete it if the cache can't use it."""
        if sha256 in self._sizes or (size_bytes > self._max_bytes and sha256 not in self._users):
            file.unlink(missing_ok=True)
            return
        path = self._files.path(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, path)
        self._sizes[sha256] = size_bytes
        self._bytes += size_bytes
        self._shrink()

    async def _wait_for_download(self, sha256: str) -> None:
        """Wait for the blob's download, which all callers share. If all callers are cancelled, cancel the download."""
        task = self._downloads.get(sha256)
        if task is None:
            task = self._downloads[sha256] = asyncio.create_task(
                self._fetch(sha256), name="download from the file store"
            )
            task.add_done_callback(lambda done: self._forget_download(sha256, done))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if self._users[sha256] == 1:
                self._forget_download(sha256, task)
                task.cancel()
            raise

    def _forget_download(self, sha256: str, task: asyncio.Task[None]) -> None:
        if self._downloads.get(sha256) is task:
            del self._downloads[sha256]

    async def _fetch(self, sha256: str) -> None:
        pieces = await self._download(sha256)
        spool = SpooledBlob(self.incoming)
        try:
            async with contextlib.aclosing(pieces):
                async for piece in pieces:
                    await asyncio.to_thread(spool.write, piece)
            if spool.sha256 != sha256:
                log.error("a file was altered in the store", extra=fields(sha256=sha256))
                raise ContentAltered(_ALTERED, temporary=False)
            self.adopt(sha256, spool.close(), spool.size_bytes)
        except BaseException:
            spool.discard()
            raise

    def _shrink(self) -> None:
        """Remove the least recently used copies that are not in use, until the copies are within the limit."""
        for sha256 in [one for one in self._sizes if one not in self._users]:
            if self._bytes <= self._max_bytes:
                return
            with contextlib.suppress(OSError):  # on Windows, another program may still have the file open
                self._files.path(sha256).unlink(missing_ok=True)
            self._bytes -= self._sizes.pop(sha256)


class S3Blobs:
    """Implements `ports.Blobs` in the bucket `address` (`s3://BUCKET/PREFIX`), with a local cache in `folder`."""

    def __init__(self, address: str, folder: Path, cache_max_bytes: int) -> None:
        self._bucket = Bucket(address)
        self._cache = LocalCache(folder, cache_max_bytes, self._download)
        self.incoming = self._cache.incoming

    def check(self) -> None:
        """Check with one request that the bucket can be used. Raises `BlobsUnavailable` if it can't."""
        self._bucket.check()

    def prepare(self) -> None:
        self._cache.clear()

    def create(self) -> NewS3Blob:
        return NewS3Blob(self, self.incoming)

    async def store(self, data: bytes) -> NewS3Blob:
        blob = self.create()
        try:
            await asyncio.to_thread(blob.write, data)
            await blob.commit()
        except BaseException:
            blob.discard()
            raise
        return blob

    def path(self, sha256: str) -> None:
        return None

    def file(self, sha256: str) -> contextlib.AbstractAsyncContextManager[Path]:
        return self._cache.file(sha256)

    async def read(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        if self._cache.has(sha256, end):
            return self._read_cached(sha256, start, end)
        return await self._read_bucket(sha256, start, end)

    async def _read_cached(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        """Yield bytes from the cached copy. If some of them are missing there, yield these from the bucket."""
        with contextlib.suppress(OSError):
            async with contextlib.aclosing(await self._cache.read(sha256, start, end)) as pieces:
                async for piece in pieces:
                    start += len(piece)
                    yield piece
        if start < end:
            async with contextlib.aclosing(await self._read_bucket(sha256, start, end)) as rest:
                async for piece in rest:
                    yield piece

    async def _read_bucket(self, sha256: str, start: int, end: int) -> AsyncGenerator[bytes]:
        try:
            return await self._bucket.read(CONTENTS + sha256, start, end)
        except FileNotFoundError:
            if not await self._put_back(sha256):
                raise
            return await self._bucket.read(CONTENTS + sha256, start, end)

    async def _download(self, sha256: str) -> AsyncGenerator[bytes]:
        """Return a generator of the whole blob in the bucket."""
        try:
            found = await self._bucket.find(CONTENTS + sha256)
        except FileNotFoundError:
            if not await self._put_back(sha256):
                raise
            found = await self._bucket.find(CONTENTS + sha256)
        return await self._bucket.read(found.key, 0, found.size_bytes)

    async def heads(self, sizes: Mapping[str, int]) -> Mapping[str, bytes]:
        read = await asyncio.gather(*(self._head(*one) for one in sizes.items()))
        return {sha256: head for sha256, head in zip(sizes, read, strict=True) if head is not None}

    async def _head(self, sha256: str, size: int) -> bytes | None:
        with contextlib.suppress(FileNotFoundError, BlobsUnavailable):
            return b"".join([piece async for piece in await self.read(sha256, 0, size)])
        return None

    async def place(self, file: Path, sha256: str, size_bytes: int) -> None:
        """Store a file in the bucket, unless the bucket has a blob with this hash. Move the file into the cache."""
        key = CONTENTS + sha256
        if size_bytes <= PART_BYTES:
            await self._bucket.create(key, await asyncio.to_thread(file.read_bytes))
        elif not await self._has(key, size_bytes):
            await self._bucket.upload(key, file)
        self._cache.adopt(sha256, file, size_bytes)

    async def names(self) -> set[str]:
        contents = {one.key.removeprefix(CONTENTS) async for one in self._bucket.list(CONTENTS)}
        return contents | {one.key.split("/")[1] async for one in self._bucket.list(REMOVED)}

    async def collect(self, before: int, named: Callable[[], Awaitable[set[str]]]) -> int:
        old = [one async for one in self._bucket.list(CONTENTS) if one.stored_at < before]
        movable = [one.key.removeprefix(CONTENTS) for one in old if one.size_bytes <= COPY_MAX_BYTES]
        removed = [one.key async for one in self._bucket.list(REMOVED) if one.stored_at < before]
        if not movable and not removed:
            return 0
        kept = await named()
        for key in removed:
            sha256 = key.split("/")[1]
            if sha256 in kept and not await self._has(CONTENTS + sha256):
                await self._bucket.copy(key, CONTENTS + sha256)
            await self._bucket.delete(key)
        unnamed = [sha256 for sha256 in movable if sha256 not in kept]
        for sha256 in unnamed:
            with contextlib.suppress(FileNotFoundError):  # another process has already moved the blob
                await self._bucket.copy(CONTENTS + sha256, f"{REMOVED}{sha256}/{uuid.uuid4().hex}")
                await self._bucket.delete(CONTENTS + sha256)
        return len(unnamed)

    async def _put_back(self, sha256: str) -> bool:
        """Put back a blob that was moved to `removed/`. Return False if no such blob exists."""
        async for found in self._bucket.list(f"{REMOVED}{sha256}/"):
            await self._bucket.copy(found.key, CONTENTS + sha256)
            log.info("a blob was about to be deleted, but is in use again: it is put back", extra=fields(sha256=sha256))
            return True
        return False

    async def _has(self, key: str, size_bytes: int | None = None) -> bool:
        """Return whether there is an object with this key and, unless `size_bytes` is None, with this size."""
        try:
            found = await self._bucket.find(key)
        except FileNotFoundError:
            return False
        return size_bytes in (None, found.size_bytes)


class NewS3Blob(SpooledBlob):
    """Implements `ports.BlobWriter` for `S3Blobs`."""

    def __init__(self, blobs: S3Blobs, folder: Path) -> None:
        super().__init__(folder)
        self._blobs = blobs

    async def commit(self) -> None:
        await self._blobs.place(await asyncio.to_thread(self.close), self.sha256, self.size_bytes)


# The rest of this module configures obstore, and translates its errors.

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_ENDPOINT: Final = re.compile(r"https?://([\w.-]+|\[[0-9a-f:]+\])(:\d+)?(/[\w./~-]*)?", re.I | re.ASCII)
_IN_HEADERS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
)
_DENIALS: Final = ("403 Forbidden", "401 Unauthorized", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied")
_CODE: Final = re.compile(r"<Code>(\w{1,60})</Code>|(\d{3} [A-Z][A-Za-z ]{1,40}):")


def _connect(name: str, prefix: str, timeout: timedelta) -> S3Store:
    endpoint = _endpoint()
    given: dict[str, Any] = {"endpoint": endpoint} if endpoint else {}
    backoff: Any = {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=2), "base": 2}
    try:
        return S3Store(
            name,
            prefix=prefix or None,
            client_options={"allow_http": endpoint.lower().startswith("http://"), "timeout": timeout},
            retry_config={
                # only the time limits the retries, because ten retries would be over after three seconds
                "max_retries": 1_000,
                "retry_timeout": timedelta(seconds=RETRY_SECONDS),
                "backoff": backoff,
            },
            **given,
        )
    except BaseError:
        raise BlobsUnavailable(_MISCONFIGURED, temporary=False) from None


def _endpoint() -> str:
    """Return the S3 endpoint in the environment, or "" if none is set.

    Raises `BlobsUnavailable` if the environment has values with which the library would panic.
    """
    endpoint = next(filter(None, map(os.environ.get, _ENDPOINTS)), "")
    in_headers = "".join(os.environ.get(name, "") for name in _IN_HEADERS)
    try:
        port = urlsplit(endpoint).port
    except ValueError:
        port = 0
    wrong = port == 0 or (endpoint and not _ENDPOINT.fullmatch(endpoint))
    if wrong or not (in_headers.isascii() and in_headers.isprintable()):
        raise BlobsUnavailable(_MISCONFIGURED, temporary=False)
    return endpoint


def _stored_object(found: Any) -> StoredObject:
    return StoredObject(found["path"], found["size"], int(found["last_modified"].timestamp() * 1000))


async def _next(items: AsyncIterator[T]) -> T | None:
    return await anext(items, None)  # obstore returns awaitables, but a timeout needs coroutines


async def _await_timed(request: Awaitable[T], seconds: float | None = None) -> T:
    """Await the request, at most `seconds`, and return its result. Raises the errors of `_translate_errors`."""
    with _translate_errors():
        async with asyncio.timeout(REQUEST_SECONDS + RETRY_SECONDS if seconds is None else seconds):
            return await request


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise errors of obstore as `BlobsUnavailable` or `FileNotFoundError`.

    The messages of obstore contain the address and the access key's id. Therefore only S3's error code or the HTTP
    status is logged.
    """
    try:
        yield
    except AlreadyExistsError:
        raise
    except TimeoutError:
        log.warning("the file store did not answer in time")
        raise BlobsUnavailable(_UNREACHABLE, temporary=True) from None
    except FileNotFoundError as error:
        if "NoSuchBucket" not in str(error):
            raise FileNotFoundError("The bucket of AGENTSVC_BLOBS does not contain this file.") from None
        raise BlobsUnavailable(_NO_BUCKET, temporary=False) from None
    except BaseError as error:
        text = str(error)
        code = _CODE.search(text)
        log.warning("the file store failed: %s", (code[1] or code[2]) if code else type(error).__name__)
        if "NoSuchBucket" in text:
            raise BlobsUnavailable(_NO_BUCKET, temporary=False) from None
        if isinstance(error, (PermissionDeniedError, UnauthenticatedError)) or any(one in text for one in _DENIALS):
            raise BlobsUnavailable(_REFUSED, temporary=False) from None
        raise BlobsUnavailable(_UNREACHABLE, temporary=True) from None
