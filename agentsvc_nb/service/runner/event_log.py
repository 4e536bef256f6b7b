"""Write a run's events in order, with combined text deltas and limited payloads (docs/api/events.md)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final

from agentsvc_nb.service import payloads
from agentsvc_nb.service.files.file_records import FileOrigin, FileRecord
from agentsvc_nb.service.ports import STORE_LOST, CommitLost
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import attempts
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.wire.limits import DELTA_INTERVAL_SECONDS

SOON_SECONDS: Final = 0.01
"""The maximum time that an event of `append_soon` waits for further events, to be written together with them."""
PIECES_AT_ONCE: Final = 5
"""The maximum number of pieces of a long text in one write. Other asyncio tasks may run between two writes."""


class EventLog:
    """Appends the events of one attempt at a run.

    It combines the text of 50 ms in one event, and splits a text that is too long for one event.
    """

    def __init__(self, storage: Storage, run: RunRecord) -> None:
        self._use_case = storage.use_case
        self._run_id = run.run_id
        self._workspace = ChatWorkspace(storage, run.chat)
        self.attempt = run.attempt
        self.plan: list[dict[str, Any]] = []
        self._order = asyncio.Lock()  # allows one flush at a time, so that texts are written in order
        self._kind = "text.delta"
        self._gathered: list[str] = []
        self._soon: list[tuple[str, dict[str, Any]]] = []
        self._used: attempts.AgentUsage | None = None  # the usage to store together with `_soon`
        self._pieces: list[tuple[str, str]] = []  # the types and texts of text events that are not yet written
        self._writing: asyncio.Task[None] | None = None
        self._sent_at = float("-inf")
        self._later: asyncio.Task[None] | None = None
        self._first_since = run.created_at if run.attempt == 1 else None
        self._lost: CommitLost | None = None

    async def append_text(self, kind: str, text: str) -> None:
        """Append text to the answer (`text.delta`) or the thinking (`thinking.delta`).

        The text may be written later, together with further text.
        """
        if not text:
            return
        if kind != self._kind:
            self._split_text()
            self._kind = kind
        self._gathered.append(text)
        wait = self._sent_at + DELTA_INTERVAL_SECONDS - asyncio.get_running_loop().time()
        if wait <= 0:
            await self.flush()
        elif self._later is None:
            self._later = asyncio.create_task(self._flush_after(wait))

    async def append(self, kind: str, payload: dict[str, Any]) -> None:
        """Write all gathered text, and then an event. Raises `LostRun`."""
        await self._flush_text()
        await self._write([(kind, await self._shorten(kind, payload))])

    async def progress(self, done: float, total: float | None, message: str) -> None:
        await self.append("progress", {"done": done, "total": total, "message": message})

    async def append_file_written(self, record: FileRecord) -> None:
        await self.append("file.written", _describe_file(record))

    async def show_plan(self, steps: list[dict[str, Any]]) -> None:
        """Write the agent's new plan. Do nothing if the plan is unchanged."""
        if steps != self.plan:
            await self.append("plan.changed", {"steps": steps})
            self.plan = steps

    async def append_soon(self, kind: str, payload: dict[str, Any], used: attempts.AgentUsage) -> None:
        """Write all gathered text now. Write the event later, in one write with the next event.

        The event waits at most `SOON_SECONDS`. The later write also stores what the run has `used` so far. If another
        attempt has taken over the run by then, the next call that writes raises `LostRun`.
        """
        await self._flush_text()
        self._soon.append((kind, payload))
        self._used = used
        if self._later is None:
            self._later = asyncio.create_task(self._flush_after(SOON_SECONDS))

    async def flush(self) -> None:
        """Write all text and events that are not yet written. Raises `LostRun` and the errors in `STORE_LOST`."""
        await self._flush_text()
        if self._soon:
            await self._write([])

    async def _flush_text(self) -> None:
        """Write the gathered text. Raises what `flush` raises."""
        async with self._order:
            if self._lost is not None:  # the text may already be stored, so don't write it again
                raise self._lost
            later, self._later = self._later, None
            if later is not None and later is not asyncio.current_task():
                later.cancel()
            self._split_text()
            if self._pieces:
                self._sent_at = asyncio.get_running_loop().time()
            while self._pieces:
                self._writing = self._writing or asyncio.create_task(self._write_pieces())
                await asyncio.shield(self._writing)  # if this flush is cancelled, the next flush waits for this write

    def _split_text(self) -> None:
        """Split the gathered text into pieces that fit into events."""
        self._pieces += [(self._kind, piece) for piece in payloads.split("".join(self._gathered))]
        self._gathered = []

    async def _write_pieces(self) -> None:
        """Write the next pieces of text, at most `PIECES_AT_ONCE`.

        Remove the pieces from `_pieces` only after the write succeeded.
        """
        try:
            kind = self._pieces[0][0]
            alike = takewhile(lambda piece: piece[0] == kind, self._pieces[:PIECES_AT_ONCE])
            found = [(kind, {"text": text}) for _, text in alike]
            await self._write(found)
            del self._pieces[: len(found)]
        finally:
            self._writing = None

    async def _flush_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        with contextlib.suppress(attempts.LostRun, *STORE_LOST):  # the worker's next write raises the error again
            await self.flush()

    async def _shorten(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the payload if it is small enough for an event.

        Otherwise write it to a file, and return a shortened payload with the file's path as `whole_path`.
        """
        if payloads.fits(payload):
            return payload
        path = await self._workspace.keep_whole(kind, payload, FileOrigin("output", run_id=self._run_id))
        kept = await asyncio.to_thread(payloads.shorten, payload, payloads.SHORTENED_BYTES)
        return {**kept, "truncated": True, "whole_path": path}

    async def _write(self, found: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Write the waiting events of `append_soon`, and then the events `found`."""
        soon, self._soon, used, self._used = self._soon, [], self._used, None
        try:
            await attempts.append(self._use_case, self._run_id, self.attempt, [*soon, *found], used)
        except CommitLost as lost:
            self._lost = lost
            raise
        except Exception:  # not on a cancellation, after which the write still happens
            self._soon, self._used = [*soon, *self._soon], self._used or used
            raise
        if self._first_since is not None:
            seconds, self._first_since = (self._use_case.now - self._first_since) / 1000, None
            self._use_case.metrics.first_event_seconds.observe(value=max(0.0, seconds))


def _describe_file(record: FileRecord) -> dict[str, Any]:
    """Build the payload of the event `file.written` (docs/api/events.md "Types")."""
    payload: dict[str, Any] = {
        "id": record.sha256,
        "path": record.path,
        "file_name": record.file_name,
        "media_type": record.media_type,
        "size_bytes": record.size_bytes,
        "version": record.version,
        "previous_version": record.previous_version,
    }
    if record.output_id is not None:
        payload["output"] = {"id": record.output_id, "type": record.output_type}
    return payload
