"""Documents read in limited processes, and those that wait for it (docs/api/files.md "What is read")."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb.documents import indexing
from agentsvc_nb.documents.child_process import Limits, NoAnswer
from agentsvc_nb.documents.indexing import DocumentReader, IndexedText
from agentsvc_nb.documents.media_types import OFFICE
from agentsvc_nb.service.chats import chat_records
from agentsvc_nb.service.files import file_records as records
from agentsvc_nb.service.files import files as usecase
from agentsvc_nb.service.files.file_records import Author, FileRecord
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runner.storage import Readings, Storage
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.store.blobs import LocalBlobs
from tests.notebook import samples
from tests.support import databases
from tests.unit.documents.word_files import paragraph, word_file
from tests.unit.service import contexts

DOCX = OFFICE + "wordprocessingml.document"
REPORT = word_file(paragraph("Größe"))
HUNGRY = word_file(paragraph("x") * 200_000)


@pytest.fixture
def reader() -> Iterator[DocumentReader]:
    reader = DocumentReader()
    yield reader
    reader.close()


def read(reader: DocumentReader, *files: Path, media_type: str = DOCX) -> list[str]:
    """The texts of the files; "unread" for one that was not read within the limits."""

    async def text(file: Path) -> str:
        try:
            return (await reader.read(file, media_type, file.name)).text
        except NoAnswer:
            return "unread"

    async def together() -> list[str]:
        return await asyncio.gather(*map(text, files))

    return asyncio.run(together())


@pytest.fixture
def report(tmp_path: Path) -> Path:
    (tmp_path / "report.docx").write_bytes(REPORT)
    return tmp_path / "report.docx"


def test_a_document_is_read_with_its_tokens(reader: DocumentReader, report: Path) -> None:
    found = asyncio.run(reader.read(report, DOCX, "report.docx"))
    assert "Größe" in found.text
    assert found.words == "grosse"
    assert found.levels
    (report.parent / "a.pdf").write_bytes(samples.pdf(["Summer sale"]))
    assert read(reader, report.parent / "a.pdf", media_type="application/pdf") == ["Summer sale\f"]


def test_one_that_takes_too_much_memory_is_not_read_and_harms_no_other(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "LIMITS", Limits(memory_bytes=110 * 2**20))
    (report.parent / "hungry.docx").write_bytes(HUNGRY)
    reader = DocumentReader()
    try:
        hungry, after = read(reader, report.parent / "hungry.docx"), read(reader, report)
    finally:
        reader.close()
    assert hungry == ["unread"]
    assert "Größe" in after[0]


def test_one_that_takes_too_long_is_not_read_and_harms_no_other(
    reader: DocumentReader, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(indexing, "PATIENCE_SECONDS", 0.0)
        assert read(reader, report) == ["unread"]
    assert "Größe" in read(reader, report)[0]


def test_a_file_that_is_gone_has_no_text(reader: DocumentReader, tmp_path: Path) -> None:
    assert read(reader, tmp_path / "gone.docx") == [""]


class Folder:
    """A chat on a database, as a service that was killed leaves it: nobody reads unless told to."""

    def __init__(self, folder: Path) -> None:
        self.database = databases.opened(folder / "db.sqlite3")
        self.blobs = LocalBlobs(folder / "blobs")
        self.storage = contexts.storage(self.database, folder / "blobs")
        self.use_case = self.storage.use_case
        self.chat = self.database.write_now(lambda tx: chat_records.create(tx, "acct_1", None, None, 1).id)
        self.workspace = ChatWorkspace(self.storage, self.chat)

    def found(self, q: str) -> list[str]:
        results = asyncio.run(usecase.search(self.use_case, "acct_1", self.chat, q)).results
        return [f"{one.path} {one.match}" for one in results]

    def waiting(self) -> list[str]:
        def use(tx: Tx) -> list[str]:
            return [file.path for file in records.waiting_in(tx, self.chat, None)]

        return self.database.read(use)

    def unread(self) -> list[str]:
        files = self.database.read(lambda tx: records.all(tx, self.chat))
        return [file.path for file in files if file.public().unreadable]

    def start_again(self) -> None:
        """Read all that waits, as the next service does."""

        async def whole() -> None:
            readings = Readings(self.use_case, self.blobs)
            await readings.wake()
            await readings.caught_up(self.chat)
            if readings._accounts:
                await asyncio.wait(list(readings._accounts.values()))
            await readings.close()

        asyncio.run(whole())

    async def write(self, path: str, data: bytes) -> None:
        await self.workspace.write(path, data, Author("upload"))


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    folder = Folder(tmp_path)
    yield folder
    asyncio.run(folder.storage.readings.close())
    folder.database.close()


def test_a_document_that_waits_is_found_by_name_and_read_after_a_restart(folder: Folder) -> None:
    async def write() -> None:
        await folder.write("report.docx", REPORT)
        await folder.write("newer.txt", "Größe".encode())
        await folder.write("logs/scratch.docx", REPORT)

    asyncio.run(write())
    assert folder.found("report ") == ["report.docx name"]
    assert folder.found("größe ") == ["newer.txt content"]
    assert folder.waiting() == ["report.docx"]
    folder.start_again()
    assert folder.waiting() == []
    assert sorted(folder.found("größe ")) == ["newer.txt content", "report.docx content"]
    assert folder.found("docx or txt ") == ["newer.txt name", "report.docx name"], "it keeps its place"


def test_what_replaces_a_document_is_what_is_read(folder: Folder) -> None:
    asyncio.run(folder.write("a.docx", REPORT))
    file = folder.database.read(lambda tx: records.get(tx, folder.chat, "a.docx"))
    assert file is not None
    asyncio.run(folder.write("a.docx", word_file(paragraph("second"))))

    async def late() -> None:
        await folder.storage.readings._read(file)  # begun before the second was written

    asyncio.run(late())
    assert (folder.found("größe "), folder.waiting()) == ([], ["a.docx"])
    folder.start_again()
    assert (folder.found("größe "), folder.found("second ")) == ([], ["a.docx content"])
    asyncio.run(folder.write("a.csv", b"long," * 20_000))
    assert folder.waiting() == ["a.csv"]
    asyncio.run(folder.write("a.csv", b"short"))
    assert (folder.found("short "), folder.waiting()) == (["a.csv content"], []), "a quick text waits for nobody"


def test_an_agent_waits_for_the_documents_of_its_chat(folder: Folder) -> None:
    async def as_an_agent(storage: Storage) -> tuple[str, list[str]]:
        await folder.write("report.docx", REPORT)
        found = await folder.workspace.search("größe ")
        await folder.write("logs/scratch.docx", REPORT)
        return await folder.workspace.text("logs/scratch.docx"), [path for path, _ in found]

    text, paths = asyncio.run(as_an_agent(folder.storage))
    assert "Größe" in text
    assert paths == ["report.docx"]


def test_a_text_that_cannot_be_stored_is_not_read_again_at_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a full disk a document was read 400 times in 0.3 s."""
    tried = 0

    async def full(*_: object) -> None:
        nonlocal tried
        tried += 1
        raise OSError(errno.ENOSPC, "No space left on device")

    async def write() -> None:
        await folder.write("report.docx", REPORT)
        await folder.storage.readings.wake()
        await asyncio.wait(list(folder.storage.readings._accounts.values()))

    with monkeypatch.context() as patch:
        patch.setattr(usecase, "finish_reading", full)
        asyncio.run(write())
    assert (tried, folder.waiting()) == (1, ["report.docx"])
    folder.start_again()
    assert folder.waiting() == []


def broken_off(monkeypatch: pytest.MonkeyPatch, times: dict[str, int]) -> list[tuple[str, int]]:
    """Break the readings of these files off so many times. Returns what was read, each beside how many others."""
    tried = list[tuple[str, int]]()
    read = Readings._text

    async def text(readings: Readings, file: FileRecord) -> IndexedText:
        tried.append((file.path, len(readings._reading) - 1))
        if times.get(file.path, 0):
            times[file.path] -= 1
            raise NoAnswer("killed")
        return await read(readings, file)

    monkeypatch.setattr(Readings, "_text", text)
    return tried


def test_a_reading_that_was_broken_off_is_tried_once_more_after_the_others(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write() -> None:
        for name in ("a.docx", "b.docx", "c.docx"):
            await folder.write(name, REPORT)

    asyncio.run(write())
    tried = broken_off(monkeypatch, {"a.docx": 1, "b.docx": 2})
    folder.start_again()
    assert sorted(path for path, _ in tried[:3]) == ["a.docx", "b.docx", "c.docx"]
    assert tried[3:] == [("a.docx", 0), ("b.docx", 0)], "alone"
    assert sorted(folder.found("größe ")) == ["a.docx content", "c.docx content"]
    assert folder.unread() == ["b.docx"]
    asyncio.run(folder.write("b.docx", REPORT))
    assert folder.unread() == [], "its new content was not tried yet"
    folder.start_again()
    assert len(folder.found("größe ")) == 3
