"""The tools that work on the account's own chats, runs and jobs. They cost nothing."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel, Field

from agentsvc_nb.documents import search_query
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.chats.chats import ChatSelector
from agentsvc_nb.service.files import files
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.jobs import jobs
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.mcp.server import resources, results
from agentsvc_nb.service.mcp.server.results import Outcome
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import runs
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.tools.port import ToolInput
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import FilePage, FileSearch
from agentsvc_nb.wire.limits import MCP_CHATS_MAX, MCP_CONTENT_BYTES, MCP_READ_CHARS, PAGE_MAX, QUERY_MAX_CHARS
from agentsvc_nb.wire.runs import typed

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MESSAGE_CHARS: Final = 200
"""Of a chat's last message that is listed."""
_AFTER: Final = "The `next_after` of the page before."


class ListChats(ToolInput):
    after: str = Field(default="", description=_AFTER)
    limit: int = Field(default=MCP_CHATS_MAX, ge=1, le=MCP_CHATS_MAX)


class ListedChat(BaseModel):
    chat: str
    project: str | None
    run_id: str | None
    status: str | None
    message: str | None
    used_at: str
    retired: bool


class ChatList(BaseModel):
    chats: list[ListedChat]
    next_after: str | None


async def _list_chats(context: RequestContext, given: ListChats) -> Message:
    if given.after and not (given.after.isascii() and given.after.isdigit() and len(given.after) < 16):
        raise ApiError("invalid_tool_input", "`after` must be the `next_after` of the page before.", field="after")
    found = await chats.recent(context.use_case, context.account, int(given.after or 0) or None, given.limit)
    shown = [
        ListedChat(
            chat=one.id,
            project=one.project,
            run_id=one.run_id,
            status=one.status,
            message=None if one.message is None else typed(one.message)[:_MESSAGE_CHARS],
            used_at=rfc3339(one.used_at),
            retired=one.retired_at is not None,
        )
        for one in found
    ]
    after = str(found[-1].used_at) if len(found) == given.limit else None
    return results.result((), ChatList(chats=shown, next_after=after))


class _InChat(ToolInput):
    chat: str = Field(description="The chat whose files these are.")


class SearchFiles(_InChat):
    q: str = Field(
        min_length=1,
        max_length=QUERY_MAX_CHARS,
        description='Words: `"a phrase"`, `or`, `-word` to exclude; the last word is a prefix.',
    )


async def _search_files(context: RequestContext, given: SearchFiles) -> Message:
    try:
        return results.result((), await files.search(context.use_case, context.account, given.chat, given.q))
    except ReadTooLong:
        raise ApiError("invalid_query", search_query.TOO_LONG, param="q") from None


class ListFiles(_InChat):
    after: str = Field(default="", description=_AFTER)
    limit: int = Field(default=PAGE_MAX, ge=1, le=PAGE_MAX, description="How many files at most.")


async def _list_files(context: RequestContext, given: ListFiles) -> Message:
    page = await files.page(context.use_case, context.account, given.chat, given.after, given.limit)
    return results.result((), page)


class ReadFile(_InChat):
    path: str = Field(min_length=1, description="The file's path, as listed.")
    offset: int = Field(default=0, ge=0, description=f"The character to begin at; {MCP_READ_CHARS:,} follow.")


class ReadContent(BaseModel):
    """A file with a page of its text, and `next_offset` when there is more. A picture has no text."""

    path: str
    media_type: str
    size_bytes: int
    text: str | None = None
    total_chars: int | None = None
    next_offset: int | None = None


async def _read_file(context: RequestContext, given: ReadFile) -> Message:
    record = await files.get(context.use_case, context.account, given.chat, given.path)
    facts = ReadContent(path=record.path, media_type=record.media_type, size_bytes=record.size_bytes)
    if record.media_type in _PICTURES and record.size_bytes <= MCP_CONTENT_BYTES:
        data = base64.b64encode(await resources.content(context, record)).decode()
        return results.result([{"type": "image", "data": data, "mimeType": record.media_type}], facts)
    whole = await ChatWorkspace(context.services.storage, record.chat).text(record.path)
    if not whole and record.size_bytes:
        return results.result([results.link(results.made_file(record))], facts)
    end = given.offset + MCP_READ_CHARS
    facts.text, facts.total_chars = whole[given.offset : end], len(whole)
    facts.next_offset = end if end < len(whole) else None
    return results.result((), facts)


class RunId(ToolInput):
    run_id: str


class JobId(ToolInput):
    job_id: str


async def _get_run(context: RequestContext, given: RunId) -> Message:
    found = await results.of_work(context, await runs.get(context.use_case, context.account, given.run_id))
    return {**found, "isError": False}  # reading succeeded, even if the run failed


async def _cancel_run(context: RequestContext, given: RunId) -> Message:
    run = await runs.cancel(context.use_case, context.account, given.run_id)
    return results.result((), results.outcome(run))


async def _get_job(context: RequestContext, given: JobId) -> Message:
    return {**await results.of_work(context, await _job(context, given.job_id)), "isError": False}


async def _cancel_job(context: RequestContext, given: JobId) -> Message:
    where = ChatSelector((await _job(context, given.job_id)).chat)
    job = await jobs.cancel(context.use_case, context.account, given.job_id, where)
    return results.result((), results.outcome(job))


async def _job(context: RequestContext, job_id: str) -> JobRecord:
    job = await jobs.find(context.use_case, job_id)
    if job is None or job.account != context.account:
        raise ApiError("job_not_found")
    return job


@dataclass(frozen=True)
class OwnTool:
    """A tool as it is listed, and what answers a call."""

    description: str
    input: type[ToolInput]
    output: type[BaseModel]
    answer: Callable[[RequestContext, Any], Awaitable[Message]]
    reads: bool = True
    free: bool = False
    """Its calls count against no request rate."""


OWN_TOOLS: Final = {
    "list_chats": OwnTool(
        "Lists the chats, last used first, each with the beginning of its last message.",
        ListChats,
        ChatList,
        _list_chats,
    ),
    "search_files": OwnTool(
        "Searches the files of a chat by words of their names and contents.", SearchFiles, FileSearch, _search_files
    ),
    "list_files": OwnTool("Lists the files of a chat by their paths.", ListFiles, FilePage, _list_files),
    "read_file": OwnTool(
        "Reads a file of a chat: its text, page by page, or the picture that it is.", ReadFile, ReadContent, _read_file
    ),
    "get_run": OwnTool(
        "Reads a run: its answer once it has ended; before, its status and what it waits for.",
        RunId,
        Outcome,
        _get_run,
        free=True,
    ),
    "get_job": OwnTool(
        "Reads a job: its result once it has ended; before, its status.", JobId, Outcome, _get_job, free=True
    ),
    "cancel_run": OwnTool("Stops a run.", RunId, Outcome, _cancel_run, reads=False),
    "cancel_job": OwnTool("Stops a job.", JobId, Outcome, _cancel_job, reads=False),
}
