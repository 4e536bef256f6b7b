"""Agent Runs (docs/api/runs.md "Start", docs/api/events.md)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, cast, overload

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.downloads import fetch_tables
from agentsvc_nb.client.errors import StefanBrainError, refused
from agentsvc_nb.client.events import Event, EventPage, FileWritten, RunEvent
from agentsvc_nb.client.faces import AsyncPages, BlockingResource, Resource, blocking, paged, paging, streaming
from agentsvc_nb.client.models import Answer, Listing, Run, Shape, listing, schema
from agentsvc_nb.client.options import Options, WaitOptions, some_seconds, wait_seconds, whole
from agentsvc_nb.client.references import CallRef, ChatRef, IdRef, RunRef, identifier, identifiers, optional
from agentsvc_nb.client.streams import AsyncEventStream, AsyncStreamStart
from agentsvc_nb.client.transport.io import run_sync
from agentsvc_nb.client.uploads import FileInput, parts
from agentsvc_nb.client.waiting import OnBusy, ended, in_time, when_free
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
"""The minimum timeout of a synchronous start. The service responds within 90 s, the gateway within 120 s."""


class StreamArguments(WaitOptions, total=False):
    """The arguments of `start_and_stream` except `message` and `output_config`, for its overloads."""

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
    """The arguments of `start` except `message` and `output_config`, for its overloads."""

    sync: bool


class WaitArguments(WaitOptions, total=False):
    """The arguments of `wait` except `run_id`, for its overloads."""

    timeout: float | None
    poll: float


class AsyncRuns(Resource):
    """Agent Runs: one agent turn inside a chat."""

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
        """Start a run and return its record at once, while the run continues.

        Args:
            message: the question or task.
            chat: a `chat_...` id or UUID. Without `chat` and `session` the run gets a new chat.
            project: a `proj_...` id or UUID.
            session: a label of your choice; each label has its own chat, for parallel workstreams.
            sync: the service waits up to 90 seconds for the end of the run before it responds.
            on_busy: `"reject"`, the default: raise an error if the chat is busy. `"wait"`: wait until the chat's turn
                has ended, for up to 20 minutes or the deadline, then start.
            output_config: the shape of the final answer: a JSON Schema, a pydantic model or a dataclass. With a model
                or dataclass, the run's `data` is an instance of it.
            files: up to 10 attachments: paths, open files, bytes, DataFrames, figures; see `files.upload`.
            file_ids: staged uploads (`files.upload`); they count towards the 10.
            files_from: a chat whose files, at most 200, are copied into the run's new chat; not with `chat` or
                `session`.
            idempotency_key: makes it safe to repeat a start that got no response. The same key on the same UTC day
                returns the original run. 1 to 128 letters, digits, `_`, `.`, `:`, `-`.
            model: one of `models.list`; the default is the service's.
            effort: how much the model thinks before it answers: `"low"`, `"medium"`, `"high"`.
            max_steps: how many model steps the run may take, at most 1,500.
            max_cents: how much the run may cost; 50 by default on a hosted model.
            client_tools: functions that the agent may call, each with a docstring. This client calls them while it
                reads the run's stream or is in `wait`.

        Raises:
            StefanBrainError: the service refused the request. If the chat is busy, the code is `agent_run_rejected`,
                and `active_run_id` names its run.
            APIConnectionError: no response came. The hint says whether the work may have started.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        attached = parts(() if files is None else files, "too_many_attachments", len(staged)) or None
        held = max(core.settings.timeout, SYNC_SECONDS) if sync and options.get("timeout") is None else None
        request = ApiRequest("runs.start", body=body, files=attached, key=idempotency_key, timeout=held)
        starting = functools.partial(_start, core, request, tools)
        waits = on_busy == "wait" and request.rewindable
        run = await (when_free(core, starting, WAIT_SECONDS) if waits else starting())
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
        """Start a run and follow its events. The stream reconnects after a dropped connection and loses no event.

        Takes the arguments of `start`, but `timeout` limits the whole stream: after it, reading raises
        `JobTimeoutError`, and the run continues. An idempotency key that was already used today replays its run from
        the first event.

        While you read the stream, the reading thread calls the functions of `client_tools`, and awaits coroutine
        functions. If a function raises an exception, the agent sees it.

        Raises the errors of `start`, and while you read the errors of `attach`.

        Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> with client.runs.start_and_stream("Compare the two price lists", timeout=600) as stream:  # doctest: +SKIP
        ...     for event in stream:
        ...         print(event.type)
        """

        async def open() -> AsyncEventStream:
            core = self._core.scoped(options).within(wait_seconds(timeout))
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
            return AsyncEventStream(core, await in_time(chat, starting))

        return AsyncStreamStart(open)

    def attach(self, run_id: RunRef, *, after: int = 0, **options: Unpack[Options]) -> AsyncStreamStart:
        """Follow a run that was started earlier, by any client. The stream reconnects as in `start_and_stream`.

        Args:
            run_id: the run, or its id.
            after: the id of the last event that you have seen; 0 for all events.

        Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`), and while you read `APIConnectionError` if the
        stream cannot reconnect.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> with client.runs.attach(run_id, after=12) as stream:  # doctest: +SKIP
        ...     print(stream.final_status().output)
        """

        async def open() -> AsyncEventStream:
            core = self._core.scoped(options)
            return AsyncEventStream(core, await AsyncRuns(core).get(run_id), event_id(after))

        return AsyncStreamStart(open)

    async def get(self, run_id: RunRef, **options: Unpack[Options]) -> Run[Any]:
        """Return a run's current record. Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """Wait until the run has completed, failed or been cancelled, and return it. Does not raise for a failed run.

        Follows the run's events, and calls the functions of its `client_tools`.

        Args:
            run_id: the run, or its id. If you pass the run that `start` returned, `data` of the result has the same
                model.
            timeout: seconds in all, 20 minutes by default; None for no limit.
            poll: seconds between two requests if the service has no event stream.

        Raises:
            JobTimeoutError: the run has not ended in time; it continues.
            StefanBrainError: `run_not_found`.

        Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.wait(run, timeout=300).output  # doctest: +SKIP
        """
        core = self._core.scoped(options)
        run = await ended(core, identifier("run_id", run_id), timeout, some_seconds("poll", poll))
        return with_tables(core, run.with_shape(run_id.shape if isinstance(run_id, Run) else None))

    async def cancel(self, run_id: RunRef, **options: Unpack[Options]) -> Run[Any]:
        """Ask the run to stop, and return its record. Its status may still be `cancelling`. Safe to repeat.

        Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """Continue a run that failed with `model_unavailable`, `attempts_exhausted` or `limit_reached`.

        Starts a new run in the same chat from the old run's last checkpoint, without repeating its effects. The new
        run's `resumed_from` names the old run, which does not change.

        Args:
            run_id: the failed run, or its id.
            max_steps, max_cents: limits of the new run; the default is the old run's limits.
            idempotency_key: as in `start`.

        Raises `StefanBrainError` (`run_not_found`, `run_not_resumable`, `agent_run_rejected`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """Restore the files that a run changed to their state before it. Safe to repeat.

        Removes files that the run created. Leaves files that were changed after the run. All versions are kept, so
        `redo` can restore the run's changes.

        Args:
            run_id: the run, which has ended, or its id.
            force: also restore files that were changed after the run.

        Raises `StefanBrainError` (`run_not_found`, `run_not_finished`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [file.path for file in client.runs.undo(run).files if file.outcome == "left"]  # doctest: +SKIP
        """
        request = ApiRequest("runs.undo", {"run_id": run_id}, body={"force": force})
        return await self._core.scoped(options).ask(RunUndo, request)

    async def redo(self, run_id: RunRef, *, force: bool = False, **options: Unpack[Options]) -> RunUndo:
        """Restore the file changes of a run that were undone. Safe to repeat.

        Takes the arguments of `undo`. Raises the errors of `undo`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.redo(run).undone_at is None  # doctest: +SKIP
        True
        """
        request = ApiRequest("runs.undo", {"run_id": run_id}, body={"force": force, "redo": True})
        return await self._core.scoped(options).ask(RunUndo, request)

    async def raise_limit(self, run_id: RunRef, max_cents: float, **options: Unpack[Options]) -> Run[Any]:
        """Raise the cost limit of an active run, from the next call of a model or priced tool on. Safe to repeat.

        Args:
            run_id: the run, or its id.
            max_cents: the new limit of the whole run, at least the present limit.

        Raises `StefanBrainError` (`run_not_found`, `run_not_active`, `invalid_limits`, or a code for an exhausted
        budget).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.raise_limit(run, 100).max_cents  # doctest: +SKIP
        100.0
        """
        core = self._core.scoped(options)
        request = ApiRequest("runs.raise_limit", {"run_id": run_id}, body={"max_cents": max_cents})
        return with_tables(core, await core.ask(Run, request))

    async def sent(self, run_id: RunRef, **options: Unpack[Options]) -> Listing[SentCall]:
        """List the run's calls of language models, each with the address, the size and the beginning of each part.

        Raises `StefanBrainError` (`run_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> {call.provider for call in client.runs.sent(run) if call.hosted}  # doctest: +SKIP
        """
        found = await self._core.scoped(options).ask(SentList, ApiRequest("runs.sent", {"run_id": run_id}))
        return listing(found, "data", SentCall)

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
        """Approve a tool call that waits for approval (event `approval.requested`). Never sent twice.

        Args:
            run_id: the run, or its id.
            call_id: the call's event, or its id.
            input: replaces the agent's input. The service tells the agent about the change.
            lasts: also approves further calls of the tool, for the rest of the run (`run`), or in the chat for an hour
                (`hour`).
            folder: limits `lasts` to calls whose `path` is in this folder.

        Raises `StefanBrainError` (`run_not_found`, `call_not_found`, `call_not_waiting`, `invalid_approval`).
        `invalid_approval` means that `input` does not fit the tool's schema, or that `lasts` is not allowed for the
        tool; the call still waits.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.approve(run, event).approved  # doctest: +SKIP
        True
        >>> client.runs.approve(run, event, input={**event.input, "subject": "Offer"})  # doctest: +SKIP
        >>> client.runs.approve(run, event, lasts="run").standing.id  # doctest: +SKIP
        'standing_1'
        """
        if folder is not None and lasts is None:
            raise refused("invalid_approval", "`folder` needs `lasts`.")
        standing = None if lasts is None else {"lasts": lasts, "folder": folder}
        body = {"approved": True, "input": None if input is None else dict(input), "standing": standing}
        request = ApiRequest("runs.approve", {"run_id": run_id, "call_id": call_id}, body=body)
        return await self._core.scoped(options).ask(CallApproval, request)

    async def standing_approvals(self, **options: Unpack[Options]) -> Listing[StandingApproval]:
        """List the standing approvals (those made with `lasts`) that are in force, oldest first.

        Raises `StefanBrainError` (`api_key_scope_forbidden`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [(each.tool, each.expires_at) for each in client.runs.standing_approvals()]  # doctest: +SKIP
        """
        found = await self._core.scoped(options).ask(StandingApprovalList, ApiRequest("runs.standing_approvals"))
        return listing(found, "data", StandingApproval)

    async def revoke_approval(self, approval_id: str, **options: Unpack[Options]) -> RevokedApproval:
        """Revoke a standing approval, so that the next call waits again. Never sent twice.

        Raises `StefanBrainError` (`standing_approval_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.revoke_approval("standing_1").revoked  # doctest: +SKIP
        True
        """
        request = ApiRequest("runs.revoke_approval", {"approval_id": approval_id})
        return await self._core.scoped(options).ask(RevokedApproval, request)

    async def refuse(
        self, run_id: RunRef, call_id: CallRef, *, reason: str = "", **options: Unpack[Options]
    ) -> CallApproval:
        """Refuse a tool call that waits for approval. The agent sees the `reason`, and the run continues.

        Raises the errors of `approve`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.runs.refuse(run.run_id, call_id, reason="Not before Monday.")  # doctest: +SKIP
        """
        body = {"approved": False, "reason": reason}
        request = ApiRequest("runs.approve", {"run_id": run_id, "call_id": call_id}, body=body)
        return await self._core.scoped(options).ask(CallApproval, request)

    async def events(
        self, run_id: RunRef, *, after: int = 0, limit: int = EVENTS_PAGE_DEFAULT, **options: Unpack[Options]
    ) -> EventPage:
        """Return one page of the events with an id over `after`. Pass its `next_after` as `after` for the next page.

        `limit` is 1 to 1000. Raises `StefanBrainError` (`run_not_found`, `invalid_query`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [event.type for event in client.runs.events(run.run_id, limit=2).data]  # doctest: +SKIP
        ['run.status', 'text.delta']
        """
        request = ApiRequest("runs.events", {"run_id": run_id}, {"after": event_id(after), "limit": limit})
        return await self._core.scoped(options).ask(EventPage, request)

    def iterate_events(self, run_id: RunRef, *, after: int = 0, **options: Unpack[Options]) -> AsyncPages[RunEvent]:
        """Iterate over all events with an id over `after`, page by page, until the run has ended.

        Requests new events every 3 s. Raises `StefanBrainError` (`run_not_found`) while you iterate.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """Return the tables that the run has written so far as DataFrames, with typed columns.

        `attrs` of each DataFrame has `run_id`, `chat`, `path`, `title` (the question), `units` by column, and `more`,
        which is True if the table is cut.

        Raises `StefanBrainError` (`run_not_found`, or a table's version is no longer stored), and `ImportError` without
        pandas.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

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
        """List the runs of the account, newest first, over all pages, each with its question, state and usage.

        Args:
            chat: list only the runs of this chat.
            status: list only runs that are `queued`, `running`, `cancelling`, `completed`, `failed` or `cancelled`.

        Raises `StefanBrainError` (`chat_not_found`) while you iterate.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [run.message for run in client.runs.list(status="failed")]  # doctest: +SKIP
        """
        query = {"chat": optional("chat", chat), "status": status}
        return paged(self._core.scoped(options), "runs.list", query, RunPage, RunEntry)


class Runs(BlockingResource):
    """Agent Runs: one agent turn inside a chat."""

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
    """Raise `StefanBrainError` (`message_required`) if `message` is blank or not text."""
    if not isinstance(message, str) or not message.strip():
        raise refused("message_required")


def event_id(after: object) -> int:
    """Return the id of an event. Raises `StefanBrainError` (`invalid_query`) for anything else."""
    try:
        return whole("after", after, least=0)
    except StefanBrainError as error:
        raise refused("invalid_query", error.message) from None


def with_tables(core: Core, run: WithTables) -> WithTables:
    """Let a run or answer of the blocking client fetch its tables on first use."""
    return run if core.io.awaited else run.with_tables(lambda: run_sync(AsyncRuns(core).tables(run)))


def _client_tools(core: Core, given: Sequence[ClientTool | Function]) -> Sequence[ClientTool]:
    if isinstance(given, list | tuple) and not given:
        return []
    # Here, because it loads more of pydantic and few programs need it.
    from agentsvc_nb.client.client_tools import as_tools

    return as_tools(given, awaited=core.io.awaited)


async def _start(core: Core, request: ApiRequest, tools: Sequence[ClientTool]) -> Run[Any]:
    """Send the start. If the service does not support client tools, cancel the new run.

    Its agent would lack the tools. Raises `StefanBrainError` in that case, and for an idempotency key that was used
    with other tools.
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
        raise StefanBrainError("This version of the service does not support client tools. The run was cancelled.")
    had = ", ".join(run.client_tools) or "none"
    raise StefanBrainError(f"This key started run {run.run_id} today, with other client tools: {had}.")
