"""The classes for a run's answer: its text, its structured data (`--schema`), and the Python code that it proposes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, get_origin

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from agentsvc_nb.client import models
from agentsvc_nb.client.downloads import table_files
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.notebook.display.markdown import parser
from agentsvc_nb.notebook.display.render import Bundle
from agentsvc_nb.notebook.display.results import WorkResult
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import AnswerBasis, Run
from agentsvc_nb.wire.text import plain

if TYPE_CHECKING:
    import pandas as pd

_PYTHON: Final = ("", "python", "py", "python3", "ipython")


def first_code(text: str) -> str | None:
    r"""Return the first Python code block in Markdown, without invisible characters, or None if there is none.

    >>> first_code("Try:\n```python\nprint(1)\n```")
    'print(1)'
    """
    for token in parser().parse(text):
        words = token.info.split()
        if token.type == "fence" and (words[0].lower() if words else "") in _PYTHON:
            return plain(token.content).rstrip("\n")
    return None


RECORDS: Final = "records"
"""The name of the property that holds the list of records. The service accepts only schemas whose root is an object, so
a list is wrapped in one.
"""


class AnswerShape:
    """The expected shape of an answer's data: a pydantic model, a dataclass, `list[Model]`, or a JSON Schema as a dict.

    `given` is the value of the variable `name`. Error messages mention the variable. Raises `AskError` if `given` has
    another type, or if no answer can satisfy the schema.
    """

    def __init__(self, name: str, given: Any) -> None:
        self.kind = given if isinstance(given, type) and get_origin(given) is None else None
        is_list = get_origin(given) is list
        if self.kind is None and not is_list and not isinstance(given, dict):
            raise AskError(
                f"--schema {name}: a {type(given).__name__} is not a valid schema; nothing was sent.",
                "Use a pydantic model, a dataclass, list[Model] for a list of records, or a JSON Schema as a dict.",
            )
        try:
            whole: Any = TypeAdapter(given).json_schema() if is_list else given
            self.records = isinstance(whole, dict) and whole.get("type") == "array"
            sent = _wrap_array(whole) if self.records else models.schema(given)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise AskError(f"--schema {name}: {error.message}; nothing was sent.") from None
        except StefanBrainError as error:
            raise AskError(f"--schema {name}: {error.message} Nothing was sent.", error.hint or "") from None
        assert sent is not None
        self.schema: dict[str, Any] = sent

    def read(self, data: dict[str, Any], **attrs: Any) -> Any:
        """Convert the answer's data to an instance of the model, or to a DataFrame if the shape is a list. If the shape
        is a JSON Schema, return the data unchanged.

        If the data does not fit the model, raises a `StefanBrainError` that names the first invalid field.
        """
        if self.records:
            return frame(self.rows(data), self.columns, **attrs)
        return models.parse_answer(self.kind, data) if self.kind is not None else data

    def rows(self, data: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the records of an answer as rows. A record that is not an object becomes `{"value": record}`."""
        found = data.get(RECORDS)
        rows = found if isinstance(found, list) else []
        return [row if isinstance(row, dict) else {"value": row} for row in rows]

    @property
    def columns(self) -> dict[str, str]:
        """The pandas dtype of each column, by field name. A field that allows several types has the dtype `object`."""
        item = self._resolve(self.schema["properties"][RECORDS].get("items") or {})
        fields = item.get("properties") or {}
        return {name: _column(self._resolve(field)) for name, field in fields.items()}

    def _resolve(self, schema: dict[str, Any]) -> dict[str, Any]:
        shared = self.schema.get("$defs") or self.schema.get("definitions") or {}
        found = shared.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)
        return found if isinstance(found, dict) else {}


def _wrap_array(array: dict[str, Any]) -> dict[str, Any]:
    """Wrap an array schema in an object schema. Move `$defs` to the root, so that `#/$defs/...` still resolves."""
    shared: dict[str, Any] = {name: array[name] for name in ("$defs", "definitions") if name in array}
    inner = {name: part for name, part in array.items() if name not in shared}
    return {
        "type": "object",
        "properties": {RECORDS: inner},
        "required": [RECORDS],
        "additionalProperties": False,
        **shared,
    }


def _column(field: dict[str, Any]) -> str:
    kinds = [part for part in field.get("anyOf", [field]) if part.get("type") != "null"]
    kind = kinds[0] if len(kinds) == 1 else {}
    if kind.get("type") == "string" and kind.get("format") == "date-time":
        return models.TIME_DTYPE
    found = kind.get("type")
    return models.JSON_DTYPES.get(found, "object") if isinstance(found, str) else "object"


class CellAnswer(WorkResult):
    """The answer of a run, as the value of a cell. `again` is True if the cell shows the stored answer of an earlier
    run.

    Examples of its attributes: `answer.text`, `answer.df`, `answer.data["price"]`, `answer.files[0].path`,
    `answer.run.usage`
    """

    def __init__(
        self,
        run: Run,
        text: str,
        bundle: Bundle,
        files: Sequence[WorkspaceFile],
        shape: AnswerShape | None = None,
        again: bool = False,
        inputs: Sequence[str] = (),
        fetch_tables: Callable[[], list[pd.DataFrame]] = list,
    ) -> None:
        super().__init__(bundle, files, run.chat)
        self.run = run
        self.text = text
        self.again = again
        self._shape = shape
        self._fetch_tables = fetch_tables
        self.inputs = tuple(inputs)
        """SHA-256s of the attached files."""

    @property
    def attrs(self) -> dict[str, Any]:
        return super().attrs | {"run_id": self.run_id, "model": self.run.model, "inputs": list(self.inputs)}

    @property
    def data(self) -> Any:
        """The structured data of the answer, or None if the run returned none.

        The value is a dict, an instance of the model, or a DataFrame for a list of records. Raises `StefanBrainError`
        when the answer fits the schema but fails the model's validators.
        """
        found = self.run.structured_output
        if found is None or self._shape is None:
            return found
        return self._shape.read(found, **self.attrs)

    @functools.cached_property
    def tables(self) -> list[pd.DataFrame]:
        """The tables that the run computed, as DataFrames. `[]` if the run computed none. The first access downloads
        the tables.

        Raises `StefanBrainError` if the download fails.
        """
        return self._fetch_tables() if table_files(self.files) else []

    @property
    def df(self) -> pd.DataFrame:
        """The first computed table. If there is none, the records of an answer to `--schema list[Model]`.

        Raises `AskError` if the answer has neither.
        """
        if self.tables:
            return self.tables[0]
        if self._has_records:
            records: pd.DataFrame = self.data
            return records
        raise AskError(f"This answer has no computed table. It has {self._contents}.")

    @property
    def _has_records(self) -> bool:
        return self._shape is not None and self._shape.records and self.run.structured_output is not None

    @property
    def basis(self) -> AnswerBasis | None:
        """How the agent obtained the answer, as the agent itself reported it. None if it reported nothing.

        For example, `answer.basis.basis` is `computed` or `quoted`.
        """
        return self.run.basis

    @property
    def code(self) -> str | None:
        """The first Python code block of the answer, or None. A block that names no language counts as Python."""
        return first_code(self.text)

    @property
    def run_id(self) -> str:
        return self.run.run_id

    @property
    def status(self) -> str:
        return str(self.run.status)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        known = {
            ".text": True,
            ".df": self._has_records or table_files(self.files),
            ".data": self.run.structured_output is not None,
            ".files": self.files,
        }
        names = " ".join(name for name, there in known.items() if there)
        return f"<Answer {self.status}: {self._contents}; {names}; run {self.run_id}>"

    @property
    def _contents(self) -> str:
        """A summary of what the answer contains. It gives the sizes of tables only if they are already downloaded,
        because it sends no request.
        """
        count = len(table_files(self.files))
        sizes = [f"table {len(table)} x {table.shape[1]}" for table in self.__dict__.get("tables", [])]
        parts = [f"{len(self.text):,} character{'s' * (len(self.text) != 1)}"]
        parts += sizes or ([f"{count} table{'s' * (count != 1)}"] if count else [])
        parts += ["structured data"] if self.run.structured_output is not None else []
        parts += [f"{len(self.files)} file{'s' * (len(self.files) != 1)}"] if self.files else []
        return ", ".join(parts)
