"""The operations of each resource, a line each. Four are written out, because the type of what they give depends on
what they get: a descriptor cannot carry overloads (docs/decisions/0055-events-have-classes.md).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, overload

from agentsvc_nb.client import downloads, jobs, resources, runs, tools
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.methods import Async, F, Sync, declared, operation, pages, stream

if TYPE_CHECKING:
    from agentsvc_nb.client.event_streams import AsyncStreamStart, EventStream
    from agentsvc_nb.client.models import Run
    from agentsvc_nb.client.references import RunRef
    from agentsvc_nb.client.typed import DownloadArguments, Later, StartArguments, StreamArguments, WaitArguments
    from agentsvc_nb.wire.files import FileFacts

T = TypeVar("T")


class OperationGroup(Generic[F]):
    """The operations of one resource, for one face of the client."""

    _face: F

    def __init__(self, core: Core, face: F) -> None:
        self._core = core
        self._face = face


class Runs(OperationGroup[F]):
    """Agent Runs: one agent turn inside a chat."""

    @overload
    def start(
        self: Runs[Sync], message: str, *, output_config: type[T], **arguments: Unpack[StartArguments]
    ) -> Run[T]: ...
    @overload
    def start(
        self: Runs[Sync],
        message: str,
        *,
        output_config: dict[str, Any] | None = None,
        **arguments: Unpack[StartArguments],
    ) -> Run: ...
    @overload
    def start(
        self: Runs[Async], message: str, *, output_config: type[T], **arguments: Unpack[StartArguments]
    ) -> Later[Run[T]]: ...
    @overload
    def start(
        self: Runs[Async],
        message: str,
        *,
        output_config: dict[str, Any] | None = None,
        **arguments: Unpack[StartArguments],
    ) -> Later[Run]: ...
    @declared(operation(runs.start))
    def start(self, message: str, **arguments: Any) -> Any:
        """Start a run and return at once with its record; it keeps going.

        Args:
            message: what to ask.
            chat: a `chat_...` id or UUID; without `chat` and `session` the run gets a new chat.
            project: a `proj_...` id or UUID.
            session: a label of your own that gives a parallel workstream its own chat.
            sync: hold the answer, for about 90 seconds, until the run has ended.
            on_busy: `"reject"`, as without it: a busy chat is an error. `"wait"`: wait for the end of the turn that
                holds the chat, then start; for 20 minutes, or up to the deadline.
            output_config: what the final answer must fit: a JSON Schema, a pydantic model or a dataclass, which the
                run's `data` is then an instance of.
            files: attachments, at most 10: paths, open files, bytes, DataFrames, figures; see `files.upload`.
            file_ids: staged uploads (`files.upload`), counted with `files`.
            files_from: a chat whose files, at most 200, the new chat of this run begins with; not with `chat` or
                `session`.
            idempotency_key: with it a start that got no answer is sent again, and the same key on the same UTC day
                gives the original run. 1 to 128 letters, digits, `_`, `.`, `:`, `-`.
            model: one of `models.list`; without it the service's default.
            effort: how much thought it is to give the answer: `"low"`, `"medium"`, `"high"`.
            max_steps: the model steps that the run may take, at most 1,500.
            max_cents: what the run may cost; without it 50 on a hosted model.
            client_tools: functions that the agent may call, each with a docstring. They are executed where this client
                follows the run: reading its stream, or in `wait`.

        Raises:
            StefanBrainError: refused; code `agent_run_rejected`, with `active_run_id`, when the chat is busy.
            APIConnectionError: no answer; its hint says whether the work may have started.

        Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

        >>> client.runs.start("Summarise the attached plan", files=["plan.pdf"]).status  # doctest: +SKIP
        'queued'
        """

    @overload
    def wait(  # type: ignore[overload-overlap] # the nearer one comes first
        self: Runs[Sync], run_id: Run[T], **arguments: Unpack[WaitArguments]
    ) -> Run[T]: ...
    @overload
    def wait(self: Runs[Sync], run_id: RunRef, **arguments: Unpack[WaitArguments]) -> Run: ...
    @overload
    def wait(  # type: ignore[overload-overlap]
        self: Runs[Async], run_id: Run[T], **arguments: Unpack[WaitArguments]
    ) -> Later[Run[T]]: ...
    @overload
    def wait(self: Runs[Async], run_id: RunRef, **arguments: Unpack[WaitArguments]) -> Later[Run]: ...
    @declared(operation(runs.wait))
    def wait(self, run_id: RunRef, **arguments: Any) -> Any:
        """Wait until the run has completed, failed or been cancelled, and return it: a failed run is not raised.

        Reads it at once, then follows its events. Functions that were its `client_tools` are called here, too.

        Args:
            run_id: the run of a start, whose model the answer's `data` then has; or an id.
            timeout: seconds for the whole, 20 minutes unless given; None: no limit.
            poll: seconds between two looks where there is no event stream, 3 unless given.

        Raises:
            JobTimeoutError: the time is over; the run goes on.
            StefanBrainError: `run_not_found`.

        Options: `deadline`, seconds for the call; `max_retries`; `headers`, `extra_body` of yours.

        >>> client.runs.wait(run, timeout=300).output  # doctest: +SKIP
        """

    @overload
    def start_and_stream(
        self: Runs[Sync], message: str, *, output_config: type[T], **arguments: Unpack[StreamArguments]
    ) -> EventStream[T]: ...
    @overload
    def start_and_stream(
        self: Runs[Sync],
        message: str,
        *,
        output_config: dict[str, Any] | None = None,
        **arguments: Unpack[StreamArguments],
    ) -> EventStream: ...
    @overload
    def start_and_stream(
        self: Runs[Async], message: str, *, output_config: type[T], **arguments: Unpack[StreamArguments]
    ) -> AsyncStreamStart[T]: ...
    @overload
    def start_and_stream(
        self: Runs[Async],
        message: str,
        *,
        output_config: dict[str, Any] | None = None,
        **arguments: Unpack[StreamArguments],
    ) -> AsyncStreamStart: ...
    @declared(stream(runs.start_and_stream))
    def start_and_stream(self, message: str, **arguments: Any) -> Any:
        """Start a run and follow its events; a dropped connection is picked up where it was left.

        Arguments as of `start`, but `timeout` is in seconds for the whole: after it, reading the stream raises
        `JobTimeoutError` and the run goes on. A key that was used today replays its run from the first event.

        A function of `client_tools` is called while the stream is read, in the thread that reads it; coroutine
        functions are awaited. What it raises is told to the agent.

        Raises as `start`, and as it is read as `attach`.

        Options: `deadline`, seconds for the call; `max_retries`; `headers`, `extra_body` of yours.

        >>> with client.runs.start_and_stream("Compare the two price lists", timeout=600) as stream:  # doctest: +SKIP
        ...     for event in stream:
        ...         print(event.type)
        """

    list = pages(runs.list_runs)
    get = operation(runs.get)
    cancel = operation(runs.cancel)
    resume = operation(runs.resume)
    sent = operation(runs.sent)
    approve = operation(runs.approve)
    refuse = operation(runs.refuse)
    events = operation(runs.events)
    iterate_events = pages(runs.iterate_events)
    table = operation(runs.table)
    tables = operation(runs.tables)
    attach = stream(runs.attach)


class Files(OperationGroup[F]):
    """Uploads and the files of a chat."""

    @overload
    def download(
        self: Files[Sync], path: str | FileFacts, *, to: None = None, **arguments: Unpack[DownloadArguments]
    ) -> bytes: ...
    @overload
    def download(
        self: Files[Sync], path: str | FileFacts, *, to: str | os.PathLike[str], **arguments: Unpack[DownloadArguments]
    ) -> Path: ...
    @overload
    def download(
        self: Files[Async], path: str | FileFacts, *, to: None = None, **arguments: Unpack[DownloadArguments]
    ) -> Later[bytes]: ...
    @overload
    def download(
        self: Files[Async], path: str | FileFacts, *, to: str | os.PathLike[str], **arguments: Unpack[DownloadArguments]
    ) -> Later[Path]: ...
    @declared(operation(downloads.download))
    def download(self, path: str | FileFacts, **arguments: Any) -> Any:
        """A file's bytes; with `to` its place on disk, where it replaces what was there.

        With `to` the content goes into a `.part` file beside its target, never whole into memory, and gets its name
        when it is whole and its SHA-256 is right. A target that has this content already is left as it is. What a
        broken download leaves is continued, within this call and by the next one.

        Args:
            path: a path of the chat, or an entry of `files.list`, which says where it is, and whose `id` the content
                must then have.
            chat: whose file it is; an entry that was listed needs none.
            to: a file, or a folder to put it in; one that ends with `/` is made.
            on_progress: called with the bytes so far and the bytes in all (None: unknown) as they come.

        Raises:
            StefanBrainError: `file_not_found`; content that is not what was listed.
            OSError: it cannot be written.

        Options: `timeout`, seconds an answer; `deadline`, for all; `max_retries`; `headers`, `extra_body` of yours.

        >>> client.files.download("reports/plan.md", chat="chat_1", to="downloads/")  # doctest: +SKIP
        PosixPath('downloads/plan.md')
        """

    upload = operation(resources.upload_files)
    list = pages(resources.list_files)
    search = operation(resources.search_files)
    head = operation(downloads.head)
    rename = operation(resources.rename_file)
    versions = operation(resources.list_versions)
    restore = operation(resources.restore_file)


class Jobs(OperationGroup[F]):
    """Long-running tool jobs."""

    submit = operation(jobs.submit)
    list = pages(jobs.list_jobs)
    status = operation(jobs.status)
    wait = operation(jobs.wait)
    result = operation(jobs.result)
    cancel = operation(jobs.cancel)
    submit_and_wait = operation(jobs.submit_and_wait)
    download_artifacts = operation(jobs.download_artifacts)


class Tools(OperationGroup[F]):
    """The tool catalog."""

    list = operation(tools.list_)
    describe = operation(tools.describe)
    invoke = operation(tools.invoke)


class Feedback(OperationGroup[F]):
    """Reports to the team that runs the service, and its replies."""

    send = operation(resources.send_feedback)
    from_last_error = operation(resources.feedback_from_last_error)
    list = operation(resources.list_feedback)
    get = operation(resources.get_feedback)


class Media(OperationGroup[F]):
    """Stored ad media and their transcripts."""

    get = operation(resources.get_media)
    transcribe = operation(resources.transcribe)


class Labels(OperationGroup[F]):
    """Landing pages and their labels."""

    list = operation(resources.list_labels)
    get = operation(resources.get_landing_page)
    write = operation(resources.write_labels)


class Models(OperationGroup[F]):
    """The models that a start may name."""

    list = operation(resources.list_models)


class Projects(OperationGroup[F]):
    """Projects: chats that belong together."""

    create = operation(resources.create_project)
    update = operation(resources.update_project)
    list = operation(resources.list_projects)


class Chats(OperationGroup[F]):
    """Chats, which runs and tools make as they need them."""

    retire = operation(resources.retire_chat)
