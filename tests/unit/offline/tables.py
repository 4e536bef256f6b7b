"""Tables for tests of the question parser, read as the service reads them."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentsvc_nb.agents.offline.calculation import Calculation
from agentsvc_nb.agents.offline.parser import QuestionParser
from agentsvc_nb.agents.offline.profile import ProfiledTable
from agentsvc_nb.agents.offline.sql import SqlWriter
from agentsvc_nb.agents.offline.wording import result_columns
from agentsvc_nb.documents.engine.child import answer
from agentsvc_nb.documents.engine.messages import ReadQuestion, SqlQuestion, TableFile, UsedTable


class ReadTable:
    """A table in a file, with its parser, and answers to SQL."""

    def __init__(self, folder: Path, name: str, content: str) -> None:
        self._kept = folder / "kept"
        self._kept.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.csv"
        path.write_text(content)
        self._file = TableFile(hashlib.sha256(content.encode()).hexdigest(), ".csv", str(path))
        (profile,) = answer(ReadQuestion(self._file), self._kept).tables
        self._profile = replace(profile, name=name, path=path.name)
        self.table = ProfiledTable(self._profile)
        self.parser = QuestionParser(self.table)

    def run(self, calculation: Calculation) -> list[tuple[Any, ...]]:
        titles = [column.title for column in result_columns(calculation, self.table)]
        found = self.query(SqlWriter(self.table).select(calculation, titles))
        return [tuple(map(_number, row)) for row in found]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        told = answer(SqlQuestion(sql, (UsedTable(self._file, 0, self._profile),)), self._kept)
        assert told.query is not None, told.error
        return list(told.query.rows)

    def ask(self, question: str) -> list[tuple[Any, ...]] | None:
        """Return the rows of the answer; None if the question is refused."""
        calculation = self.parser.parse(question)
        return self.run(calculation) if isinstance(calculation, Calculation) else None


def _number(cell: Any) -> Any:
    try:
        return float(cell) if isinstance(cell, str) else cell
    except ValueError:
        return cell


def orders(seed: int, rows: int = 80) -> str:
    """Return random orders as CSV: a text with empty cells, an amount with empty cells, prices, dates, yes and no."""
    made = random.Random(seed)
    lines = ["order_id,order_date,region,product,price,units,revenue,discount,paid"]
    for number in range(1, rows + 1):
        region = made.choice(["North", "South", "West", "East", ""])
        product = made.choice(["Tent", "Mug", "Lamp", "Steel Bottle"])
        units = made.choice(["", *map(str, range(1, 9))])
        day = f"{made.choice([2025, 2026])}-{made.randint(1, 12):02}-{made.randint(1, 28):02}"
        price = f"{made.randint(100, 9000) / 100:.2f}"
        revenue = f"{made.randint(100, 90000) / 100:.2f}"
        discount = made.choice(["0", "5", "10"])
        lines.append(
            f"{number},{day},{region},{product},{price},{units},{revenue},{discount},{made.choice(['yes', 'no'])}"
        )
    return "\n".join(lines) + "\n"
