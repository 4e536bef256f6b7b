"""Whether an answer holds the gold of its question. It reads what was said, knowing nothing of how it was found."""

from __future__ import annotations

import re
from typing import Final

from tests.bench.quality.questions import Question

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?%?")
_RESULTS = re.compile(r"\*\*(.+?)\*\*|= ([^`\n]+)`")
_NEAR: Final = 0.005
"""An answer may round, to half a percent: 1.65 for 1.6486 and 15.9% for 0.15902, but not 0.01 for 0.0067."""


def right(question: Question, answer: str) -> bool:
    """As the user would judge it."""
    if question.kind == "unanswerable":
        return says_nothing(answer)
    if question.kind == "table":
        return any(_is_gold(question, result) for result in results(answer))
    return _flat(question.quote) in _flat(answer)


def first(question: Question, answer: str) -> bool:
    """Whether the gold passage is the first that is quoted, which nobody can get by quoting a lot."""
    return _flat(question.quote) in _flat(answer.partition("— `")[0])


def says_nothing(answer: str) -> bool:
    """It says that nothing was found, and computes nothing. It may show passages as near ones, perhaps no answer."""
    own = re.sub(r"(?m)^>.*$", "", answer)
    computes = re.search(r" = [^`\n]+`", own)
    said = re.search(r"nothing found|no passage answers|\bno row\b|\bthere is no\b", own, re.I)
    return said is not None and computes is None


def quotes(answer: str) -> bool:
    """Whether it shows any passage, as an answer or as near ones."""
    return "— `" in answer


def results(answer: str) -> list[str]:
    """What is given as a result: the bold lines, and what expressions come to; not the rows and passages shown."""
    return [bold or value for bold, value in _RESULTS.findall(answer)]


def _is_gold(question: Question, result: str) -> bool:
    if question.text:
        return re.search(rf"\b{re.escape(question.text)}\b", result) is not None
    return any(_near(found, question.number or 0.0) for found in _NUMBER.findall(result))


def _near(shown: str, gold: float) -> bool:
    value = float(shown.rstrip("%").replace(",", "")) / (100 if shown.endswith("%") else 1)
    return abs(value - gold) <= _NEAR * abs(gold)


def _flat(text: str) -> str:
    """Without what Markdown adds: quote marks, escapes, line breaks."""
    return " ".join(re.sub(r"\\(?=\W)", "", re.sub(r"(?m)^> ?", "", text)).split())
