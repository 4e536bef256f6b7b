"""Convert runs, jobs and tool outcomes to MCP results.

An MCP result contains text, data in the schema that `tools/list` declares, and links to files. Below, "work" is the run
or the job that a call started.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final
from urllib.parse import quote, unquote

from pydantic import BaseModel, Field

from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.runs import tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.tools.port import without_nulls
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.text import exact
from agentsvc_nb.wire.tools import ToolResult

INPUT_CHARS: Final = 4_000
"""The maximum number of characters to show of the input of a call that waits for approval."""
SCHEME: Final = "agentsvc://"
Work = RunRecord | JobRecord


class ErrorDetail(BaseModel):
    code: str
    message: str


class WrittenFile(BaseModel):
    path: str
    uri: str
    media_type: str
    size_bytes: int


class PendingCall(BaseModel):
    call_id: str
    tool: str


class Approval(BaseModel):
    """The calls that wait for approval, and the page and the shell command with which a person decides on them."""

    calls: list[PendingCall]
    page: str
    command: str


class StructuredContent(BaseModel):
    """The data of a tool's result.

    A call that started a run has a `run_id`, and a call that started a job has a `job_id`. Both have a `status`. `data`
    is the data of any tool except `ask`.
    """

    chat: str | None = None
    status: str | None = None
    run_id: str | None = None
    job_id: str | None = None
    error: ErrorDetail | None = None
    approval: Approval | None = None
    files: Annotated[list[WrittenFile] | None, Field(description="The files that the work wrote, at most 100.")] = None
    output: str | None = None
    structured_output: dict[str, Any] | None = None
    basis: dict[str, Any] | None = None
    data: dict[str, Any] | None = None


def describe_work(work: Work, **more: Any) -> StructuredContent:
    id = {"run_id": work.run_id} if isinstance(work, RunRecord) else {"job_id": work.job_id}
    return StructuredContent(chat=work.chat, status=work.status, **id, **more)


def work_id(work: Work) -> str:
    return work.run_id if isinstance(work, RunRecord) else work.job_id


def get_error(work: Work) -> ErrorDetail | None:
    """Return the error of work that failed or was cancelled. Return None for other work."""
    if work.status == "cancelled":
        return ErrorDetail(code="cancelled", message="The work was cancelled.")
    if isinstance(work, JobRecord):
        return ErrorDetail(**work.error) if work.error else None
    if work.ended_at is None or work.status == "completed":
        return None
    return ErrorDetail(code=work.last_error or work.status, message=work.last_error_message or "")


def build_result(content: Sequence[Mapping[str, Any]], data: BaseModel | None, *, failed: bool = False) -> Message:
    """Build a tool's result. If `content` has no text, add the data as text, for clients that read only text."""
    found: Message = {"content": list(content), "isError": failed}
    if data is not None:
        # removes the nulls in a tool's own data, too
        found["structuredContent"] = without_nulls(data.model_dump(mode="json"))
        if not any(block["type"] == "text" for block in content):
            found["content"] = [text_block(json.dumps(found["structuredContent"], ensure_ascii=False)), *content]
    return found


def build_refusal(error: ApiError) -> Message:
    """Build the result of a call that the service refused."""
    active = error.top.get("activeRunId")
    held = f" Run {active} is active in this chat: call `get_run` or `cancel_run` with its id." if active else ""
    return _build_failure(ErrorDetail(code=error.row.code, message=error.message + held), StructuredContent())


def build_unfinished(work: Work, data: StructuredContent | None = None) -> Message:
    """Build the result for work that is still active. Its text says how to get the final result."""
    kind, id = "run" if isinstance(work, RunRecord) else "job", work_id(work)
    message = (
        f"The {kind} is still active (status {work.status}). For its result, call `get_{kind}` with {kind}_id {id}."
    )
    return build_result([text_block(message)], data or describe_work(work))


async def find_pending_calls(context: RequestContext, work: Work) -> list[CallRecord]:
    """Return the calls of a run that wait for approval. A job has no such calls."""
    if not isinstance(work, RunRecord) or work.status != "running":
        return []
    return await tool_calls.list_waiting(context.use_case, work.run_id)


def describe_approval(context: RequestContext, run: RunRecord, calls: Sequence[CallRecord]) -> tuple[str, Approval]:
    """Describe, as text and as data, the run's calls that wait for approval, and how a person approves them."""
    page = run.document(context.origin)["app_url"]
    command = f"agentsvc runs approve {run.run_id}"
    wanted = "\n".join(f"{call.tool} {exact(call.input, limit=INPUT_CHARS)}" for call in calls)
    message = (
        f"Run {run.run_id} waits for a person's approval. It wants to call:\n{wanted}\nNo tool can approve "
        f"this: ask the user to open {page}, to run `{command}` in a terminal, or to run `%approve "
        f"{run.run_id}` in a notebook. Then call `get_run` with run_id {run.run_id} for the result."
    )
    named = [PendingCall(call_id=call.call_id, tool=call.tool) for call in calls]
    return message, Approval(calls=named, page=page, command=command)


async def build_work_result(context: RequestContext, work: Work) -> Message:
    """Build the current result of a run or a job. For active work, the result says how to get the final result."""
    if isinstance(work, RunRecord):
        if calls := await find_pending_calls(context, work):
            message, waits = describe_approval(context, work, calls)
            return build_result([text_block(message)], describe_work(work, approval=waits))
        made = await files.list_by_run(context.use_case, work.chat, work.run_id)
    else:
        made = await files.find(context.use_case, work.chat, work.files[: files.RESULT_FILES_MAX]) if work.files else []
    content, facts = await _read_result(context, work)
    listed = [describe_file(one) for one in made]
    data = describe_work(work, files=listed or None, **facts)
    if work.ended_at is None:
        return build_unfinished(work, data)
    if error := get_error(work):
        return _build_failure(error, data)
    return build_result([*content, *map(build_link, listed)], data)


async def _read_result(context: RequestContext, work: Work) -> tuple[list[Message], dict[str, Any]]:
    """Return the content blocks of the work's result, and the values of `StructuredContent` fields."""
    if isinstance(work, JobRecord):
        return list(_convert_blocks(work.content, work.chat)), {"data": work.data}
    direct = work.status == "completed" and work.model == DIRECT_CALL
    if direct and (found := await tool_calls.get_outcome(context.use_case, work.run_id)):
        return list(_convert_blocks(found.content, work.chat)), {"data": found.data}
    basis = json.loads(work.basis or "null")
    if basis:
        # Leave the numbers out. They take up to 100 kB, which the client's model would read. `number_counts` stays.
        basis["numbers"] = []
    answer = {
        "output": work.output,
        "structured_output": json.loads(work.structured_output or "null"),
        "basis": basis,
    }
    return [text_block(work.output or "")], answer


def build_call_result(found: ToolResult) -> Message:
    """Build the result of a direct tool call."""
    data = StructuredContent(chat=found.chat, data=found.data)
    if found.error is not None:
        return _build_failure(ErrorDetail(code=found.error.code, message=found.error.message), data)
    return build_result(list(_convert_blocks(found.content, found.chat)), data)


def _build_failure(error: ErrorDetail, data: StructuredContent) -> Message:
    return build_result([text_block(error.model_dump_json())], data.model_copy(update={"error": error}), failed=True)


def _convert_blocks(content: Iterable[Mapping[str, Any]], chat: str) -> Iterator[Message]:
    """Convert content blocks of the service to content blocks of MCP."""
    for block in content:
        match block:
            case {"type": "text", "text": str(said)}:
                yield text_block(said)
            case {"type": "image", "path": str(path)}:
                name = path.rpartition("/")[2]
                media_type = str(block.get("media_type") or "application/octet-stream")
                yield {"type": "resource_link", "uri": build_uri(chat, path), "name": name, "mimeType": media_type}
            case _:
                yield text_block(json.dumps(block.get("json", block), ensure_ascii=False))


def text_block(said: str) -> Message:
    return {"type": "text", "text": said}


def describe_file(file: FileRecord) -> WrittenFile:
    address = build_uri(file.chat, file.path)
    return WrittenFile(path=file.path, uri=address, media_type=file.media_type, size_bytes=file.size_bytes)


def build_link(file: WrittenFile) -> Message:
    """Build a resource link, with which a client can read the file."""
    facts = {
        "uri": file.uri,
        "name": file.path.rpartition("/")[2],
        "mimeType": file.media_type,
        "size": file.size_bytes,
    }
    return {"type": "resource_link", **facts}


def build_uri(chat: str, path: str) -> str:
    """Return the URI of a chat's file.

    >>> build_uri("chat_1", "out/Übersicht 1.csv")
    'agentsvc://chat_1/out/%C3%9Cbersicht%201.csv'
    """
    return f"{SCHEME}{chat}/{quote(path)}"


def parse_uri(address: str) -> tuple[str, str] | None:
    """Return the chat and the path in the URI of a chat's file. Return None for any other URI.

    >>> parse_uri("agentsvc://chat_1/out/a%20b.csv"), parse_uri("file:///etc/passwd")
    (('chat_1', 'out/a b.csv'), None)
    """
    chat, slash, path = address.removeprefix(SCHEME).partition("/")
    if not address.startswith(SCHEME) or not slash or not path or not ids.is_chat(chat):
        return None
    return chat, unquote(path)
