"""The schema in PostgreSQL: one step for all that SQLite's first had made by then, and from there on the same steps. A
step that is not portable stands here again, under the same name."""

from __future__ import annotations

from importlib import resources
from typing import Any, Final

import psycopg

from agentsvc_nb.service.ports import StoreUnusable
from agentsvc_nb.service.store import migrations
from agentsvc_nb.service.store.migrations import SchemaTooNew

FIRST: Final = 15
"""The number of the step with which a database in PostgreSQL begins."""
_MIGRATING: Final = 0x6167656E74737664
_VERSION: Final = "SELECT value FROM meta WHERE name = 'schema'"


def steps() -> list[str]:
    """The SQL of the steps from `FIRST` on."""
    own = {file.name: file for file in resources.files(__package__).iterdir() if file.name.endswith(".sql")}
    later = {file.name: file for file in migrations.files() if int(file.name[:4]) > FIRST}
    return [file.read_text(encoding="utf-8") for _, file in sorted({**later, **own}.items())]


def newest() -> int:
    """The number of the last step that is known."""
    return FIRST + len(steps()) - 1


def migrate(connection: psycopg.Connection[Any]) -> int:
    """Apply all missing steps; none if one fails. The schema's version before. Raises `SchemaTooNew`."""
    known = steps()
    if (found := version(connection)) == newest():
        return found
    with connection.transaction():
        connection.execute(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
        found = version(connection)  # again, under the lock: another process may have migrated meanwhile
        if found > newest():
            raise SchemaTooNew(
                f"The database has schema {found}, and this version knows {newest()}: upgrade agentsvc-nb, or name "
                "another database."
            )
        if not found:
            _check_encoding(connection)
        for step in known[max(found - FIRST + 1, 0) :]:
            connection.execute(step.encode())
        connection.execute("DELETE FROM meta WHERE name = 'schema'")
        connection.execute(f"INSERT INTO meta (name, value) VALUES ('schema', '{newest()}')")
    return found


def version(connection: psycopg.Connection[Any]) -> int:
    """The number of the last step that was applied; 0 for a database without ours."""
    if _only(connection, "SELECT to_regclass('meta') IS NULL AS found"):
        return 0
    return int(_only(connection, f"SELECT COALESCE(({_VERSION}), '0') AS found"))


def _check_encoding(connection: psycopg.Connection[Any]) -> None:
    if (found := _only(connection, "SELECT current_setting('server_encoding') AS found")) != "UTF8":
        raise StoreUnusable(f"The database's encoding is {found}: make one with ENCODING 'UTF8'.")


def _only(connection: psycopg.Connection[Any], sql: str) -> Any:
    row = connection.execute(sql.encode()).fetchone()
    assert row is not None
    return row["found"]
