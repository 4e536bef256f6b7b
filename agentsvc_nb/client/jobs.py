"""Tool jobs, and the files that they created (docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Unpack, cast

from agentsvc_nb.client.core import ApiRequest, Core, described
from agentsvc_nb.client.downloads import download
from agentsvc_nb.client.errors import JobFailedError
from agentsvc_nb.client.faces import AsyncPages, BlockingResource, Resource, blocking, paged, paging
from agentsvc_nb.client.models import Job
from agentsvc_nb.client.options import Options, WaitNotice, WaitOptions, hook, poll_seconds, wait_seconds
from agentsvc_nb.client.references import ChatRef, IdRef, JobRef, ToolRef, identifier, optional
from agentsvc_nb.client.transport.io import OnBytes, call_hook
from agentsvc_nb.client.uploads import distinct_names, local_path
from agentsvc_nb.client.waiting import LAST_LOOK_SECONDS, Wait, in_time
from agentsvc_nb.wire.limits import JOB_POLL_FACTOR, JOB_POLL_MAX_SECONDS, JOB_POLL_SECONDS, WAIT_SECONDS
from agentsvc_nb.wire.routes import Resend
from agentsvc_nb.wire.tools import JobAccepted, JobEntry, JobPage, JobStatus

NOT_IDEMPOTENT: Final = frozenset({"research_shortform"})
"""Tools for which the service ignores the idempotency key: a repeated call does the work twice."""
OnProgress = Callable[[Job], Any]
_HINT_MAX_MS: Final = 3_600_000


class AsyncJobs(Resource):
    """Long-running tool jobs."""

    async def submit(
        self,
        tool: ToolRef,
        input: dict[str, Any],
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[Options],
    ) -> JobAccepted:
        """Submit an asynchronous tool and return at once. Use the `chat` of the result to look up the job.

        With `idempotency_key`, the client repeats a submit that got no response (except for `research_shortform`).

        Raises `StefanBrainError` (`tool_not_found`, `invalid_tool_input`), and `APIConnectionError`, whose hint says
        whether the work may have started.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.submit("create_images", {"request": {"brief": "Headline: Autumn sale"}})  # doctest: +SKIP
        """
        tool = identifier("tool", tool)
        body = {"tool": tool, "input": input, "chat": chat, "project": project, "session": session}
        resend: Resend | None = "never" if tool in NOT_IDEMPOTENT else None
        request = ApiRequest("jobs.submit", body=body, key=idempotency_key, resend=resend)
        return await self._core.scoped(options).ask(JobAccepted, request)

    async def status(
        self,
        job_id: JobRef,
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        **options: Unpack[Options],
    ) -> Job:
        """Return a job's current state. Pass the chat that accepted the job, or the same project and session.

        Raises `StefanBrainError` (`job_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.status("job_1", chat="chat_1").progress  # doctest: +SKIP
        """
        return await self._core.scoped(options).ask(Job, _request("jobs.status", job_id, chat, project, session))

    async def wait(
        self,
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
        """Wait until the job has succeeded, and return it.

        Args:
            job_id: the job, or its id.
            chat: the chat that accepted the job.
            project, session: in place of `chat`.
            timeout: seconds in all, 20 minutes by default; None for no limit.
            poll: seconds between two requests. The default is the service's recommendation, or else 2 s, growing by
                half each time up to 15 s.
            on_progress: called with the `Job` after each request.

        Raises `JobFailedError` if the job failed or was cancelled, `JobTimeoutError` after `timeout` seconds.

        Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.wait("job_1", chat="chat_1", on_progress=lambda job: print(job.progress))  # doctest: +SKIP
        """
        request = _request("jobs.status", job_id, chat, project, session)
        notice, interval = WaitNotice("job", identifier("job_id", job_id)), JOB_POLL_SECONDS
        core = self._core.scoped(options)
        waiting = Wait(core, timeout, notice, optional("chat", request.query["chat"]))
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

    async def result(
        self,
        job_id: JobRef,
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        **options: Unpack[Options],
    ) -> Job:
        """Return the job with its result: `kind` is `files` (see `files`) or `inline` (see `data`).

        Raises `StefanBrainError` (`job_not_finished`, `job_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [file.path for file in client.jobs.result("job_1", chat="chat_1").files]  # doctest: +SKIP
        ['creatives/variant-1.png']
        """
        return await self._core.scoped(options).ask(Job, _request("jobs.result", job_id, chat, project, session))

    async def cancel(
        self,
        job_id: JobRef,
        *,
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        **options: Unpack[Options],
    ) -> Job:
        """Ask the job to stop. Safe to repeat. Raises `StefanBrainError` (`job_not_found`).

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.cancel("job_1", chat="chat_1").status  # doctest: +SKIP
        'cancelled'
        """
        return await self._core.scoped(options).ask(Job, _request("jobs.cancel", job_id, chat, project, session))

    async def submit_and_wait(
        self,
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
        """Call `submit`, `wait`, then `result`, and return the job with its result.

        Args:
            tool: a name of the catalog.
            input: fits the tool's `input_schema`.
            chat: the chat in which the tool works. Without `chat` and `session`, it works in the chat that tools share.
            project, session: in place of `chat`.
            idempotency_key: makes it safe to repeat a submit that got no response.
            timeout: seconds in all, 20 minutes by default; None for no limit.
            poll: seconds between two requests; the default is the service's recommendation.
            on_progress: called with the `Job` after each request.

        Raises the errors of `submit`, `wait` and `result`. `JobTimeoutError` has no `job_id` if the submit got no
        response.

        Options: `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> request = {"brief": "Headline: Autumn sale"}
        >>> job = client.jobs.submit_and_wait("create_images", {"request": request})  # doctest: +SKIP
        >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
        """
        core, poll, on_progress = self._core.scoped(options), poll_seconds(poll), hook("on_progress", on_progress)
        timed = core.within(wait_seconds(timeout))
        starting = AsyncJobs(timed).submit(
            tool, input, chat=chat, project=project, session=session, idempotency_key=idempotency_key
        )
        accepted = await in_time(chat, starting)
        return await finished(core, accepted, max(0.0, timed.left), poll, on_progress)

    async def download_artifacts(
        self,
        job: JobRef,
        *,
        to: str | os.PathLike[str],
        chat: ChatRef | None = None,
        project: IdRef | None = None,
        session: str | None = None,
        on_progress: OnBytes | None = None,
        **options: Unpack[Options],
    ) -> list[Path]:
        """Download all files of a job's result into the folder `to`, and return their paths; see `files.download`.

        Args:
            job: its id with its `chat` or `project` and `session`, the `JobAccepted` of its submit, or its result.
            to: the folder, which is created if needed. Files of the same name get `-2`, `-3`, ... before their suffix.
                Files that already have the content stay untouched.
            on_progress: called with the bytes so far and the bytes in all.

        Raises `StefanBrainError` (`job_not_finished`, and the errors of `files.download`), `OSError`.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
        [PosixPath('pictures/variant-1.png'), PosixPath('pictures/variant-2.png')]
        """
        core, on_progress = self._core.scoped(options), hook("on_progress", on_progress)
        folder = local_path(to)
        if isinstance(job, Job) and not (job.files is None and job.kind is None):
            found = job
        else:
            found = await AsyncJobs(core).result(job, chat=chat, project=project, session=session)
        await core.io.call(lambda: folder.mkdir(parents=True, exist_ok=True))
        files, paths = found.files or [], []
        total, before = sum(file.size_bytes for file in files), 0
        for file, name in zip(files, distinct_names(file.path for file in files), strict=True):
            report = functools.partial(_report_progress, on_progress, before, total)
            path = await download(core, file, chat=found.chat, to=folder / name, on_progress=report)
            paths.append(cast(Path, path))
            before += file.size_bytes
        return paths

    # Last, because annotations below this method would read `list` as the method.
    def list(
        self, *, chat: ChatRef | None = None, status: JobStatus | None = None, **options: Unpack[Options]
    ) -> AsyncPages[JobEntry]:
        """List the jobs of the account, newest first, over all pages, without their results (`result`).

        Args:
            chat: list only the jobs of this chat.
            status: list only jobs that are `queued`, `running`, `cancelling`, `succeeded`, `failed` or `cancelled`.

        Raises `StefanBrainError` (`chat_not_found`) while you iterate.

        Options: `timeout` (seconds per response), `deadline` (seconds in all), `max_retries`, `headers`, `extra_body`.

        >>> [job.job_id for job in client.jobs.list(status="running")]  # doctest: +SKIP
        """
        query = {"chat": optional("chat", chat), "status": status}
        return paged(self._core.scoped(options), "jobs.list", query, JobPage, JobEntry)


class Jobs(BlockingResource):
    """Long-running tool jobs."""

    submit = blocking(AsyncJobs.submit)
    status = blocking(AsyncJobs.status)
    wait = blocking(AsyncJobs.wait)
    result = blocking(AsyncJobs.result)
    cancel = blocking(AsyncJobs.cancel)
    submit_and_wait = blocking(AsyncJobs.submit_and_wait)
    download_artifacts = blocking(AsyncJobs.download_artifacts)
    list = paging(AsyncJobs.list)


async def finished(
    core: Core, accepted: JobAccepted, timeout: float, poll: float | None, on_progress: OnProgress | None = None
) -> Job:
    """Wait until a job has succeeded, and return it with its result. Raises the errors of `AsyncJobs.wait`."""
    timed, job_id, chat = core.within(timeout), accepted.job_id, accepted.chat
    await AsyncJobs(core).wait(job_id, chat=chat, timeout=timeout, poll=poll, on_progress=on_progress)
    timed = core.within(max(timed.left, LAST_LOOK_SECONDS))
    return await in_time(chat, AsyncJobs(timed).result(job_id, chat=chat), job_id)


def _request(name: str, job_id: JobRef, chat: ChatRef | None, project: IdRef | None, session: str | None) -> ApiRequest:
    if chat is None and project is None and session is None and not isinstance(job_id, str):
        chat = getattr(job_id, "chat", None)
    return ApiRequest(name, {"job_id": job_id}, {"chat": chat, "project": project, "session": session})


async def _report_progress(hook: OnBytes | None, before: int, total: int, done: int, _: int | None) -> None:
    await call_hook(hook, before + done, total)
