"""DataFrames with fixed columns and types, empty ones too; fields that we do not know stand at the end.

pandas is imported on the first call only: neither the client nor the notebook's extension waits for it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from agentsvc_nb.client.errors import StefanBrainError

if TYPE_CHECKING:
    import pandas as pd

_TIME: Final = "datetime64[ns, UTC]"
_TYPES: Final[Mapping[frozenset[object], str]] = {
    frozenset({str}): "string",
    frozenset({Literal, str}): "category",
    frozenset({Literal}): "category",
    frozenset({int}): "Int64",
    frozenset({float}): "Float64",
    frozenset({bool}): "boolean",
}


def of(kind: type, records: Sequence[Any], **attrs: str | None) -> pd.DataFrame:
    """A row for each record of the model (or dataclass) `kind`, with the columns of `columns`.

    Raises `StefanBrainError` that names the column when the service sent something that its type cannot hold.
    """
    return frame(map(_row, records), columns(kind), **attrs)


@functools.cache
def columns(kind: type) -> dict[str, str]:
    """A column for each field but the constant `object`, and its type by the field's own.

    Times are UTC; whole numbers, truth values and text can be missing (`pd.NA`); what is nested stays an object.
    """
    hints = get_type_hints(kind)
    names = kind.model_fields if issubclass(kind, BaseModel) else hints
    return {name: _type(name, hints[name]) for name in names if name != "object"}


def frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any], **attrs: Any) -> pd.DataFrame:
    """A DataFrame of these columns and types, then whatever else the rows have.

    Example: `frame([file.model_dump()], columns(WorkspaceFile), chat="chat_1").dtypes`
    """
    import pandas as pd

    table = list(rows)
    extra = dict.fromkeys(name for row in table for name in row if name not in columns)
    made = pd.DataFrame({name: _column(name, table, kind) for name, kind in _typed(columns, extra)})
    made.attrs.update(attrs)
    return made


def _typed(columns: Mapping[str, Any], extra: Iterable[str]) -> Iterator[tuple[str, Any]]:
    yield from columns.items()
    yield from ((name, "object") for name in extra)


def _column(name: str, table: list[Mapping[str, Any]], kind: Any) -> pd.Series[Any]:
    import pandas as pd

    values = pd.Series([row.get(name) for row in table], dtype="object")
    try:
        return _times(values) if kind == _TIME else values.astype(kind)
    except (ValueError, TypeError, OverflowError):
        raise StefanBrainError(f"The service sent a `{name}` that is no {kind}; use the records themselves.") from None


def _times(column: pd.Series[Any]) -> pd.Series[Any]:
    import pandas as pd

    times = pd.to_datetime(column.astype("string"), utc=True, format="ISO8601", errors="coerce")
    return times.astype(_TIME)


def _row(record: Any) -> dict[str, Any]:
    if is_dataclass(record):
        return {field.name: getattr(record, field.name) for field in fields(record)}
    dumped: dict[str, Any] = record.model_dump(exclude={"object"}, warnings=False)
    return dumped


def _type(name: str, hint: Any) -> str:
    kinds = frozenset(get_origin(part) or part for part in get_args(hint) or [hint] if part is not type(None))
    if get_origin(hint) is Literal:
        return "category"
    found = _TYPES.get(kinds, "object")
    return _TIME if found == "string" and name.endswith("_at") else found
