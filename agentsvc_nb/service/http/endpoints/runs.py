"""Runs over HTTP (docs/api/runs.md "Start")."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from agentsvc_nb.agents import scripted
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http import bodies
from agentsvc_nb.service.http.answers import answer, answer_json
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.multipart import Form, Rules, check_length, is_multipart, read_form
from agentsvc_nb.service.records import runs
from agentsvc_nb.service.records.files import Content
from agentsvc_nb.service.records.runs import RunRecord
from agentsvc_nb.service.usecases import files as file_actions
from agentsvc_nb.service.usecases import runs as actions
from agentsvc_nb.service.usecases.runs import Start, decide
from agentsvc_nb.wire.limits import EVENT_ID_MAX, EVENTS_PAGE_DEFAULT, JSON_MAX_BYTES, PAGE_MAX
from agentsvc_nb.wire.runs import TERMINAL, CallApproval, Verdict


async def start(call: RequestContext) -> Response:
    rules = Rules("attachment_too_large", "too_many_attachments", call.backend.settings.max_file_bytes)
    form = Form()
    try:
        if is_multipart(call.request):
            form = await read_form(call.request, call.backend.blobs, rules)
            document = bodies.parse_object(form.payload)
        else:
            check_length(call.request, rules)
            document = await bodies.read_object(call.request, JSON_MAX_BYTES)
        given = await _given(call, document, form)
    except BaseException:
        form.discard()
        raise
    key, index, settings, now = call.key, call.backend.storage.index, call.backend.settings, call.now
    long = bool(given.contents)
    record, new = await call.write(lambda tx: actions.start(tx, index, key, given, settings, now), long=long)
    if new:
        call.backend.runs.wake(record.run_id)
    if bodies.sync(document):
        record = await hold(call, record, settings.sync_hold_seconds)
    return _started(call, record)


async def get(call: RequestContext) -> Response:
    account, run_id, origin = call.account, call.path("run_id"), call.backend.storage.origin
    return answer_json(call.look(lambda tx: actions.shown(tx, account, run_id, origin)))


async def cancel(call: RequestContext) -> Response:
    return answer_json((await cancelled(call)).document(call.backend.storage.origin))


async def cancelled(call: RequestContext) -> RunRecord:
    """The run that the path names, stopped."""
    account, run_id, origin, now = call.account, call.path("run_id"), call.backend.storage.origin, call.now
    record = await call.write(lambda tx: actions.cancel(tx, account, run_id, origin, now))
    call.backend.runs.interrupt(record.run_id)
    return record


async def approve(call: RequestContext) -> Response:
    return answer(await decided(call, await bodies.read_object(call.request)))


async def decided(call: RequestContext, document: dict[str, Any]) -> CallApproval:
    """The call that the path names, approved or refused as the document says."""
    given = bodies.checked(Verdict, document, "invalid_approval")
    account, run_id, call_id = call.account, call.path("run_id"), call.path("call_id")
    verdict = await call.write(lambda tx: decide(tx, account, run_id, call_id, given))
    call.backend.storage.signals.notify(verdict.run_id)
    return verdict


async def events(call: RequestContext) -> Response:
    after = bodies.integer(call, "after", 0, 0, EVENT_ID_MAX)
    cursor = bodies.last_event_id(call)
    if bodies.accepts(call, "text/event-stream"):
        silent = call.request.method == "HEAD"
        call.backend.access.check(call.request)  # else a stream that has ended for this would begin again
        run_id = named(call).run_id
        return call.backend.streams.response(run_id, after if cursor is None else cursor, silent=silent)
    limit = bodies.integer(call, "limit", EVENTS_PAGE_DEFAULT, 1, PAGE_MAX)
    record = named(call)
    return answer(call.read(lambda tx: actions.page(tx, record.run_id, record.status, after, limit)))


def named(call: RequestContext) -> RunRecord:
    """The run that the path names."""
    account, run_id = call.account, call.path("run_id")
    return call.look(lambda tx: actions.get(tx, account, run_id))


async def _given(call: RequestContext, document: bodies.Document, form: Form) -> Start:
    """The checks of a start, in the order of the table (docs/api/runs.md "Start")."""
    message = bodies.message(document)
    where = bodies.chat_of_body(document)
    bodies.sync(document)
    bodies.check_on_busy(document)
    config = await bodies.output_config(document)
    upload_ids = bodies.file_ids(document, len(form.files))
    key = bodies.idempotency_key(call)
    model = call.backend.settings.model
    check_script(call, message)
    contents = [*await staged(call, upload_ids), *await _attached(call, form)]
    return Start(message, where, model, call.received_at, config, contents, key)


def check_script(call: RequestContext, message: str) -> None:
    """A script may say that its start is refused, and how (docs/api/models.md "scripted")."""
    refused = scripted.refusal(message) if call.backend.settings.model == "scripted" else None
    if refused:
        raise ApiError(refused)


async def _attached(call: RequestContext, form: Form) -> list[Content]:
    await form.keep()
    return [await call.backend.storage.describe(name, blob) for name, blob in form.files]


async def staged(call: RequestContext, upload_ids: list[str]) -> list[Content]:
    """The staged files with these ids, read again. Raises `upload_not_found`."""
    if not upload_ids:
        return []
    account, now, storage = call.key.account, call.received_at, call.backend.storage
    records = call.read(lambda tx: file_actions.staged_contents(tx, account, upload_ids, now))
    return [await storage.describe_stored(record) for record in records]


async def hold(call: RequestContext, record: RunRecord, seconds: float) -> RunRecord:
    """Wait for the run's end, for so many seconds from the request's receipt (docs/api/runs.md)."""
    with call.backend.storage.signals.watch(record.run_id) as watch:
        while True:
            # It wakes at each event: what it looks at is one word, and the record is read once.
            status = call.look(lambda tx: runs.status(tx, record.run_id))
            left = seconds - (call.now - call.received_at) / 1000
            if status is None or status in TERMINAL or left <= 0 or call.backend.storage.signals.stopping:
                return call.look(lambda tx: runs.get(tx, record.run_id)) or record
            await watch.wait(left)


def _started(call: RequestContext, record: RunRecord) -> Response:
    """200 with the final record once the run has ended, else the 202 handle."""
    run = record.document(call.backend.storage.origin)
    if record.status in TERMINAL:
        return answer_json(run)
    return answer_json({**run, "status": "queued"}, 202)
