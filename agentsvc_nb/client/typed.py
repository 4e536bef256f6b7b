"""What type checkers know of operations whose result depends on their arguments: `Run[Offer]`, bytes or a path.

The operations themselves have one signature each, which `?` shows; `tests/client/test_typing.py` holds the two
together.
"""

from __future__ import annotations

import os
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, Unpack, overload

from agentsvc_nb.client.client_tools import ClientTool, Function
from agentsvc_nb.client.event_streams import AsyncStreamStart, EventStream
from agentsvc_nb.client.methods import Async, HasOperations, Sync
from agentsvc_nb.client.models import Run
from agentsvc_nb.client.request.files import FileInput
from agentsvc_nb.client.request.options import Options, WaitOptions
from agentsvc_nb.client.request.references import ChatRef, IdRef, RunRef
from agentsvc_nb.client.transport.io import OnBytes
from agentsvc_nb.client.waiting import OnBusy
from agentsvc_nb.wire.files import FileFacts
from agentsvc_nb.wire.models import Effort

T = TypeVar("T")
Later = Coroutine[Any, Any, T]
S_co = TypeVar("S_co", covariant=True)
A_co = TypeVar("A_co", covariant=True)


class ByFace(Protocol[S_co, A_co]):
    """An operation that is an `S_co` of the blocking client and an `A_co` of the awaited one."""

    @overload
    def __get__(self, instance: None, owner: type) -> Any: ...
    @overload
    def __get__(self, instance: HasOperations[Sync], owner: type) -> S_co: ...
    @overload
    def __get__(self, instance: HasOperations[Async], owner: type) -> A_co: ...


class _Work(WaitOptions, total=False):
    """Arguments of `start` and `start_and_stream`, but for the message and `output_config`."""

    chat: ChatRef | None
    project: IdRef | None
    session: str | None
    on_busy: OnBusy | None
    files: Sequence[FileInput]
    file_ids: Sequence[IdRef]
    idempotency_key: str | None
    model: IdRef | None
    effort: Effort | None
    max_steps: int | None
    max_cents: float | None
    client_tools: Sequence[ClientTool | Function]
    timeout: float | None


class StartArguments(_Work, total=False):
    sync: bool


class StreamArguments(_Work, total=False):
    pass


class WaitArguments(WaitOptions, total=False):
    timeout: float | None
    poll: float


class DownloadArguments(Options, total=False):
    chat: ChatRef | None
    on_progress: OnBytes | None


class Start(Protocol):
    """`runs.start`."""

    @overload
    def __call__(self, message: str, *, output_config: type[T], **arguments: Unpack[StartArguments]) -> Run[T]:
        """Start a run and return at once with its record; it keeps going."""

    @overload
    def __call__(
        self, message: str, *, output_config: dict[str, Any] | None = None, **arguments: Unpack[StartArguments]
    ) -> Run: ...


class AsyncStart(Protocol):
    """`runs.start`, awaited."""

    @overload
    def __call__(self, message: str, *, output_config: type[T], **arguments: Unpack[StartArguments]) -> Later[Run[T]]:
        """Start a run and return at once with its record; it keeps going."""

    @overload
    def __call__(
        self, message: str, *, output_config: dict[str, Any] | None = None, **arguments: Unpack[StartArguments]
    ) -> Later[Run]: ...


class Stream(Protocol):
    """`runs.start_and_stream`."""

    @overload
    def __call__(self, message: str, *, output_config: type[T], **arguments: Unpack[StreamArguments]) -> EventStream[T]:
        """Start a run and follow its events; a dropped connection is picked up where it was left."""

    @overload
    def __call__(
        self, message: str, *, output_config: dict[str, Any] | None = None, **arguments: Unpack[StreamArguments]
    ) -> EventStream: ...


class AsyncStream(Protocol):
    """`runs.start_and_stream`, for `async with`."""

    @overload
    def __call__(
        self, message: str, *, output_config: type[T], **arguments: Unpack[StreamArguments]
    ) -> AsyncStreamStart[T]:
        """Start a run and follow its events; a dropped connection is picked up where it was left."""

    @overload
    def __call__(
        self, message: str, *, output_config: dict[str, Any] | None = None, **arguments: Unpack[StreamArguments]
    ) -> AsyncStreamStart: ...


class Wait(Protocol):
    """`runs.wait`."""

    @overload
    def __call__(  # type: ignore[overload-overlap] # the nearer one comes first
        self, run_id: Run[T], **arguments: Unpack[WaitArguments]
    ) -> Run[T]:
        """Wait until the run has completed, failed or been cancelled, and return it: a failed run is not raised."""

    @overload
    def __call__(self, run_id: RunRef, **arguments: Unpack[WaitArguments]) -> Run: ...


class AsyncWait(Protocol):
    """`runs.wait`, awaited."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, run_id: Run[T], **arguments: Unpack[WaitArguments]
    ) -> Later[Run[T]]:
        """Wait until the run has completed, failed or been cancelled, and return it: a failed run is not raised."""

    @overload
    def __call__(self, run_id: RunRef, **arguments: Unpack[WaitArguments]) -> Later[Run]: ...


class Download(Protocol):
    """`files.download`."""

    @overload
    def __call__(self, path: str | FileFacts, *, to: None = None, **arguments: Unpack[DownloadArguments]) -> bytes:
        """A file's bytes; with `to` its place on disk, where it replaces what was there."""

    @overload
    def __call__(
        self, path: str | FileFacts, *, to: str | os.PathLike[str], **arguments: Unpack[DownloadArguments]
    ) -> Path: ...


class AsyncDownload(Protocol):
    """`files.download`, awaited."""

    @overload
    def __call__(
        self, path: str | FileFacts, *, to: None = None, **arguments: Unpack[DownloadArguments]
    ) -> Later[bytes]:
        """A file's bytes; with `to` its place on disk, where it replaces what was there."""

    @overload
    def __call__(
        self, path: str | FileFacts, *, to: str | os.PathLike[str], **arguments: Unpack[DownloadArguments]
    ) -> Later[Path]: ...
