"""The cases of `data/cases.jsonl`: small tables rebuilt from public bug reports, each with its source and right value.

`right` are values of which one must be in the answer's first two, or None where only a question back is right.
`column`, `total`, `rows` and `note` are what the reader of tables makes of it. `refused` says that the offline agent
gives no answer yet, though there is one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).with_name("data")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file, a question about it, the right answer, and the right table."""

    id: str
    source: str
    about: str
    file: str
    text: str | None = None
    question: str
    right: list[str] | None
    refused: bool = False
    column: str | None = None
    total: str | None = None
    rows: int | None = None
    note: str = ""

    @property
    def content(self) -> bytes:
        return (DATA / self.file).read_bytes() if self.text is None else self.text.encode()

    def __str__(self) -> str:
        return f"{self.id} {self.about}"


CASES: Final = [Case(**json.loads(line)) for line in (DATA / "cases.jsonl").read_text("utf-8").splitlines()]
