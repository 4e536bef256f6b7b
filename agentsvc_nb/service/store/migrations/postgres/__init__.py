"""Migrate the schema of a PostgreSQL database. Its first step replaces the first 15 steps of SQLite.

A later step of SQLite is also applied here. If PostgreSQL needs other SQL, this package has a file of the same name in
its place. The library procrastinate creates the tables of the queue.
"""

from __future__ import annotations

from importlib import metadata, resources
from pathlib import Path
from typing import Any, Final

import psycopg

from agentsvc_nb.service.ports import StoreUnusable
from agentsvc_nb.service.store import migrations
from agentsvc_nb.service.store.migrations import SchemaTooNew

FIRST: Final = 15
"""The number of the first step of a PostgreSQL database."""
CHANGES: Final = "-- Changes what earlier versions read or write.\n"
"""The first line of a step that does more than add tables, indexes, and columns with a default.

Versions that do not know such a step can't use the database after it.
"""
_MIGRATING: Final = 0x6167656E74737664


def read_steps() -> list[str]:
    """Return the SQL of all steps, from the step `FIRST` on."""
    own = {file.name: file for file in resources.files(__package__).iterdir() if file.name.endswith(".sql")}
    later = {file.name: file for file in migrations.list_files() if int(file.name[:4]) > FIRST}
    return [file.read_text(encoding="utf-8") for _, file in sorted({**later, **own}.items())]


def newest() -> int:
    """Return the number of the newest step that this version knows."""
    return FIRST + len(read_steps()) - 1


def migrate(connection: psycopg.Connection[Any]) -> int:
    """Apply all missing steps, or none if a step fails. Return the number of the newest step before the migration.

    Raises `SchemaTooNew` if a newer version has applied a step that did more than add to the schema.
    """
    known = read_steps()
    if _is_served(connection):
        return version(connection)
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        found = version(connection)
        if _is_served(connection):  # check again, because another process may have migrated the database meanwhile
            return found
        encoding = _read_value(connection, "SELECT current_setting('server_encoding') AS found")
        if not found and encoding != "UTF8":
            raise StoreUnusable(f"The database's encoding is {encoding}: create a database with ENCODING 'UTF8'.")
        _migrate_queue(connection)
        for step in known[max(found - FIRST + 1, 0) :]:
            connection.execute(step.encode())
        numbers: dict[str, object] = {"schema_queue": _queue_version()}
        if found < newest():
            changed = max(
                (number for number, step in enumerate(known, FIRST) if step.startswith(CHANGES)), default=FIRST
            )
            numbers |= {"schema": newest(), "schema_changed": changed}
        for name, value in numbers.items():
            connection.execute("DELETE FROM meta WHERE name = %s", [name])
            connection.execute("INSERT INTO meta (name, value) VALUES (%s, %s)", [name, str(value)])
    return found


def _migrate_queue(connection: psycopg.Connection[Any]) -> None:
    """Create procrastinate's tables and functions, or upgrade them from an earlier version.

    They are in the same schema as our tables, and differ from them by name. A separate schema would have to be on the
    search path, which a connection pooler loses if it changes the connection for each transaction.
    """
    from procrastinate.schema import SchemaManager  # an up-to-date database does not need this import

    if _read_value(connection, "SELECT to_regclass('procrastinate_jobs') IS NULL AS found"):
        connection.execute(SchemaManager.get_schema())
    elif (before := _read_text(connection, "schema_queue")) is not None:
        for file in sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql")):
            # A file's name begins with the version to which the file upgrades, such as 03.04.00_01_pre_add_retry.sql.
            if _parse_version(file.name.partition("_")[0]) > _parse_version(before):
                connection.execute(file.read_bytes())


def _queue_version() -> str:
    """Return the version of procrastinate that is installed."""
    return metadata.version("procrastinate")


def _parse_version(version: str) -> tuple[int, ...]:
    """Split a version into numbers, which can be compared.

    >>> _parse_version("03.04.00") < _parse_version("3.10.0")
    True
    """
    return tuple(int(part) for part in version.split(".")[:3])


def version(connection: psycopg.Connection[Any]) -> int:
    """Return the number of the newest applied step, or 0 for a database without our schema."""
    return _read_int(connection, "schema") or 0


def _is_served(connection: psycopg.Connection[Any]) -> bool:
    """Return whether this version can use the schema without a migration. Raises `SchemaTooNew`."""
    found = version(connection)
    if is_too_new(connection):
        raise SchemaTooNew(
            f"The database has schema {found}, but this version supports schemas up to {newest()}: upgrade "
            "agentsvc-nb, or choose another database."
        )
    queue = _read_text(connection, "schema_queue")
    return found >= newest() and queue is not None and _parse_version(queue) >= _parse_version(_queue_version())


def is_too_new(connection: psycopg.Connection[Any]) -> bool:
    """Return whether a newer version has applied a step that did more than add to the schema."""
    return (found := version(connection)) > newest() and (_read_int(connection, "schema_changed") or found) > newest()


def _read_int(connection: psycopg.Connection[Any], name: str) -> int | None:
    found = _read_text(connection, name)
    return None if found is None else int(found)


def _read_text(connection: psycopg.Connection[Any], name: str) -> str | None:
    if _read_value(connection, "SELECT to_regclass('meta') IS NULL AS found"):
        return None
    found: str | None = _read_value(connection, f"SELECT (SELECT value FROM meta WHERE name = '{name}') AS found")
    return found


def _read_value(connection: psycopg.Connection[Any], sql: str) -> Any:
    row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return row["found"]
