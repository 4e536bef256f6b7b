"""The files with which a new chat begins: copies of another chat's (docs/api/runs.md "Start")."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.documents import search_query
from agentsvc_nb.documents.indexing import indexed_text
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.files import files as use_case
from agentsvc_nb.service.files.file_records import Author, Content
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.wire.limits import FILES_FROM_MAX

COPIED_CHARS: Final = 20_000
"""A longer text of a file that is copied is indexed aside, as that of a new file is."""


def begin_with(tx: Tx, index: Index, account: str, source: str | None, chat: str, now: int) -> None:
    """Copy the files of another chat, if one is named, into a new one: uploads and outputs, but neither scratch nor
    what the service keeps of the chat's turns (`logs/`). Raises what `chats.of_account` raises, and
    `too_many_attachments`."""
    if source is None:
        return
    chats.of_account(tx, source, account)
    copied = [
        file for file in file_records.all(tx, source) if not (search_query.is_scratch(file.path) or _is_log(file.path))
    ]
    if len(copied) > FILES_FROM_MAX:
        said = (
            f"The chat of `files_from` has {len(copied):,} files, and a new chat begins with {FILES_FROM_MAX} at most."
        )
        raise ApiError("too_many_attachments", said, field="files_from")
    for file in copied:
        text = index.text(tx, source, file.path)
        reading = indexed_text(text) if 0 < len(text) <= COPIED_CHARS else None
        content = Content(file.file_name, file.media_type, file.size_bytes, file.sha256, reading)
        use_case.write(
            tx, index, chat, file.path, content, Author(file.kind, None, file.output_id, file.output_type), now
        )
        if file.name:
            file_records.rename(tx, chat, file.path, file.name)


def _is_log(path: str) -> bool:
    return path.startswith("logs/")
