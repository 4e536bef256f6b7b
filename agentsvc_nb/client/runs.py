"""The operations of `client.runs`: start, follow, approve, resume and read runs (docs/api/runs.md, docs/api/events.md).

A run is one turn of the agent in a chat: a question and the work on it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, cast, overload

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.downloads import fetch_tables
from agentsvc_nb.client.errors import StefanBrainError, error_for_code
from agentsvc_nb.client.events import Event, EventPage, FileWritten, RunEvent
from agentsvc_nb.client.faces import AsyncPages, BlockingResource, Resource, blocking, paginate, paging, streaming
from agentsvc_nb.client.models import Answer, Listing, Run, Shape, schema, to_listing
from agentsvc_nb.client.options import Options, WaitOptions, check_integer, check_positive_seconds, check_timeout
from agentsvc_nb.client.references import CallRef, ChatRef, IdRef, RunRef, identifier, identifiers, optional
from agentsvc_nb.client.streams import AsyncEventStream, AsyncStreamStart
from agentsvc_nb.client.transport.io import run_sync
from agentsvc_nb.client.uploads import FileInput, to_parts
from agentsvc_nb.client.waiting import OnBusy, run_in_time, start_when_free, wait_for_run
from agentsvc_nb.wire.limits import EVENTS_PAGE_DEFAULT, GATEWAY_SECONDS, PAGE_MAX, RUN_POLL_SECONDS, WAIT_SECONDS
from agentsvc_nb.wire.runs import (
    TERMINAL,
    CallApproval,
    Effort,
    Lasts,
    RevokedApproval,
    RunEntry,
    RunPage,
    RunStatus,
    RunUndo,
    SentCall,
    SentList,
    StandingApproval,
    StandingApprovalList,
)

if TYPE_CHECKING:
    import pandas as pd

    from agentsvc_nb.client.client_tools import ClientTool, Function

T = TypeVar("T")
WithTables = TypeVar("WithTables", "Run[Any]", Answer)

SYNC_SECONDS: Final = GATEWAY_SECONDS + 10.0
"""The minimum timeout of a start with `sync`. The service responds within 90 s, and a gateway within 120 s."""


class StreamArguments(WaitOptions, total=False):
    """The arguments of `start_and_stream` except `message` and `output_config`, for the overloads of this method."""

    chat: ChatRef | None
    project: IdRef | None
    session: str | None
    on_busy: OnBusy | None
    files: Sequence[FileInput]
    file_ids: Sequence[IdRef]
    files_from: ChatRef | None
    idempotency_key: str | None
    model: IdRef | None
    effort: Effort | None
    max_steps: int | None
    max_cents: float | None
    client_tools: Sequence[ClientTool | Function]
    timeout: float | None


class StartArguments(StreamArguments, total=False):
    """The arguments of `start` except `message` and `output_config`, for the overloads of this method."""

    sync: bool


class WaitArguments(WaitOptions, total=False):
    """The arguments of `wait` except `run_id`, for the overloads of this method."""

    timeout: float | None
    poll: float


class AsyncRuns(Resource):
    """Start, follow and read runs. A run is one turn of the agent in a chat: a question and the work on it."""

    @overload
    async def start(self, message: str, *, output_config: type[T], **arguments: Unpack[StartArguments]) -> Run[T]: ...
    @overload
    async def start(
        self, message: str, *, output_config: dict[str, Any] | None = None, **arguments: Unpack[StartArguments]
    ) -> Run: ...
    async def start(
        self,
        message: str,
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        sync: bool = False,
        on_busy: OnBusy | None = None,
        output_config: Shape | None = None,
        files: Sequence[FileInput] = (),
        file_ids: Sequence[IdRef] = (),
        files_from: ChatRef | None = None,
        idempotency_key: str | None = None,
        model: IdRef | None = None,
        effort: Effort | None = None,
        max_steps: int | None = None,
        max_cents: float | None = None,
        client_tools: Sequence[ClientTool | Function] = (),
        **options: Unpack[Options],
    ) -> Run[Any]:
        """Start a run, and return its record at once. The run continues in the service.

        Args:
            message: the question or task.
            chat: the chat of the run: a `chat_...` id, a UUID, or a record such as an earlier run. Without `chat` and
                `session`, the service creates a new chat.
            project: the project of the run: a `proj_...` id, a UUID or a project.
            session: a label of your choice, 1 to 200 characters. The same label always selects the same chat.
            sync: if True, the service waits up to 90 seconds for the end of the run before it responds.
            on_busy: what to do if the chat has an active run. `"reject"`, the default, raises an error. `"wait"` waits
                for the end of the active run, for up to 20 minutes or until the deadline, and then starts the run.
            output_config: the shape of the final answer: a JSON Schema, a pydantic model or a dataclass. With a model
                or dataclass, `data` of the ended run is an instance of that class.
            files: up to 10 attachments: paths, open files, bytes, DataFrames, figures or pictures, as in
                `files.upload`.
            file_ids: uploads that `files.upload` has staged. `files` and `file_ids` together must not exceed 10.
            files_from: a chat with at most 200 files, which the service copies into the run's new chat. You must not
                combine it with `chat` or `session`.
            idempotency_key: your name for this start, which makes it safe to repeat the start. The same key on the same
                UTC day returns the original run. The key has 1 to 128 letters, digits, `_`, `.`, `:` or `-`.
            model: the id of a model from `models.list`. The default is the service's default model.
            effort: how much the model thinks before it answers: `"low"`, `"medium"` or `"high"`.
            max_steps: the maximum number of steps (calls of the language model), 1 to 1,500.
            max_cents: the maximum cost of the run in cents. On a hosted model, the default is 50.
            client_tools: functions of your program that the agent may call. Each needs a docstring. Your program
                executes the calls while it reads the run's stream or waits in `runs.wait`.

        Raises:
            StefanBrainError: the service refused the request. If the chat has an active run, `code` is
                `agent_run_rejected`, and `active_run_id` is the id of the active run.
            APIConnectionError: no response came. `hint` says whether the run may have started.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.start("Summarise the attached plan", files=["plan.pdf"]).status  # doctest: +SKIP
        'queued'
        """
        core = self._core.scoped(options)
        check_message(message)
        tools = _client_tools(core, client_tools)
        staged = identifiers("file_ids", file_ids)
        body = {
            "message": message,
            "chat": chat,
            "project": project,
            "session": session,
            "sync": sync or None,
            "on_busy": None if on_busy == "wait" else on_busy,
            "output_config": schema(output_config),
            "file_ids": staged or None,
            "files_from": optional("chat", files_from),
            "model": optional("model", model),
            "effort": effort,
            "max_steps": max_steps,
            "max_cents": max_cents,
            "client_tools": [tool.document() for tool in tools] or None,
        }
        attached = to_parts(() if files is None else files, "too_many_attachments", len(staged)) or None
        held = max(core.settings.timeout, SYNC_SECONDS) if sync and options.get("timeout") is None else None
        request = ApiRequest("runs.start", body=body, files=attached, key=idempotency_key, timeout=held)
        starting = functools.partial(_start, core, request, tools)
        waits = on_busy == "wait" and request.rewindable
        run = await (start_when_free(core, starting, WAIT_SECONDS) if waits else starting())
        return with_tables(core, run.with_shape(output_config))

    @overload
    def start_and_stream(
        self, message: str, *, output_config: type[T], **arguments: Unpack[StreamArguments]
    ) -> AsyncStreamStart[T]: ...
    @overload
    def start_and_stream(
        self, message: str, *, output_config: dict[str, Any] | None = None, **arguments: Unpack[StreamArguments]
    ) -> AsyncStreamStart: ...
    def start_and_stream(
        self,
        message: str,
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        on_busy: OnBusy | None = None,
        output_config: Shape | None = None,
        files: Sequence[FileInput] = (),
        file_ids: Sequence[IdRef] = (),
        files_from: ChatRef | None = None,
        idempotency_key: str | None = None,
        model: IdRef | None = None,
        effort: Effort | None = None,
        max_steps: int | None = None,
        max_cents: float | None = None,
        client_tools: Sequence[ClientTool | Function] = (),
        timeout: float | None = None,
        **options: Unpack[WaitOptions],
    ) -> AsyncStreamStart[Any]:
        """Start a run, and return a stream of its events. The stream reconnects after a lost connection.

        The arguments are those of `start`, except for `sync` and `timeout`. `timeout` limits the whole stream, in
        seconds. After this time, reading raises `JobTimeoutError`, and the run continues. If you already used the
        `idempotency_key` today, the stream replays the events of the original run from the first event.

        If the agent calls a function of `client_tools`, the thread that reads the stream executes the function.
        `AsyncAgentService` also awaits coroutine functions. If a function raises an exception, the agent sees the
        exception's type and text.

        Raises the errors of `start`. Reading the stream raises the errors of `attach`.

        Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> with client.runs.start_and_stream("Compare the two price lists", timeout=600) as stream:  # doctest: +SKIP
        ...     for event in stream:
        ...         print(event.type)
        """

        async def open() -> AsyncEventStream:
            core = self._core.scoped(options).within(check_timeout(timeout))
            starting = AsyncRuns(core).start(
                message,
                chat=chat,
                project=project,
                session=session,
                on_busy=on_busy,
                output_config=cast(Any, output_config),  # of either overload
                files=files,
                file_ids=file_ids,
                files_from=files_from,
                idempotency_key=idempotency_key,
                model=model,
                effort=effort,
                max_steps=max_steps,
                max_cents=max_cents,
                client_tools=client_tools,
            )
            return AsyncEventStream(core, await run_in_time(chat, starting))

        return AsyncStreamStart(open)

    def attach(self, run_id: RunRef, *, after: int = 0, **options: Unpack[Options]) -> AsyncStreamStart:
        """Return a stream of the events of a run that any program has started. The stream reconnects by itself.

        Args:
            run_id: the run, or its id.
            after: the id of the last event that you have seen. The stream begins after this event. 0, the default,
                returns all events.

        Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`). Reading the stream raises `APIConnectionError` if
        the stream cannot reconnect.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> with client.runs.attach(run_id, after=12) as stream:  # doctest: +SKIP
        ...     print(stream.final_status().output)
        """

        async def open() -> AsyncEventStream:
            core = self._core.scoped(options)
            return AsyncEventStream(core, await AsyncRuns(core).get(run_id), event_id(after))

        return AsyncStreamStart(open)

    async def get(self, run_id: RunRef, **options: Unpack[Options]) -> Run[Any]:
        """Return the current record of a run. `run_id` is the run or its id.

        Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.get("6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11").status  # doctest: +SKIP
        'completed'
        """
        core = self._core.scoped(options)
        return with_tables(core, await core.ask(Run, ApiRequest("runs.get", {"run_id": run_id})))

    @overload
    async def wait(  # type: ignore[overload-overlap] # the first overload that matches applies
        self, run_id: Run[T], **arguments: Unpack[WaitArguments]
    ) -> Run[T]: ...
    @overload
    async def wait(self, run_id: RunRef, **arguments: Unpack[WaitArguments]) -> Run: ...
    async def wait(
        self,
        run_id: RunRef,
        *,
        timeout: float | None = WAIT_SECONDS,
        poll: float = RUN_POLL_SECONDS,
        **options: Unpack[WaitOptions],
    ) -> Run[Any]:
        """Wait until a run has completed, failed or been cancelled, and return its record.

        A failed run raises no error: check `status` of the record. While it waits, this call executes the run's
        `client_tools`, if your program started the run.

        Args:
            run_id: the run, or its id. If you pass the run that `start` returned, `data` of the result has the type
                that you passed to `start` as `output_config`.
            timeout: how many seconds to wait, 20 minutes by default; None for no limit.
            poll: seconds between two requests, if the service has no event stream.

        Raises:
            JobTimeoutError: the run did not end in time. It continues.
            StefanBrainError: the service does not know the run (`run_not_found`).

        Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.wait(run, timeout=300).output  # doctest: +SKIP
        """
        core = self._core.scoped(options)
        run = await wait_for_run(core, identifier("run_id", run_id), timeout, check_positive_seconds("poll", poll))
        return with_tables(core, run.with_shape(run_id.shape if isinstance(run_id, Run) else None))

    async def cancel(self, run_id: RunRef, **options: Unpack[Options]) -> Run[Any]:
        """Cancel a run, and return its record. You can safely repeat this call.

        The record's `status` may still be `cancelling`: `runs.wait` waits for the end of the run. `run_id` is the run
        or its id.

        Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.wait(client.runs.cancel(run.run_id)).status  # doctest: +SKIP
        'cancelled'
        """
        core = self._core.scoped(options)
        return with_tables(core, await core.ask(Run, ApiRequest("runs.cancel", {"run_id": run_id})))

    async def resume(
        self,
        run_id: RunRef,
        *,
        max_steps: int | None = None,
        max_cents: float | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[Options],
    ) -> Run[Any]:
        """Continue a failed run in a new run, and return the record of the new run.

        You can resume a run whose `last_error` is `model_unavailable`, `attempts_exhausted` or `limit_reached`. The new
        run starts in the same chat from the last checkpoint of the failed run, and does not repeat its effects.
        `resumed_from` of the new run is the id of the failed run, which does not change.

        Args:
            run_id: the failed run, or its id.
            max_steps: the maximum number of steps of the new run. The default is the limit of the failed run.
            max_cents: the maximum cost of the new run in cents. The default is the limit of the failed run.
            idempotency_key: your name for this call, which makes it safe to repeat the call, as in `start`.

        Raises `StefanBrainError` (`run_not_found`, `run_not_resumable`, `agent_run_rejected`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.wait(client.runs.resume(failed, max_cents=100)).output  # doctest: +SKIP
        """
        core = self._core.scoped(options)
        body = {"max_steps": max_steps, "max_cents": max_cents}
        request = ApiRequest("runs.resume", {"run_id": run_id}, body=body, key=idempotency_key)
        run = await core.ask(cast("type[Run[Any]]", Run), request)
        if old := core.client_calls.get(identifier("run_id", run_id)):
            core.client_calls[run.run_id] = type(old)(core, run.run_id, old.tools)
        return with_tables(core, run.with_shape(run_id.shape if isinstance(run_id, Run) else None))

    async def undo(self, run_id: RunRef, *, force: bool = False, **options: Unpack[Options]) -> RunUndo:
        """Undo a run's file changes: restore the files as they were before the run. You can safely repeat this call.

        `undo` removes files that the run created, and does not touch files that were changed after the run. The service
        keeps all versions, so `redo` can restore the run's changes. The result lists each file with its `outcome`.

        Args:
            run_id: a run that has ended, or its id.
            force: if True, also restore files that were changed after the run.

        Raises `StefanBrainError` (`run_not_found`, `run_not_finished`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [file.path for file in client.runs.undo(run).files if file.outcome == "left"]  # doctest: +SKIP
        """
        request = ApiRequest("runs.undo", {"run_id": run_id}, body={"force": force})
        return await self._core.scoped(options).ask(RunUndo, request)

    async def redo(self, run_id: RunRef, *, force: bool = False, **options: Unpack[Options]) -> RunUndo:
        """Make the file changes of a run again, after `undo` has reversed them. You can safely repeat this call.

        The arguments are those of `undo`. Raises the errors of `undo`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.redo(run).undone_at is None  # doctest: +SKIP
        True
        """
        request = ApiRequest("runs.undo", {"run_id": run_id}, body={"force": force, "redo": True})
        return await self._core.scoped(options).ask(RunUndo, request)

    async def raise_limit(self, run_id: RunRef, max_cents: float, **options: Unpack[Options]) -> Run[Any]:
        """Raise the cost limit of an active run, and return the run's record. You can safely repeat this call.

        The new limit applies from the next call of a model or a priced tool.

        Args:
            run_id: the run, or its id.
            max_cents: the new limit of the whole run in cents. It must not be lower than the current limit.

        Raises `StefanBrainError` (`run_not_found`, `run_not_active`, `invalid_limits`, or a code that names an
        exhausted budget).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.raise_limit(run, 100).max_cents  # doctest: +SKIP
        100.0
        """
        core = self._core.scoped(options)
        request = ApiRequest("runs.raise_limit", {"run_id": run_id}, body={"max_cents": max_cents})
        return with_tables(core, await core.ask(Run, request))

    async def sent(self, run_id: RunRef, **options: Unpack[Options]) -> Listing[SentCall]:
        """List the requests that a run sent to language models.

        Each entry names the model's address, and shows the size and the beginning of each part of the request. `run_id`
        is the run or its id.

        Raises `StefanBrainError` (`run_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> {call.provider for call in client.runs.sent(run) if call.hosted}  # doctest: +SKIP
        """
        found = await self._core.scoped(options).ask(SentList, ApiRequest("runs.sent", {"run_id": run_id}))
        return to_listing(found, "data", SentCall)

    async def approve(
        self,
        run_id: RunRef,
        call_id: CallRef,
        *,
        input: Mapping[str, Any] | None = None,
        lasts: Lasts | None = None,
        folder: str | None = None,
        **options: Unpack[Options],
    ) -> CallApproval:
        """Approve a tool call that waits for approval. The client does not retry this request.

        Args:
            run_id: the run, or its id.
            call_id: the event `approval.requested` of the call, or the id of the call.
            input: new arguments for the tool, which replace the agent's arguments. The agent sees the change.
            lasts: how long to approve further calls of the tool, too: `"run"` for the rest of the run, or `"hour"` for
                an hour in this chat.
            folder: limits `lasts` to calls whose `path` is in this folder of the chat.

        Raises `StefanBrainError` (`run_not_found`, `call_not_found`, `call_not_waiting`, `invalid_approval`).
        `invalid_approval` means that `input` does not fit the tool's schema, or that the tool does not allow `lasts`.
        After this error, the call still waits for approval.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.approve(run, event).approved  # doctest: +SKIP
        True
        >>> client.runs.approve(run, event, input={**event.input, "subject": "Offer"})  # doctest: +SKIP
        >>> client.runs.approve(run, event, lasts="run").standing.id  # doctest: +SKIP
        'standing_1'
        """
        if folder is not None and lasts is None:
            raise error_for_code("invalid_approval", "`folder` needs `lasts`.")
        standing = None if lasts is None else {"lasts": lasts, "folder": folder}
        body = {"approved": True, "input": None if input is None else dict(input), "standing": standing}
        request = ApiRequest("runs.approve", {"run_id": run_id, "call_id": call_id}, body=body)
        return await self._core.scoped(options).ask(CallApproval, request)

    async def standing_approvals(self, **options: Unpack[Options]) -> Listing[StandingApproval]:
        """List the valid standing approvals, oldest first.

        A standing approval, which `approve` with `lasts` creates, approves further calls of a tool in advance.

        Raises `StefanBrainError` (`api_key_scope_forbidden`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [(each.tool, each.expires_at) for each in client.runs.standing_approvals()]  # doctest: +SKIP
        """
        found = await self._core.scoped(options).ask(StandingApprovalList, ApiRequest("runs.standing_approvals"))
        return to_listing(found, "data", StandingApproval)

    async def revoke_approval(self, approval_id: str, **options: Unpack[Options]) -> RevokedApproval:
        """Revoke a standing approval, so that the next call of the tool waits for approval again.

        `approval_id` is the `id` of an entry of `standing_approvals`. The client does not retry this request.

        Raises `StefanBrainError` (`standing_approval_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.revoke_approval("standing_1").revoked  # doctest: +SKIP
        True
        """
        request = ApiRequest("runs.revoke_approval", {"approval_id": approval_id})
        return await self._core.scoped(options).ask(RevokedApproval, request)

    async def refuse(
        self, run_id: RunRef, call_id: CallRef, *, reason: str = "", **options: Unpack[Options]
    ) -> CallApproval:
        """Refuse a tool call that waits for approval. The run continues without the call.

        Args:
            run_id: the run, or its id.
            call_id: the event `approval.requested` of the call, or the id of the call.
            reason: the reason, which the agent sees.

        Raises the errors of `approve`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.refuse(run.run_id, call_id, reason="Not before Monday.")  # doctest: +SKIP
        """
        body = {"approved": False, "reason": reason}
        request = ApiRequest("runs.approve", {"run_id": run_id, "call_id": call_id}, body=body)
        return await self._core.scoped(options).ask(CallApproval, request)

    async def events(
        self, run_id: RunRef, *, after: int = 0, limit: int = EVENTS_PAGE_DEFAULT, **options: Unpack[Options]
    ) -> EventPage:
        """Return one page of a run's events.

        Args:
            run_id: the run, or its id.
            after: the id of the last event that you have seen. The page begins after this event. For the next page,
                pass `next_after` of the page.
            limit: the maximum number of events, 1 to 1000.

        Raises `StefanBrainError` (`run_not_found`, `invalid_query`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [event.type for event in client.runs.events(run.run_id, limit=2).data]  # doctest: +SKIP
        ['run.status', 'text.delta']
        """
        request = ApiRequest("runs.events", {"run_id": run_id}, {"after": event_id(after), "limit": limit})
        return await self._core.scoped(options).ask(EventPage, request)

    def iterate_events(self, run_id: RunRef, *, after: int = 0, **options: Unpack[Options]) -> AsyncPages[RunEvent]:
        """Return an iterator over a run's events, which ends when the run has ended.

        The iterator fetches the events page by page. At the last event so far, it requests new events every 3 seconds.

        Args:
            run_id: the run, or its id.
            after: the id of the last event that you have seen. The iteration begins after this event.

        Raises `StefanBrainError` (`run_not_found`) during the iteration, not during this call.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.iterate_events(run.run_id).to_frame()  # doctest: +SKIP
        """
        core = self._core.scoped(options)

        async def fetch(after: int) -> tuple[Sequence[RunEvent], int | None, str | None]:
            while not (page := await AsyncRuns(core).events(run_id, after=after)).data:
                if page.status in TERMINAL:
                    return [], None, page._request_id
                await core.sleep(RUN_POLL_SECONDS)
            new = sorted({event.id: event for event in page.data if event.id > after}.values(), key=attrgetter("id"))
            return new, None if page.data[-1].type == "run.ended" else page.next_after, page._request_id

        return AsyncPages(fetch, event_id(after), cast("type[RunEvent]", Event))

    async def tables(self, run: RunRef, **options: Unpack[Options]) -> list[pd.DataFrame]:
        """Return the tables that a run has written so far, as DataFrames with typed columns.

        `run` is the run or its id. `attrs` of each DataFrame contains `run_id`, `chat`, `path`, `title` (the question)
        and `units` (the unit of each column).

        Raises `StefanBrainError` (`run_not_found`, or `file_not_found` if the service no longer stores a table), and
        `ImportError` without pandas.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.tables(run)[0].plot("month")  # doctest: +SKIP
        """
        core = self._core.scoped(options)
        run_id = identifier("run_id", run)
        chat = getattr(run, "chat", None) or (await AsyncRuns(core).get(run_id)).chat

        async def fetch(after: int) -> tuple[Sequence[RunEvent], int | None, str | None]:
            page = await AsyncRuns(core).events(run_id, after=after, limit=PAGE_MAX)
            return page.data, page.next_after if page.has_more else None, page._request_id

        so_far = await AsyncPages(fetch, 0, cast("type[RunEvent]", Event)).all()
        written = {event.file.path: event.file for event in so_far if isinstance(event, FileWritten)}
        return await fetch_tables(core, chat, written.values(), run_id=run_id)

    # Last, because annotations below this method would read `list` as the method.
    def list(
        self, *, chat: ChatRef | None = None, status: RunStatus | None = None, **options: Unpack[Options]
    ) -> AsyncPages[RunEntry]:
        """List the runs of the account with their question, status and usage, the newest run first.

        The iteration fetches page after page.

        Args:
            chat: list only the runs of this chat.
            status: list only runs that are `queued`, `running`, `cancelling`, `completed`, `failed` or `cancelled`.

        Raises `StefanBrainError` (`chat_not_found`) during the iteration, not during this call.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [run.message for run in client.runs.list(status="failed")]  # doctest: +SKIP
        """
        query = {"chat": optional("chat", chat), "status": status}
        return paginate(self._core.scoped(options), "runs.list", query, RunPage, RunEntry)


class Runs(BlockingResource):
    """Start, follow and read runs. A run is one turn of the agent in a chat: a question and the work on it."""

    start = blocking(AsyncRuns.start)
    start_and_stream = streaming(AsyncRuns.start_and_stream)
    attach = streaming(AsyncRuns.attach)
    get = blocking(AsyncRuns.get)
    wait = blocking(AsyncRuns.wait)
    cancel = blocking(AsyncRuns.cancel)
    resume = blocking(AsyncRuns.resume)
    undo = blocking(AsyncRuns.undo)
    redo = blocking(AsyncRuns.redo)
    raise_limit = blocking(AsyncRuns.raise_limit)
    sent = blocking(AsyncRuns.sent)
    approve = blocking(AsyncRuns.approve)
    refuse = blocking(AsyncRuns.refuse)
    standing_approvals = blocking(AsyncRuns.standing_approvals)
    revoke_approval = blocking(AsyncRuns.revoke_approval)
    events = blocking(AsyncRuns.events)
    iterate_events = paging(AsyncRuns.iterate_events)
    tables = blocking(AsyncRuns.tables)
    list = paging(AsyncRuns.list)


def check_message(message: object) -> None:
    """Raise `StefanBrainError` (`message_required`) if `message` is not text or is blank."""
    if not isinstance(message, str) or not message.strip():
        raise error_for_code("message_required")


def event_id(after: object) -> int:
    """Return `after` if it is the id of an event or 0. Raises `StefanBrainError` (`invalid_query`) for other values."""
    try:
        return check_integer("after", after, least=0)
    except StefanBrainError as error:
        raise error_for_code("invalid_query", error.message) from None


def with_tables(core: Core, run: WithTables) -> WithTables:
    """Return the run or answer. If it comes from the blocking client, enable its `tables` and `df`."""
    return run if core.io.awaited else run.with_tables(lambda: run_sync(AsyncRuns(core).tables(run)))


def _client_tools(core: Core, given: Sequence[ClientTool | Function]) -> Sequence[ClientTool]:
    if isinstance(given, list | tuple) and not given:
        return []
    # Import the module only here: it loads more of pydantic, and few programs need it.
    from agentsvc_nb.client.client_tools import as_tools

    return as_tools(given, awaited=core.io.awaited)


async def _start(core: Core, request: ApiRequest, tools: Sequence[ClientTool]) -> Run[Any]:
    """Send the request that starts a run, and prepare the run's client tools.

    If the service does not support client tools, cancel the run, because its agent lacks the tools, and raise
    `StefanBrainError`. Raises `StefanBrainError`, too, for an idempotency key that was used with other tools.
    """
    began = core.io.now()
    response = await core.send(request)
    run = core.read(cast("type[Run[Any]]", Run), response)
    if not tools:
        return run  # perhaps a replay of a start with client tools
    from agentsvc_nb.client.client_tools import ClientCalls, is_new

    if {tool.name for tool in tools} == set(run.client_tools):
        if not run.ended:
            core.client_calls[run.run_id] = ClientCalls(core, run.run_id, tools)
        return run
    if is_new(run, response, request.key, core.io.now() - began):
        await AsyncRuns(core).cancel(run)
        raise StefanBrainError("This service is too old for client tools, so the client cancelled the run.")
    had = ", ".join(run.client_tools) or "none"
    raise StefanBrainError(
        f"This idempotency key already started a run today with other client tools ({had}). Use another key, or attach "
        f"to the run (run {run.run_id})."
    )
