"""`ask`: one question, one answer (docs/api/tools-and-jobs.md "Ask")."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final, Unpack

from agentsvc_nb.client.errors import StefanBrainError, chat_busy, refused
from agentsvc_nb.client.models import Answer, read
from agentsvc_nb.client.operations import jobs, runs, tools
from agentsvc_nb.client.operations.runs import SYNC_SECONDS
from agentsvc_nb.client.request.options import WaitOptions
from agentsvc_nb.client.request.request import Core
from agentsvc_nb.client.streams.waiting import OnBusy, in_time, when_free
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, WAIT_SECONDS
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolResult

TOOL: Final = "ask_stefanbrain"


async def ask(
    core: Core,
    message: str,
    *,
    chat: str | None = None,
    project: str | None = None,
    session: str | None = None,
    file_ids: Sequence[str] = (),
    image_urls: Sequence[str] = (),
    on_busy: OnBusy | None = None,
    idempotency_key: str | None = None,
    timeout: float = WAIT_SECONDS,
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
        timeout: seconds for the whole, 20 minutes unless given.
        poll: seconds between two looks, when the interval is not to be the service's.

    Raises:
        ChatBusyError: the chat has an active turn; nothing was started or billed.
        ToolResultError: the turn failed, with the answer so far in `body`.
        JobFailedError: the same of a turn that had become a job, or it was cancelled.
        JobTimeoutError: the time is over. The turn goes on: wait for `job_id` in `chat`; no `job_id`: the start was
            never answered.
        StefanBrainError: refused.

    >>> client.ask("What changed since last week?", chat="new").answer  # doctest: +SKIP
    """
    if not message.strip():
        raise refused("message_required")
    if len(file_ids) + len(image_urls) > ATTACHMENTS_MAX:
        raise refused("too_many_attachments")
    core = core.scoped(options)
    timed = core.within(timeout)
    given = {"message": message, "file_ids": list(file_ids), "image_urls": list(image_urls)}
    if on_busy == "reject":
        given["on_busy"] = on_busy
    start = functools.partial(
        tools.invoke,
        timed,
        TOOL,
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
    if isinstance(started, JobAccepted):
        answer = _answer(await jobs.ended(core, started, max(0.0, timed.left), poll))
    else:
        answer = _answer(started)
    return runs.with_tables(core, answer)


def _answer(envelope: ToolResult | Job) -> Answer:
    raw: dict[str, Any] = envelope.model_dump(mode="json")
    return read(Answer, json.dumps({**(envelope.data or {}), "raw": raw}), "The ask")
