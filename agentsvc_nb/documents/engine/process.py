"""Ask child processes to query tables and to read each content once. The service never imports DuckDB (the engine)."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import shutil
from pathlib import Path
from typing import Final

from agentsvc_nb import clock
from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer
from agentsvc_nb.documents.engine.messages import (
    Question,
    ReadQuestion,
    SqlQuestion,
    TableAnswer,
    TableFile,
)
from agentsvc_nb.documents.lru_cache import LruCache

CHILD: Final = "agentsvc_nb.documents.engine.child"
LIMITS: Final = Limits(memory_bytes=3 * 2**30, file_bytes=2 * 2**30)
PATIENCE_SECONDS: Final = 60.0
ANSWER_BYTES: Final = 50_000_000
"""The maximum size of a child's answer."""
PROFILES_BYTES: Final = 16_000_000
"""The maximum size of the table profiles that the service keeps in memory."""
_TOO_MUCH: Final = TableAnswer(
    error=("too_much", "", "This takes too long or needs too much memory. Select less data, or use smaller files.")
)
_READ_TOO_MUCH: Final = TableAnswer(
    error=(
        "too_much",
        "",
        "The table takes too long or needs too much memory to read. Attach fewer rows or columns, or a plain "
        "CSV file (dates as 2026-03-31, numbers as 1234.5).",
    )
)


class TableProcess:
    """Asks child processes for tables and query results. The child processes share a folder with cached tables
    (`cache`)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._pool = ChildPool(CHILD, LIMITS, folder=self._folder)
        self._warming: asyncio.Task[None] | None = None
        self._profiles: LruCache[str, tuple[TableAnswer, int]] = LruCache(PROFILES_BYTES, lambda told: told[1])

    def start(self) -> None:
        """Remove the cache of an earlier server process. Call this only while you hold the lock of the data folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)

    def sweep(self) -> None:
        """Remove cached tables that were not used for a long time."""
        sweep(self._folder)

    def warm(self) -> None:
        """Start a child now, so that the first question need not wait until a child has imported DuckDB."""
        if self._warming is None or self._warming.done():
            self._warming = asyncio.create_task(self._pool.warm(), name="the process of tables")

    async def read(self, file: TableFile) -> TableAnswer:
        """Return the profiles of a file's tables, or the reason why the file can't be read."""
        if told := self._profiles.get(file.key):
            return told[0]
        said, length = await self._ask(ReadQuestion(file))
        if said.error is None or said.error[0] == "unreadable":
            self._profiles.put(file.key, (said, length))
        return said

    async def ask(self, question: SqlQuestion) -> TableAnswer:
        return (await self._ask(question))[0]

    def close(self) -> None:
        self._pool.close()

    async def _ask(self, question: Question) -> tuple[TableAnswer, int]:
        """Return the answer and its length in bytes. If the task is cancelled, withdraw the question."""
        try:
            said = await self._pool.ask(pickle.dumps(question), PATIENCE_SECONDS, ANSWER_BYTES)
        except NoAnswer:
            return _READ_TOO_MUCH if isinstance(question, ReadQuestion) else _TOO_MUCH, 0
        return await asyncio.to_thread(TableAnswer.model_validate_json, said), len(said)


KEPT_BYTES: Final = 2**30
KEPT_SECONDS: Final = 3600.0


def sweep(folder: Path) -> None:
    """Remove cached files not used for `KEPT_SECONDS`, and the least recently used beyond `KEPT_BYTES` in total."""
    room, now = KEPT_BYTES, clock.now_ms() / 1000
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError):
            about = path.stat()
            found.append((about.st_mtime, about.st_size, path))
    for used, size, path in sorted(found, reverse=True):
        room -= size
        if room < 0 or now - used > KEPT_SECONDS:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
