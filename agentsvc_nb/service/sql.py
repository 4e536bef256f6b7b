"""Load named SQL statements from `.sql` files, and convert rows of the database to records (frozen dataclasses).

Above each statement is a line such as `-- name: claim`. If PostgreSQL needs a different statement, that follows as `--
name: claim, in PostgreSQL`.
"""

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
"""PostgreSQL's statements, by the text of SQLite's statement. A statement that is the same for both is not here."""


def load(file: str, **columns: Sequence[str]) -> dict[str, str]:
    """Return the statements of `file` by name. `file` is a path below `service/` without its file extension, such as
    `runs/runs`.

    A placeholder such as `{entry}` in a statement is replaced by the column names `columns["entry"]`.
    """
    text = resources.files("agentsvc_nb.service").joinpath(f"{file}.sql").read_text(encoding="utf-8")
    for name, listed_columns in columns.items():
        text = text.replace(f"{{{name}}}", ", ".join(listed_columns))
    _, *parts = _NAME.split(text)
    found = {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}
    in_postgres.update({found[name.removesuffix(_OTHER)]: found[name] for name in found if name.endswith(_OTHER)})
    return {name: sql for name, sql in found.items() if not name.endswith(_OTHER)}


def fetch_one(tx: Tx, statement: str, /, **params: Any) -> Row:
    """Execute a statement that always returns exactly one row, and return the row."""
    row = tx.one(statement, **params)
    assert row is not None
    return row


@overload
def record(made: type[R], row: Row, /, **read: Any) -> R: ...
@overload
def record(made: type[R], row: Row | None, /, **read: Any) -> R | None: ...
def record(made: type[R], row: Row | None, /, **read: Any) -> R | None:
    """Return a record of the class `made` with the values of the row, or None if `row` is None.

    The keyword arguments `read` are values by column, which replace the row's values. Columns without a field in `made`
    are ignored, because a newer version may have added them to a shared database.
    """
    if row is None:
        return None
    values = {**row, **read}
    return made(**{name: values[name] for name in made.__slots__})  # type: ignore[attr-defined]


def public(model: type[M], made: object, /, **computed: Any) -> M:
    """Convert a record to the model of `wire/` that clients receive.

    The value of each field is taken from `computed`, or else from the record's field of the same name, with times as
    text. Other fields keep their defaults.
    """
    names = [name for name in model.model_fields if name not in computed and hasattr(made, name)]
    return model(**{name: wire_value(name, getattr(made, name)) for name in names}, **computed)


def wire_value(name: str, column: Any) -> Any:
    """Convert a column's value for a wire model: times (`..._at`) become RFC 3339 texts."""
    return rfc3339(column) if name.endswith("_at") and column is not None else column


def sql_list(values: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return an SQL list for the operator `IN`, and its parameters.

    >>> sql_list(["a", "b"])
    ('(:v0, :v1)', {'v0': 'a', 'v1': 'b'})
    """
    params = {f"v{number}": value for number, value in enumerate(values)}
    return f"({', '.join(f':{name}' for name in params)})", params


def beginning(data: bytes | str, chars: int) -> str:
    """Return the first `chars` characters of a text.

    `data` is the text, as characters or as bytes in UTF-8. It may be truncated, but not to less than `chars` characters
    or 4 * `chars` bytes.
    """
    return (data if isinstance(data, str) else data.decode("utf-8", "ignore"))[:chars]  # ignores a truncated character


_sql = load("newest")


def newest_time(tx: Tx) -> int | None:
    """Return the time (ms) of the newest key, chat, run, job, upload, media record or file, or None if none exists."""
    at: int | None = fetch_one(tx, _sql["newest"])["at"]
    return at
