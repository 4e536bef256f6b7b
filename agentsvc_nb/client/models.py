"""The results of operations: records, DataFrames, and structured answers.

A record is a pydantic model of a response, such as `Run`. A structured answer has a shape that the caller defines.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Self, cast, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    Field,
    PrivateAttr,
    PydanticSchemaGenerationError,
    PydanticUserError,
    ValidationError,
)
from typing_extensions import TypeVar  # `typing.TypeVar` has `default` only since Python 3.13

from agentsvc_nb.client import cards
from agentsvc_nb.client.cards import Displayable
from agentsvc_nb.client.errors import StefanBrainError, error_for_code
from agentsvc_nb.extras import pip_install
from agentsvc_nb.wire import files, runs, tools
from agentsvc_nb.wire.models import Model

if TYPE_CHECKING:
    import pandas as pd


M = TypeVar("M", bound=Model)
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair. JSON can represent it, but UTF-8 cannot, so nothing can print or send it."""


def read(model: type[M], data: bytes | str, where: str, status: int | None = None) -> M:
    """Read JSON as an instance of `model`. Keep fields and values that the model does not know.

    Raises `StefanBrainError` if the JSON is invalid or a field has the wrong type. The error's message begins with
    `where`, which names the source of the JSON, and contains the name of the field.
    """
    try:
        try:
            return model.read(data)
        except ValidationError as error:
            if not any(detail["type"] == "json_invalid" for detail in error.errors(include_url=False)):
                raise
            try:
                # Python's parser accepts byte order marks and halves of surrogate pairs, pydantic's parser does not.
                text = json.dumps(json.loads(data), ensure_ascii=False)
            except (ValueError, RecursionError):
                raise error from None
            return model.read(_LONE_SURROGATE.sub("\ufffd", text))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)
        if any(not detail["loc"] and detail["type"] in ("json_invalid", "model_type") for detail in wrong):
            message = f"{where} did not return a JSON object. Check the base URL."
        else:
            fields = "; ".join(f"`{'.'.join(map(str, detail['loc']))}`: {detail['msg']}" for detail in wrong[:3])
            message = f"{where} returned a field with a wrong value: {fields}."
        raise StefanBrainError(message, status=status) from None
    except (ValueError, RecursionError) as error:
        raise StefanBrainError(f"{where} returned invalid JSON: {error}.", status=status) from None


# -- structured answers -----------------------------------------------------------------------------------------------

T = TypeVar("T")
Data = TypeVar("Data", default=dict[str, Any])
Shape = dict[str, Any] | type[Any]


def schema(shape: Shape | None) -> dict[str, Any] | None:
    """Return the JSON Schema of `shape`, which is a class or already a schema (a dict).

    Raises `StefanBrainError` (`invalid_output_config`) for a class that has no schema, or whose schema does not
    describe an object.
    """
    if shape is None or isinstance(shape, dict):
        return shape
    from pydantic import TypeAdapter  # here, because most programs do not need it

    if isinstance(shape, str | bytes):
        raise error_for_code(
            "invalid_output_config", "`output_config` must be a JSON Schema as a dictionary, or a class."
        )
    name = getattr(shape, "__name__", str(shape))
    try:
        made = TypeAdapter(shape).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        why = f"`output_config` {name} has no JSON Schema: {error.message}"
        raise error_for_code("invalid_output_config", why) from None
    if made.get("type") != "object":
        why = "refers to itself" if "$ref" in made else "is not an object with named fields"
        raise error_for_code(
            "invalid_output_config", f"`output_config` {name} {why}, so an answer cannot have this shape."
        )
    return made


def parse_answer(shape: type[T], data: dict[str, Any]) -> T:
    """Return `data` as an instance of `shape`. Raises `StefanBrainError` that names the first wrong field."""
    from pydantic import TypeAdapter

    try:
        return TypeAdapter(shape).validate_json(json.dumps(data))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "it"
        name = getattr(shape, "__name__", str(shape))
        raise StefanBrainError(
            f"The answer does not fit {name}: {where}: {first['msg']}.", code=None, body=data
        ) from None


# -- DataFrames -------------------------------------------------------------------------------------------------------

TIME_DTYPE: Final = "datetime64[ns, UTC]"
JSON_DTYPES: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "Int64",
    "number": "Float64",
    "boolean": "boolean",
}
"""The pandas dtype for each JSON type. A column of another type has the dtype `object`."""
_DTYPES: Final[Mapping[object, str]] = {
    str: JSON_DTYPES["string"],
    int: JSON_DTYPES["integer"],
    float: JSON_DTYPES["number"],
    bool: JSON_DTYPES["boolean"],
}


@functools.cache
def columns(kind: type) -> dict[str, str]:
    """Return the DataFrame columns for a model or dataclass, as a dict of names and pandas dtypes.

    There is a column for each field except `object`, which is always the same. Times are in UTC. Integers, booleans and
    text have nullable dtypes (`pd.NA`). Nested values have the dtype `object`.
    """
    hints = get_type_hints(kind)
    names = kind.model_fields if issubclass(kind, BaseModel) else hints
    dtypes = {}
    for name in names:
        hint = hints[name]
        parts = [hint] if get_origin(hint) is Literal else get_args(hint) or [hint]
        kinds = {get_origin(part) or part for part in parts} - {type(None)}
        if Literal in kinds and kinds <= {Literal, str}:
            dtype = "category"
        else:
            dtype = _DTYPES.get(kinds.pop(), "object") if len(kinds) == 1 else "object"
        dtypes[name] = TIME_DTYPE if dtype == "string" and name.endswith("_at") else dtype
    return {name: dtype for name, dtype in dtypes.items() if name not in ("object", "model_extra")}


def to_dataframe(kind: type, records: Iterable[Any], **attrs: str | None) -> pd.DataFrame:
    """Return a DataFrame with one row per record and the columns of `columns(kind)`.

    `kind` is the model or dataclass of the records, and `attrs` become `DataFrame.attrs`. If a value does not fit the
    dtype of its column, raises `StefanBrainError` that names the column.
    """
    rows = []
    for record in records:
        if is_dataclass(record):
            row = {field.name: getattr(record, field.name) for field in fields(record)}
            rows.append({**row.pop("model_extra", {}), **row})
        else:
            rows.append(record.model_dump(exclude={"object"}, warnings=False))
    return frame(rows, columns(kind), **attrs)


def frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], **attrs: Any) -> pd.DataFrame:
    """Return a DataFrame with these columns and dtypes. Other fields of the rows follow as columns of dtype `object`.

    >>> frame([file.model_dump()], columns(WorkspaceFile), chat="chat_1").dtypes  # doctest: +SKIP
    """
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(f"DataFrames need pandas: {pip_install('frames')}", name="pandas") from None

    rows = list(rows)
    extra = {name: "object" for row in rows for name in row if name not in columns}
    made = {}
    for name, dtype in [*columns.items(), *extra.items()]:
        values = pd.Series([row.get(name) for row in rows], dtype="object")
        try:
            if dtype == TIME_DTYPE:
                values = pd.to_datetime(values.astype("string"), utc=True, format="ISO8601", errors="coerce")
            made[name] = values.astype(dtype)
        except (ValueError, TypeError, OverflowError):
            wrong = f"The service sent a `{name}` that does not fit the type {dtype}. Use the records themselves."
            raise StefanBrainError(wrong) from None
    found = pd.DataFrame(made)
    found.attrs.update(attrs)
    return found


# -- records ----------------------------------------------------------------------------------------------------------


class HasTables(Model):
    """The base class of records that return the tables of a run as DataFrames."""

    @property
    def df(self) -> pd.DataFrame:
        """Return the first table of the run as a DataFrame.

        Raises the same errors as `tables`, and `StefanBrainError` if the run has no table.
        """
        if not (tables := self.tables):
            raise StefanBrainError("This run has no table: it computed none, or its agent does not save tables.")
        return tables[0]

    @property
    def tables(self) -> list[pd.DataFrame]:
        """Return the tables that the run has written so far. Each access fetches the tables from the service.

        Raises `StefanBrainError` for a run from `AsyncAgentService`, from a stream or from a pickle. For such a run,
        call `client.runs.tables(run)`.
        """
        fetch = self.__dict__.get("_fetch_tables")
        if fetch is None:
            raise StefanBrainError("This record cannot fetch its tables. Call `client.runs.tables(run)` instead.")
        found: list[pd.DataFrame] = fetch()
        return found

    def with_tables(self, fetch: Callable[[], list[pd.DataFrame]]) -> Self:
        """Let the record fetch its tables with `fetch`, and return it. Comparisons and pickles ignore `fetch`."""
        self.__dict__["_fetch_tables"] = fetch
        return self

    def __getstate__(self) -> dict[Any, Any]:
        state = super().__getstate__()
        kept = {name: value for name, value in state["__dict__"].items() if name != "_fetch_tables"}
        return state | {"__dict__": kept}


class Run(HasTables, Displayable, runs.Run, Generic[Data]):
    """The record of a run, which is one turn of the agent in a chat. A notebook shows it as a card.

    If you pass a class `Offer` to a start as `output_config`, type checkers see the result as a `Run[Offer]`.
    """

    _shape: type[Any] | None = PrivateAttr(default=None)

    @property
    def data(self) -> Data | None:
        """Return the structured output of the run, or None if there is no structured output yet.

        If you passed a model or dataclass to the start as `output_config`, the output is an instance of that class,
        else a dict. A run from `runs.get` does not know the class, so call `parse` for an instance.

        Raises `StefanBrainError` if the answer fits the class's JSON Schema, but not its own validators.
        """
        if self.structured_output is None or self._shape is None:
            return cast("Data | None", self.structured_output)
        return cast("Data", parse_answer(self._shape, self.structured_output))

    def parse(self, shape: type[T]) -> T:
        """Return the structured output as an instance of `shape`: a pydantic model, a dataclass or a TypedDict.

        Raises `StefanBrainError` if the run has no structured output, or its output does not fit `shape`.

        >>> client.runs.wait(run.run_id).parse(Campaign).headline  # doctest: +SKIP
        """
        if self.structured_output is None:
            why = self.last_error_message or self.last_error or "its answer is not a JSON object"
            raise StefanBrainError(f"This run has no structured output: {why}. (run {self.run_id}, {self.status})")
        return parse_answer(shape, self.structured_output)

    @property
    def shape(self) -> Any:
        """Return the class of `data`, which you passed to the start as `output_config`, or None if `data` is a dict."""
        return self._shape

    def with_shape(self, shape: Any) -> Self:
        """If `shape` is a class, let `data` return instances of this class. Return the run."""
        self._shape = shape if isinstance(shape, type) else None
        return self

    def _mimebundle(self) -> cards.Bundle:
        facts = {
            "run": self.run_id,
            "chat": self.chat,
            "started": self.started_at or self.created_at,
            "ended": self.ended_at,
            "undone": self.undone_at,
            "steps": self.steps or None,
            "error": self.last_error,
        }
        return cards.card(f"Run {self.status}", facts, self.output or self.last_error_message or "")


class Job(Displayable, tools.Job):
    """The record of a job, which is one call of a tool that takes time. A notebook shows it as a card."""

    def _mimebundle(self) -> cards.Bundle:
        progress = self.progress
        total = f" of {progress.total:g}" if progress and progress.total else ""
        facts = {
            "job": self.job_id,
            "tool": self.tool,
            "chat": self.chat,
            "progress": f"{progress.done:g}{total} {progress.message}" if progress else None,
            "error": self.error.code if self.error else None,
            "files": ", ".join(file.file_name for file in self.files) if self.files else None,
        }
        return cards.card(f"Job {self.status}", facts, self.error.message if self.error else "")


class Answer(HasTables, Displayable, Model):
    """The result of `ask`: the text of the answer, with its chat and run. A notebook shows it as a card.

    - `answer`: the text of the answer.
    - `steps`: the number of calls of the language model.
    - `basis`: what the answer is based on, or None if the agent did not report it.
    - `raw`: the whole response of the service.
    """

    answer: str
    chat: str = ""
    app_url: str | None = None
    run_id: str | None = None
    steps: int = 0
    basis: runs.AnswerBasis | None = None
    raw: dict[str, Any] = Field(default_factory=dict, repr=False)

    def _mimebundle(self) -> cards.Bundle:
        facts = {"run": self.run_id, "chat": self.chat, "page": self.app_url, "steps": self.steps or None}
        return cards.card("Answer", facts, self.answer)


class Listing(Displayable, list[T]):
    """A list of records of the same type. A notebook shows it as a table, and `to_frame` returns a DataFrame."""

    def __init__(self, records: Iterable[T], kind: type[T]) -> None:
        super().__init__(records)
        self.kind = kind
        self._request_id: str | None = None

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per record.

        The names and dtypes of the columns are always the same, even for an empty list (docs/tables.md). Raises
        `StefanBrainError` for a value of the wrong type, and `ImportError` without pandas.
        """
        return to_dataframe(self.kind, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Listing, (list(self), self.kind)

    def _mimebundle(self) -> cards.Bundle:
        return records_table(self.kind, self)


def to_listing(page: Model, field: str, kind: type[T]) -> Listing[T]:
    """Return the records in `field` of a response as a `Listing`, with the id of the request."""
    made = Listing(getattr(page, field), kind)
    made._request_id = page._request_id
    return made


class FileSearch(Displayable, files.FileSearch):
    """The results of a file search, the best result first."""

    def to_frame(self) -> pd.DataFrame:
        """Return a DataFrame with one row per result. Raises `ImportError` without pandas."""
        return to_dataframe(files.SearchResult, self.results, chat=self.chat)

    def _mimebundle(self) -> cards.Bundle:
        rows = []
        for found in self.results:
            passages = ("".join(part.text for part in parts) for parts in found.snippets)
            rows.append({"path": found.path, "match": found.match, "passage": " … ".join(passages)})
        return cards.table("Found", ["path", "match", "passage"], rows, len(rows))


def records_table(kind: type, records: Sequence[Any]) -> cards.Bundle:
    """Return the table that a notebook shows for records of the model `kind`."""
    names = list(_SHOWN.get(kind, columns(kind)))
    rows = ({name: getattr(record, name, None) for name in names} for record in records)
    return cards.table(_TITLES.get(kind, kind.__name__), names, rows, len(records))


_SHOWN: dict[type, Sequence[str]] = {
    files.WorkspaceFile: ("path", "name", "kind", "media_type", "size_bytes", "updated_at"),
    files.StagedFile: ("id", "file_name", "media_type", "size_bytes", "expires_at"),
    tools.ToolDescription: ("name", "description", "asynchronous", "available"),
}
_TITLES: dict[type, str] = {files.WorkspaceFile: "Files", tools.ToolDescription: "Tools", runs.Event: "Events"}
