"""Mutants: small faults put into the product, in the launcher's process, each of which the state machine must find.

A mutant has a pattern of the rules that it breaks, so that a test can tell that it was found by one of them and not by
an unrelated failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from agentsvc_nb.service.accounts import idempotency
from agentsvc_nb.service.accounts.idempotency import IdempotencyScope
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.chats import chats
from agentsvc_nb.service.http import responses
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runner.runs import RunRunner
from agentsvc_nb.service.runs import attempts, event_records, run_records
from agentsvc_nb.service.runs import runs as run_usecases
from agentsvc_nb.service.runs.run_records import Ending
from agentsvc_nb.service.store import migrations
from agentsvc_nb.wire.runs import ACTIVE


@dataclass(frozen=True)
class Mutant:
    """A fault: `apply` patches it in; `betrayed_by` is a regular expression for the rules that it breaks."""

    apply: Callable[[], None]
    betrayed_by: str


def _rewrite(module: Any, statement: str, old: str, new: str) -> None:
    """Replace `old` in a named SQL statement of a module of records."""
    sql = module._sql[statement]
    assert old in sql, f"{statement} has changed: {sql}"
    module._sql[statement] = sql.replace(old, new)


def _replace(where: ModuleType | type, name: str, by: Any) -> None:
    assert hasattr(where, name), f"{where} has no {name} any more"
    setattr(where, name, by)


def _busy_chat_unseen() -> None:
    connect = migrations.migrate

    def migrate(connection: Any) -> None:
        connect(connection)
        connection.execute("DROP INDEX IF EXISTS run_one_active")

    from agentsvc_nb.service.store import sqlite

    _replace(sqlite, "migrate", migrate)
    _replace(run_records, "active_of_chat", lambda tx, chat: None)


def _key_unseen() -> None:
    _replace(idempotency, "recall", lambda tx, where: None)
    _rewrite(idempotency, "remember", "INSERT INTO", "INSERT OR IGNORE INTO")


def _key_for_ever() -> None:
    _replace(run_usecases, "utc_day", lambda at: "always")


def _key_of_another_chat() -> None:
    def of_any_chat(account: str, kind: str, address: str, utc_day: str, key: str | None) -> IdempotencyScope:
        return IdempotencyScope(account, kind, "", utc_day, key)

    _replace(run_usecases, "IdempotencyScope", of_any_chat)


def _key_after_busy() -> None:
    check_known = chats.check_known

    def busy_first(tx: Tx, where: chats.ChatSelector, account: str) -> None:
        for run in run_records.active(tx):
            label = tx.one("SELECT label FROM chat WHERE id = :id", id=run.chat)
            if label and label["label"] == where.session:
                raise ApiError("agent_run_rejected", top={"activeRunId": run.run_id})
        check_known(tx, where, account)

    _replace(chats, "check_known", busy_first)


def _no_recovery() -> None:
    async def forget(self: RunRunner) -> list[str]:
        return []

    _replace(RunRunner, "recover", forget)


def _cancelling_not_recovered() -> None:
    _rewrite(run_records, "active", ", 'cancelling'", "")


def _cancel_frees_at_once() -> None:
    def end_at_once(tx: Tx, record: run_records.RunRecord, origin: str, now: int) -> run_records.RunRecord:
        if record.status in ACTIVE:
            return run_usecases.end(tx, record.run_id, record.attempt, Ending("cancelled"), origin, now) or record
        return record

    _replace(run_usecases, "request_stop", end_at_once)


def _resume_untold() -> None:
    async def resume(context: Any, run_id: str, attempt: int) -> Any:
        return await context.write(lambda tx: run_records.resume(tx, run_id, attempt, context.process))

    _replace(attempts, "resume", resume)


def _resumed_without_what_was_said() -> None:
    checkpoint = run_records.checkpoint
    _replace(
        run_records,
        "checkpoint",
        lambda tx, run_id, attempt, state, hold: checkpoint(tx, run_id, attempt, {**state, "said": ""}, hold),
    )


def _end_untold() -> None:
    note = event_records.note

    def without_last_words(tx: Tx, run_id: str, event_id: int, type: str, *rest: Any) -> None:
        if type != "run.ended":
            note(tx, run_id, event_id, type, *rest)

    _replace(event_records, "note", without_last_words)


def _stream_from_the_start() -> None:
    response = responses.Streams.response
    _replace(responses.Streams, "response", lambda self, run_id, after, silent=False: response(self, run_id, 0))


_OWN = " AND attempt = :attempt"
"""The fence in SQL: without it, writes of former attempts go through."""

MUTANTS: Final = {
    "no-index-no-busy-check": Mutant(_busy_chat_unseen, "at most one active|never overlap"),
    "no-key-check": Mutant(_key_unseen, "a key gives its run"),
    "key-counts-for-ever": Mutant(_key_for_ever, "a start is answered 202|a new start is a new run"),
    "key-counts-in-every-chat": Mutant(_key_of_another_chat, "a start is answered 202|a new start is a new run"),
    "replay-meets-its-own-409": Mutant(_key_after_busy, "a key gives its run"),
    "no-recovery-at-start": Mutant(_no_recovery, "nothing is stuck"),
    "cancelling-is-not-recovered": Mutant(_cancelling_not_recovered, "nothing is stuck"),
    "no-fence-on-append": Mutant(
        lambda: _rewrite(event_records, "next_events", _OWN, ""), "a late worker|comes once, and last"
    ),
    "no-fence-on-finish": Mutant(lambda: _rewrite(run_records, "finish", _OWN, ""), "a late worker|an ended run"),
    "no-terminal-guard": Mutant(
        lambda: _rewrite(run_records, "finish", " AND status IN ('queued', 'running', 'cancelling')", ""),
        "a late worker|an ended run never changes",
    ),
    "events-after-the-end": Mutant(
        lambda: _rewrite(event_records, "next_events", "ended_at IS NULL", "TRUE"),
        "a late worker|comes once, and last",
    ),
    "event-ids-with-gaps": Mutant(
        lambda: _rewrite(
            event_records, "next_events", "last_event + :events", "last_event + :events + (last_event = 6)"
        ),
        "dense from 1",
    ),
    "cancel-frees-the-chat-at-once": Mutant(_cancel_frees_at_once, "never overlap"),
    "resume-takes-nothing-back": Mutant(_resume_untold, "the output is the text that counts"),
    "resume-forgets-what-was-said": Mutant(_resumed_without_what_was_said, "the output is the text that counts"),
    "run-ended-is-not-written": Mutant(_end_untold, "an ended run says so"),
    "cancel-is-not-written-down": Mutant(
        lambda: _rewrite(run_records, "cancelling", "status = 'running'", "FALSE"), "a cancel leaves no run going on"
    ),
    "a-page-repeats-its-cursor": Mutant(
        lambda: _rewrite(event_records, "events", "id > :after", "id >= :after"),
        "a page goes on|a stream goes on|dense",
    ),
    "a-stream-starts-over": Mutant(_stream_from_the_start, "a stream goes on"),
}
