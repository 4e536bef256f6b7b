"""The service's `tools.port.ToolContext`, and how a tool is run with it: a tool's files go to its chat, its media and
landing pages to its account."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast, get_args

from pydantic import BaseModel

from agentsvc_nb.service import payloads
from agentsvc_nb.service.accounts.usage_records import MICROCENTS_MAX, Spent
from agentsvc_nb.service.chats.chat_records import ChatRecord
from agentsvc_nb.service.files.file_records import Author, FileRecord
from agentsvc_nb.service.media import media
from agentsvc_nb.service.media.media_records import Facts
from agentsvc_nb.service.new_ids import new_id
from agentsvc_nb.service.runner import spans
from agentsvc_nb.service.runner.storage import Storage
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import attempts
from agentsvc_nb.tools.port import Outcome, SentCall, Tool, WorkFailure
from agentsvc_nb.tools.workspace_port import SUMMARY
from agentsvc_nb.wire.limits import CODE_CHARS, MESSAGE_CHARS, RESULT_BYTES
from agentsvc_nb.wire.resources import MediaKind
from agentsvc_nb.wire.runs import CENT


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """A `tools.port.MediaSource`."""

    id: str
    kind: str
    url: str | None
    duration_s: float | None
    transcript: dict[str, Any] | None
    open: Callable[[], AbstractAsyncContextManager[Path]]


class MediaStore:
    """The media and landing pages of one account, for tools."""

    def __init__(self, storage: Storage, account: str) -> None:
        self._storage = storage
        self._use_case = storage.use_case
        self._account = account

    async def keep_page(self, url: str) -> str:
        return (await media.keep_page(self._use_case, self._account, url)).id

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        content = await self._storage.store(name, data)
        kind = content.media_type.partition("/")[0]
        if kind not in get_args(MediaKind):
            return None  # its blob is removed with other garbage
        facts = Facts(cast(MediaKind, kind), source, url)
        return (await media.keep(self._use_case, self._account, content, facts)).id

    async def media(self, media_id: str) -> StoredMedia | None:
        found = await media.find(self._use_case, self._account, media_id)
        if found is None:
            return None
        opened = partial(self._storage.blobs.file, found.sha256)
        return StoredMedia(found.id, found.kind, found.url, found.duration_s, found.transcript, opened)

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        await media.keep_transcript(self._use_case, self._account, media_id, transcript)


class CallEvents(Protocol):
    """Where a call of a tool reports to: the events of its run, its job, or nowhere."""

    async def progress(self, done: float, total: float | None, message: str) -> None: ...
    async def file_written(self, record: FileRecord) -> None: ...


Hold = Callable[[int, int], Awaitable[None]]


class NoEvents:
    """The `CallEvents` of a direct call: its caller waits for the result only."""

    async def progress(self, done: float, total: float | None, message: str) -> None:
        pass

    async def file_written(self, record: FileRecord) -> None:
        pass


class LiveToolContext:
    """A `tools.port.ToolContext` for one call of a tool. It reports to `events`.

    `spent` is the tool's language model usage so far, `charges` its units that are billed, by kind. The caller of the
    tool bills them, also when the tool fails; `hold` holds the worst case of the next model call beside what was spent
    in micro-cents. Calls of a model may cost `max_microcents` in all.
    """

    def __init__(
        self,
        storage: Storage,
        account: str,
        chat: str,
        author: Author,
        key: str,
        events: CallEvents,
        hold: Hold | None = None,
        model: str | None = None,
        max_microcents: int | None = None,
    ) -> None:
        settings = storage.use_case.settings
        self.key = key
        self.fetch_only = settings.approved_hosts if settings.approve_effects and author.run_id else None
        self._hold = hold
        self._max_microcents = max_microcents
        self.model = model or settings.offered[0]
        self.metrics = storage.use_case.metrics
        self.spent = Spent()
        self.charges: dict[str, int] = {}
        self.workspace = ChatWorkspace(storage, chat)
        self._author = author
        self._use_case = storage.use_case
        self._events = events
        self._media_store = MediaStore(storage, account)

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        await self._events.progress(done, total, message)

    async def room(self) -> int | None:
        return None if self._max_microcents is None else max(self._max_microcents - self.spent.cost_microcents, 0)

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        if self._hold is not None and microcents:
            await self._hold(self.spent.cost_microcents, min(microcents, MICROCENTS_MAX))

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        self.spent.use(input_tokens, output_tokens, microcents)
        self.metrics.model_used(self.model, input_tokens, output_tokens, microcents / CENT)

    def charge(self, kind: str) -> None:
        self.charges[kind] = self.charges.get(kind, 0) + 1

    async def sending(self, call: SentCall) -> bool:
        run_id = self._author.run_id
        return await attempts.sending(self._use_case, run_id, call) if run_id else False

    def use_uncounted(self) -> None:
        self.spent.uncounted = True

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        if path == SUMMARY:
            said = f"{path} is the agent's own summary of the chat: nothing was written. Write to another file."
            raise WorkFailure("file_protected", said)
        author = self._author
        if output is not None:
            author = replace(author, output_id=output[0], output_type=output[1])
        record = await self.workspace.write(path, data, author)
        await self._events.file_written(record)

    async def keep_whole(self, what: str, document: Any) -> str:
        """Write a document that is shown shortened to a file, and return its path. The file does not count as an output
        of the tool."""
        return await self.workspace.keep_whole(what, document, self._author)

    async def keep_page(self, url: str) -> str:
        return await self._media_store.keep_page(url)

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        return await self._media_store.keep_media(name, data, source, url)

    async def media(self, media_id: str) -> StoredMedia | None:
        return await self._media_store.media(media_id)

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        await self._media_store.keep_transcript(media_id, transcript)


async def performed(tool: Tool, given: BaseModel, task: LiveToolContext) -> Outcome:
    """Run the tool; its outcome. A result that is too large is shortened and names the file that has all of it."""
    outcome = await _counted(tool, given, task)
    if outcome.error is not None:
        code, message = outcome.error
        outcome = outcome.model_copy(update={"error": (code[:CODE_CHARS], message[:MESSAGE_CHARS])})
    size = await asyncio.to_thread(payloads.size, [outcome.content, outcome.data])
    return outcome if size <= RESULT_BYTES else await _shortened(outcome, task)


async def _counted(tool: Tool, given: BaseModel, task: LiveToolContext) -> Outcome:
    """Run the tool, and count how long it worked and how it failed; one that is cancelled has not failed."""
    began, code = time.monotonic(), None
    try:
        outcome = await tool.run(given, task)
        code = None if outcome.error is None else outcome.error[0]
        return outcome
    except WorkFailure as failure:
        code = failure.code
        raise
    except Exception:
        code = "agent_error"
        raise
    finally:
        task.metrics.tool_ended(tool.name, time.monotonic() - began, code)


async def _shortened(outcome: Outcome, task: LiveToolContext) -> Outcome:
    """The outcome within `RESULT_BYTES`. Content may take half of that and is shortened; data may take the other half
    and is left out if it is larger."""
    path = await task.keep_whole("result", {"content": outcome.content, "data": outcome.data})
    half = RESULT_BYTES // 2
    kept = await asyncio.to_thread(payloads.shortened, {"content": outcome.content}, half - 1_000)
    told = {"type": "text", "text": f"This result is shortened. All of it is in the chat's file {path}."}
    data = outcome.data if await asyncio.to_thread(payloads.size, outcome.data) <= half else None
    return outcome.model_copy(update={"content": [*kept["content"], told], "data": data})


log = logging.getLogger(__name__)


async def run(storage: Storage, tool: Tool, given: BaseModel, chat: ChatRecord, charges: dict[str, int]) -> Outcome:
    """Run a tool directly, in the chat's workspace; its outcome. Its charges are counted in `charges`, also when it is
    cancelled. A failure of the tool is not raised; it is `Outcome.error`."""
    task = LiveToolContext(storage, chat.account, chat.id, Author("output"), new_id("call"), NoEvents())
    task.charges = charges
    with spans.tool_call_of_request(storage.use_case, tool.name, chat.id, given) as span:
        try:
            outcome = await performed(tool, given, task)
        except WorkFailure as failure:
            outcome = _failed(failure.code, failure.message)
        except Exception:
            log.exception("the tool %s failed", tool.name)
            outcome = _failed("agent_error", "The tool failed unexpectedly; see the service's log.")
        spans.tool_returned(storage.use_case, span, outcome)
    return outcome


def _failed(code: str, message: str) -> Outcome:
    return Outcome(content=[{"type": "text", "text": message}], error=(code, message))
