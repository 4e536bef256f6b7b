"""Describe the sources of numbers in an answer. A source says where a number is from, not that the answer is right."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.wire.runs import AnswerBasis, AnswerNumber

NAMED: Final = 8
"""The maximum number of numbers without a source that `summary` lists."""
_COMPARE: Final = "The answer does not name the column. Please check it."
_KNOWN: Final = ("traced", "computed", "quoted", "given", "not_found")


def describe(number: AnswerNumber) -> str:
    """Return a text that says where a number comes from, with names between backticks. Return "" for an unknown status.

    >>> describe(AnswerNumber(start=0, end=2, text="12", status="not_found"))
    'Not found in the results of this chat'
    """
    source = number.source or ""
    if number.strength == "row" and not source.endswith(_COMPARE):
        source = f"{source or f'Found under {number.row}, column {number.column}'}. {_COMPARE}"
    return {
        "traced": source,
        "computed": f"Computed again: {source}",
        "quoted": f"In {source}",
        "given": source or "From your message",
        "not_found": "Not found in the results of this chat",
    }.get(number.status, "")


def summary(basis: AnswerBasis | None, *, named: bool = False) -> str:
    """Return a line that says how many numbers of an answer have a source, or "" if the answer has no numbers.

    Numbers with the status `traced`, `computed`, `quoted` or `given` have a source. With `named`, the line lists
    numbers that were not found.

    >>> summary(AnswerBasis(basis="written", number_counts={"traced": 20, "quoted": 3, "not_found": 4}))
    '23 of 27 numbers traced, 4 not found.'
    """
    counts = [basis.number_counts.get(status, 0) for status in _KNOWN] if basis else [0]
    total, missing = sum(counts), counts[-1]
    if basis is None or total <= 0:
        return ""
    line = f"{total - missing} of {total} number{'s' * (total != 1)} traced"
    if not missing:
        return f"{line}."
    texts = [each.text for each in basis.numbers if each.status == "not_found"][:NAMED] if named else []
    more = ", …" * (missing > len(texts))
    return f"{line}, {missing} not found" + (f": {', '.join(texts)}{more}." if texts else ".")
