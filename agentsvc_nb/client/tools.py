"""The live tool catalog, calls of tools, and `ask` (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final, Unpack

from agentsvc_nb.client import jobs, runs
from agentsvc_nb.client.core import ACCEPTED, ApiRequest, Core, described
from agentsvc_nb.client.errors import StefanBrainError, ToolResultError, chat_busy, refused
from agentsvc_nb.client.models import Answer, Listing, listing, read
from agentsvc_nb.client.options import Options, WaitOptions, poll_seconds, wait_seconds
from agentsvc_nb.client.references import ChatRef, IdRef, ToolRef, identifier, identifiers, optional
from agentsvc_nb.client.runs import SYNC_SECONDS
from agentsvc_nb.client.waiting import OnBusy, in_time, when_free
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, WAIT_SECONDS
from agentsvc_nb.wire.models import Effort
from agentsvc_nb.wire.routes.route import Resend
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolDescription, ToolList, ToolResult


async def list_(core: Core, **options: Unpack[Options]) -> Listing[ToolDescription]:
    """All tools. One that lacks a credential, a model or the network says `available=False`.

    Raises `StefanBrainError`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [tool.name for tool in client.tools.list() if tool.available]  # doctest: +SKIP
    ['ask_stefanbrain', 'create_images']
    """
    return listing(await core.scoped(options).ask(ToolList, ApiRequest("tools.list")), "data", ToolDescription)


async def describe(core: Core, name: ToolRef, **options: Unpack[Options]) -> ToolDescription:
    """One tool, with its schemas. Raises `StefanBrainError` (`tool_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.tools.describe("create_images").input_schema  # doctest: +SKIP
    """
    return await core.scoped(options).ask(ToolDescription, ApiRequest("tools.describe", {"name": name}))


async def invoke(
    core: Core,
    tool: ToolRef,
    input: dict[str, Any],
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    idempotency_key: str | None = None,
    **options: Unpack[Options],
) -> ToolResult | JobAccepted:
    """Call a tool: its result, or the acceptance of a job when the tool is asynchronous or takes long.

    Args:
        tool: a name of the catalog.
        input: fits the tool's `input_schema`.
        chat: where the tool works; without `chat` and `session` in the chat that tools share.
        project, session: in place of `chat`.
        idempotency_key: counts for tools that the catalog calls idempotent; with it a call without an answer is
            sent again.

    Raises:
        ToolResultError: the tool failed; `body` is its whole answer.
        StefanBrainError: refused, such as `tool_not_found` or `invalid_tool_input`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.tools.invoke("web_search", {"query": "autumn fashion"}).data  # doctest: +SKIP
    """
    tool = identifier("tool", tool)
    body = {"input": input, "chat": chat, "project": project, "session": session}
    resend: Resend | None = "never" if tool in jobs.NOT_IDEMPOTENT else None
    request = ApiRequest("tools.invoke", {"name": tool}, body=body, key=idempotency_key, resend=resend)
    response = await core.scoped(options).send(request)
    if response.status == ACCEPTED:
        return core.read(JobAccepted, response)
    result = core.read(ToolResult, response)
    if result.is_error:
        raise described(_failure(result, tool, response.status), response)
    return result


def _failure(result: ToolResult, tool: str, status: int) -> ToolResultError:
    error, body = result.error, result.model_dump(mode="json")
    if error is None:
        return ToolResultError(f"{tool} failed.", status=status, body=body)
    return ToolResultError(f"{tool} failed: {error.message or error.code}", status=status, code=error.code, body=body)


_ASK: Final = "ask_stefanbrain"


async def ask(
    core: Core,
    message: str,
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    file_ids: Sequence[IdRef] = (),
    image_urls: Sequence[str] = (),
    on_busy: OnBusy | None = None,
    idempotency_key: str | None = None,
    model: IdRef | None = None,
    effort: Effort | None = None,
    timeout: float | None = WAIT_SECONDS,
    poll: float | None = None,
    **options: Unpack[WaitOptions],
) -> Answer:
    """Ask, and wait for the answer: one full turn.

    A turn of up to about 55 seconds is answered at once; for a longer one the service gives a handle, which is
    looked at until the turn has ended.

    Args:
        message: the question.
        chat: a `chat_...` id or UUID, or `"new"`; without it and `session`, asks share one chat.
        project: a `proj_...` id or UUID.
        session: a label of your own that gives a parallel workstream its own chat.
        file_ids: staged uploads (`files.upload`).
        image_urls: pictures by address; at most 10 attachments together with `file_ids`.
        on_busy: `"reject"`, as without it: a chat with an active turn raises `ChatBusyError`. `"wait"`: wait for the
            end of that turn, then ask.
        idempotency_key: with it an ask that got no answer is sent again, and the same key on the same UTC day
            gives the original answer. 1 to 128 letters, digits, `_`, `.`, `:`, `-`.
        model: one of `models.list`; without it the service's default.
        effort: how much thought it is to give the answer: `"low"`, `"medium"`, `"high"`.
        timeout: seconds for the whole, 20 minutes unless given; None: no limit.
        poll: seconds between two looks, when the interval is not to be the service's.

    Raises:
        ChatBusyError: the chat has an active turn; nothing was started or billed.
        ToolResultError: the turn failed, with the answer so far in `body`.
        JobFailedError: the same of a turn that had become a job, or it was cancelled.
        JobTimeoutError: the time is over. The turn goes on: wait for `job_id` in `chat`; no `job_id`: the start was
            never answered.
        StefanBrainError: refused.

    Options: `deadline`, seconds for the call; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.ask("What changed since last week?", chat="new").answer  # doctest: +SKIP
    """
    runs.check_message(message)
    staged, pictures = identifiers("file_ids", file_ids), identifiers("image_urls", image_urls)
    if len(staged) + len(pictures) > ATTACHMENTS_MAX:
        raise refused("too_many_attachments")
    core, poll = core.scoped(options), poll_seconds(poll)
    timed = core.within(wait_seconds(timeout))
    given: dict[str, Any] = {"message": message, "file_ids": staged, "image_urls": pictures}
    given |= {"model": optional("model", model), "effort": effort}
    if on_busy == "reject":
        given["on_busy"] = on_busy
    start = functools.partial(
        invoke,
        timed,
        _ASK,
        {name: value for name, value in given.items() if value},
        chat=chat,
        project=project,
        session=session,
        idempotency_key=idempotency_key,
        timeout=max(core.settings.timeout, SYNC_SECONDS),
    )
    try:
        started = await in_time(chat, when_free(timed, start, timeout) if on_busy == "wait" else start())
    except StefanBrainError as error:
        raise (chat_busy(error) if error.code == "agent_run_rejected" else error) from None
    ended: ToolResult | Job
    if isinstance(started, JobAccepted):
        ended = await jobs.ended(core, started, max(0.0, timed.left), poll)
    else:
        ended = started
    answer = _answer(ended)
    answer.__dict__["_request_id"] = ended._request_id
    return runs.with_tables(core, answer)


def _answer(envelope: ToolResult | Job) -> Answer:
    raw: dict[str, Any] = envelope.model_dump(mode="json")
    return read(Answer, json.dumps({**(envelope.data or {}), "raw": raw}), "The ask")
