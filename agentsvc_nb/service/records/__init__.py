"""Rows of the database as frozen records, read and written by named queries: in a module's `.sql` file, each statement
has a line `-- name: claim` above it."""

from __future__ import annotations

import re
from importlib import resources

from agentsvc_nb.service.ports import Tx

_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def load(file: str) -> dict[str, str]:
    """The statements of `file` (a name without `.sql`), by name."""
    text = resources.files("agentsvc_nb.service.records").joinpath(f"{file}.sql").read_text()
    _, *parts = _NAME.split(text)
    return {name: sql.strip() for name, sql in zip(parts[::2], parts[1::2], strict=True)}


def beginning(data: bytes, chars: int) -> str:
    """The first `chars` characters of a text of which `data` has the first 4 * `chars` bytes."""
    return data.decode("utf-8", "ignore")[:chars]  # the last character of `data` may be cut


_sql = load("newest")


def newest(tx: Tx) -> int | None:
    """The time of the newest record in ms; None when there is none."""
    row = tx.one(_sql["newest"])
    return None if row is None else row["at"]
