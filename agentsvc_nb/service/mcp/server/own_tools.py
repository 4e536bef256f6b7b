"""Define MCP tools that read chats and files, and read or cancel runs and jobs.

Clients see the docstring of each tool's function as the description of the tool.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import signature
from typing import Annotated, Any, Final, get_type_hints

from pydantic import BaseModel, Field, create_model

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
from agentsvc_nb.service.mcp.server.results import StructuredContent
from agentsvc_nb.service.runner.workspace import ChatWorkspace
from agentsvc_nb.service.runs import runs
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.tools.support.stopping import ReadTooLong
from agentsvc_nb.wire.files import FilePage, FileSearch
from agentsvc_nb.wire.limits import MCP_CHATS_MAX, MCP_CONTENT_BYTES, MCP_READ_CHARS, PAGE_MAX, QUERY_MAX_CHARS
from agentsvc_nb.wire.runs import typed

_PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MESSAGE_CHARS: Final = 200
"""The maximum length of a chat's last message in the list of chats, in characters."""
_Chat = Annotated[str, Field(description="The chat that has the files.")]
_Query = Annotated[
    str,
    Field(
        min_length=1,
        max_length=QUERY_MAX_CHARS,
        description='Search words: `"a phrase"`, `or`, `-word` to exclude. The last word also matches as a prefix.',
    ),
]
_Limit = Annotated[int, Field(ge=1, le=PAGE_MAX, description="The maximum number of files.")]
_Path = Annotated[str, Field(min_length=1, description="The file's path, as in the list.")]
_Offset = Annotated[
    int, Field(ge=0, description=f"The first character to return. The result has up to {MCP_READ_CHARS:,} characters.")
]
_After = Annotated[str, Field(description="The `next_after` of the previous page.")]
Answer = Callable[..., Awaitable[Message]]


@dataclass(frozen=True)
class OwnTool:
    """Describes a tool, and executes its calls with the function `answer`.

    `reads` is True if the tool changes nothing. Calls of a `free` tool do not count against request rates.
    """

    description: str
    input: type[BaseModel]
    output: type[BaseModel]
    answer: Answer
    reads: bool
    free: bool


OWN_TOOLS: Final[dict[str, OwnTool]] = {}


def own_tool(output: type[BaseModel], *, reads: bool = True, free: bool = False) -> Callable[[Answer], Answer]:
    """Return a decorator that registers a function as a tool.

    The function's docstring is the tool's description. The function's keyword-only arguments are the tool's input.
    """

    def register(answer: Answer) -> Answer:
        types, fields = get_type_hints(answer, include_extras=True), dict[str, Any]()
        for name, parameter in signature(answer).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                fields[name] = (types[name], ... if parameter.default is parameter.empty else parameter.default)
        given = create_model(answer.__name__, **fields)
        OWN_TOOLS[answer.__name__] = OwnTool(answer.__doc__ or "", given, output, answer, reads, free)
        return answer

    return register


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


@own_tool(ChatList)
async def list_chats(
    context: RequestContext,
    *,
    after: _After = "",
    limit: Annotated[int, Field(ge=1, le=MCP_CHATS_MAX)] = MCP_CHATS_MAX,
) -> Message:
    """Lists the chats, last used first. Each has the beginning of its last message."""
    if after and not (after.isascii() and after.isdigit() and len(after) < 16):
        raise ApiError("invalid_tool_input", "`after` must be the `next_after` of the previous page.", field="after")
    found = await chats.recent(context.use_case, context.account, int(after or 0) or None, limit)
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
    next_after = str(found[-1].used_at) if len(found) == limit else None
    return results.build_result((), ChatList(chats=shown, next_after=next_after))


@own_tool(FileSearch)
async def search_files(context: RequestContext, *, chat: _Chat, q: _Query) -> Message:
    """Searches the files of a chat for words in their names and contents."""
    try:
        return results.build_result((), await files.search(context.use_case, context.account, chat, q))
    except ReadTooLong:
        raise ApiError("invalid_query", search_query.TOO_LONG, param="q") from None


@own_tool(FilePage)
async def list_files(context: RequestContext, *, chat: _Chat, after: _After = "", limit: _Limit = PAGE_MAX) -> Message:
    """Lists the files of a chat, sorted by path."""
    page = await files.page(context.use_case, context.account, chat, after, limit)
    return results.build_result((), page)


class FileText(BaseModel):
    """Contains a file's metadata and one page of its text.

    `next_offset` is the start of the next page, or None after the last page. A picture has no text.
    """

    path: str
    media_type: str
    size_bytes: int
    text: str | None = None
    total_chars: int | None = None
    next_offset: int | None = None


@own_tool(FileText)
async def read_file(context: RequestContext, *, chat: _Chat, path: _Path, offset: _Offset = 0) -> Message:
    """Returns a page of a file's text, or the picture if the file is a picture."""
    record = await files.get(context.use_case, context.account, chat, path)
    facts = FileText(path=record.path, media_type=record.media_type, size_bytes=record.size_bytes)
    if record.media_type in _PICTURES and record.size_bytes <= MCP_CONTENT_BYTES:
        data = base64.b64encode(await resources.read_content(context, record)).decode()
        return results.build_result([{"type": "image", "data": data, "mimeType": record.media_type}], facts)
    whole = await ChatWorkspace(context.services.storage, record.chat).text(record.path)
    if not whole and record.size_bytes:
        return results.build_result([results.build_link(results.describe_file(record))], facts)
    end = offset + MCP_READ_CHARS
    facts.text, facts.total_chars = whole[offset:end], len(whole)
    facts.next_offset = end if end < len(whole) else None
    return results.build_result((), facts)


@own_tool(StructuredContent, free=True)
async def get_run(context: RequestContext, *, run_id: str) -> Message:
    """Returns the answer of a run that has ended, or the status and the waiting calls of an active run."""
    found = await results.build_work_result(context, await runs.get(context.use_case, context.account, run_id))
    return {**found, "isError": False}  # reading the run succeeded, even if the run itself failed


@own_tool(StructuredContent, reads=False)
async def cancel_run(context: RequestContext, *, run_id: str) -> Message:
    """Cancels a run."""
    run = await runs.cancel(context.use_case, context.account, run_id)
    return results.build_result((), results.describe_work(run))


@own_tool(StructuredContent, free=True)
async def get_job(context: RequestContext, *, job_id: str) -> Message:
    """Returns the result of a job that has ended, or the status of an active job."""
    return {**await results.build_work_result(context, await _find_job(context, job_id)), "isError": False}


@own_tool(StructuredContent, reads=False)
async def cancel_job(context: RequestContext, *, job_id: str) -> Message:
    """Cancels a job."""
    where = ChatSelector((await _find_job(context, job_id)).chat)
    job = await jobs.cancel(context.use_case, context.account, job_id, where)
    return results.build_result((), results.describe_work(job))


async def _find_job(context: RequestContext, job_id: str) -> JobRecord:
    job = await jobs.find(context.use_case, job_id)
    if job is None or job.account != context.account:
        raise ApiError("job_not_found")
    return job
