"""The tools as MCP lists them: `ask`, those of the catalog, and those that read and cancel what others began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from agentsvc_nb.service.mcp.endpoint import schemas
from agentsvc_nb.service.mcp.endpoint.schemas import Schema
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.tools.catalog import AskStefanBrain, offered
from agentsvc_nb.tools.port import Described, Tool, ToolInput
from agentsvc_nb.wire.files import FilePage, FileSearch
from agentsvc_nb.wire.limits import (
    ATTACHMENTS_MAX,
    MB,
    MCP_CHATS_MAX,
    MCP_FILES_BYTES,
    MCP_READ_CHARS,
    PAGE_MAX,
    QUERY_MAX_CHARS,
)
from agentsvc_nb.wire.runs import NewRun

PLACES: Final[dict[str, Schema]] = {
    "chat": {"type": "string", "description": "A chat's id, or `new`; left out, the chat that tools share."},
    "project": {"type": "string"},
    "session": {"type": "string"},
}
"""What each tool takes besides its own input: where it works."""


class SentFile(ToolInput):
    name: str = Field(min_length=1)
    text: str | None = None
    base64: str | None = None


class ListChats(ToolInput):
    """Lists the chats, last used first, each with the beginning of its last message."""

    after: str = Field(default="", description="The `next_after` of the page before.")
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


class _InChat(ToolInput):
    chat: str = Field(description="The chat whose files these are.")


class SearchFiles(_InChat):
    """Searches the files of a chat by words of their names and contents."""

    q: str = Field(
        min_length=1,
        max_length=QUERY_MAX_CHARS,
        description='Words: `"a phrase"`, `or`, `-word` to exclude; the last word is a prefix.',
    )


class ListFiles(_InChat):
    """Lists the files of a chat by their paths."""

    after: str = Field(default="", description="The `next_after` of the page before.")
    limit: int = Field(default=PAGE_MAX, ge=1, le=PAGE_MAX, description="How many files at most.")


class ReadFile(_InChat):
    """Reads a file of a chat: its text, page by page, or the picture that it is."""

    path: str = Field(min_length=1, description="The file's path, as listed.")
    offset: int = Field(default=0, ge=0, description=f"The character to begin at; {MCP_READ_CHARS:,} follow.")


class ReadContent(BaseModel):
    """A file that was read: its text from a place on, with `next_offset` when there is more. A picture and what has no
    text have none."""

    path: str
    media_type: str
    size_bytes: int
    text: str | None = None
    total_chars: int | None = None
    next_offset: int | None = None


class GetRun(ToolInput):
    """Reads a run: its answer once it has ended; before, its status and what it waits for."""

    run_id: str


class CancelRun(ToolInput):
    """Stops a run."""

    run_id: str


class GetJob(ToolInput):
    """Reads a job: its result once it has ended; before, its status."""

    job_id: str


class CancelJob(ToolInput):
    """Stops a job."""

    job_id: str


class Failed(BaseModel):
    code: str
    message: str


class MadeFile(BaseModel):
    path: str
    uri: str
    media_type: str
    size_bytes: int


class WaitingCall(BaseModel):
    call_id: str
    tool: str


class Approval(BaseModel):
    """What waits for a person, who approves or refuses it on the page or by the command."""

    calls: list[WaitingCall]
    page: str
    command: str


class Outcome(BaseModel):
    """The result of a call: the tool's `data`; with `run_id` or `job_id` and its `status` while that goes on."""

    chat: str | None = None
    status: str | None = None
    run_id: str | None = None
    job_id: str | None = None
    error: Failed | None = None
    approval: Approval | None = None
    files: Annotated[list[MadeFile] | None, Field(description="The files that it made, at most 100.")] = None


class Answered(Outcome):
    """What an ask came to."""

    output: str | None = None
    structured_output: dict[str, Any] | None = None
    basis: dict[str, Any] | None = Field(default=None, description="What the answer rests on.")


class WithData(Outcome):
    data: dict[str, Any] | None = None


OWN: Final[dict[str, tuple[type[ToolInput], type[BaseModel]]]] = {
    "list_chats": (ListChats, ChatList),
    "search_files": (SearchFiles, FileSearch),
    "list_files": (ListFiles, FilePage),
    "read_file": (ReadFile, ReadContent),
    "get_run": (GetRun, Answered),
    "get_job": (GetJob, WithData),
    "cancel_run": (CancelRun, Outcome),
    "cancel_job": (CancelJob, Outcome),
}
"""What these tools take and answer. They work on the account's own, and cost nothing."""
FREE: Final = frozenset({"get_run", "get_job"})
"""Calls that count against no limit of requests."""
READS: Final = frozenset(name for name in OWN if not name.startswith("cancel_"))
ASK: Final = "ask"
_ASKED: Final = (
    *("message", *PLACES, "files_from", "output_config", "file_ids"),
    *("model", "effort", "max_steps", "max_cents"),
)
_FILES: Final = (
    f"Files to attach, each with `text` or `base64`; with `file_ids` at most {ATTACHMENTS_MAX}, together "
    f"{MCP_FILES_BYTES // MB} MB."
)
_WAITS: Final = " A call waits until a person approves it."


class SentFiles(ToolInput):
    files: list[SentFile] = Field(max_length=ATTACHMENTS_MAX, description=_FILES)


def listed(tools: Mapping[str, Tool], *, approved: bool) -> list[Message]:
    """The tools in an order that stays the same. `approved`: whether effects wait for approval."""
    catalog = (_described(one, approved) for one in called(tools).values())
    return [_ask(approved), *catalog, *_own()]


def called(tools: Mapping[str, Tool]) -> dict[str, Described]:
    """The tools of the catalog that are called by their own names."""
    return {name: one for name, one in offered(tools).items() if name != AskStefanBrain.name}


def arguments_of(tool: Described) -> Schema:
    """The schema of what a tool of the catalog is called with."""
    return _arguments(type(tool))


def arguments_of_own(name: str) -> Schema:
    """The schema of what a tool of `OWN`, or `ask`, is called with."""
    return _ask_arguments() if name == ASK else _own_arguments(name)


@cache
def _ask_arguments() -> Schema:
    asked = NewRun.model_json_schema()
    properties = {name: asked["properties"][name] for name in _ASKED}
    whole = {**asked, "properties": properties, "required": ["message"]}
    found = schemas.of_input(whole)
    found["properties"] |= schemas.of_input(SentFiles.model_json_schema())["properties"]
    return found


@cache
def _ask(approved: bool) -> Message:
    return {
        "name": ASK,
        "title": "Ask the agent",
        "description": "Asks the agent, which reads the chat's files, uses its tools and writes files. Answers with "
        "its text; what takes long goes on as a task, or as a run that `get_run` reads.",
        "inputSchema": _ask_arguments(),
        "outputSchema": schemas.of_output(Answered, 1),
        # Its agent has the tools with an effect, too.
        "annotations": {"destructiveHint": not approved},
    }


def _described(tool: Described, approved: bool) -> Message:
    description = tool.description if tool.available() else f"{tool.description} (Not configured at this service.)"
    return {
        "name": tool.name,
        "description": description + (_WAITS if approved and tool.effect else ""),
        "inputSchema": arguments_of(tool),
        "outputSchema": _outcome(type(tool)),
        # An effect can't be taken back, such as mail; what costs has none.
        "annotations": {"destructiveHint": tool.effect and not approved, "idempotentHint": tool.idempotent},
    }


@cache  # pydantic takes a millisecond for each: 200 clients that list at once would wait for seconds
def _arguments(tool: type[Described]) -> Schema:
    found = schemas.of_input(tool.Input.model_json_schema())
    # The tool's own names win: none of them is called like a place today, which a test looks after.
    return {**found, "properties": {**PLACES, **found.get("properties", {})}}


@cache
def _outcome(tool: type[Described]) -> Schema:
    """The schema of a call's result, with the tool's own data in it."""
    found = schemas.of_output(WithData, 1)
    if tool.Output is not None:
        found["properties"]["data"] = schemas.of_output(tool.Output, 1)
    return found


@cache
def _own() -> tuple[Message, ...]:
    return tuple(_own_entries())


@cache
def _own_arguments(name: str) -> Schema:
    return schemas.of_input(OWN[name][0].model_json_schema())


def _own_entries() -> Iterator[Message]:
    for name, (given, answered) in OWN.items():
        cancels = name.startswith("cancel_")
        yield {
            "name": name,
            "description": given.__doc__ or "",
            "inputSchema": _own_arguments(name),
            "outputSchema": schemas.of_output(answered, 1 if issubclass(answered, Outcome) else 2),
            "annotations": {
                "readOnlyHint": not cancels,
                "destructiveHint": cancels,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
