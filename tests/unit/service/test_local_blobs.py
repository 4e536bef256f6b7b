"""Contents in a folder: what reads them takes, however many read at once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

import pytest

from agentsvc_nb.service.store.blobs import PIECE_MAX_BYTES, PIECE_MIN_BYTES, PIECES_MAX_BYTES, LocalBlobs

CONTENT = bytes(2 * PIECE_MAX_BYTES)
MANY = 2 * PIECES_MAX_BYTES // PIECE_MIN_BYTES


def test_one_read_takes_large_pieces(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    sha256 = blobs.put(CONTENT).sha256
    assert asyncio.run(_sizes(blobs, sha256)) == [PIECE_MAX_BYTES, PIECE_MAX_BYTES - 1]


def test_many_reads_share_the_memory(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    sha256 = blobs.put(CONTENT).sha256

    async def read() -> None:
        async with AsyncExitStack() as opened:
            reads = [
                await opened.enter_async_context(aclosing(await blobs.read(sha256, 0, len(CONTENT))))
                for _ in range(MANY)
            ]
            for pieces in reads:
                await anext(pieces)
            assert {len(await anext(pieces)) for pieces in reads} == {PIECE_MIN_BYTES}
        assert (await _sizes(blobs, sha256))[0] == PIECE_MAX_BYTES

    asyncio.run(read())


def test_a_missing_content_is_known_before_it_is_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        asyncio.run(_sizes(LocalBlobs(tmp_path), "0" * 64))


async def _sizes(blobs: LocalBlobs, sha256: str) -> list[int]:
    async with aclosing(await blobs.read(sha256, 1, len(CONTENT))) as pieces:
        return [len(piece) async for piece in pieces]
