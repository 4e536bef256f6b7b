"""Read and write the rows of runs, and convert rows to JSON.

The fields of the wire models `Run` and `RunEntry` (`wire.runs`) come from columns with the same names. For a new field,
add a column to the table `run`, a value in `runs.sql`, and a field of the model.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentsvc_nb.service import lists
from agentsvc_nb.service.accounts.usage_records import ModelUsage, Payer, Pool
from agentsvc_nb.service.lists import ListQuery
from agentsvc_nb.service.new_ids import new_run_id
from agentsvc_nb.service.payloads import encode
from agentsvc_nb.service.ports import Row, Tx
from agentsvc_nb.service.sql import beginning, fetch_one, load, record, wire_value
from agentsvc_nb.wire.runs import ADDED_CHARS, CENT, Effort, NewClientTool, Run, RunEntry, Usage, typed

_COMPUTED: Final = {"object", "message", "usage", "max_cents", "app_url"}
"""The fields of the wire models that are computed, because the table has no column for them."""
_JSON_COLUMNS: Final = {"structured_output", "basis", "client_tools"}
ENTRY_MESSAGE_CHARS: Final = 200


_FIELDS: Final = tuple(Run.model_fields)
_SHOWN_COLUMNS: Final = tuple(name for name in Run.model_fields if name not in _COMPUTED)
_ENTRY_COLUMNS: Final = tuple(name for name in RunEntry.model_fields if name not in _COMPUTED)
_USAGE_COLUMNS: Final = tuple(Usage.model_fields)
_CONVERTED: Final = _JSON_COLUMNS | {name for name in _SHOWN_COLUMNS if name.endswith("_at")}
_sql = load(
    "runs/runs", shown=(*_SHOWN_COLUMNS, *_USAGE_COLUMNS, "max_microcents"), entry=_ENTRY_COLUMNS + _USAGE_COLUMNS
)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The row of a run. All times are in ms since 1970."""

    run_id: str
    account: str
    key_id: str
    chat: str
    project: str | None
    status: str
    output_config: dict[str, Any] | None
    model: str
    message_chars: int
    output: str | None
    structured_output: str | None
    """The structured output as JSON text, which is not decoded because it may have megabytes and is rarely needed."""
    last_error: str | None
    last_error_message: str | None
    steps: int
    input_tokens: int
    output_tokens: int
    cost_microcents: int
    attempt: int
    restarts: int
    """The number of interruptions of the run since its last progress."""
    last_event: int
    checkpoint_event: int
    created_at: int
    started_at: int | None
    ended_at: int | None
    pool: Pool
    hold_microcents: int
    charge_hold_microcents: int
    attachments: tuple[str, ...]
    """The paths of the files that were attached to the message."""
    basis: str | None
    """The payload of the event `answer.basis`, as JSON text."""
    traceparent: str | None
    """The span of the request that started the run (`telemetry.tracing`)."""
    max_steps: int | None
    max_microcents: int | None
    resumed_from: str | None
    effort: Effort | None
    client_tools: str | None
    """The names of the client tools, which the run's caller executes, as JSON text."""
    worker_id: str | None
    """The process that last executed the run. None if a single process uses the database."""
    undone_at: int | None
    """The time at which a user undid the run's file changes. None if the changes are not undone."""
    queue_job: int | None
    """The id of the queue job that dispatches the run. None if a single process uses the database."""

    row: Row = field(repr=False)
    """The row with all columns, for `to_json`."""

    @property
    def basis_kind(self) -> str:
        """The kind of the answer's basis (`wire.runs.Basis`), or "" if the answer has no basis."""
        return "" if self.basis is None else str(json.loads(self.basis)["basis"])

    def document(self, origin: str) -> dict[str, Any]:
        """Return the run as JSON, in the form of `wire.runs.Run`."""
        return to_json(self.row, origin)


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The limits of model steps and of the cost (micro-cents) in a run's start request. None means no limit."""

    max_steps: int | None = None
    max_microcents: int | None = None


@dataclass(frozen=True, slots=True)
class RunEnding:
    """The result of a run that has ended, and the usage of its agent."""

    status: str
    output: str | None = None
    structured_output: dict[str, Any] | None = None
    last_error: str | None = None
    last_error_message: str | None = None
    basis: dict[str, Any] | None = None
    """The payload of the event `answer.basis`."""
    steps: int = 0
    spent: ModelUsage = field(default_factory=ModelUsage)
    """The language model usage of the agent. The usage of the run's jobs is not included."""


def insert(
    tx: Tx,
    *,
    account: str,
    key_id: str,
    pool: Pool,
    hold_microcents: int,
    chat: str,
    project: str | None,
    message: str,
    output_config: dict[str, Any] | None,
    model: str,
    attachments: Sequence[str] = (),
    traceparent: str | None = None,
    limits: RunLimits = RunLimits(),
    effort: Effort | None = None,
    client_tools: Sequence[NewClientTool] = (),
    now: int,
) -> RunRecord:
    run_id = new_run_id()
    row = fetch_one(
        tx,
        _sql["insert"],
        run_id=run_id,
        account=account,
        key_id=key_id,
        pool=pool,
        hold_microcents=hold_microcents,
        chat=chat,
        project=project,
        output_config=_dump(output_config),
        model=model,
        message_chars=len(message),
        attachments=json.dumps(attachments),
        traceparent=traceparent,
        max_steps=limits.max_steps,
        max_microcents=limits.max_microcents,
        effort=effort,
        client_tools=json.dumps([tool.name for tool in client_tools]) if client_tools else None,
        now=now,
    )
    offered = encode([tool.model_dump(mode="json") for tool in client_tools]) if client_tools else None
    tx.run(_sql["insert_message"], run_id=run_id, message=message, client_tools=offered)
    return from_row(row)


def insert_resumed(
    tx: Tx,
    old: RunRecord,
    payer: Payer,
    hold_microcents: int,
    limits: RunLimits,
    traceparent: str | None,
    now: int,
) -> RunRecord:
    """Insert a queued run with the message and settings of `old`. `limits` replaces limits of `old`."""
    run_id = new_run_id()
    row = fetch_one(
        tx,
        _sql["insert_resumed"],
        run_id=run_id,
        old=old.run_id,
        key_id=payer.key_id,
        pool=payer.pool,
        hold_microcents=hold_microcents,
        max_steps=limits.max_steps,
        max_microcents=limits.max_microcents,
        traceparent=traceparent,
        now=now,
    )
    tx.run(_sql["copy_message"], run_id=run_id, old=old.run_id)
    return from_row(row)


def find_resumption(tx: Tx, old: RunRecord) -> str | None:
    """Return the id of the run that continues the run `old`, or None if there is none."""
    row = tx.one(_sql["resumed_by"], chat=old.chat, run_id=old.run_id)
    return None if row is None else row["run_id"]


def get_message(tx: Tx, run_id: str) -> str:
    """Return the run's message. `RunRecord` does not contain the message, because it may have megabytes."""
    return str(fetch_one(tx, _sql["message"], run_id=run_id)["message"])


def get_client_tools(tx: Tx, run_id: str) -> list[NewClientTool]:
    """Return the client tools of the run, as its start request described them."""
    row = tx.one(_sql["client_tools"], run_id=run_id)
    return [] if row is None else [NewClientTool.model_validate(tool) for tool in _load(row["client_tools"]) or ()]


def get_message_beginning(tx: Tx, run_id: str, chars: int) -> str:
    """Return the first `chars` characters of the run's message."""
    return beginning(fetch_one(tx, _sql["message_beginning"], run_id=run_id, chars=chars)["message"], chars)


def get_typed_beginning(tx: Tx, run_id: str, chars: int) -> str:
    """Return the first `chars` characters of the text that the user typed, without what the client added."""
    return typed(get_message_beginning(tx, run_id, chars + ADDED_CHARS))[:chars]


def get_state(tx: Tx, run_id: str) -> dict[str, Any]:
    """Return the state of the last checkpoint, which contains the text so far. Return {} if there is none."""
    row = tx.one(_sql["saved"], run_id=run_id)
    return {} if row is None else _load(row["state"])


def get(tx: Tx, run_id: str) -> RunRecord | None:
    return _record(tx.one(_sql["get"], run_id=run_id))


def get_of_account(tx: Tx, run_id: str, account: str) -> RunRecord | None:
    return _record(tx.one(_sql["get_of_account"], run_id=run_id, account=account))


def get_status(tx: Tx, run_id: str) -> str | None:
    row = tx.one(_sql["status"], run_id=run_id)
    return None if row is None else row["status"]


def get_status_of_account(tx: Tx, run_id: str, account: str) -> str | None:
    row = tx.one(_sql["status_of_account"], run_id=run_id, account=account)
    return None if row is None else row["status"]


def get_active_of_chat(tx: Tx, chat: str) -> RunRecord | None:
    return _record(tx.one(_sql["active_of_chat"], chat=chat))


def list_by_chat(tx: Tx, chat: str, last: str | None, limit: int) -> list[RunRecord]:
    """Return at most `limit` runs of the chat, latest start first.

    Begin with the run `last`, or with the latest run if `last` is None. The order does not depend on the clock. The
    list is empty if `last` is not a run of this chat.
    """
    return [from_row(row) for row in tx.all(_sql["of_chat"], chat=chat, last=last, limit=limit)]


def list_active(tx: Tx) -> list[RunRecord]:
    return [from_row(row) for row in tx.all(_sql["active"])]


def count_active_by_account(tx: Tx) -> dict[str, int]:
    """Return the number of active runs by account. Accounts without an active run are left out."""
    return {row["account"]: row["runs"] for row in tx.all(_sql["active_by_account"])}


def claim(tx: Tx, run_id: str, process: str | None, now: int) -> RunRecord | None:
    """Mark a queued run as running in the process. Return None if the run is not queued."""
    return _record(tx.one(_sql["claim"], run_id=run_id, process=process, now=now))


def resume(tx: Tx, run_id: str, attempt: int, process: str | None) -> RunRecord | None:
    """Give the run a new attempt number, and record the process that executes this attempt.

    The database refuses the later writes of the old attempt. Return None if `attempt` is no longer the current attempt.
    """
    return _record(tx.one(_sql["resume"], run_id=run_id, attempt=attempt, process=process))


def add_restarts(tx: Tx, run_id: str, by: int) -> None:
    """Add `by` to the number of the run's restarts.

    Do nothing if the current attempt only waits for a person or for the run's caller.

    Recovery adds 1 at each start. A regular stop first subtracts 1, so that the next start does not count.
    """
    tx.run(_sql["restarted"], run_id=run_id, by=by)


def reset_restarts(tx: Tx, run_id: str) -> None:
    tx.run(_sql["made_progress"], run_id=run_id)


def checkpoint(tx: Tx, run_id: str, attempt: int, state: dict[str, Any], hold: int) -> bool:
    """Store the state of a checkpoint, and hold `hold` micro-cents for tokens.

    Set the number of restarts to 0, unless the last checkpoint had the same state. Return False if `attempt` is no
    longer the run's current attempt.
    """
    if tx.run(_sql["checkpoint"], run_id=run_id, attempt=attempt, hold=hold, state=_dump(state)) == 0:
        return False
    set_state(tx, run_id, state)
    return True


def set_state(tx: Tx, run_id: str, state: dict[str, Any]) -> None:
    """Store the state of a checkpoint. Do not change the run's row."""
    tx.run(_sql["save"], run_id=run_id, state=_dump(state))


def set_usage(tx: Tx, run_id: str, attempt: int, steps: int, spent: ModelUsage) -> None:
    """Store the run's usage so far, so that the run shows it while it is active."""
    tx.run(
        _sql["used"],
        run_id=run_id,
        attempt=attempt,
        steps=steps,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cost_microcents=spent.cost_microcents,
    )


def hold(tx: Tx, run_id: str, attempt: int, tokens: int, charges: int) -> bool:
    """Set the micro-cents that the run holds for tokens and for per-use charges.

    Return False if `attempt` is no longer the run's current attempt or the run has ended.
    """
    return tx.run(_sql["hold"], run_id=run_id, attempt=attempt, tokens=tokens, charges=charges) == 1


def release_charges(tx: Tx, run_id: str, attempt: int) -> None:
    """Set the micro-cents that the run holds for per-use charges to 0."""
    tx.run(_sql["release_charges"], run_id=run_id, attempt=attempt)


def set_undone(tx: Tx, run_id: str, undone_at: int | None) -> None:
    """Store the time at which a user undid the run's file changes, or None after a redo."""
    tx.run(_sql["set_undone"], run_id=run_id, undone_at=undone_at)


def get_limit(tx: Tx, run_id: str) -> int | None:
    """Return the run's cost limit in micro-cents, or None for no limit."""
    found: int | None = fetch_one(tx, _sql["limit"], run_id=run_id)["max_microcents"]
    return found


def raise_limit(tx: Tx, run_id: str, max_microcents: int) -> RunRecord:
    return from_row(fetch_one(tx, _sql["raise_limit"], run_id=run_id, max_microcents=max_microcents))


def mark_cancelling(tx: Tx, run_id: str) -> RunRecord | None:
    return _record(tx.one(_sql["cancelling"], run_id=run_id))


def finish(tx: Tx, run_id: str, attempt: int, ending: RunEnding, jobs: ModelUsage, now: int) -> RunRecord | None:
    """Mark a run as ended. Store its usage: the agent's usage in `ending`, plus `jobs`, the usage of the run's jobs.

    Return None if `attempt` is no longer the run's current attempt.
    """
    row = tx.one(
        _sql["finish"],
        run_id=run_id,
        attempt=attempt,
        now=now,
        status=ending.status,
        output=ending.output,
        structured_output=_dump(ending.structured_output),
        last_error=ending.last_error,
        last_error_message=ending.last_error_message,
        basis=_dump(ending.basis),
        events=2 if ending.basis is None else 3,
        steps=ending.steps,
        input_tokens=ending.spent.input_tokens + jobs.input_tokens,
        output_tokens=ending.spent.output_tokens + jobs.output_tokens,
        cost_microcents=ending.spent.cost_microcents + jobs.cost_microcents,
    )
    return _record(row)


def _record(row: Row | None) -> RunRecord | None:
    return None if row is None else from_row(row)


def from_row(row: Row) -> RunRecord:
    """Convert a row with all columns to a `RunRecord`."""
    config = _load(row["output_config"])
    attachments = tuple(json.loads(row["attachments"]))
    return record(RunRecord, row, output_config=config, attachments=attachments, row=row)


def _dump(value: dict[str, Any] | None) -> str | None:
    return None if value is None else encode(value)


def _load(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def get_json(tx: Tx, run_id: str, account: str, origin: str) -> dict[str, Any] | None:
    """Return the account's run as JSON. Read only the columns that the JSON needs."""
    row = tx.one(_sql["shown"], run_id=run_id, account=account)
    return None if row is None else to_json(row, origin)


def to_json(row: Row, origin: str) -> dict[str, Any]:
    """Convert a row to JSON in the form of `wire.runs.Run`. Skip validation, because it would be slow."""
    found: dict[str, Any] = dict.fromkeys(_FIELDS)  # keeps the order of the model's fields
    for name in _SHOWN_COLUMNS:
        if (column := row[name]) is not None:
            found[name] = _value(name, column) if name in _CONVERTED else column
    found["object"] = "agent_run"
    found["usage"] = {name: row[name] for name in _USAGE_COLUMNS}
    found["client_tools"] = found["client_tools"] or []
    found["max_cents"] = None if row["max_microcents"] is None else row["max_microcents"] / CENT
    found["app_url"] = f"{origin}/app/chats/{row['chat']}?run={row['run_id']}"
    return found


def list_page(tx: Tx, query: ListQuery) -> tuple[list[RunEntry], bool]:
    """Return a page of runs, and whether more runs follow."""
    rows, more = lists.page(tx, _sql["list"], query)
    return [_entry(tx, row) for row in rows], more


def _entry(tx: Tx, row: Row) -> RunEntry:
    fields = {name: _value(name, row[name]) for name in _ENTRY_COLUMNS}
    message = get_typed_beginning(tx, row["run_id"], ENTRY_MESSAGE_CHARS)
    return RunEntry(**fields, message=message, usage=Usage(**{name: row[name] for name in _USAGE_COLUMNS}))


def _value(name: str, column: Any) -> Any:
    """Convert the value of a column to the value of the wire model's field with the same name."""
    return _load(column) if name in _JSON_COLUMNS else wire_value(name, column)
