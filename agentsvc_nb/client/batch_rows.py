"""The rows of a batch: their prompts and keys, the answers that are kept, and the columns made from them."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import TypeAdapter

from agentsvc_nb.client import options
from agentsvc_nb.client.errors import APIConnectionError, JobTimeoutError, StefanBrainError
from agentsvc_nb.client.models import JSON_DTYPES, Run, Shape, read
from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.runs import CENT

Columns = Mapping[str, tuple[str, Sequence[Any]]]
"""Maps a column's name to its pandas dtype (`string`, `Int64`, `Float64`, `boolean`, `object`) and its values."""


class Grid(Protocol):
    """What a batch needs of a DataFrame; `names` are its columns, `height` is its number of rows."""

    @property
    def names(self) -> list[str]: ...
    @property
    def height(self) -> int: ...
    def values(self, name: str) -> list[Any]:
        """The values of a column, with None for missing ones."""
        ...

    def extended(self, columns: Columns) -> Any:
        """A copy of the DataFrame with these columns appended."""
        ...


# A reference is on one line, and takes the innermost braces: `\textbf{{{name}}}` contains `{{name}}`.
REFERENCE: Final = re.compile(r"(?P<escape>\\?)\{\{(?!\{)(?P<path>(?:(?!\{\{|\}\}).)*)\}\}")


def referenced_columns(prompt: str, there: Sequence[str]) -> list[str]:
    """The columns that the prompt names, each once.

    Raises `StefanBrainError` when it names none, or one that is not among `there`.

    >>> referenced_columns("Is {{text}} about {{ topic }}?", ["text", "topic", "price"])
    ['text', 'topic']
    """
    named = [found["path"].strip() for found in REFERENCE.finditer(prompt) if not found["escape"]]
    if not named:
        raise StefanBrainError(
            "The prompt names no column, so that each row would ask the same; nothing was sent.",
            hint=f"Name one, as in: Classify {{{{{there[0] if there else 'text'}}}}}",
        )
    for name in named:
        if name not in there:
            raise StefanBrainError(
                f"{{{{{name}}}}}: there is no such column; nothing was sent.",
                hint=f"The columns are: {', '.join(there)}. \\{{{{{name}}}}} is sent as it stands.",
            )
    return list(dict.fromkeys(named))


def fill(prompt: str, values: Mapping[str, Any]) -> str:
    """The prompt with a row's values inserted: text as it is, lists and dicts as JSON, "" for a missing value.

    >>> fill("Sum {{n}} of {{ what }}", {"n": 3, "what": "{{n}}"})
    'Sum 3 of {{n}}'
    """

    def insert(found: re.Match[str]) -> str:
        return found[0][1:] if found["escape"] else _text(values[found["path"].strip()])

    return REFERENCE.sub(insert, prompt)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)


ABOUT: Final = {"error": "string", "run_id": "string", "chat": "string", "cents": "Float64"}
"""Names and dtypes of the columns that follow the answer's own."""


@dataclass(slots=True)
class BatchRow:
    """A row of a batch and its state.

    `key` identifies row, prompt and options. `tried` counts runs, `attempt` the requests for the current run, both
    from 1. `day` is the UTC day of the current run's first request. `began` is when the row was last asked and `due`
    when it may be asked again (client's clock, seconds). `microcents` is the cost of all its runs.
    """

    message: str
    key: str
    tried: int = 1
    attempt: int = 1
    day: date | None = None
    began: float = 0.0
    due: float = 0.0
    ended: bool = False
    run: Run | None = None
    error: str | None = None
    microcents: int = 0

    @property
    def idempotency_key(self) -> str:
        """A different key for each run of the row; requests that repeat the start of a run use the same one."""
        return f"map-{self.key}" + (f"-{self.tried}" if self.tried > 1 else "")


def rows(grid: Grid, prompt: str, key: str | None, about: Mapping[str, Any]) -> list[BatchRow]:
    """One `BatchRow` for each row of the DataFrame, with the prompt filled in.

    `key` names the column that identifies rows; `about` holds what else the answer depends on, and goes into their
    keys. A row without any value for the prompt is ended at once. Raises `StefanBrainError` for an unknown column and
    for an unusable key column.
    """
    named = referenced_columns(prompt, grid.names)
    columns = [grid.values(name) for name in named]
    names = _names(grid, key)
    seen: Counter[str] = Counter()
    made = []
    for place, values in enumerate(zip(*columns, strict=True)):
        message = fill(prompt, dict(zip(named, values, strict=True)))
        seen[message] += 1
        row = BatchRow(message, _digest(names[place] if names else seen[message], message, about))
        if all(value is None or value == "" for value in values):
            row.ended, row.error = True, f"not asked: there is nothing in {', '.join(named)}"
        made.append(row)
    return made


def _names(grid: Grid, key: str | None) -> list[str]:
    """The values of the key column, one per row; [] without one. Raises `StefanBrainError` unless they are unique."""
    if key is None:
        return []
    if key not in grid.names:
        raise StefanBrainError(f"There is no column {key!r} to be the key; nothing was sent.")
    values = grid.values(key)
    if None in values:
        raise StefanBrainError(f"A row has no {key!r}, which is to be the key; nothing was sent.")
    twice = [value for value, count in Counter(map(str, values)).items() if count > 1]
    if twice:
        raise StefanBrainError(f"{twice[0]!r} stands twice in {key!r}, which is to be the key; nothing was sent.")
    return [str(value) for value in values]


def _digest(name: str | int, message: str, about: Mapping[str, Any]) -> str:
    whole = json.dumps([name, message, about], sort_keys=True, default=str)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:40]


def fields(schema: Mapping[str, Any] | None) -> dict[str, str]:
    """The columns of an answer and their dtypes: one for each field of the schema, or just `answer`."""
    if schema is None:
        return {"answer": "string"}
    found = schema.get("properties") or {}
    return {name: _type(field, schema.get("$defs", {})) for name, field in found.items()} or {"answer": "object"}


def _type(field: Any, definitions: Mapping[str, Any]) -> str:
    if not isinstance(field, Mapping):
        return "object"
    if isinstance(there := field.get("$ref"), str):
        return _type(definitions.get(there.rpartition("/")[2]), {})
    either = [part for part in field.get("anyOf", ()) if part != {"type": "null"}]
    if len(either) == 1:
        return _type(either[0], definitions)
    kinds = field.get("type")
    kinds = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    return JSON_DTYPES.get(kinds[0], "object") if len(kinds) == 1 and isinstance(kinds[0], str) else "object"


def checked(grid: Grid, names: Iterable[str], prefix: str) -> None:
    """Raises `StefanBrainError` if a column of the answers would have the name of an existing one."""
    for name in (*names, *ABOUT):
        if prefix + name in grid.names:
            raise StefanBrainError(
                f"The DataFrame has a column {prefix + name!r} already; nothing was sent.",
                hint=f"Drop it, or have all new columns begin with something: prefix={'new_'!r}",
            )


def answer_columns(rows: Sequence[BatchRow], kinds: Mapping[str, str], shape: Shape | None, prefix: str) -> Columns:
    """The columns to append: one for each field of the answers in `kinds`, then those of `ABOUT`."""
    answers = [_answer(row, kinds, shape) for row in rows]
    about = [_about(row) for row in rows]
    made = {prefix + name: (kind, [answer.get(name) for answer in answers]) for name, kind in kinds.items()}
    return made | {prefix + name: (kind, [row[name] for row in about]) for name, kind in ABOUT.items()}


def fault(run: Run, shape: Shape | None) -> str | None:
    """Why an ended run does not count as an answer (it failed, or its output does not fit `shape`), or None."""
    if run.status != "completed":
        why = ": ".join(part for part in (run.last_error, run.last_error_message) if part)
        return why or f"the run is {run.status}"
    try:
        _ = run.of_shape(shape).data
    except StefanBrainError as error:
        return error.message
    return None


def _answer(row: BatchRow, kinds: Mapping[str, str], shape: Shape | None) -> dict[str, Any]:
    if row.run is None or row.error:
        return {}
    if shape is None:
        return {"answer": row.run.output}
    data = row.run.of_shape(shape).data
    if isinstance(shape, type):
        data = TypeAdapter[Any](shape).dump_python(data, mode="json", by_alias=True)
    return {"answer": data} if "answer" in kinds and "answer" not in (data or {}) else dict(data or {})


def _about(row: BatchRow) -> dict[str, Any]:
    run = row.run
    return {
        "error": row.error,
        "run_id": run.run_id if run else None,
        "chat": run.chat if run else None,
        "cents": row.microcents / CENT if run else None,
    }


# -- answers that are kept ------------------------------------------------------------------------------------------


class ResultCache:
    """Completed runs by the key of their row, in a file (mode 0600) to which each row adds one line of JSON.

    Without a path nothing is stored.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        """Read the file, or create it. Raises `StefanBrainError` if it cannot be read and written."""
        self._runs: dict[str, str] = {}
        self._path = None if path is None else Path(path)
        if self._path is None:
            return
        try:
            self._append(self._path, "")
            self._read(self._path)
        except (OSError, UnicodeDecodeError) as error:
            raise StefanBrainError(f"The answers cannot be kept in {self._path}: {error}.") from None

    def get(self, key: str) -> Run | None:
        """The run that answered the row with this key, or None."""
        found = self._runs.get(key)
        return read(Run, found, "A kept answer") if found else None

    def add(self, key: str, run: Run) -> None:
        """Store a completed run. Raises `OSError` if the file cannot be written."""
        if self._path is None:
            return
        line = json.dumps({"key": key, "run": run.model_dump(mode="json")}, ensure_ascii=False)
        # Begins with a line break, so that it does not continue half a line left by an earlier crash.
        self._append(self._path, f"\n{line}")

    def _append(self, path: Path, text: str) -> None:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.write(text)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").split("\n"):
            try:
                entry = read_json(line)
                self._runs[entry["key"]] = json.dumps(entry["run"])
            except (ValueError, KeyError, TypeError):  # a line cut off by a crash
                continue


# -- rows that failed -----------------------------------------------------------------------------------------------

# Codes that every row would fail with, though their status does not say so.
_EACH_ALIKE: Final = frozenset(
    {"invalid_model", "invalid_output_config", "project_not_found", "too_many_attachments", "upload_not_found"}
)


def retry_wait(
    error: StefanBrainError, attempt: int, limit: int, rng: Callable[[], float], same_day: bool
) -> float | None:
    """Seconds until the row may be asked again, or None to give it up.

    A refusal by a full service (429) started nothing, so the row is asked again without a limit on attempts. A row
    whose run may have started is asked again only on the UTC day of its idempotency key (`same_day`).
    """
    if isinstance(error, JobTimeoutError) or error.late:
        return None
    if error.status != 429:
        return options.pause(error, attempt, limit, rng) if same_day else None
    if options.transient(error) and error.retry_after_seconds is None:
        return float(BUSY_RETRY_AFTER_SECONDS)
    return options.pause(error, 1, 1, rng)


def each_alike(error: StefanBrainError) -> bool:
    """True if every row would fail for the same reason: a wrong key, no money, an unreachable service."""
    if isinstance(error, APIConnectionError):
        return not error.sent
    return error.status in (401, 403, 429) or error.code in _EACH_ALIKE


def error_text(error: StefanBrainError) -> str:
    """The error as the text of a table cell."""
    return f"{error.code}: {error.message}" if error.code else error.message
