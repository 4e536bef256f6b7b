"""An answer whose numbers have sources, and the script of the scripted agent that says it."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from agentsvc_nb.wire.runs import AnswerBasis, AnswerNumber

_MARKED: Final = """**Email earned most: {€1.789} for each euro.**

Search had {14,208} clicks and Social {9,341}, so Search had {4,867} more. Email spent about {2,300}.

| Channel | Clicks | ROAS |
| --- | ---: | ---: |
| Email | {5,120} | {1.789} |
| Search | {14,208} | {1.2} |

The fee is {12 %} by contract, and you asked for {3} channels. Competitors reach about {€5}. `LIMIT 5` is code."""
COMPARE: Final = "The answer does not name the column. Please check it."
ANSWER: Final = re.sub("[{}]", "", _MARKED)


def _cell(row: str, column: str, value: str = "") -> dict[str, Any]:
    """Return the fields of a cell; without `value`, of one whose column the text does not name."""
    if value:
        source, strength = f"From `by_channel`: {row}, {column} = {value}", "row_and_column"
    else:
        source, strength = f"Found under {row}, column {column}. {COMPARE}", "row"
    return {"status": "traced", "strength": strength, "source": source, "row": row, "column": column}


_SOURCES: Final[list[dict[str, Any]]] = [
    _cell("Email", "roas", "1.789"),
    _cell("Search", "clicks", "14208"),
    _cell("Social", "clicks", "9341"),
    {"status": "computed", "source": "14,208 - 9,341"},
    _cell("Email", "spend"),
    _cell("Email", "clicks", "5120"),
    _cell("Email", "roas", "1.789"),
    _cell("Search", "clicks", "14208"),
    _cell("Search", "roas", "1.2"),
    {"status": "quoted", "source": "contract.pdf, page 3: The <b>fee</b> is 12 %."},
    {"status": "given"},
    {"status": "not_found"},
]


def basis() -> AnswerBasis:
    """Return what `ANSWER` rests on: of 12 numbers one was not found."""
    numbers = []
    for place, (found, fields) in enumerate(zip(re.finditer(r"\{(.*?)\}", _MARKED), _SOURCES, strict=True)):
        start = found.start() - 2 * place
        numbers.append(AnswerNumber(start=start, end=start + len(found[1]), text=found[1], **fields))
    counts = Counter(number.status for number in numbers)
    return AnswerBasis(basis="written", numbers=numbers, number_counts=dict(counts))


def script() -> str:
    """Return the script whose run says `ANSWER` and its basis."""
    return "\n".join([*(f"say {line}" for line in ANSWER.split("\n")), f"basis {basis().model_dump_json()}"])
