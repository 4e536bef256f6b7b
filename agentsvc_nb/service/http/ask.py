"""`ask_stefanbrain` over HTTP: the answer when it comes soon, else a job to look at (contract §5 `ask`)."""

from __future__ import annotations

from starlette.responses import Response

from agentsvc_nb.service.actions import asks
from agentsvc_nb.service.actions.asks import Ask
from agentsvc_nb.service.actions.runs import Start
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import bodies, pictures, runs, tools
from agentsvc_nb.service.http.answers import answer
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.service.records import jobs
from agentsvc_nb.service.records import runs as run_records
from agentsvc_nb.service.records.jobs import JobRecord
from agentsvc_nb.service.work.tools.ask_stefanbrain import AskInput, AskStefanBrain
from agentsvc_nb.wire.limits import ATTACHMENTS_MAX
from agentsvc_nb.wire.tools import ToolError, ToolResult


async def ask(call: Call, document: bodies.Document) -> Response:
    given = await _given(call, document)
    key, index, settings, now = call.key, call.backend.storage.index, call.backend.settings, call.now
    long = bool(given.start.contents)
    job, new = await call.write(lambda tx: asks.start(tx, index, key, given, settings, now), long=long)
    if new:
        job = await _followed(call, job)
    return answer(_result(job)) if job.ended_at is not None else answer(job.accepted(), 202)


async def _given(call: Call, document: bodies.Document) -> Ask:
    submit = tools.submission(call, AskStefanBrain(), document)
    given = AskInput.model_validate(submit.input)
    if len(given.file_ids) + len(given.image_urls) > ATTACHMENTS_MAX:
        raise Fail("too_many_attachments")
    runs.check_script(call, given.message)
    contents = await runs.staged(call, given.file_ids)
    shown, unreached = await pictures.fetch(call, given.image_urls)
    model = call.backend.settings.model
    start = Start(given.message, submit.where, model, call.received_at, contents=[*contents, *shown])
    return Ask(start, submit, len(shown), tuple(unreached))


async def _followed(call: Call, job: JobRecord) -> JobRecord:
    """Set the run to work and wait for it; the job as it is then."""
    assert job.follows is not None
    run_id = job.follows
    call.backend.runs.wake(run_id)
    run = call.read(lambda tx: run_records.get(tx, run_id))
    assert run is not None
    await runs.hold(call, run, call.backend.settings.ask_handle_seconds)
    return call.read(lambda tx: jobs.get(tx, job.job_id)) or job


def _result(job: JobRecord) -> ToolResult:
    error = job.error
    if job.status == "cancelled":
        error = {"code": "cancelled", "message": "The run was cancelled."}
    return ToolResult(
        tool=job.tool,
        is_error=error is not None,
        error=None if error is None else ToolError(**error),
        content=job.content,
        data=job.data,
        chat=job.chat,
    )
