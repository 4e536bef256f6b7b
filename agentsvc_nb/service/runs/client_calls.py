"""Define the use cases of client tools (docs/api/client-tools.md).

A run's caller is the program that started the run. It executes client tools: the worker requests a call, and the
caller answers.
"""

from __future__ import annotations

from agentsvc_nb.service.accounts.account_records import KeyRecord
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.runs import call_records, runs
from agentsvc_nb.service.runs.attempts import LostRun
from agentsvc_nb.service.runs.call_records import CallRecord
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.tools.port import Outcome
from agentsvc_nb.wire.limits import CALL_WAIT_MAX_SECONDS, CALL_WAIT_SECONDS
from agentsvc_nb.wire.runs import ClientCall

_WAIT_MS = CALL_WAIT_SECONDS * 1000
_WAIT_MAX_MS = CALL_WAIT_MAX_SECONDS * 1000


async def ask(context: UseCaseContext, run: RunRecord, attempt: int, call: CallRecord) -> CallRecord:
    """Mark the call as waiting for the caller's answer, and return the updated call. Raises `LostRun`."""
    now = context.now
    asked = await context.write(lambda tx: call_records.ask(tx, call, attempt, now, now + _WAIT_MS))
    if asked is None:
        raise LostRun(run.run_id)
    return asked


async def refresh(context: UseCaseContext, call: CallRecord, gone: Outcome) -> CallRecord:
    """Read the call again and return it. If the time for an answer is over, store the outcome `gone` first."""
    found = await context.read_single(lambda tx: call_records.get(tx, call.run_id, call.key))
    assert found is not None
    now = context.now
    if found.state != "asked" or found.expires_at is None or found.expires_at > now:
        return found

    def expire(tx: Tx) -> CallRecord | None:
        call_records.expire(tx, call, gone, now)  # stores nothing if somebody has answered or prolonged the call since
        return call_records.get(tx, call.run_id, call.key)

    return await context.write(expire) or found


async def answer(context: UseCaseContext, key: KeyRecord, run_id: str, call_id: str, given: Outcome) -> ClientCall:
    """Store the caller's answer. The same answer again changes nothing.

    Raises `invalid_run_id`, `run_not_found`, `call_not_found` (also if `key` did not start the run),
    `invalid_call_result` for a picture that the chat does not have, and `call_not_waiting`.
    """
    now = context.now

    def use(tx: Tx) -> None:
        run, call = _get_call(tx, key, run_id, call_id)
        if call.state == "answered" and call.outcome == given:
            return
        for path in dict.fromkeys(block["path"] for block in given.content if block["type"] == "image"):
            if file_records.get(tx, run.chat, path) is None:
                raise ApiError(
                    "invalid_call_result",
                    f"The chat has no file {path[:200]!r}. `GET /files` lists its files.",
                    field="content",
                )
        if not call_records.answer(tx, call, given, now):
            raise ApiError("call_not_waiting")

    try:
        await context.write(use)
    except ApiError as error:
        if error.row.code == "call_not_waiting":
            context.signals.notify(run_id.lower())  # if the time for an answer is over, the worker notices now
        raise
    context.signals.notify(run_id.lower())
    return ClientCall(run_id=run_id.lower(), call_id=call_id, accepted=True)


async def prolong(context: UseCaseContext, key: KeyRecord, run_id: str, call_id: str) -> ClientCall:
    """Extend the time for an answer, because the caller is still working. Raises what `answer` raises."""
    now = context.now

    def use(tx: Tx) -> int:
        _, call = _get_call(tx, key, run_id, call_id)
        latest = (call.asked_at or now) + _WAIT_MAX_MS
        expires_at = max(call.expires_at or 0, min(now + _WAIT_MS, latest))
        if not call_records.extend(tx, call, expires_at, now):
            raise ApiError("call_not_waiting")
        return expires_at

    return ClientCall(run_id=run_id.lower(), call_id=call_id, expires_at=rfc3339(await context.write(use)))


def _get_call(tx: Tx, key: KeyRecord, run_id: str, call_id: str) -> tuple[RunRecord, CallRecord]:
    """Return the run and its call. Raises `call_not_found` if another key started the run."""
    run = runs.get_in_tx(tx, key.account, run_id)
    call = call_records.by_call_id(tx, run.run_id, call_id) if run.key_id == key.id else None
    if call is None:
        raise ApiError("call_not_found")
    return run, call
