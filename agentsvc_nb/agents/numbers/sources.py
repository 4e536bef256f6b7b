"""Collect what numbers of an answer are checked against: tool results, texts that the agent read, and user messages."""

from __future__ import annotations

import asyncio
import html
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from agentsvc_nb.agents.numbers.check import check
from agentsvc_nb.agents.numbers.reading import TEXT_CHARS
from agentsvc_nb.agents.numbers.tables import SourceTable
from agentsvc_nb.agents.numbers.texts import Quote
from agentsvc_nb.agents.port import MadeCall, RunContext
from agentsvc_nb.wire.runs import AnswerBasis, AnswerNumber, Basis

log = logging.getLogger(__name__)
TURNS_MAX: Final = 10
"""The check uses the results of at most this many earlier turns."""
CALLS_MAX: Final = 40
"""The check uses the results of at most this many tool calls, the latest ones."""
READS: Final = frozenset({"read_file", "search_files", "read_page", "read_skill", "web_search", "look_at"})
"""The tools that read texts. Numbers in their results are quoted, not computed."""
_ROW: Final = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_SEPARATOR: Final = re.compile(r"[\s|:-]+")
_GAP: Final = re.compile(r" {2,}|\t")
_NUMBER: Final = re.compile(
    r"[-+]?[0-9]{1,18}(?:,[0-9]{3}){0,6}(?:\.[0-9]{1,18})?(?:e[-+]?[0-9]{1,3})?%?", re.IGNORECASE
)
_LITERAL: Final = re.compile(r"'[^'\n]{0,80}'|\"[^\"\n]{0,80}\"|\b[0-9]+(?:\.[0-9]+)?\b")
_FROM: Final = re.compile(r"\b(?:from|join)\s+\"?(\w{1,60})", re.IGNORECASE)
_NULLS: Final = frozenset({"", "none", "null", "nan", "nat", "<na>"})


async def build_basis(turn: RunContext, answer: str, kind: Basis) -> AnswerBasis:
    """Return what a model's answer is based on, with the numbers' sources. If the check fails, omit the numbers."""
    found: list[AnswerNumber] = []
    try:
        turns = await turn.earlier(TURNS_MAX)
        question = "\n".join([*(each.message for each in reversed(turns)), turn.message])
        calls = [call for each in reversed(turns) for call in each.calls] + list(await turn.calls())
        texts = await _attached_texts(turn)
        found = await asyncio.to_thread(_check, answer, question, calls, texts)
    except Exception:  # the check reads untrusted results, and an answer must not fail because of the check
        log.exception("the numbers of an answer could not be checked")
    return AnswerBasis(basis=kind, numbers=found, number_counts=dict(Counter(one.status for one in found)))


def _check(answer: str, question: str, calls: Sequence[MadeCall], texts: Sequence[Quote]) -> list[AnswerNumber]:
    calls = [call for call in calls if not call.failed][-CALLS_MAX:]
    kept = current_calls(calls)
    tables: list[SourceTable] = []
    quotes = list(texts)
    for call in calls:
        found, rest = read_result(call)
        tables += found if call in kept else [replace(table, replaced=True) for table in found]
        quotes += [rest] if call in kept and rest.text else []
    return check(answer, question, tables, quotes)


async def _attached_texts(turn: RunContext) -> list[Quote]:
    """Return the texts of the files attached to the message, and the project's instructions."""
    project = await turn.project()
    quotes = [Quote("The project's instructions", project.instructions)] if project and project.instructions else []
    left = TEXT_CHARS
    for entry in await turn.attachments():
        text = (await turn.workspace.text(entry.path))[:left]
        left -= len(text)
        quotes.append(Quote(entry.path, text, entry.path))
    return quotes


def current_calls(calls: Sequence[MadeCall]) -> list[MadeCall]:
    """Return the calls that no later call replaces.

    A call replaces an earlier call of the same tool if the input is the same. It also replaces it if the tables in both
    results have the same columns and row names, unless the earlier input contains a literal that the later one lacks,
    such as another period.
    """
    kept: list[tuple[MadeCall, frozenset[str], frozenset[Any]]] = []
    for call in calls:
        literals = frozenset(_LITERAL.findall(_without_labels(call.input)))
        forms = frozenset(_form(table) for table in read_result(call)[0])
        kept = [
            (other, theirs, shapes)
            for other, theirs, shapes in kept
            if other.tool != call.tool
            or (
                _without_labels(other.input) != _without_labels(call.input)
                and not (shapes and shapes <= forms and theirs <= literals)
            )
        ]
        kept.append((call, literals, forms))
    return [call for call, *_ in kept]


def _without_labels(given: str) -> str:
    try:
        fields = json.loads(given)
    except ValueError:
        return given
    if isinstance(fields, dict):
        return " ".join(
            str(value) for name, value in sorted(fields.items()) if name not in ("labels", "seconds", "save_as")
        )
    return given


def _form(table: SourceTable) -> tuple[Any, ...]:
    names = frozenset(str(row[0]) for row in table.rows if row)
    return tuple(table.columns), names if not all(_number(name) is not None for name in names) else len(names)


def read_result(call: MadeCall) -> tuple[list[SourceTable], Quote]:
    """Return the tables in a call's result, and the rest of the result as a text."""
    try:
        given = json.loads(call.input)
    except ValueError:
        given = {}
    given = given if isinstance(given, dict) else {}
    text = call.result[:TEXT_CHARS]
    if call.tool in READS:
        path = given.get("path")
        name = str(path or given.get("url") or call.tool)
        return [], Quote(name, text, str(path) if path else None, call.call_id or None)
    told = given.get("labels")
    pairs = [str(one).partition(":") for one in told] if isinstance(told, list) else []
    labels = {name.strip(" `"): label.strip() for name, _, label in pairs}
    name = _name(call.tool, given)
    found = list(_json_tables(text)) or [*_markdown_tables(text), *_printed_tables(text)]
    tables = [SourceTable(name, columns, rows, labels, call.call_id or None) for columns, rows in found if rows]
    rest = "" if found and text.lstrip()[:1] in "[{" else _ROW.sub("", text)
    return tables, Quote(name, rest, None, call.call_id or None, computed=True)


def _name(tool: str, given: dict[str, Any]) -> str:
    """Return a display name for a result: the file in which the call saved it, else the tables that the call read."""
    if saved := given.get("save_as"):
        return str(saved)
    asked = list(dict.fromkeys(_FROM.findall(str(given.get("sql", "")))))
    return ", ".join(asked[:3]) or str(given.get("path") or tool)


_Found = tuple[list[str], list[list[Any]]]


def _markdown_tables(text: str) -> Iterator[_Found]:
    header: list[str] | None = None
    rows: list[list[Any]] = []
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith("|"):
            if header is None:
                header, rows = [html.unescape(_unescape(cell)) for cell in _split(line)], []
            elif not _SEPARATOR.fullmatch(line):
                rows.append([_value(html.unescape(_unescape(cell))) for cell in _split(line)])
        elif header is not None:
            yield header, rows
            header = None


def _split(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))]


def _unescape(cell: str) -> str:
    return re.sub(r"\\([^\w\s])", r"\1", cell)


def _printed_tables(text: str) -> Iterator[_Found]:
    """Yield tables that pandas printed in a text: the index comes first, and columns are at least two spaces apart."""
    block: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        cells = [] if line.lstrip().startswith("|") else [cell for cell in _GAP.split(line.strip()) if cell]
        if len(cells) > 1 and (
            not block or len(cells) == len(block[-1]) or (len(block) == 1 and len(cells) == len(block[0]) + 1)
        ):
            block.append(cells)
            continue
        yield from _parse_block(block)
        block = [cells] if len(cells) > 1 else []


def _parse_block(block: Sequence[list[str]]) -> Iterator[_Found]:
    if len(block) < 2:
        return
    head, *rest = block
    if any(_number(cell) is not None for cell in head):
        yield (
            ["", *(f"value{number}" for number in range(1, len(head)))],
            [[_value(cell) for cell in row] for row in block],
        )
        return
    extra = [""] if len(rest[0]) == len(head) + 1 else []
    rows = [[_value(cell) for cell in row] for row in rest if len(row) == len(head) + len(extra)]
    if extra and all(row[0] == index for index, row in enumerate(rows)):
        yield head, [row[1:] for row in rows]  # leave out an index that only numbers the rows
    else:
        yield [*extra, *head], rows


def _json_tables(text: str) -> Iterator[_Found]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    found = (
        [data]
        if isinstance(data, list)
        else [value for value in data.values() if isinstance(value, list)]
        if isinstance(data, dict)
        else []
    )
    for records in found:
        records = [record for record in records if isinstance(record, dict)]
        if records:
            columns = [str(name) for name in records[0]]
            yield columns, [[_scalar(record.get(name)) for name in records[0]] for record in records]
    if isinstance(data, dict) and (
        scalars := {str(name): value for name, value in data.items() if not isinstance(value, (list, dict))}
    ):
        yield list(scalars), [[_scalar(value) for value in scalars.values()]]


def _scalar(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, type(None))) else str(value)


def _value(cell: str) -> Any:
    if cell.lower() in _NULLS:
        return None
    number = _number(cell)
    return cell if number is None else number


def _number(cell: str) -> float | int | None:
    if not _NUMBER.fullmatch(cell) or (len(cell) > 1 and cell[0] == "0" and cell[1].isdigit()):
        return None
    digits = cell.replace(",", "").removesuffix("%")
    return float(digits) if "." in digits or "e" in digits.lower() else int(digits)
