"""The operations of `client.tools`, and `client.ask` (docs/api/tools-and-jobs.md).

The tool catalog is the list of the tools that the service offers.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Any, Final, Unpack

from agentsvc_nb.client import jobs
from agentsvc_nb.client.core import ACCEPTED, ApiRequest, add_request_facts
from agentsvc_nb.client.errors import ChatBusyError, StefanBrainError, ToolResultError, error_for_code
from agentsvc_nb.client.faces import BlockingResource, Resource, blocking
from agentsvc_nb.client.models import Answer, Listing, read, to_listing
from agentsvc_nb.client.options import Options, WaitOptions, check_poll, check_timeout
from agentsvc_nb.client.references import ChatRef, IdRef, ToolRef, identifier, identifiers, optional
from agentsvc_nb.client.runs import SYNC_SECONDS, check_message, with_tables
from agentsvc_nb.client.waiting import OnBusy, run_in_time, start_when_free
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX, WAIT_SECONDS
from agentsvc_nb.wire.routes import Resend
from agentsvc_nb.wire.runs import Effort
from agentsvc_nb.wire.tools import Job, JobAccepted, ToolDescription, ToolList, ToolResult

_ASK: Final = "ask_stefanbrain"


class AsyncTools(Resource):
    """List the tools that the service offers, and call them."""

    async def list(self, **options: Unpack[Options]) -> Listing[ToolDescription]:
        """List the tools that the service offers.

        `available` is False for a tool that cannot work now because a credential, a model or the network is missing.

        Raises `StefanBrainError`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [tool.name for tool in client.tools.list() if tool.available]  # doctest: +SKIP
        ['ask_stefanbrain', 'create_images']
        """
        return to_listing(
            await self._core.scoped(options).ask(ToolList, ApiRequest("tools.list")), "data", ToolDescription
        )

    async def describe(self, name: ToolRef, **options: Unpack[Options]) -> ToolDescription:
        """Return the description of a tool, with the JSON Schemas of its input and output. `name` is the tool's name.

        Raises `StefanBrainError` (`tool_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        """Call a tool, and return its result. If the tool runs as a job, return a `JobAccepted` for `jobs.wait`.

        Args:
            tool: the name of a tool of the catalog (`tools.list`).
            input: the tool's arguments, which must fit its `input_schema`.
            chat: the chat in which the tool works. Without `chat` and `session`, the tool works in the chat that all
                such calls share.
            project: the project of the chat, if you do not pass `chat`.
            session: a label that selects the chat, in place of `chat`.
            idempotency_key: your name for this call. With it, the client retries a call that received no response, if
                the catalog marks the tool as idempotent.

        Raises:
            ToolResultError: the tool failed; `body` is its whole result.
            StefanBrainError: the service refused the call, for example with `tool_not_found` or `invalid_tool_input`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        raise add_request_facts(ToolResultError(why, status=response.status, code=code, body=answered), response)


class Tools(BlockingResource):
    """List the tools that the service offers, and call them."""

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
    """Ask the agent a question, wait for the answer, and return the answer.

    An ask is one turn of the agent in a chat. If the turn takes longer than about 55 seconds, the service continues it
    as a job, and this call polls the job.

    Args:
        message: the question.
        chat: the chat: a `chat_...` id, a UUID, a record such as an earlier answer, or `"new"` for a new chat. Without
            `chat` and `session`, all asks share one chat.
        project: the project of the chat: a `proj_...` id, a UUID or a project.
        session: a label of your choice. The same label always selects the same chat.
        file_ids: uploads that `files.upload` has staged.
        image_urls: URLs of pictures. `file_ids` and `image_urls` together must not exceed 10.
        on_busy: what to do if the chat has an active turn. `"reject"`, the default, raises `ChatBusyError`. `"wait"`
            waits for the end of the active turn, and then asks.
        idempotency_key: your name for this ask, which makes it safe to repeat the ask. The same key on the same UTC day
            returns the original answer. The key has 1 to 128 letters, digits, `_`, `.`, `:` or `-`.
        model: the id of a model from `models.list`. The default is the service's default model.
        effort: how much the model thinks before it answers: `"low"`, `"medium"` or `"high"`.
        timeout: how many seconds to wait, 20 minutes by default; None for no limit.
        poll: seconds between two requests for a long turn. By default, the client follows the service's recommendation.

    Raises:
        ChatBusyError: the chat has an active turn. The service started and billed nothing.
        ToolResultError: the turn failed. `body` contains the answer so far.
        JobFailedError: a long turn failed or was cancelled.
        JobTimeoutError: the turn did not end in time, but continues. To wait again, pass `job_id` and `chat` of the
            error to `jobs.wait`. `job_id` is None if the start received no response.
        StefanBrainError: the service refused the question.

    Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

    >>> client.ask("What changed since last week?", chat="new").answer  # doctest: +SKIP
    """
    check_message(message)
    staged, pictures = identifiers("file_ids", file_ids), identifiers("image_urls", image_urls)
    if len(staged) + len(pictures) > ATTACHMENTS_MAX:
        raise error_for_code("too_many_attachments")
    core, poll = self._core.scoped(options), check_poll(poll)
    timed = core.within(check_timeout(timeout))
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
        started = await run_in_time(chat, start_when_free(timed, start, timeout) if on_busy == "wait" else start())
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
