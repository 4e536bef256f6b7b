"""Agent Runs (docs/api/runs.md "Start", docs/api/events.md)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, Unpack, cast

from agentsvc_nb.client.core import ApiRequest, Core
from agentsvc_nb.client.downloads import fetch_tables
from agentsvc_nb.client.errors import StefanBrainError, refused
from agentsvc_nb.client.events import Event, EventPage, FileWritten, RunEvent
from agentsvc_nb.client.methods import Paged, paged
from agentsvc_nb.client.models import Answer, Listing, Run, Shape, first_table, listing, schema
from agentsvc_nb.client.options import Options, WaitOptions, some_seconds, wait_seconds, whole
from agentsvc_nb.client.references import CallRef, ChatRef, IdRef, RunRef, identifier, identifiers, optional
from agentsvc_nb.client.streams import ResumableEventStream
from agentsvc_nb.client.transport.io import run_sync
from agentsvc_nb.client.uploads import FileInput, parts
from agentsvc_nb.client.waiting import OnBusy, ended, in_time, when_free
from agentsvc_nb.wire.limits import EVENTS_PAGE_DEFAULT, GATEWAY_SECONDS, PAGE_MAX, RUN_POLL_SECONDS, WAIT_SECONDS
from agentsvc_nb.wire.models import Effort
from agentsvc_nb.wire.runs import TERMINAL, CallApproval, RunEntry, RunPage, RunStatus, SentCall, SentList

if TYPE_CHECKING:
    import pandas as pd

    from agentsvc_nb.client.client_tools import ClientTool, Function

SYNC_SECONDS: Final = GATEWAY_SECONDS + 10.0
"""Minimum timeout of a synchronous start: the service answers within 90 s, or the gateway cuts it off at 120 s."""


async def start(
    core: Core,
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
    """`runs.start`, as `client/groups.py` describes it."""
    core = core.scoped(options)
    check_message(message)
    tools = _tools(core, client_tools)
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
    return with_tables(core, run.of_shape(output_config))


def _tools(core: Core, given: Sequence[ClientTool | Function]) -> list[ClientTool]:
    if isinstance(given, list | tuple) and not given:
        return []
    from agentsvc_nb.client.client_tools import as_tools  # here, for it loads more of pydantic, and few have any

    return as_tools(given, awaited=core.io.awaited)


async def _start(core: Core, request: ApiRequest, tools: Sequence[ClientTool]) -> Run[Any]:
    """Send the start. A new run that does not have these tools is cancelled, for its agent would go on without them.
    Raises `StefanBrainError` for that, too."""
    began = core.io.now()
    response = await core.send(request)
    run = core.read(cast("type[Run[Any]]", Run), response)
    if not tools:
        return run  # perhaps a replay of a start that named some
    from agentsvc_nb.client.client_tools import ClientCalls, is_new

    if {tool.name for tool in tools} == set(run.client_tools):
        if not run.ended:
            core.client_calls[run.run_id] = ClientCalls(core, run.run_id, tools)
        return run
    if is_new(run, response, request.key, core.io.now() - began):
        await cancel(core, run)
        raise StefanBrainError("The service is older and knows no client tools: the run was cancelled.")
    had = ", ".join(run.client_tools) or "none"
    raise StefanBrainError(f"This key was used today for run {run.run_id}, with other client tools: {had}.")


def check_message(message: object) -> None:
    """Raises `StefanBrainError` (`message_required`) for what is no text, or blank."""
    if not isinstance(message, str) or not message.strip():
        raise refused("message_required")


async def get(core: Core, run_id: RunRef, **options: Unpack[Options]) -> Run[Any]:
    """Read a run. Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.get("6f8d3f0e-3f60-4a57-9d0b-0d6e5a3a8c11").status  # doctest: +SKIP
    'completed'
    """
    return with_tables(core, await core.scoped(options).ask(Run, ApiRequest("runs.get", {"run_id": run_id})))


async def wait(
    core: Core,
    run_id: RunRef,
    *,
    timeout: float | None = WAIT_SECONDS,
    poll: float = RUN_POLL_SECONDS,
    **options: Unpack[WaitOptions],
) -> Run[Any]:
    """`runs.wait`, as `client/groups.py` describes it."""
    run = await ended(core.scoped(options), identifier("run_id", run_id), timeout, some_seconds("poll", poll))
    return with_tables(core, run.of_shape(run_id.shape if isinstance(run_id, Run) else None))


async def cancel(core: Core, run_id: RunRef, **options: Unpack[Options]) -> Run[Any]:
    """Ask the run to stop; safe to repeat. The record answered may still be `cancelling`.

    Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.wait(client.runs.cancel(run.run_id)).status  # doctest: +SKIP
    'cancelled'
    """
    return with_tables(core, await core.scoped(options).ask(Run, ApiRequest("runs.cancel", {"run_id": run_id})))


async def resume(
    core: Core,
    run_id: RunRef,
    *,
    max_steps: int | None = None,
    max_cents: float | None = None,
    idempotency_key: str | None = None,
    **options: Unpack[Options],
) -> Run[Any]:
    """Go on with a run that failed for a reason that passes (`model_unavailable`, `attempts_exhausted`,
    `limit_reached`): a new run of its chat, from its last checkpoint, which repeats no effect. Its `resumed_from` names
    the old one, which stays as it is. It may take `max_steps` and cost `max_cents`; without them, as much as the old
    one. With a key it is sent again when no answer came, as a start.

    Raises `StefanBrainError` (`run_not_found`, `run_not_resumable`, `agent_run_rejected`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.wait(client.runs.resume(failed, max_cents=100)).output  # doctest: +SKIP
    """
    body = {"max_steps": max_steps, "max_cents": max_cents}
    request = ApiRequest("runs.resume", {"run_id": run_id}, body=body, key=idempotency_key)
    run = await core.scoped(options).ask(cast("type[Run[Any]]", Run), request)
    if old := core.client_calls.get(identifier("run_id", run_id)):
        core.client_calls[run.run_id] = type(old)(core, run.run_id, old.tools)
    return with_tables(core, run.of_shape(run_id.shape if isinstance(run_id, Run) else None))


async def sent(core: Core, run_id: RunRef, **options: Unpack[Options]) -> Listing[SentCall]:
    """What a run sent to language models, call by call: to which address, how much, and the beginning of each part.

    Raises `StefanBrainError` (`run_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> {call.provider for call in client.runs.sent(run) if call.hosted}  # doctest: +SKIP
    """
    return listing(
        await core.scoped(options).ask(SentList, ApiRequest("runs.sent", {"run_id": run_id})), "data", SentCall
    )


async def approve(core: Core, run_id: RunRef, call_id: CallRef, **options: Unpack[Options]) -> CallApproval:
    """Let a tool call go on that waits for it, as the event `approval.requested` told. Not sent twice by itself.

    Raises `StefanBrainError` (`run_not_found`, `call_not_found`, `call_not_waiting`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.approve(run, event).approved  # doctest: +SKIP
    True
    """
    return await _decide(core, run_id, call_id, {"approved": True}, options)


async def refuse(
    core: Core, run_id: RunRef, call_id: CallRef, *, reason: str = "", **options: Unpack[Options]
) -> CallApproval:
    """Refuse a tool call that waits for approval: the agent is told, with the `reason`, and the run goes on.

    Raises as `approve` does.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.refuse(run.run_id, call_id, reason="Not before Monday.")  # doctest: +SKIP
    """
    return await _decide(core, run_id, call_id, {"approved": False, "reason": reason}, options)


async def _decide(core: Core, run_id: RunRef, call_id: CallRef, body: dict[str, Any], options: Options) -> CallApproval:
    parts = {"run_id": run_id, "call_id": call_id}
    return await core.scoped(options).ask(CallApproval, ApiRequest("runs.approve", parts, body=body))


def list_runs(
    core: Core, *, chat: ChatRef | None = None, status: RunStatus | None = None, **options: Unpack[Options]
) -> Paged[RunEntry]:
    """The runs of the account, the newest first, over all pages: what they were asked, their state, what they used.

    Args:
        chat: only those of this chat.
        status: only those that are `queued`, `running`, `cancelling`, `completed`, `failed` or `cancelled`.

    Raises `StefanBrainError` (`chat_not_found`) as it is walked.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [run.message for run in client.runs.list(status="failed")]  # doctest: +SKIP
    """
    query = {"chat": optional("chat", chat), "status": status}
    return paged(core.scoped(options), "runs.list", query, RunPage, RunEntry)


def event_id(after: object) -> int:
    """Raises `StefanBrainError` (`invalid_query`) for what is no event's id."""
    try:
        return whole("after", after, least=0)
    except StefanBrainError as error:
        raise refused("invalid_query", error.message) from None


async def events(
    core: Core, run_id: RunRef, *, after: int = 0, limit: int = EVENTS_PAGE_DEFAULT, **options: Unpack[Options]
) -> EventPage:
    """One page of events, those with an id over `after`; pass its `next_after` for the next. `limit`: 1 to 1000.

    Raises `StefanBrainError` (`run_not_found`, `invalid_query`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [event.type for event in client.runs.events(run.run_id, limit=2).data]  # doctest: +SKIP
    ['run.status', 'text.delta']
    """
    request = ApiRequest("runs.events", {"run_id": run_id}, {"after": event_id(after), "limit": limit})
    return await core.scoped(options).ask(EventPage, request)


def iterate_events(core: Core, run_id: RunRef, *, after: int = 0, **options: Unpack[Options]) -> Paged[RunEvent]:
    """All events with an id over `after`, page by page, until the run has ended; asks every 3 s for new ones.

    Raises `StefanBrainError` (`run_not_found`) as it is walked.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.iterate_events(run.run_id).to_frame()  # doctest: +SKIP
    """
    core = core.scoped(options)

    async def fetch(after: int) -> tuple[list[RunEvent], int | None, str | None]:
        while not (page := await events(core, run_id, after=after)).data:
            if page.status in TERMINAL:
                return [], None, page._request_id
            await core.sleep(RUN_POLL_SECONDS)
        new = sorted({event.id: event for event in page.data if event.id > after}.values(), key=attrgetter("id"))
        return new, None if page.data[-1].type == "run.ended" else page.next_after, page._request_id

    return Paged(fetch, event_id(after), cast("type[RunEvent]", Event))


async def tables(core: Core, run: RunRef, **options: Unpack[Options]) -> list[pd.DataFrame]:
    """The tables that the run left so far, as DataFrames with the types of their columns; an empty list without any.

    `attrs` of each DataFrame have `run_id`, `chat`, `path`, `title` (the
    question), `units` by column, and `more`: whether it is cut.

    Raises `StefanBrainError` (`run_not_found`; a table that was written anew since), `ImportError` without pandas.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.runs.tables(run)[0].plot("month")  # doctest: +SKIP
    """
    core = core.scoped(options)
    run_id = identifier("run_id", run)
    chat = getattr(run, "chat", None) or (await get(core, run_id)).chat

    async def fetch(after: int) -> tuple[list[RunEvent], int | None, str | None]:
        page = await events(core, run_id, after=after, limit=PAGE_MAX)
        return page.data, page.next_after if page.has_more else None, page._request_id

    so_far = await Paged(fetch, 0, cast("type[RunEvent]", Event)).all()
    written = {event.file.path: event.file for event in so_far if isinstance(event, FileWritten)}
    return await fetch_tables(core, chat, written.values(), run_id=run_id)


WithTables = TypeVar("WithTables", "Run[Any]", Answer)


def with_tables(core: Core, run: WithTables) -> WithTables:
    """The same, which fetches its tables itself, unless they are awaited (`tables`)."""
    return run if core.io.awaited else run.with_tables(lambda: run_sync(tables(core, run)))


async def table(core: Core, run: RunRef, **options: Unpack[Options]) -> pd.DataFrame:
    """The first of the run's `tables`. Raises `StefanBrainError` when it left none, and what `tables` raises.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> answer = client.ask("Revenue by month as a chart", chat="chat_1")  # doctest: +SKIP
    >>> client.runs.table(answer)["sum(revenue)"].max()  # doctest: +SKIP
    """
    return first_table(await tables(core, run, **options))


async def attach(core: Core, run_id: RunRef, *, after: int = 0, **options: Unpack[Options]) -> ResumableEventStream:
    """Follow a run that was started before, here or elsewhere; a dropped connection is picked up where it was left.

    Args:
        run_id: the run, or its id.
        after: the id of the last event that was seen; 0: from its beginning.

    Raises `StefanBrainError` (`run_not_found`, `invalid_run_id`), and as it is read `APIConnectionError` when the
    connection was lost for good.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> with client.runs.attach(run_id, after=12) as stream:  # doctest: +SKIP
    ...     print(stream.final_status().output)
    """
    core = core.scoped(options)
    return ResumableEventStream(core, await get(core, run_id), event_id(after))


async def start_and_stream(
    core: Core,
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
) -> ResumableEventStream:
    """`runs.start_and_stream`, as `client/groups.py` describes it."""
    core = core.scoped(options).within(wait_seconds(timeout))
    starting = start(
        core,
        message,
        chat=chat,
        project=project,
        session=session,
        on_busy=on_busy,
        output_config=output_config,
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
    return ResumableEventStream(core, await in_time(chat, starting))
