"""A request's body on its way out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import cast

from agentsvc_nb.client.hooks import OnProgress, tell
from agentsvc_nb.client.transport.io import step
from agentsvc_nb.client.transport.library import httpx


class Told(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Tells `hook` how many bytes have gone out, and of how many. Another attempt begins at nothing again."""

    def __init__(self, body: object, total: int | None, hook: OnProgress) -> None:
        self._body, self._total, self._hook = body, total, hook

    def __iter__(self) -> Iterator[bytes]:
        sent = 0
        for chunk in cast(httpx.SyncByteStream, self._body):
            yield chunk
            sent += len(chunk)
            step(tell(self._hook, sent, self._total))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        async for chunk in cast(httpx.AsyncByteStream, self._body):
            yield chunk
            sent += len(chunk)
            await tell(self._hook, sent, self._total)
