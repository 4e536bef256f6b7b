"""The tools as MCP lists them: `ask`, those of the catalog, and those that read and cancel what others began."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.tools.catalog import AskStefanBrain, describe, offered
from agentsvc_nb.tools.port import Described, Tool, ToolInput
from agentsvc_nb.wire.files import FilePage, FileSearch
from agentsvc_nb.wire.limits import MCP_READ_CHARS, PAGE_MAX, QUERY_MAX_CHARS
from agentsvc_nb.wire.runs import NewRun, Run
from agentsvc_nb.wire.tools import Job

PLACES: Final = ("chat", "project", "session")
"""What each tool takes besides its own input: where it works."""


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
    """Reads a run: its status, and its answer once it has ended."""

    run_id: str


class CancelRun(ToolInput):
    """Stops a run."""

    run_id: str


class GetJob(ToolInput):
    """Reads a job: its progress, and its result once it has ended."""

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


class Outcome(BaseModel):
    """What a call came to: the tool's `data`; with `run_id` or `job_id` and its `status` while that goes on."""

    chat: str | None = None
    status: str | None = None
    run_id: str | None = None
    job_id: str | None = None
    error: Failed | None = None
    files: Annotated[list[MadeFile] | None, Field(description="The files that it made, at most 100.")] = None


class Answered(Outcome):
    """What an ask came to."""

    output: str | None = None
    structured_output: dict[str, Any] | None = None
    basis: dict[str, Any] | None = Field(default=None, description="What the answer rests on.")


OWN: Final[dict[str, tuple[type[ToolInput], type[BaseModel] | None]]] = {
    "search_files": (SearchFiles, FileSearch),
    "list_files": (ListFiles, FilePage),
    "read_file": (ReadFile, ReadContent),
    "get_run": (GetRun, Run),
    "get_job": (GetJob, Job),
    "cancel_run": (CancelRun, Run),
    "cancel_job": (CancelJob, Job),
}
"""What these tools take and answer. They work on the account's own, and cost nothing."""
FREE: Final = frozenset({"get_run", "get_job"})
"""Calls that count against no limit of requests."""
READS: Final = frozenset(name for name in OWN if not name.startswith("cancel_"))
ASK: Final = "ask"
_ASKED: Final = ("message", *PLACES, "output_config", "file_ids", "model", "effort", "max_steps", "max_cents")


def listed(tools: Mapping[str, Tool], *, approved: bool) -> list[Message]:
    """The tools in an order that stays the same. `approved`: whether the agent's effects wait for approval."""
    return [_ask(approved), *(_entry(one) for one in called(tools).values()), *_own()]


def called(tools: Mapping[str, Tool]) -> dict[str, Described]:
    """The tools of the catalog that are called by their own names."""
    return {name: one for name, one in offered(tools).items() if name != AskStefanBrain.name}


@cache
def _ask(approved: bool) -> Message:
    schema = NewRun.model_json_schema()
    properties = {name: schema["properties"][name] for name in _ASKED}
    return {
        "name": ASK,
        "title": "Ask the agent",
        "description": "Asks the agent, which reads the chat's files, uses its tools and writes files. Answers with "
        "its text; what takes long goes on as a task, or as a run that `get_run` reads.",
        "inputSchema": {"type": "object", "properties": properties, "required": ["message"], **_definitions(schema)},
        "outputSchema": Answered.model_json_schema(mode="serialization"),
        # Its agent has the tools with an effect, too.
        "annotations": {"readOnlyHint": False, "destructiveHint": not approved, "idempotentHint": False},
    }


_entries: Final[dict[tuple[type[Described], bool], Message]] = {}
"""Made once for each class, configured or not: 200 clients that list at once would wait for seconds."""


def _entry(tool: Described) -> Message:
    key = (type(tool), tool.available())
    if key not in _entries:
        _entries[key] = _described(tool)
    return _entries[key]


def _described(tool: Described) -> Message:
    described = describe(tool)
    schema = described.input_schema
    # The tool's own names win: none of them is called like a place today, which a test looks after.
    properties = {**_places(), **schema.get("properties", {})}
    available = "" if described.available else " (Not configured at this service.)"
    return {
        "name": tool.name,
        "description": described.description + available,
        "inputSchema": {**schema, "properties": properties},
        "outputSchema": _outcome(described.output_schema),
        # An effect can't be taken back, such as mail; what costs has none.
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": tool.effect,
            "idempotentHint": tool.idempotent,
            "openWorldHint": True,
        },
    }


@cache
def _own() -> tuple[Message, ...]:
    return tuple(_own_entries())


def _own_entries() -> Iterator[Message]:
    for name, (given, answered) in OWN.items():
        cancels = name.startswith("cancel_")
        entry: Message = {
            "name": name,
            "description": given.__doc__ or "",
            "inputSchema": {**given.model_json_schema(), "title": name},
            "annotations": {
                "readOnlyHint": not cancels,
                "destructiveHint": cancels,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        }
        yield entry if answered is None else {**entry, "outputSchema": _open(answered)}


@cache
def _open(answered: type[BaseModel]) -> dict[str, Any]:
    """The schema of what a tool of ours answers. A failed call has `error` in place of it.

    Results leave out what is null, so no field that has a default is required.
    """
    schema = answered.model_json_schema()
    return {name: value for name, value in schema.items() if name != "required"}


@cache
def _places() -> dict[str, Any]:
    described = NewRun.model_json_schema()["properties"]
    chat = {"type": "string", "description": "The chat to work in, or `new`; without it the one that tools share."}
    return {"chat": chat, **{name: described[name] for name in PLACES if name != "chat"}}


def _outcome(output: Mapping[str, Any] | None) -> dict[str, Any]:
    """The schema of a call's result, with the tool's own data in it."""
    schema = Outcome.model_json_schema(mode="serialization")
    data = {name: value for name, value in (output or {"type": "object"}).items() if name != "$defs"}
    definitions = {**schema.get("$defs", {}), **(output or {}).get("$defs", {})}
    return {**schema, "properties": {**schema["properties"], "data": data}, "$defs": definitions}


def _definitions(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"$defs": schema["$defs"]} if "$defs" in schema else {}
