"""Tool jobs, and the files that they made."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Unpack, cast

from agentsvc_nb.client.core import ApiRequest, Core, described
from agentsvc_nb.client.downloads import download
from agentsvc_nb.client.errors import JobFailedError
from agentsvc_nb.client.methods import Paged, paged
from agentsvc_nb.client.models import Job
from agentsvc_nb.client.options import Options, WaitNotice, WaitOptions, hook, poll_seconds, wait_seconds
from agentsvc_nb.client.references import ChatRef, IdRef, JobRef, ToolRef, identifier, optional
from agentsvc_nb.client.transport.io import OnBytes, call_hook
from agentsvc_nb.client.uploads import distinct_names, download_folder, local_path
from agentsvc_nb.client.waiting import LAST_LOOK_SECONDS, Wait, in_time
from agentsvc_nb.wire.limits import JOB_POLL_FACTOR, JOB_POLL_MAX_SECONDS, JOB_POLL_SECONDS, WAIT_SECONDS
from agentsvc_nb.wire.routes.route import Resend
from agentsvc_nb.wire.tools import JobAccepted, JobEntry, JobPage, JobStatus

NOT_IDEMPOTENT: Final = frozenset({"research_shortform"})
"""Tools for which the service ignores the idempotency key: a call that is sent twice is done twice."""
OnProgress = Callable[[Job], Any]
_HINT_MAX_MS: Final = 3_600_000


async def submit(
    core: Core,
    tool: ToolRef,
    input: dict[str, Any],
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    idempotency_key: str | None = None,
    **options: Unpack[Options],
) -> JobAccepted:
    """Submit an asynchronous tool and return at once; look the job up with the `chat` answered.

    With `idempotency_key` (of all tools but `research_shortform`) a submit without an answer is sent again.
    Raises `StefanBrainError` (`tool_not_found`, `invalid_tool_input`), `APIConnectionError` whose hint says whether the
    work may have started.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.jobs.submit("create_images", {"request": {"brief": "Autumn sale"}})  # doctest: +SKIP
    """
    tool = identifier("tool", tool)
    body = {"tool": tool, "input": input, "chat": chat, "project": project, "session": session}
    resend: Resend | None = "never" if tool in NOT_IDEMPOTENT else None
    return await core.scoped(options).ask(
        JobAccepted, ApiRequest("jobs.submit", body=body, key=idempotency_key, resend=resend)
    )


async def status(
    core: Core,
    job_id: JobRef,
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    **options: Unpack[Options],
) -> Job:
    """Read a job, by the chat of its acceptance, or the same project and session.

    Raises `StefanBrainError` (`job_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.jobs.status("job_1", chat="chat_1").progress  # doctest: +SKIP
    """
    return await core.scoped(options).ask(Job, _call("jobs.status", job_id, chat, project, session))


async def wait(
    core: Core,
    job_id: JobRef,
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    timeout: float | None = WAIT_SECONDS,
    poll: float | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[WaitOptions],
) -> Job:
    """Wait until the job has succeeded; `on_progress(job)` is called after each look.

    Looks every `poll` seconds, else as often as the service recommends, else after 2 s and then 1.5 times longer
    each, up to 15 s.
    Raises `JobFailedError` when it failed or was cancelled, `JobTimeoutError` after `timeout` seconds (None: never).

    Options: `deadline`, seconds for the call; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.jobs.wait("job_1", chat="chat_1", on_progress=lambda job: print(job.progress))  # doctest: +SKIP
    """
    request = _call("jobs.status", job_id, chat, project, session)
    notice, interval = WaitNotice("job", identifier("job_id", job_id)), JOB_POLL_SECONDS
    waiting = Wait(core.scoped(options), timeout, notice, optional("chat", request.query["chat"]))
    pause, on_progress = poll_seconds(poll), hook("on_progress", on_progress)
    while True:
        response = await waiting.look(request)
        job = core.read(Job, response)
        await call_hook(on_progress, job)
        if job.status == "succeeded":
            return job
        if job.ended:
            raise described(JobFailedError(job), response)
        hint = max(0, min(job.recommended_poll_after_ms or 0, _HINT_MAX_MS)) / 1000
        await waiting.pause(pause or hint or interval, job.status, job.chat)
        interval = min(interval * JOB_POLL_FACTOR, JOB_POLL_MAX_SECONDS)


def list_jobs(
    core: Core, *, chat: ChatRef | None = None, status: JobStatus | None = None, **options: Unpack[Options]
) -> Paged[JobEntry]:
    """The jobs of the account, the newest first, over all pages, without their results (`result`).

    Args:
        chat: only those of this chat.
        status: only those that are `queued`, `running`, `cancelling`, `succeeded`, `failed` or `cancelled`.

    Raises `StefanBrainError` (`chat_not_found`) as it is walked.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [job.job_id for job in client.jobs.list(status="running")]  # doctest: +SKIP
    """
    query = {"chat": optional("chat", chat), "status": status}
    return paged(core.scoped(options), "jobs.list", query, JobPage, JobEntry)


async def result(
    core: Core,
    job_id: JobRef,
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    **options: Unpack[Options],
) -> Job:
    """The job with its result: `kind` `files` (see `files`) or `inline` (see `data`).

    Raises `StefanBrainError` (`job_not_finished`, `job_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> [file.path for file in client.jobs.result("job_1", chat="chat_1").files]  # doctest: +SKIP
    ['creatives/variant-1.png']
    """
    return await core.scoped(options).ask(Job, _call("jobs.result", job_id, chat, project, session))


async def cancel(
    core: Core,
    job_id: JobRef,
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    **options: Unpack[Options],
) -> Job:
    """Ask the job to stop; safe to repeat. Raises `StefanBrainError` (`job_not_found`).

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.jobs.cancel("job_1", chat="chat_1").status  # doctest: +SKIP
    'cancelled'
    """
    return await core.scoped(options).ask(Job, _call("jobs.cancel", job_id, chat, project, session))


async def submit_and_wait(
    core: Core,
    tool: ToolRef,
    input: dict[str, Any],
    *,
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    idempotency_key: str | None = None,
    timeout: float | None = WAIT_SECONDS,
    poll: float | None = None,
    on_progress: OnProgress | None = None,
    **options: Unpack[WaitOptions],
) -> Job:
    """`submit`, `wait`, then `result`: the job with its result.

    Args:
        tool: a name of the catalog.
        input: fits the tool's `input_schema`.
        chat: where the tool works; without `chat` and `session` in the chat that tools share.
        project, session: in place of `chat`.
        idempotency_key: with it a submit that got no answer is sent again.
        timeout: seconds for the whole, 20 minutes unless given; None: no limit.
        poll: seconds between two looks; without it as often as the service recommends.
        on_progress: is called with the `Job` after each look.

    Raises what they raise; `JobTimeoutError` without a `job_id` when the submit was never answered.

    Options: `deadline`, seconds for the call; `max_retries`; `headers`, `extra_body` of yours.

    >>> job = client.jobs.submit_and_wait("create_images", {"request": {"brief": "Autumn sale"}})  # doctest: +SKIP
    >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
    """
    core, poll, on_progress = core.scoped(options), poll_seconds(poll), hook("on_progress", on_progress)
    timed = core.within(wait_seconds(timeout))
    starting = submit(timed, tool, input, chat=chat, project=project, session=session, idempotency_key=idempotency_key)
    accepted = await in_time(chat, starting)
    return await ended(core, accepted, max(0.0, timed.left), poll, on_progress)


async def ended(
    core: Core, accepted: JobAccepted, timeout: float, poll: float | None, on_progress: OnProgress | None = None
) -> Job:
    """Wait until an accepted job has succeeded, and return it with its result. Raises as `wait`."""
    timed = core.within(timeout)
    await wait(core, accepted.job_id, chat=accepted.chat, timeout=timeout, poll=poll, on_progress=on_progress)
    timed = core.within(max(timed.left, LAST_LOOK_SECONDS))
    return await in_time(accepted.chat, result(timed, accepted.job_id, chat=accepted.chat), accepted.job_id)


def _call(name: str, job_id: JobRef, chat: ChatRef | None, project: IdRef | None, session: str | None) -> ApiRequest:
    if chat is None and project is None and session is None and not isinstance(job_id, str):
        chat = getattr(job_id, "chat", None)
    return ApiRequest(name, {"job_id": job_id}, {"chat": chat, "project": project, "session": session})


async def download_artifacts(
    core: Core,
    job: JobRef,
    *,
    to: str | os.PathLike[str],
    chat: ChatRef | None = None,
    project: IdRef | None = None,
    session: str | None = None,
    on_progress: OnBytes | None = None,
    **options: Unpack[Options],
) -> list[Path]:
    """Put all files of a job's result into the folder `to`, which is made, and give their places; see `files.download`.

    Args:
        job: its id, with its `chat` or `project` and `session`; its acceptance, or its result.
        to: the folder. Files of one name get `-2`, `-3`, ... before their suffix; what is there already stays.
        on_progress: called with the bytes so far and the bytes in all.

    Raises `StefanBrainError` (`job_not_finished`; as `files.download`), `OSError`.

    Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

    >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
    [PosixPath('pictures/variant-1.png'), PosixPath('pictures/variant-2.png')]
    """
    core, on_progress = core.scoped(options), hook("on_progress", on_progress)
    local_path(to)  # before anything is asked
    ready = isinstance(job, Job) and not (job.files is None and job.kind is None)
    found = job if ready else await result(core, job, chat=chat, project=project, session=session)
    folder = await core.io.call(lambda: download_folder(to))
    return await _files(core, cast(Job, found), folder, on_progress)


async def _files(core: Core, job: Job, folder: Path, on_progress: OnBytes | None) -> list[Path]:
    files, put = job.files or [], []
    total, before = sum(file.size_bytes for file in files), 0
    for file, name in zip(files, distinct_names(file.path for file in files), strict=True):
        report = functools.partial(_report_progress, on_progress, before, total)
        place = await download(core, file, chat=job.chat, to=folder / name, on_progress=report)
        put.append(cast(Path, place))
        before += file.size_bytes
    return put


async def _report_progress(hook: OnBytes | None, before: int, total: int, done: int, _: int | None) -> None:
    await call_hook(hook, before + done, total)
