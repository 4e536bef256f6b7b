"""Migrate SQLite's schema with files such as `0001-first.sql`. Add files, and never edit a released file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable


class SchemaTooNew(Exception):
    """A newer version of the package has changed the schema, so this version can't use the database."""


def read_steps() -> list[str]:
    """Return the SQL of all steps. The version of a database's schema is the number of its applied steps."""
    return [file.read_text(encoding="utf-8") for file in list_files()]


def list_files() -> list[Traversable]:
    """Return the files of the steps, in order."""
    found = [file for file in resources.files(__package__).iterdir() if file.name.endswith(".sql")]
    return sorted(found, key=lambda file: file.name)


def migrate(connection: sqlite3.Connection, to: int | None = None) -> None:
    """Apply the missing steps up to the version `to`, or all missing steps if `to` is None.

    If a step fails, apply none of them. Raises `SchemaTooNew`.
    """
    known = read_steps()[:to]
    if version(connection) == len(known):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        applied = version(connection)  # read again, because another process may have migrated the database meanwhile
        if applied > len(known):
            raise SchemaTooNew(
                f"The data folder has schema {applied}, but this version supports schemas up to {len(known)}: "
                "upgrade agentsvc-nb, or choose another folder (--data)."
            )
        for step in known[applied:]:
            for statement in _statements(step):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(known)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite may have rolled back already, for example on a full disk
            connection.execute("ROLLBACK")
        raise


def version(connection: sqlite3.Connection) -> int:
    """Return the number of steps that were applied to the database."""
    cursor = connection.cursor()
    cursor.row_factory = None
    applied: int = cursor.execute("PRAGMA user_version").fetchone()[0]
    return applied


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one, because `executescript` would commit the transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
