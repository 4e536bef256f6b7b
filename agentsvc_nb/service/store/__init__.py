"""What the service keeps: SQLite or PostgreSQL, each with its full-text search, and blobs."""

from __future__ import annotations

from agentsvc_nb.extras import pip_install
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.ports import DatabaseEngine, StoreUnusable


def database_of(folder: DataFolder) -> DatabaseEngine:
    """The folder's database, not open yet. Raises `StoreUnusable`."""
    if not folder.address:
        from agentsvc_nb.service.store.sqlite import SqliteDatabase

        return SqliteDatabase(folder.database)
    try:
        from agentsvc_nb.service.store.postgres import PostgresDatabase
    except ImportError as error:
        needed = f"AGENTSVC_DATABASE needs PostgreSQL's driver: {pip_install('scale')}"
        raise StoreUnusable(f"{needed} ({error}).") from None
    return PostgresDatabase(folder.address)
