"""Uploads and the files of a chat (spec.md "Workspace file listing entry"; contract.md §4)."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, Final, Unpack

from agentsvc_nb.client.call import Call
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.options import Options
from agentsvc_nb.client.pages import Paged
from agentsvc_nb.client.parts import FileInput, parts
from agentsvc_nb.wire.files import FilePage, FileSearch, StagedFile, StagedFiles, WorkspaceFile

_SHA256: Final = re.compile(r'"([0-9a-f]{64})"')
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u202a-\u202e\u2066-\u2069]')
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_NAME_BYTES: Final = 200


async def upload(
    core: Core, *files: FileInput, chat: str | None = None, **options: Unpack[Options]
) -> list[StagedFile]:
    """Stage up to 10 files for later use as attachments (`file_ids`), for 24 hours; with `chat` put them there too.

    A file is a path, `(name, bytes)`, `(name, file)` or a file opened with `"rb"`, which is sent from its start.
    Raises `StefanBrainError` (`too_many_files` before anything is sent, `file_too_large`), `OSError` for a path.
    """
    if not files:
        return []
    call = Call("files.upload", query={"chat_id": chat}, files=parts(files, "too_many_files"))
    return (await core.scoped(options).ask(StagedFiles, call)).files


def list_(core: Core, chat: str, **options: Unpack[Options]) -> Paged[WorkspaceFile]:
    """The chat's files by path, over all pages. Raises `StefanBrainError` (`chat_not_found`) as it is walked."""

    core = core.scoped(options)

    async def fetch(after: str) -> tuple[list[WorkspaceFile], str | None]:
        page = await core.ask(FilePage, Call("files.list", query={"chat_id": chat, "after": after or None}))
        return page.files, page.next_after

    return Paged(fetch, "")


async def search(core: Core, q: str, *, chat: str, **options: Unpack[Options]) -> FileSearch:
    """Search the chat's files by name and contents: words, "phrases", `or`, `-without`; the last word as a prefix."""
    return await core.scoped(options).ask(FileSearch, Call("files.search", query={"chat_id": chat, "q": q}))


async def rename(core: Core, path: str, name: str, *, chat: str, **options: Unpack[Options]) -> WorkspaceFile:
    """Give a file a name of your own, which search finds, too; an empty one takes it back. The path stays."""
    call = Call("files.rename", query={"chat_id": chat, "path": path}, body={"name": name})
    return await core.scoped(options).ask(WorkspaceFile, call)


async def download(
    core: Core, path: str, *, chat: str, to: str | os.PathLike[str] | None = None, **options: Unpack[Options]
) -> bytes | Path:
    """A file's bytes; with `to` (a file, or a folder to put it in) its place on disk, where it replaces what was there.

    The content is checked against its SHA-256. With `to` it is streamed into a `.part` file beside the target, which
    gets its name only when it is whole.

    Raises `StefanBrainError` (`file_not_found`; content that does not match), `OSError` when it cannot be written.

    >>> client.files.download("reports/plan.md", chat="chat_1", to="downloads/")  # doctest: +SKIP
    PosixPath('downloads/plan.md')
    """
    call = Call("files.download", query={"chat_id": chat, "path": path}, stream=True)
    core = core.scoped(options)
    if to is None:
        return await core.repeat(call, functools.partial(_bytes, core))
    target = _target(to, path)
    await core.repeat(call, functools.partial(_file, core, target))
    return target


async def _bytes(core: Core, call: Call) -> bytes:
    whole = bytearray()
    await _receive(core, call, whole.extend)
    return bytes(whole)


async def _file(core: Core, target: Path, call: Call) -> None:
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("xb") as file:
            await _receive(core, call, file.write)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


async def _receive(core: Core, call: Call, take: Callable[[bytes], Any]) -> None:
    answer = await core.once(call)
    digest = hashlib.sha256()

    def keep(chunk: bytes) -> None:
        digest.update(chunk)
        take(chunk)

    try:
        while (chunk := await core.io.read(answer)) is not None:
            await core.io.call(functools.partial(keep, chunk))
    finally:
        await core.io.close(answer)
    expected = _SHA256.fullmatch(answer.headers.get("etag", ""))
    if expected and expected[1] != digest.hexdigest():
        raise StefanBrainError(f"What came of {call.query['path']} does not match its SHA-256; nothing was kept.")


def _target(to: str | os.PathLike[str], path: str) -> Path:
    place = Path(to).expanduser()
    if os.fspath(to).endswith(("/", os.sep)):
        place.mkdir(parents=True, exist_ok=True)
    return place / _name(path) if place.is_dir() else place


def _name(path: str) -> str:
    """A name that stays in its folder on every system: the service's path is not ours to trust."""
    name = _UNSAFE.sub("_", PurePosixPath(path).name).lstrip(" ").rstrip(". ")
    name = name.encode("utf-8", "replace")[-_NAME_BYTES:].decode("utf-8", "ignore")
    return f"_{name}" if not name or _DEVICE.fullmatch(name) else name
