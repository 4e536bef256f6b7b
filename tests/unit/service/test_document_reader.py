"""Documents read in limited processes, and those that wait for it (docs/api/files.md "What is read")."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb.documents.child_process import NoAnswer
from agentsvc_nb.documents.indexing import DocumentReader, IndexedText
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.files import file_records as records
from agentsvc_nb.service.files import files as usecase
from agentsvc_nb.service.files.file_records import FileOrigin
from agentsvc_nb.service.ports import DatabaseEngine
from agentsvc_nb.service.runner.storage import BackgroundReader, Storage
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from tests.unit.documents.word_files import paragraph, word_file

REPORT = word_file(paragraph("Größe"))


class Folder:
    """A chat on a database, as a service that was killed leaves it: nobody reads unless told to."""

    def __init__(self, database: DatabaseEngine, storage: Storage) -> None:
        self.database, self.storage, self.use_case = database, storage, storage.use_case
        self.chat = self.database.write_now(lambda tx: chat_records.create(tx, "acct_1", None, None, 1).id)
        self.workspace = ChatWorkspace(self.storage, self.chat)

    def found(self, q: str) -> list[str]:
        results = asyncio.run(usecase.search(self.use_case, "acct_1", self.chat, q)).results
        return [f"{one.path} {one.match}" for one in results]

    def unread(self) -> list[str]:
        files = self.database.read(lambda tx: records.all(tx, self.chat))
        return [file.path for file in files if file.public().unreadable]

    def start_again(self) -> None:
        """Read all that waits, as the next service does."""

        async def whole() -> None:
            readings = BackgroundReader(self.use_case, self.storage.blobs)
            await readings.wake()
            while await usecase.list_waiting_accounts(self.use_case):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await readings.close()

        asyncio.run(whole())

    async def write(self, path: str, data: bytes) -> None:
        await self.workspace.write(path, data, FileOrigin("upload"))


@pytest.fixture
def folder(database: DatabaseEngine, storage: Storage) -> Iterator[Folder]:
    yield Folder(database, storage)
    asyncio.run(storage.readings.close())


def test_an_agent_waits_for_the_documents_of_its_chat(folder: Folder) -> None:
    async def as_an_agent() -> tuple[str, list[str]]:
        await folder.write("report.docx", REPORT)
        found = await folder.workspace.search("größe ")
        await folder.write("logs/scratch.docx", REPORT)
        return await folder.workspace.text("logs/scratch.docx"), [path for path, _ in found]

    text, paths = asyncio.run(as_an_agent())
    assert "Größe" in text
    assert paths == ["report.docx"]


@pytest.mark.rule("A document that stops its reader is tried once more, then marked `unreadable`.")
def test_a_reading_that_was_broken_off_is_tried_once_more_after_the_others(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, tried, left = DocumentReader.read, list[str](), {"a.docx": 1, "b.docx": 2}

    async def broken_off(reader: DocumentReader, file: Path, media_type: str, name: str) -> IndexedText:
        tried.append(name)
        if left.get(name, 0):
            left[name] -= 1
            raise NoAnswer("killed")
        return await read(reader, file, media_type, name)

    async def write() -> None:
        for name in ("a.docx", "b.docx", "c.docx"):
            await folder.write(name, REPORT)

    asyncio.run(write())
    monkeypatch.setattr(DocumentReader, "read", broken_off)
    folder.start_again()
    assert (sorted(tried[:3]), tried[3:]) == (["a.docx", "b.docx", "c.docx"], ["a.docx", "b.docx"])
    assert sorted(folder.found("größe ")) == ["a.docx content", "c.docx content"]
    assert folder.unread() == ["b.docx"]
    asyncio.run(folder.write("b.docx", REPORT))
    assert folder.unread() == [], "its new content was not tried yet"
    folder.start_again()
    assert len(folder.found("größe ")) == 3
