"""Rows of the database as frozen records, read and written by named queries: in a module's `.sql` file, each statement
has a line `-- name: claim` above it. One that PostgreSQL needs otherwise is followed by its own, `-- name: claim, in
PostgreSQL`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final, TypeVar, overload

from pydantic import BaseModel

from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.times import rfc3339

R = TypeVar("R")
M = TypeVar("M", bound=BaseModel)

_NAME = re.compile(r"^-- name: (.+)\n", re.MULTILINE)
_OTHER = ", in PostgreSQL"
in_postgres: Final[dict[str, str]] = {}
"""What PostgreSQL executes in place of a named statement, by its text; most are the same for both."""


def load(file: str, **columns: Sequence[str]) -> dict[str, str]:
    """Return the statements of `file` by name: a path below `service/` without its ending, such as `runs/runs`.

    A statement may have `{entry}` where the list `columns["entry"]` belongs."""
    text = resources.files("agentsvc_nb.service").joinpath(f"{file}.sql").read_text(encoding="utf-8")
    for name, listed_columns in columns.items():
        text = text.replace(f"{{{name}}}", ", ".join(listed_columns))
    _, *parts = _NAME.split(text)
    found = {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}
    in_postgres.update({found[name.removesuffix(_OTHER)]: found[name] for name in found if name.endswith(_OTHER)})
    return {name: sql for name, sql in found.items() if not name.endswith(_OTHER)}


def returned(tx: Tx, statement: str, /, **params: Any) -> Row:
    """The row of a statement that always returns one."""
    row = tx.one(statement, **params)
    assert row is not None
    return row


@overload
def record(made: type[R], row: Row, /, **read: Any) -> R: ...
@overload
def record(made: type[R], row: Row | None, /, **read: Any) -> R | None: ...
def record(made: type[R], row: Row | None, /, **read: Any) -> R | None:
    """The record of a row, with `read` in place of some columns, and without those that a newer version has added to
    the database that this one works with, too; None without a row."""
    if row is None:
        return None
    values = {**row, **read}
    return made(**{name: values[name] for name in made.__slots__})  # type: ignore[attr-defined]


def public(model: type[M], made: object, /, **computed: Any) -> M:
    """The wire model of a record: each field is `computed`, or the record's of the same name, of which times become
    texts. Fields that are neither keep their defaults."""
    names = [name for name in model.model_fields if name not in computed and hasattr(made, name)]
    return model(**{name: wire_value(name, getattr(made, name)) for name in names}, **computed)


def wire_value(name: str, column: Any) -> Any:
    """The value of the column of this name in a field of a wire model: times are RFC 3339."""
    return rfc3339(column) if name.endswith("_at") and column is not None else column


def listed(values: Sequence[str]) -> tuple[str, dict[str, str]]:
    """A list in SQL, and its parameters.

    >>> listed(["a", "b"])
    ('(:v0, :v1)', {'v0': 'a', 'v1': 'b'})
    """
    params = {f"v{number}": value for number, value in enumerate(values)}
    return f"({', '.join(f':{name}' for name in params)})", params


def beginning(data: bytes | str, chars: int) -> str:
    """The first `chars` characters of a text of which `data` has as many or more, or the first 4 * `chars` bytes."""
    return (data if isinstance(data, str) else data.decode("utf-8", "ignore"))[:chars]  # a character may be cut


_sql = load("newest")


def newest(tx: Tx) -> int | None:
    """The time of the newest record in ms; None when there is none."""
    at: int | None = returned(tx, _sql["newest"])["at"]
    return at
