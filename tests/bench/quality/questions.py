"""The questions of this folder, as they stand in `questions.json`, and the files that they are asked of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
FILES = FOLDER / "files"

KINDS = ("plain", "table", "unanswerable", "paraphrased")


@dataclass(frozen=True)
class Question:
    """One question and its gold: an exact quote of `file`, a number or a word of its table, or nothing to be found.

    `half` is "open" (may be looked at while the agent is improved) or "held" (only its share is looked at). `sql`
    gives the gold of a table question, so that nobody has to believe it.
    """

    id: str
    kind: str
    half: str
    question: str
    file: str = ""
    quote: str = ""
    sql: str = ""
    number: float | None = None
    text: str = ""


def questions() -> list[Question]:
    """All of them, in the order of the file."""
    return [Question(**row) for row in json.loads((FOLDER / "questions.json").read_text("utf-8"))]


def pitfalls() -> list[Question]:
    """Questions of the tables that are easily answered with the number of another question: negations, comparisons,
    ranges, the entity of the most."""
    return [Question(**row) for row in json.loads((FOLDER / "pitfalls.json").read_text("utf-8"))]


def paragraph(question: Question) -> str:
    """The paragraph of the file in which the gold quote stands."""
    text = (FILES / question.file).read_text("utf-8")
    return next(block for block in text.split("\n\n") if question.quote in block)
