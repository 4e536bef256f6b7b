"""A key that was looked up counts only until something is written, by whatever process."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.http.access import KeyCache
from agentsvc_nb.service.keyring import create_key
from agentsvc_nb.service.store.sqlite import SqliteDatabase


def test_what_another_process_decides_counts_at_the_next_request(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    secret = create_key(folder, name="laptop", scopes=(), budget_cents=None, member=False)
    database, beside = (SqliteDatabase(folder.database).open() for _ in range(2))

    async def requests() -> None:
        known = KeyCache(database)
        first = await known.find(secret)
        await asyncio.sleep(0)
        assert await known.find(secret) is first, "nothing was written: it is not looked up again"
        beside.write_now(lambda tx: tx.run("UPDATE api_key SET suspended_at = 1"))
        await asyncio.sleep(0)
        with pytest.raises(ApiError, match="suspended"):
            await known.find(secret)
        beside.write_now(lambda tx: tx.run("UPDATE api_key SET suspended_at = NULL, name = 'other'"))
        await asyncio.sleep(0)
        assert (await known.find(secret))[0].name == "other"
        database.write_now(lambda tx: tx.run("DELETE FROM api_key"))
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await known.find(secret)
        assert refused.value.row.code == "unauthorized"

    try:
        asyncio.run(requests())
    finally:
        database.close()
        beside.close()
