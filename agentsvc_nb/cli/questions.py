"""Read the file of questions for `agentsvc check`, and compare answers with the expectations in it (docs/check.md).

This module is imported only when `check` runs.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from markdown_it import MarkdownIt
from pydantic import BaseModel, BeforeValidator, Field, PlainValidator, ValidationError, ValidationInfo, model_validator

from agentsvc_nb.cli.check import EXAMPLE
from agentsvc_nb.client.models import Run
from agentsvc_nb.wire.runs import CENT
from agentsvc_nb.wire.text import label

SHOWN: Final = 5
"""The maximum number of faults, numbers or rows that a message lists."""
FILE_BYTES: Final = 1_000_000
"""The maximum size of a file of questions. The YAML parser takes two seconds for a megabyte."""
_POWERS: Final = {"k": 3, "K": 3, "thousand": 3, "M": 6, "million": 6, "bn": 9, "billion": 9}
_NUMBER: Final = re.compile(
    r"(?<![\w.,])([-+\u2212]?)[€$£¥]?"
    r"(\d{1,3}(?:[,'’\u00a0\u202f\u2009]\d{3}){1,9}|\d{1,30})(?!\d)(\.\d{1,30})?"
    rf"(?:\s?({'|'.join(_POWERS)})\b)?(?:\s?%)?"
)
_DATE: Final = re.compile(r"\b\d{4}-\d\d(?:-\d\d)?\b")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_OFFER: Final = re.compile(r"\W*(?:would you like|do you want|want me|shall i|should i|can i|anything else)\b", re.I)
_REFUSAL: Final = re.compile(
    r"\b(?:can(?:no|['’])t|could(?:n['’]| no)t|unable|not able|won['’]t|sorry|unfortunately"
    r"|do(?:es)?(?:n['’]| no)t (?:have|contain|include|say|know)"
    r"|(?:no|not) (?:data|column|information|rows?|available|possible|in the))\b",
    re.I,
)


class UnusableQuestions(Exception):
    """Raised if a file of questions can't be used. The message says where the fault is, and what to write."""


def numbers(text: str) -> list[Decimal]:
    """Return the numbers in an English text, except those in dates. The exponent of each number is its precision.

    >>> numbers("On 2026-05-01 it was €4.8M, or -3.50 % of 1,204.")
    [Decimal('4.8E+6'), Decimal('-3.50'), Decimal('1204')]
    """
    found = []
    for sign, whole, decimals, scale in _NUMBER.findall(_DATE.sub("", text)):
        value = Decimal(re.sub("[^0-9]", "", whole) + decimals).scaleb(_POWERS.get(scale, 0))
        found.append(-value if sign in ("-", "\u2212") else value)
    return found


def _number(value: object) -> Decimal:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        raise ValueError
    return numbers(value)[0]


def _agrees(wanted: Decimal, found: Decimal, tolerance: str | None) -> bool:
    """Return True if `found` differs from the expected number `wanted` by at most the tolerance.

    Without a tolerance, the numbers may differ by half a unit of the last digit of `wanted`.
    """
    if tolerance is None:
        return abs(found - wanted) <= Decimal((0, (5,), int(wanted.as_tuple().exponent) - 1))
    share = abs(wanted) / 100 if tolerance.endswith("%") else 1
    return abs(found - wanted) <= Decimal(tolerance.rstrip(" %")) * share


def _existing(value: object, info: ValidationInfo) -> Path:
    if not isinstance(value, str):
        raise ValueError
    path: Path = info.context["folder"] / value if info.context else Path(value)
    if not path.is_file():
        raise ValueError(f"The file {path} does not exist. Check the path, which is relative to the file of questions.")
    return path


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


Text = Annotated[str, Field(min_length=1)]
Words = Annotated[list[Text], BeforeValidator(_as_list)]
Number = Annotated[Decimal, PlainValidator(_number)]
Limit = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Files = Annotated[list[Annotated[Path, PlainValidator(_existing)]], BeforeValidator(_as_list)]


class Question(BaseModel, extra="forbid", frozen=True):
    """A question, and what its answer must be like. Messages use the field descriptions after the word "Write"."""

    ask: Text = Field(description="the question")
    name: str = Field("", description="a short name")
    files: Files = Field([], description="the path of a file, or a list of paths")
    value: Annotated[list[Number], BeforeValidator(_as_list)] = Field(
        [], description="a number such as 1204.50, or a list of numbers"
    )
    tolerance: Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?%?$")] | None = Field(
        None, description="a number such as 0.5, or a share such as 1%"
    )
    table: dict[str, str | list[str]] | list[dict[str, str]] = Field(
        [], description="rows such as {North: 120, South: 80}, or a list such as [{region: North, sales: 120}]"
    )
    contains: Words = Field([], description="words, or a list of words")
    not_contains: Words = Field([], description="words, or a list of words")
    asks_back: bool | None = Field(None, description="true or false")
    refuses: bool | None = Field(None, description="true or false")
    max_cents: Limit = Field(float("inf"), description="a number of cents above 0")
    max_seconds: Limit = Field(300, description="a number of seconds above 0")

    @model_validator(mode="after")
    def _expects_something(self) -> Question:
        if self.model_fields_set <= {"ask", "name", "files", "tolerance"}:
            raise ValueError("The question has no expectation. Add `value`, `table`, `contains` or another field.")
        return self


class Questions(BaseModel, extra="forbid", frozen=True):
    """A file of questions. `files` are for questions that name no files. The limits apply to all questions together."""

    questions: list[Question] = Field(
        min_length=1, description="a list of questions, each with `- ask: ...` and an expectation"
    )
    files: Files = Field([], description="the path of a file, or a list of paths")
    max_cents: Limit = Field(float("inf"), description="a number of cents above 0")
    max_seconds: Limit | None = Field(None, description="a number of seconds above 0")


class _TextLoader(yaml.BaseLoader):
    """Loads each YAML scalar as text, so that `No` stays a word and `1.50` keeps its digits. Rejects duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        for (key, _), (following, _) in pairwise(sorted(node.value, key=lambda pair: str(pair[0].value))):
            if key.value == following.value:
                problem = f"`{key.value}` occurs twice. Does a question lack its `- `?"
                raise yaml.constructor.ConstructorError(None, None, problem, following.start_mark)
        return super().construct_mapping(node, deep)


def read_questions(path: Path) -> Questions:
    """Read a file of questions, and give each question a unique name. Raises `UnusableQuestions`."""
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES + 1)
        if len(content) > FILE_BYTES:
            raise UnusableQuestions(f"{path} is larger than 1 MB. Nothing was asked. Split it into several files.")
        data = yaml.load(content.decode("utf-8-sig"), _TextLoader)
        if not isinstance(data, dict):
            raise UnusableQuestions(f"{path} {'has no `questions:`' if data else 'is empty'}. Begin with:\n{EXAMPLE}")
        read = Questions.model_validate(data, context={"folder": path.parent})
    except OSError as error:
        raise UnusableQuestions(f"{path}: {error.strerror}. Check the path.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        advice = " Put text with `: ` in quotes." if isinstance(error, yaml.scanner.ScannerError) else ""
        raise UnusableQuestions(f"{path}:{line}: This is not valid YAML: {error.problem}.{advice}") from None
    except ValidationError as error:
        lines = dict.fromkeys(f"{path}: {_explain(data, fault)}" for fault in error.errors())
        raise UnusableQuestions("\n".join(list(lines)[:SHOWN])) from None
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise UnusableQuestions(f"{path} is not YAML in UTF-8: {label(error)}.") from None
    named: dict[str, Question] = {}
    for question in read.questions:
        name = label(question.name or question.ask)
        if name in named:
            raise UnusableQuestions(f'{path}: Two questions have the name "{name}". Change one `name`.')
        named[name] = question.model_copy(update={"name": name, "files": question.files or read.files})
    return read.model_copy(update={"questions": list(named.values())})


def _explain(data: dict[str, Any], fault: Any) -> str:
    """Return a sentence that names the invalid field and its question, and says what to write instead."""
    first, *rest = fault["loc"]
    where, field, fields = "", str(first), Questions.model_fields
    if first == "questions" and rest:
        question = data["questions"][rest[0]]
        ask = f' ("{label(question["ask"], 60)}")' if isinstance(question, dict) and question.get("ask") else ""
        where, field, fields = f"question {rest[0] + 1}{ask}: ", str([*rest, ""][1]), Question.model_fields
    write = f"Write {fields[field].description}." if field in fields else "Write each question as `- ask: ...`."
    if fault["type"] == "extra_forbidden":
        near = difflib.get_close_matches(field, fields) or fields
        return f"{where}`{field}` is not a known field. Did you mean `{'`, `'.join(near)}`?"
    problem = f"`{field}` {'is missing' if fault['type'] == 'missing' else 'cannot be used'}. " if field else ""
    return where + (str(fault.get("ctx", {}).get("error", "")) or f"{problem}{write}")


class Case(BaseModel):
    """A question to one model, and the run that answers it. `error` says why there is no answer."""

    question: Question
    model: str | None
    run: Run[Any] | None = None
    error: str = ""
    seconds: float = 0.0

    @property
    def cents(self) -> float:
        return self.run.usage.cost_microcents / CENT if self.run else 0.0

    def result(self) -> dict[str, Any]:
        """Return the result for `--json`. A case was skipped if it has neither a run nor an error."""
        faults = judge(self)
        return {
            "question": self.question.name,
            "model": (self.run and self.run.model) or self.model,
            "status": "fail" if faults else "ok" if self.run else "skipped",
            "faults": faults,
            "seconds": round(self.seconds, 3),
            "cents": self.cents,
            "run_id": self.run and self.run.run_id,
            "output": self.run and self.run.output,
        }


def judge(case: Case) -> list[str]:
    """Compare an answer with the expectations of its question. Return a text for each expectation that is not met."""
    question, run = case.question, case.run
    if run is None or case.error:
        return [case.error] if case.error else []
    declined = run.last_error in ("answer_refused", "content_filtered")
    if run.status != "completed" and not (declined and question.refuses):
        return [f"The run has the status {run.status}: {run.last_error_message or run.last_error or 'unknown reason'}"]
    output = run.output or ""
    prose, tables = read_markdown(output)
    text = _fold(f"{output}\n{prose}")
    # The basis of the offline agent's answer contains its numbers. Other numbers in the text only describe how the
    # agent understood the question.
    says = run.basis if run.basis and run.basis.headline else None
    found = (numbers("\n".join(says.values)) or numbers(says.headline or "")) if says else numbers(prose)
    lacking = [each for each in question.value if not any(_agrees(each, x, question.tolerance) for x in found)]
    rows = min((_missing_rows(question, table) for table in tables), key=len, default=["any table"])
    absent = [words for words in question.contains if _fold(words) not in text]
    present = [words for words in question.not_contains if _fold(words) in text]
    asks, refuses, how = _stance(run, prose, declined)
    faults = {
        "value": lacking and f"expected {_list_values(lacking)}; the answer has {_list_values(found)}",
        "table": rows and f"the answer lacks {_list_values(rows)}",
        "contains": absent and f"the answer lacks {_list_values(absent)}",
        "not_contains": present and f"the answer has {_list_values(present)}",
        "asks_back": asks != question.asks_back
        and f"the answer {'asks' if asks else 'does not ask'} for clarification, {how}",
        "refuses": refuses != question.refuses and f"the answer {'refuses' if refuses else 'does not refuse'}, {how}",
        "max_cents": case.cents > question.max_cents and f"it cost {case.cents:,.2f} cents",
        "max_seconds": case.seconds > question.max_seconds and f"it took {case.seconds:,.1f} s",
    }
    return [f"{field}: {fault}" for field, fault in faults.items() if fault and field in question.model_fields_set]


def read_markdown(text: str) -> tuple[str, list[list[list[str]]]]:
    """Return the text of an answer without markup and code blocks, and its tables as lists of rows of cells.

    >>> read_markdown("**Two** of `a`.\\n\\n| a |\\n|---|\\n| 1 |\\n")
    ('Two of a.\\na\\n1', [[['a'], ['1']]])
    """
    lines: list[str] = []
    tables: list[list[list[str]]] = []
    before = ""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline":
            parts = (" " if part.type.endswith("break") else part.content for part in token.children or [])
            lines.append("".join(parts))
            if before in ("th_open", "td_open"):
                tables[-1][-1].append(lines[-1])
        before = token.type
    return "\n".join(lines), tables


def _missing_rows(question: Question, table: list[list[str]]) -> list[str]:
    """Return the expected rows that the table lacks. A cell expected without a column name may be in any column."""
    if isinstance(question.table, dict):
        expected = [[("", cell) for cell in [key, *_as_list(cells)]] for key, cells in question.table.items()]
    else:
        expected = [list(row.items()) for row in question.table]
    head, *rows = table

    def has(cells: list[str], column: str, wanted: str) -> bool:
        named = zip(head, cells, strict=True)
        return any(
            _same(wanted, cell, question.tolerance) for name, cell in named if _fold(column) in ("", _fold(name))
        )

    missing = [row for row in expected if not any(all(has(cells, *pair) for pair in row) for cells in rows)]
    return [" | ".join(wanted for _, wanted in row) for row in missing]


def _same(wanted: str, cell: str, tolerance: str | None) -> bool:
    if _fold(wanted) == _fold(cell):
        return True
    found = numbers(cell)
    return len(found) == 1 and bool(_NUMBER.fullmatch(wanted)) and _agrees(_number(wanted), found[0], tolerance)


def _stance(run: Run[Any], prose: str, declined: bool) -> tuple[bool, bool, str]:
    """Return three items: True if the answer asks back, True if it refuses, and a text that says how this is known."""
    said = run.basis.basis if run.basis else ""
    if run.model == "offline" or said in ("asked_back", "cannot", "nothing"):
        return said == "asked_back", said in ("cannot", "nothing"), f"according to the agent (`{said}`)"
    sentences = _SENTENCE_END.split(prose.strip())
    asks = any(sentence.endswith("?") and not _OFFER.match(sentence) for sentence in sentences)
    return asks, declined or _REFUSAL.search(" ".join(sentences[:2])) is not None, "according to its text"


def _fold(text: str) -> str:
    return " ".join(text.casefold().split())


def _list_values(values: Sequence[str | Decimal]) -> str:
    shown = [f"{each:,f}" if isinstance(each, Decimal) else label(each, 60) for each in values[:SHOWN]]
    return ", ".join([*shown, *["..."] * (len(values) > SHOWN)]) or "no number"
