"""The rows of a `client.map`: read the caller's DataFrame, create prompts and keys, and append the answers as columns.

The library narwhals reads and extends DataFrames of polars, pyarrow, modin and others. For a pandas DataFrame, narwhals
is not needed. The result has the same library, index and row order as the caller's DataFrame.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.client import models
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import JSON_DTYPES, Run, Shape
from agentsvc_nb.extras import pip_install
from agentsvc_nb.wire.reading import read_json
from agentsvc_nb.wire.runs import CENT

Dtypes = Mapping[str, str]
"""Maps column names to pandas dtypes: `string`, `Int64`, `Float64`, `boolean` or `object`."""


# -- DataFrames -----------------------------------------------------------------------------------------------------


class PandasAdapter:
    """A pandas DataFrame that can return a column's values and append columns."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.columns = [str(label) for label in frame.columns]

    def values(self, name: str) -> list[Any]:
        """Return the values of a column, with None for missing values."""
        column = self._frame.iloc[:, self.columns.index(name)]
        return [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]

    def append(self, records: Sequence[Mapping[str, Any]], dtypes: Dtypes) -> Any:
        """Return a copy with new columns. `records` contains one mapping of column names to values per row."""
        import pandas as pd

        new = models.frame(records, dtypes)
        new.index = self._frame.index
        return pd.concat([self._frame, new], axis=1)


class NarwhalsAdapter:
    """A DataFrame of another library, wrapped by narwhals, with the methods of `PandasAdapter`."""

    _DTYPES: Final = {"string": "String", "Int64": "Int64", "Float64": "Float64", "boolean": "Boolean"}

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.columns: list[str] = list(frame.columns)

    def values(self, name: str) -> list[Any]:
        """Return the values of a column, with None for missing values."""
        # NaN is the only value that does not equal itself.
        return [None if value != value else value for value in self._frame[name].to_list()]

    def append(self, records: Sequence[Mapping[str, Any]], dtypes: Dtypes) -> Any:
        """Return a copy with new columns. `records` contains one mapping of column names to values per row."""
        import narwhals as nw

        new = []
        for name, kind in dtypes.items():
            dtype = getattr(nw, self._DTYPES[kind]) if kind in self._DTYPES else None
            values = [record.get(name) for record in records]
            new.append(nw.new_series(name, values, dtype, backend=self._frame.implementation))
        return self._frame.with_columns(*new).to_native()


DataFrameAdapter = PandasAdapter | NarwhalsAdapter


def adapt(frame: Any) -> DataFrameAdapter:
    """Wrap a DataFrame of any supported library.

    Raises `StefanBrainError` for any other object. Without narwhals, only pandas is supported.
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return PandasAdapter(frame)
    kind = f"{type(frame).__module__.partition('.')[0]}.{type(frame).__name__}"
    try:
        import narwhals as nw
    except ImportError:
        why = f"`map` needs the package narwhals to read a {kind}; nothing was sent."
        raise StefanBrainError(why, hint=pip_install("frames")) from None
    try:
        return NarwhalsAdapter(nw.from_native(frame, eager_only=True))
    except TypeError:
        raise StefanBrainError(
            f"A {kind} is not a supported DataFrame; nothing was sent.",
            hint="Pass a DataFrame of pandas, polars or pyarrow. Call collect() on a lazy one first.",
        ) from None


# -- prompts and keys -----------------------------------------------------------------------------------------------

# A reference such as `{{name}}` is on one line. If braces are nested, the innermost pair counts: `\textbf{{{name}}}`
# contains `{{name}}`.
REFERENCE: Final = re.compile(r"(?P<escape>\\?)\{\{(?!\{)(?P<path>(?:(?!\{\{|\}\}).)*)\}\}")


def referenced_columns(prompt: str, there: Sequence[str]) -> list[str]:
    """Return the columns that the prompt refers to, without duplicates.

    Raises `StefanBrainError` if the prompt refers to no column, or to a column that is not in `there`.

    >>> referenced_columns("Is {{text}} about {{ topic }}?", ["text", "topic", "price"])
    ['text', 'topic']
    """
    named = [found["path"].strip() for found in REFERENCE.finditer(prompt) if not found["escape"]]
    if not named:
        raise StefanBrainError(
            "The prompt refers to no column, so every row would ask the same question; nothing was sent.",
            hint=f"Name one, for example: Classify {{{{{there[0] if there else 'text'}}}}}",
        )
    for name in named:
        if name not in there:
            raise StefanBrainError(
                f"The DataFrame has no column for {{{{{name}}}}}; nothing was sent.",
                hint=f"The columns are: {', '.join(there)}. Write \\{{{{{name}}}}} to send the braces as they are.",
            )
    return list(dict.fromkeys(named))


def fill(prompt: str, values: Mapping[str, Any]) -> str:
    """Replace each reference in the prompt with the row's value.

    Text stays unchanged, lists and dicts become JSON, and a missing value becomes "".

    >>> fill("Sum {{n}} of {{ what }}", {"n": 3, "what": "{{n}}"})
    'Sum 3 of {{n}}'
    """

    def insert(found: re.Match[str]) -> str:
        if found["escape"]:
            return found[0][1:]
        value = values[found["path"].strip()]
        if isinstance(value, list | tuple | dict):
            return json.dumps(value, ensure_ascii=False, default=str)
        return "" if value is None else str(value)

    return REFERENCE.sub(insert, prompt)


@dataclass(slots=True)
class BatchRow:
    """A row of a `client.map`, with its prompt and state.

    - `key`: a hash of the row's identity, prompt and options.
    - `tried`: the number of the row's current run, from 1.
    - `attempt`: the number of the current request to start this run, from 1.
    - `day`: the UTC day of the current run's first request.
    - `began`, `due`: when the row last started, and when it may start again, in seconds of a monotonic clock.
    - `microcents`: the cost of all runs of the row.
    """

    message: str
    key: str
    tried: int = 1
    attempt: int = 1
    day: date | None = None
    began: float = 0.0
    due: float = 0.0
    ended: bool = False
    run: Run[Any] | None = None
    error: str | None = None
    microcents: int = 0

    @property
    def idempotency_key(self) -> str:
        """Return the idempotency key of the row's current run. A repeated start of this run uses the same key."""
        return f"map-{self.key}" + (f"-{self.tried}" if self.tried > 1 else "")


def make_rows(frame: DataFrameAdapter, prompt: str, key: str | None, about: Mapping[str, Any]) -> list[BatchRow]:
    """Return one `BatchRow` with a filled prompt for each row of the DataFrame.

    `key` names the column that identifies rows. Without `key`, rows with the same message are numbered. `about`
    contains the other inputs that influence an answer, such as the schema. They become part of each row's key. If a row
    has no value in any column of the prompt, `map` does not ask it. Raises `StefanBrainError` for an unknown column,
    and for a key column with missing or duplicate values.
    """
    named = referenced_columns(prompt, frame.columns)
    keys = None if key is None else _unique_values(frame, key)
    seen: Counter[str] = Counter()
    made = []
    for place, values in enumerate(zip(*(frame.values(name) for name in named), strict=True)):
        message = fill(prompt, dict(zip(named, values, strict=True)))
        seen[message] += 1
        identity = json.dumps([keys[place] if keys else seen[message], message, about], sort_keys=True, default=str)
        row = BatchRow(message, hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:40])
        if all(value is None or value == "" for value in values):
            row.ended, row.error = True, f"not asked: the row is empty in {', '.join(named)}"
        made.append(row)
    return made


_UNIQUE: Final = "Choose a column that has a different value in each row, or omit `key`."


def _unique_values(frame: DataFrameAdapter, key: str) -> list[str]:
    if key not in frame.columns:
        raise StefanBrainError(f"The DataFrame has no column {key!r}, which `key` names; nothing was sent.")
    values = frame.values(key)
    if None in values:
        raise StefanBrainError(f"A row has no value in the key column {key!r}; nothing was sent.", hint=_UNIQUE)
    texts = [str(value) for value in values]
    [(most_frequent, count)] = Counter(texts).most_common(1) or [("", 0)]
    if count > 1:
        wrong = f"{most_frequent!r} occurs several times in the key column {key!r}; nothing was sent."
        raise StefanBrainError(wrong, hint=_UNIQUE)
    return texts


# -- answers --------------------------------------------------------------------------------------------------------

ABOUT: Final = {"error": "string", "run_id": "string", "chat": "string", "cents": "Float64"}
"""The names and dtypes of the columns that `map` appends after the answer's columns."""


def answer_dtypes(schema: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the names and dtypes of an answer's columns: one for each field of the schema, or only `answer`."""
    if schema is None:
        return {"answer": "string"}
    fields = schema.get("properties") or {}
    return {name: _dtype(field, schema.get("$defs", {})) for name, field in fields.items()} or {"answer": "object"}


def _dtype(field: Any, definitions: Mapping[str, Any]) -> str:
    if not isinstance(field, Mapping):
        return "object"
    if isinstance(reference := field.get("$ref"), str):
        return _dtype(definitions.get(reference.rpartition("/")[2]), {})
    choices = [part for part in field.get("anyOf", ()) if part != {"type": "null"}]
    if len(choices) == 1:
        return _dtype(choices[0], definitions)
    kinds = field.get("type")
    kinds = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else [kinds]
    return JSON_DTYPES.get(str(kinds[0]), "object") if len(kinds) == 1 else "object"


def check_names(frame: DataFrameAdapter, names: Iterable[str], prefix: str) -> None:
    """Raise `StefanBrainError` if the DataFrame already has a column that `map` would add."""
    for name in (*names, *ABOUT):
        if prefix + name in frame.columns:
            raise StefanBrainError(
                f"The DataFrame already has a column {prefix + name!r}; nothing was sent.",
                hint="Drop it, or set a prefix for all new columns, for example prefix='new_'.",
            )


def append_answers(
    frame: DataFrameAdapter, rows: Sequence[BatchRow], dtypes: Dtypes, shape: Shape | None, prefix: str
) -> Any:
    """Return the DataFrame with the columns of the answers (`dtypes`) and the columns of `ABOUT` appended."""
    records = []
    for row in rows:
        record = dict.fromkeys(dtypes) | _answer(row, dtypes, shape) | {"error": row.error}
        if row.run:
            record |= {"run_id": row.run.run_id, "chat": row.run.chat, "cents": row.microcents / CENT}
        records.append({prefix + name: record.get(name) for name in (*dtypes, *ABOUT)})
    return frame.append(records, {prefix + name: kind for name, kind in {**dtypes, **ABOUT}.items()})


def _answer(row: BatchRow, dtypes: Dtypes, shape: Shape | None) -> dict[str, Any]:
    if row.run is None or row.error:
        return {}
    if shape is None:
        return {"answer": row.run.output}
    data = row.run.with_shape(shape).data
    if isinstance(shape, type):
        from pydantic import TypeAdapter  # here, because most programs do not need it

        data = TypeAdapter[Any](shape).dump_python(data, mode="json", by_alias=True)
    return {"answer": data} if "answer" in dtypes and "answer" not in (data or {}) else dict(data or {})


def failure_reason(run: Run[Any], shape: Shape | None) -> str | None:
    """Return the reason why a run has no answer that fits `shape`, or None if it has one."""
    if run.status != "completed":
        why = ": ".join(part for part in (run.last_error, run.last_error_message) if part)
        return why or f"the run is {run.status}"
    try:
        _ = run.with_shape(shape).data
    except StefanBrainError as error:
        return error.message
    return None


class ResultCache:
    """Store completed runs by row key in a file, one line of JSON per run. Only the file's owner can read the file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Read the file, or create it. Raises `StefanBrainError` if the file cannot be read or written."""
        self._path = Path(path)
        self._runs: dict[str, str] = {}
        try:
            self._append("")
            lines = self._path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            why = f"The client cannot read or write the file {self._path} (`keep`), so nothing was sent: {error}."
            raise StefanBrainError(why) from None
        for line in lines:
            try:
                entry = read_json(line)
                self._runs[entry["key"]] = json.dumps(entry["run"])
            except (ValueError, KeyError, TypeError):  # a crash truncated this line
                continue

    def get(self, key: str) -> Run[Any] | None:
        """Return the stored run for the row with this key, or None."""
        found = self._runs.get(key)
        return models.read(Run, found, "A saved answer") if found else None

    def add(self, key: str, run: Run[Any]) -> None:
        """Store a completed run. Raises `OSError` if the file cannot be written."""
        line = json.dumps({"key": key, "run": run.model_dump(mode="json")}, ensure_ascii=False)
        # Begin with a line break, because an earlier crash may have left half a line.
        self._append(f"\n{line}")

    def _append(self, text: str) -> None:
        with open(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.write(text)
