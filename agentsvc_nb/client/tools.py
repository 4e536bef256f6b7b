"""The live tool catalog, calls of tools, and `ask` (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final, Unpack

from agentsvc_nb.client import jobs
from agentsvc_nb.client.core import ACCEPTED, ApiRequest, described
from agentsvc_nb.client.errors import ChatBusyError, StefanBrainError, ToolResultError, refused
from agentsvc_nb.client.faces import BlockingResource, Resource, blocking
from agentsvc_nb.client.models import Answer, Listing, listing, read
from agentsvc_nb.client.options import Options, WaitOptions, poll_seconds, wait_seconds
from agentsvc_nb.client.references import ChatRef, IdRef, ToolRef, identifier, identifiers, optional
from agentsvc_nb.client.runs import SYNC_SECONDS, check_message, with_tables
from agentsvc_nb.client.waiting import OnBusy, in_time, when_free
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, WAIT_SECONDS
from agentsvc_nb.wire.routes import Resend
from agentsvc_nb.wire.runs import Effort
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolDescription, ToolList, ToolResult

_ASK: Final = "ask_stefanbrain"


class AsyncTools(Resource):
    """The tool catalog."""

    async def list(self, **options: Unpack[Options]) -> Listing[ToolDescription]:
        """List all tools. A tool that lacks a credential, a model or the network has `available=False`.

        Raises `StefanBrainError`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [tool.name for tool in client.tools.list() if tool.available]  # doctest: +SKIP
        ['ask_stefanbrain', 'create_images']
        """
        return listing(
            await self._core.scoped(options).ask(ToolList, ApiRequest("tools.list")), "data", ToolDescription
        )

    async def describe(self, name: ToolRef, **options: Unpack[Options]) -> ToolDescription:
        """Return a tool with its schemas. Raises `StefanBrainError` (`tool_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.tools.describe("create_images").input_schema  # doctest: +SKIP
        """
        return await self._core.scoped(options).ask(ToolDescription, ApiRequest("tools.describe", {"name": name}))

    async def invoke(
        self,
        tool: ToolRef,
        input: dict[str, Any],
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[Options],
    ) -> ToolResult | JobAccepted:
        """Call a tool. Return its result, or a `JobAccepted` if the tool is asynchronous or takes long.

        Args:
            tool: a name of the catalog.
            input: fits the tool's `input_schema`.
            chat: the chat in which the tool works. Without `chat` and `session`, it works in the chat that tools share.
            project, session: in place of `chat`.
            idempotency_key: makes it safe to repeat a call that got no response, for tools that the catalog marks as
                idempotent.

        Raises:
            ToolResultError: the tool failed; `body` is its whole answer.
            StefanBrainError: the service refused the call, for example with `tool_not_found` or `invalid_tool_input`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.tools.invoke("web_search", {"query": "autumn fashion"}).data  # doctest: +SKIP
        """
        core, tool = self._core.scoped(options), identifier("tool", tool)
        body = {"input": input, "chat": chat, "project": project, "session": session}
        resend: Resend | None = "never" if tool in jobs.NOT_IDEMPOTENT else None
        request = ApiRequest("tools.invoke", {"name": tool}, body=body, key=idempotency_key, resend=resend)
        response = await core.send(request)
        if response.status == ACCEPTED:
            return core.read(JobAccepted, response)
        result = core.read(ToolResult, response)
        if not result.is_error:
            return result
        error = result.error
        why = f"{tool} failed: {error.message or error.code}" if error else f"{tool} failed."
        code, answered = error.code if error else None, result.model_dump(mode="json")
        raise described(ToolResultError(why, status=response.status, code=code, body=answered), response)


class Tools(BlockingResource):
    """The tool catalog."""

    list = blocking(AsyncTools.list)
    describe = blocking(AsyncTools.describe)
    invoke = blocking(AsyncTools.invoke)


async def ask(
    self: Resource,
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
    """Ask a question, and wait for the answer. This is one full turn.

    The service answers a turn of up to about 55 seconds at once. For a longer turn it returns a handle, which this call
    polls until the turn has ended.

    Args:
        message: the question.
        chat: a `chat_...` id or UUID, or `"new"`. Without `chat` and `session`, all asks share one chat.
        project: a `proj_...` id or UUID.
        session: a label of your choice; each label has its own chat, for parallel workstreams.
        file_ids: staged uploads (`files.upload`).
        image_urls: addresses of pictures; at most 10 attachments together with `file_ids`.
        on_busy: `"reject"`, the default: raise `ChatBusyError` if the chat has an active turn. `"wait"`: wait for the
            end of that turn, then ask.
        idempotency_key: makes it safe to repeat an ask that got no response. The same key on the same UTC day returns
            the original answer. 1 to 128 letters, digits, `_`, `.`, `:`, `-`.
        model: one of `models.list`; the default is the service's.
        effort: how much the model thinks before it answers: `"low"`, `"medium"`, `"high"`.
        timeout: seconds in all, 20 minutes by default; None for no limit.
        poll: seconds between two requests for a long turn; the default is the service's recommendation.

    Raises:
        ChatBusyError: the chat has an active turn; nothing was started or billed.
        ToolResultError: the turn failed, with the answer so far in `body`.
        JobFailedError: a turn that had become a job failed or was cancelled.
        JobTimeoutError: the timeout passed and the turn continues: wait for `job_id` in `chat`. Without a `job_id`, the
            start got no response.
        StefanBrainError: the service refused the question.

    Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

    >>> client.ask("What changed since last week?", chat="new").answer  # doctest: +SKIP
    """
    check_message(message)
    staged, pictures = identifiers("file_ids", file_ids), identifiers("image_urls", image_urls)
    if len(staged) + len(pictures) > ATTACHMENTS_MAX:
        raise refused("too_many_attachments")
    core, poll = self._core.scoped(options), poll_seconds(poll)
    timed = core.within(wait_seconds(timeout))
    given: dict[str, Any] = {"message": message, "file_ids": staged, "image_urls": pictures}
    given |= {"model": optional("model", model), "effort": effort}
    if on_busy == "reject":
        given["on_busy"] = on_busy
    start = functools.partial(
        AsyncTools(timed).invoke,
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
        if error.code != "agent_run_rejected":
            raise
        busy = ChatBusyError(error.message)
        vars(busy).update(vars(error))
        raise busy from None
    ended: ToolResult | Job = (
        await jobs.finished(core, started, max(0.0, timed.left), poll) if isinstance(started, JobAccepted) else started
    )
    raw: dict[str, Any] = ended.model_dump(mode="json")
    answer = read(Answer, json.dumps({**(ended.data or {}), "raw": raw}), "The ask")
    answer.__dict__["_request_id"] = ended._request_id
    return with_tables(core, answer)
