"""The operations of `client.jobs` (docs/api/tools-and-jobs.md).

A job is one call of a tool that takes time. It has a progress, and its result may be files.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Unpack, cast

from agentsvc_nb.client.core import ApiRequest, Core, add_request_facts
from agentsvc_nb.client.downloads import download
from agentsvc_nb.client.errors import JobFailedError
from agentsvc_nb.client.faces import AsyncPages, BlockingResource, Resource, blocking, paginate, paging
from agentsvc_nb.client.models import Job
from agentsvc_nb.client.options import Options, WaitNotice, WaitOptions, check_hook, check_poll, check_timeout
from agentsvc_nb.client.references import ChatRef, IdRef, JobRef, ToolRef, identifier, optional
from agentsvc_nb.client.transport.io import OnBytes, call_hook
from agentsvc_nb.client.uploads import distinct_names, local_path
from agentsvc_nb.client.waiting import LAST_POLL_SECONDS, PollingWait, run_in_time
from agentsvc_nb.wire.limits import JOB_POLL_FACTOR, JOB_POLL_MAX_SECONDS, JOB_POLL_SECONDS, WAIT_SECONDS
from agentsvc_nb.wire.routes import Resend
from agentsvc_nb.wire.tools import JobAccepted, JobEntry, JobPage, JobStatus

NOT_IDEMPOTENT: Final = frozenset({"research_shortform"})
"""The tools for which the service ignores idempotency keys. A repeated call does the work twice."""
OnProgress = Callable[[Job], Any]
_HINT_MAX_MS: Final = 3_600_000


class AsyncJobs(Resource):
    """Submit jobs, wait for them, and download their results. A job is one call of a tool that takes time."""

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
        """Start a tool as a job, and return at once. The returned `JobAccepted` has the `job_id` and the `chat`.

        Args:
            tool: the name of an asynchronous tool of the catalog (`tools.list`).
            input: the tool's arguments, which must fit its `input_schema`.
            chat: the chat in which the tool works. Without `chat` and `session`, the tool works in the chat that all
                such calls share.
            project: the project of the chat, if you do not pass `chat`.
            session: a label that selects the chat, in place of `chat`.
            idempotency_key: your name for this call. With it, the client retries a submit that received no response.
                The tool `research_shortform` ignores the key.

        Raises `StefanBrainError` (`tool_not_found`, `invalid_tool_input`), and `APIConnectionError` if no response
        came. The `hint` of the `APIConnectionError` says whether the work may have started.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        """Return the current record of a job.

        Args:
            job_id: the job, the `JobAccepted` from `submit`, or the id of the job. With an id, also pass `chat`.
            chat: the chat in which the job was submitted.
            project, session: the project and the label with which the job was submitted, in place of `chat`.

        Raises `StefanBrainError` (`job_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        """Wait until a job has succeeded, and return its record.

        Args:
            job_id: the job, the `JobAccepted` from `submit`, or the id of the job. With an id, also pass `chat`.
            chat: the chat in which the job was submitted.
            project, session: the project and the label with which the job was submitted, in place of `chat`.
            timeout: how many seconds to wait, 20 minutes by default; None for no limit.
            poll: seconds between two requests. By default, the client follows the service's recommendation. Without a
                recommendation, the interval is 2 s at first and grows by half with each request, up to 15 s.
            on_progress: the client calls this function with the `Job` after each request.

        Raises `JobFailedError` if the job failed or was cancelled, and `JobTimeoutError` if the job did not end in
        `timeout` seconds.

        Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.wait("job_1", chat="chat_1", on_progress=lambda job: print(job.progress))  # doctest: +SKIP
        """
        request = _request("jobs.status", job_id, chat, project, session)
        notice, interval = WaitNotice("job", identifier("job_id", job_id)), JOB_POLL_SECONDS
        core = self._core.scoped(options)
        waiting = PollingWait(core, timeout, notice, optional("chat", request.query["chat"]))
        pause, on_progress = check_poll(poll), check_hook("on_progress", on_progress)
        while True:
            response = await waiting.poll(request)
            job = core.read(Job, response)
            await call_hook(on_progress, job)
            if job.status == "succeeded":
                return job
            if job.ended:
                raise add_request_facts(JobFailedError(job), response)
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
        """Return the record of a job with its result.

        If the record's `kind` is `files`, the result is in `files`. If it is `inline`, the result is in `data`.

        Args:
            job_id: the job, the `JobAccepted` from `submit`, or the id of the job. With an id, also pass `chat`.
            chat: the chat in which the job was submitted.
            project, session: the project and the label with which the job was submitted, in place of `chat`.

        Raises `StefanBrainError` (`job_not_finished`, `job_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        """Cancel a job, and return its record. You can safely repeat this call.

        Args:
            job_id: the job, the `JobAccepted` from `submit`, or the id of the job. With an id, also pass `chat`.
            chat: the chat in which the job was submitted.
            project, session: the project and the label with which the job was submitted, in place of `chat`.

        Raises `StefanBrainError` (`job_not_found`).

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

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
        """Start a tool as a job, wait for the job, and return its record with the result.

        Args:
            tool: the name of an asynchronous tool of the catalog (`tools.list`).
            input: the tool's arguments, which must fit its `input_schema`.
            chat: the chat in which the tool works. Without `chat` and `session`, the tool works in the chat that all
                such calls share.
            project: the project of the chat, if you do not pass `chat`.
            session: a label that selects the chat, in place of `chat`.
            idempotency_key: your name for this call. With it, the client retries a submit that received no response.
            timeout: how many seconds to wait, 20 minutes by default; None for no limit.
            poll: seconds between two requests. By default, the client follows the service's recommendation.
            on_progress: the client calls this function with the `Job` after each request.

        Raises the errors of `submit`, `wait` and `result`. The `job_id` of a `JobTimeoutError` is None if the submit
        received no response.

        Options: `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> request = {"brief": "Headline: Autumn sale"}
        >>> job = client.jobs.submit_and_wait("create_images", {"request": request})  # doctest: +SKIP
        >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
        """
        core, poll, on_progress = self._core.scoped(options), check_poll(poll), check_hook("on_progress", on_progress)
        timed = core.within(check_timeout(timeout))
        starting = AsyncJobs(timed).submit(
            tool, input, chat=chat, project=project, session=session, idempotency_key=idempotency_key
        )
        accepted = await run_in_time(chat, starting)
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
        """Download all files of a job's result into a local folder, and return their paths.

        Each download resumes and verifies its content as `files.download` does.

        Args:
            job: the job, the `JobAccepted` from `submit`, or the id of the job. With an id, also pass `chat`.
            to: the local folder, which the client creates if needed. If several files have the same name, the client
                adds `-2`, `-3`, ... before the file extension. It does not touch files that already have the content.
            chat: the chat in which the job was submitted.
            project, session: the project and the label with which the job was submitted, in place of `chat`.
            on_progress: the client calls this function with the number of bytes so far and the number of bytes of all
                files.

        Raises `StefanBrainError` (`job_not_finished`, and the errors of `files.download`), `OSError`.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> client.jobs.download_artifacts(job, to="pictures")  # doctest: +SKIP
        [PosixPath('pictures/variant-1.png'), PosixPath('pictures/variant-2.png')]
        """
        core, on_progress = self._core.scoped(options), check_hook("on_progress", on_progress)
        folder = local_path(to)
        if isinstance(job, Job) and not (job.files is None and job.kind is None):
            found = job
        else:
            found = await AsyncJobs(core).result(job, chat=chat, project=project, session=session)
        await core.io.run_blocking(lambda: folder.mkdir(parents=True, exist_ok=True))
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
        """List the jobs of the account, the newest job first. The iteration fetches page after page.

        The records do not contain results: call `jobs.result` for these.

        Args:
            chat: list only the jobs of this chat.
            status: list only jobs that are `queued`, `running`, `cancelling`, `succeeded`, `failed` or `cancelled`.

        Raises `StefanBrainError` (`chat_not_found`) during the iteration, not during this call.

        Options: `timeout` (seconds per attempt), `deadline` (seconds per call), `max_retries`, `headers`, `extra_body`.

        >>> [job.job_id for job in client.jobs.list(status="running")]  # doctest: +SKIP
        """
        query = {"chat": optional("chat", chat), "status": status}
        return paginate(self._core.scoped(options), "jobs.list", query, JobPage, JobEntry)


class Jobs(BlockingResource):
    """Submit jobs, wait for them, and download their results. A job is one call of a tool that takes time."""

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
    """Wait until a job has succeeded, and return it with its result. Raises the same errors as `AsyncJobs.wait`."""
    timed, job_id, chat = core.within(timeout), accepted.job_id, accepted.chat
    await AsyncJobs(core).wait(job_id, chat=chat, timeout=timeout, poll=poll, on_progress=on_progress)
    timed = core.within(max(timed.left, LAST_POLL_SECONDS))
    return await run_in_time(chat, AsyncJobs(timed).result(job_id, chat=chat), job_id)


def _request(name: str, job_id: JobRef, chat: ChatRef | None, project: IdRef | None, session: str | None) -> ApiRequest:
    if chat is None and project is None and session is None and not isinstance(job_id, str):
        chat = getattr(job_id, "chat", None)
    return ApiRequest(name, {"job_id": job_id}, {"chat": chat, "project": project, "session": session})


async def _report_progress(hook: OnBytes | None, before: int, total: int, done: int, _: int | None) -> None:
    await call_hook(hook, before + done, total)
