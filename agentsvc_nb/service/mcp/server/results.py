"""Runs, jobs and outcomes as results of MCP: text, data of the listed schema, and links to the files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

from pydantic import BaseModel

from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files import files
from agentsvc_nb.service.files.file_records import FileRecord
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.jobs.job_records import JobRecord
from agentsvc_nb.service.mcp.endpoint.catalog import (
    Answered,
    Approval,
    Failed,
    MadeFile,
    Outcome,
    WaitingCall,
    WithData,
)
from agentsvc_nb.service.mcp.messages import Message
from agentsvc_nb.service.runs import tool_calls
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.tools.port import without_nulls
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.text import exact
from agentsvc_nb.wire.tools import ToolResult

INPUT_CHARS: Final = 4_000
"""Of the input of a call that waits."""
SCHEME: Final = "agentsvc://"
_CANCELLED: Final = Failed(code="cancelled", message="It was cancelled.")


def uri(chat: str, path: str) -> str:
    """The address of a chat's file.

    >>> uri("chat_1", "out/Übersicht 1.csv")
    'agentsvc://chat_1/out/%C3%9Cbersicht%201.csv'
    """
    return f"{SCHEME}{chat}/{quote(path)}"


def place(address: str) -> tuple[str, str] | None:
    """The chat and the path that an address names; None for any other.

    >>> place("agentsvc://chat_1/out/a%20b.csv"), place("file:///etc/passwd")
    (('chat_1', 'out/a b.csv'), None)
    """
    chat, slash, path = address.removeprefix(SCHEME).partition("/")
    if not address.startswith(SCHEME) or not slash or not path or not ids.is_chat(chat):
        return None
    return chat, unquote(path)


def link(file: FileRecord | MadeFile) -> Message:
    """A file as a link that `resources/read` takes."""
    made = made_file(file) if isinstance(file, FileRecord) else file
    return {
        "type": "resource_link",
        "uri": made.uri,
        "name": made.path.rpartition("/")[2],
        "mimeType": made.media_type,
        "size": made.size_bytes,
    }


def made_file(file: FileRecord) -> MadeFile:
    address = uri(file.chat, file.path)
    return MadeFile(path=file.path, uri=address, media_type=file.media_type, size_bytes=file.size_bytes)


def result(content: Sequence[Mapping[str, Any]], data: BaseModel | None, *, failed: bool = False) -> Message:
    """A tool's result. Data without any text is said as text, too, for clients that read only that."""
    found: Message = {"content": list(content), "isError": failed}
    if data is not None:
        found["structuredContent"] = without_nulls(data.model_dump(mode="json"))  # also those in a tool's own data
        if not any(block["type"] == "text" for block in content):
            said = json.dumps(found["structuredContent"], ensure_ascii=False)
            found["content"] = [_text(said), *content]
    return found


def refused(error: ApiError) -> Message:
    """A call that the service refused, by its code."""
    active = error.top.get("activeRunId")
    held = f" Run {active} is active: call `get_run` or `cancel_run` with it." if active else ""
    return failure(error.row.code, error.message + held)


def failure(code: str, message: str, data: Outcome | None = None) -> Message:
    error = Failed(code=code, message=message)
    data = (data or Outcome()).model_copy(update={"error": error})
    return result([_text(error.model_dump_json())], data, failed=True)


def goes_on(work: RunRecord | JobRecord) -> Message:
    """The result of work that goes on, as far as it is known without looking: where to ask for it."""
    if isinstance(work, RunRecord):
        data = Answered(chat=work.chat, status=work.status, run_id=work.run_id)
        return _goes_on("run", work.run_id, "get_run", data)
    return _goes_on("job", work.job_id, "get_job", WithData(chat=work.chat, status=work.status, job_id=work.job_id))


def waits(context: RequestContext, run: RunRecord, calls: Sequence[CallRecord]) -> tuple[str, Approval]:
    """What a run waits for, and how a person approves it: as text, and as data."""
    page = run.document(context.origin)["app_url"]
    command = f"agentsvc runs approve {run.run_id}"
    wanted = "\n".join(f"{call.tool} {exact(call.input, limit=INPUT_CHARS)}" for call in calls)
    said = (
        f"Run {run.run_id} waits for a person's approval. It wants to call:\n{wanted}\n"
        f"No tool approves that: ask the user to open {page}, or to run `{command}` in a terminal, or "
        f"`%approve {run.run_id}` in a notebook. Then call `get_run` with run_id {run.run_id} for the result."
    )
    named = [WaitingCall(call_id=call.call_id, tool=call.tool) for call in calls]
    return said, Approval(calls=named, page=page, command=command)


async def of_run(context: RequestContext, run: RunRecord) -> Message:
    """The result of a run; of one that goes on, what it waits for, or where to ask for it."""
    facts: dict[str, Any] = {"chat": run.chat, "status": run.status, "run_id": run.run_id}
    if run.status == "running" and (calls := await tool_calls.waiting(context.use_case, run.run_id)):
        said, approval = waits(context, run, calls)
        return result([_text(said)], Outcome(**facts, approval=approval))
    made = [made_file(one) for one in await files.of_run(context.use_case, run.chat, run.run_id)]
    facts["files"] = made or None
    direct = run.status == "completed" and run.model == DIRECT_CALL
    if direct and (outcome := await tool_calls.outcome(context.use_case, run.run_id)):
        content = [*blocks(outcome.content, run.chat), *map(link, made)]
        return result(content, WithData(**facts, data=outcome.data))
    data = Answered(
        **facts,
        output=run.output,
        structured_output=_document(run.structured_output),
        basis=_document(run.basis),
    )
    if run.ended_at is None:
        return _goes_on("run", run.run_id, "get_run", data)
    if run.status == "completed":
        return result([_text(run.output or ""), *map(link, made)], data)
    known = Failed(code=run.last_error or run.status, message=run.last_error_message or "")
    error = _CANCELLED if run.status == "cancelled" else known
    return failure(error.code, error.message, data)


async def of_job(context: RequestContext, job: JobRecord) -> Message:
    """The result of a job; of one that goes on, where to ask for it."""
    found = await files.find(context.use_case, job.chat, job.files[: files.MADE_MAX]) if job.files else []
    made = [made_file(one) for one in found]
    data = WithData(chat=job.chat, status=job.status, job_id=job.job_id, files=made or None, data=job.data)
    if job.ended_at is None:
        return _goes_on("job", job.job_id, "get_job", data)
    error = _CANCELLED if job.status == "cancelled" else None if job.error is None else Failed(**job.error)
    if error is not None:
        return failure(error.code, error.message, data)
    return result([*blocks(job.content, job.chat), *map(link, made)], data)


def of_call(found: ToolResult) -> Message:
    """The result of a direct call."""
    data = WithData(chat=found.chat, data=found.data)
    if found.error is not None:
        return failure(found.error.code, found.error.message, data)
    return result(list(blocks(found.content, found.chat)), data)


def read(found: Message) -> Message:
    """The result of work, as that of a call which reads it: the call succeeds, whatever became of the work."""
    return {**found, "isError": False}


def stopped(work: RunRecord | JobRecord) -> Message:
    """The state of work that was told to stop, which it may do a moment later."""
    if isinstance(work, RunRecord):
        return result((), Outcome(chat=work.chat, status=work.status, run_id=work.run_id))
    return result((), Outcome(chat=work.chat, status=work.status, job_id=work.job_id))


def blocks(content: Iterable[Mapping[str, Any]], chat: str) -> Iterable[Message]:
    """Our content blocks as those of MCP."""
    for block in content:
        match block:
            case {"type": "text", "text": str(text)}:
                yield _text(text)
            case {"type": "image", "path": str(path)}:
                name = path.rpartition("/")[2]
                media_type = str(block.get("media_type") or "application/octet-stream")
                yield {"type": "resource_link", "uri": uri(chat, path), "name": name, "mimeType": media_type}
            case _:
                yield _text(json.dumps(block.get("json", block), ensure_ascii=False))


def _goes_on(what: str, id: str, tool: str, data: Outcome) -> Message:
    said = f"The {what} goes on. Call `{tool}` with {what}_id {id} for its result; it is {data.status} now."
    return result([_text(said)], data)


def _text(text: str) -> Message:
    return {"type": "text", "text": text}


def _document(stored: str | None) -> dict[str, Any] | None:
    return None if stored is None else json.loads(stored)
