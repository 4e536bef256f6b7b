"""The tables that a run left, as DataFrames with the types of their columns (docs/api/files.md "Tables and charts")."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.downloads.fetching import download
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.models import frame
from agentsvc_nb.client.request.request import Core
from agentsvc_nb.wire.files import WorkspaceFile

if TYPE_CHECKING:
    import pandas as pd

TABLE: Final = "table"
SCHEMA_ENDING: Final = ".schema.json"
_DTYPES: Final[Mapping[str, str]] = {
    "string": "string",
    "integer": "Int64",
    "number": "float64",
    "boolean": "boolean",
    "date": "datetime64[us]",
    "datetime": "datetime64[us]",
}
_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "integer": int,
    "number": float,
    "boolean": lambda text: text == "true",
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "time": time.fromisoformat,
}
_INTEGERS: Final = range(-(2**63), 2**63)


def table_files(files: Iterable[WorkspaceFile]) -> list[tuple[WorkspaceFile, WorkspaceFile]]:
    """Of the files of a run, the CSV of each table and its schema, in the order in which they were written."""
    outputs: dict[str, list[WorkspaceFile]] = {}
    for file in files:
        if file.output is not None and file.output.type == TABLE:
            outputs.setdefault(file.output.id, []).append(file)
    found: list[tuple[WorkspaceFile, WorkspaceFile]] = []
    for members in outputs.values():
        schemas = [file for file in members if file.path.endswith(SCHEMA_ENDING)]
        contents = [file for file in members if file not in schemas]
        found += zip(contents, schemas, strict=False)
    return found


async def fetch_tables(core: Core, chat: str, files: Iterable[WorkspaceFile], **attrs: Any) -> list[pd.DataFrame]:
    """The tables among these files. Raises `StefanBrainError`, `ImportError` without pandas."""
    frames = []
    for content, schema in table_files(files):
        data, types = await download(core, content, chat=chat), await download(core, schema, chat=chat)
        assert isinstance(data, bytes)
        assert isinstance(types, bytes)
        frames.append(read_table(data, types, chat=chat, path=content.path, **attrs))
    return frames


def read_table(data: bytes, schema: bytes, **attrs: Any) -> pd.DataFrame:
    """CSV with a Table Schema as a DataFrame; its `attrs` have the `title`, the `units` of columns, and whether there
    are `more` rows. Raises `StefanBrainError` for files that do not fit each other, `ImportError` without pandas."""
    try:
        told = json.loads(schema)
        fields = {str(field["name"]): field for field in told["fields"]}
        header, *rows = csv.reader(io.StringIO(data.decode("utf-8"), newline=""))
        if header != list(fields):
            raise ValueError("its header is another")
        cells = {name: _values(str(fields[name]["type"]), column) for name, column in _columns(header, rows).items()}
        units = {name: field["unit"] for name, field in fields.items() if field.get("unit")}
        more = bool(told.get("more"))
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise StefanBrainError(f"A table of the run can't be read: {error}; download its files instead.") from None
    records = [dict(zip(header, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    dtypes = {name: _dtype(str(field["type"]), cells[name]) for name, field in fields.items()}
    return frame(records, dtypes, title=told.get("title", ""), units=units, more=more, **attrs)


def _columns(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return {name: list(column) for name, column in zip(header, columns, strict=True)}


def _values(kind: str, cells: Iterable[str]) -> list[Any]:
    read = _READERS.get(kind, str)
    return [read(cell) if cell else None for cell in cells]


def _dtype(kind: str, values: Iterable[Any]) -> str:
    if kind == "integer" and any(value is not None and value not in _INTEGERS for value in values):
        return "object"  # Python's own, which are exact
    return _DTYPES.get(kind, "object")
