"""How long until a total of a table is there, the first time and the next, and does memory stay as it is?

python -m tests.bench.tables [--quick]
"""

from __future__ import annotations

import asyncio
import csv
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from agentsvc_nb.documents.engine.messages import SqlQuestion, TableFile, UsedTable
from agentsvc_nb.documents.engine.process import TableProcess
from agentsvc_nb.documents.tables.profiles import file_names, named
from tests.bench.process import resident_mb

ROWS: Final = 200_000
GROWTH_MB_MAX: Final = 20.0


def write(path: Path, rows: int, seed: int = 1) -> None:
    """An export of orders: eight columns."""
    random = Random(seed)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["order id", "day", "channel", "campaign", "country", "units", "revenue", "cost"])
        for at in range(rows):
            channel, country = random.choice(["Email", "Search", "Social"]), random.choice(["DE", "AT", "CH", "FR"])
            amounts = random.randrange(1, 20), f"{random.random() * 500:.2f}", f"{random.random() * 90:.2f}"
            day = date(2024, 1, 1) + timedelta(days=at % 730)
            writer.writerow([100_000 + at, day, channel, f"Campaign, {random.randrange(40)}", country, *amounts])


class _Asker:
    """A process of tables over files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables = TableProcess(folder / "kept")
        self.tables.start()

    def file(self, path: Path) -> TableFile:
        return TableFile(hashlib.sha256(path.read_bytes()).hexdigest(), path.suffix, str(path))

    async def total(self, file: TableFile) -> Any:
        """The revenue by channel, of a file that may not have been read."""
        read = await self.tables.read(file)
        (table,) = named({file.file: read.tables}, file_names([file.file]))[file.file]
        question = SqlQuestion(
            f"SELECT channel, sum(revenue) FROM {table.name} GROUP BY 1", (UsedTable(file, 0, table),)
        )
        answer = await self.tables.ask(question)
        assert answer.query is not None, answer
        return answer.query.rows


async def _times(asker: _Asker, path: Path) -> list[float]:
    file, taken = asker.file(path), []
    for _ in range(4):
        began = time.perf_counter()
        await asker.total(file)
        taken.append(time.perf_counter() - began)
    return taken


def _row(name: str, taken: Sequence[float]) -> None:
    print(f"| {name} | {taken[0]:.2f} s | {sorted(taken[1:])[1]:.2f} s |")


async def _memory(asker: _Asker, questions: int) -> float:
    """By how many MB this process grows over so many questions, each of a file of its own."""
    before = 0.0
    for number in range(questions):
        if number == questions // 5:
            before = resident_mb(os.getpid())
        path = asker.folder / f"small{number % 50}.csv"
        write(path, 20, number)
        await asker.total(asker.file(path))
    return resident_mb(os.getpid()) - before


async def _bench(folder: Path, quick: bool) -> None:
    asker = _Asker(folder)
    try:
        print("| Revenue by channel, of a CSV of 8 columns | first, started anew | next, median |\n|---|---|---|")
        rows = ROWS // 10 if quick else ROWS
        write(folder / "plain.csv", rows)
        _row(f"{rows:,} rows", await _times(asker, folder / "plain.csv"))
        (folder / "titled.csv").write_bytes(b"Report of May\r\n\r\n" + (folder / "plain.csv").read_bytes())
        _row(f"{rows:,} rows below a title", await _times(asker, folder / "titled.csv"))
        questions = 100 if quick else 1_000
        grown = await _memory(asker, questions)
        print(f"\nOver {questions} questions of 50 files the service's own process grew by {grown:.1f} MB.")
        assert grown < GROWTH_MB_MAX
    finally:
        await asyncio.to_thread(asker.tables.close)


def main(quick: bool = False) -> None:
    with tempfile.TemporaryDirectory(prefix="agentsvc-bench-") as folder:
        asyncio.run(_bench(Path(folder), quick))


if __name__ == "__main__":
    main("--quick" in sys.argv)
