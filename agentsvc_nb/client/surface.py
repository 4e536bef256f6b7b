"""The two faces of the client: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio.

Every operation is written once, in `runs`, `files`, `jobs` and `tools`; a face is one line per operation.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from agentsvc_nb.client import files, jobs, runs, tools
from agentsvc_nb.client.core import BASE_URL, TIMEOUT_SECONDS, Core, Revive
from agentsvc_nb.client.faces import aio, aio_pages, aio_stream, sync, sync_pages, sync_stream
from agentsvc_nb.client.io import AsyncIO, AsyncTransport, SyncIO, SyncTransport, step
from agentsvc_nb.wire.limits import MAX_RETRIES


class _Group:
    def __init__(self, core: Core) -> None:
        self._core = core


class Runs(_Group):
    """Agent Runs: one agent turn inside a chat."""

    start = sync(runs.start)
    get = sync(runs.get)
    wait = sync(runs.wait)
    cancel = sync(runs.cancel)
    events = sync(runs.events)
    iterate_events = sync_pages(runs.iterate_events)
    attach = sync_stream(runs.attach)
    start_and_stream = sync_stream(runs.start_and_stream)


class Files(_Group):
    """Uploads and the files of a chat."""

    upload = sync(files.upload)
    list = sync_pages(files.list_)
    search = sync(files.search)
    download = sync(files.download)
    rename = sync(files.rename)


class Jobs(_Group):
    """Long-running tool jobs."""

    submit = sync(jobs.submit)
    status = sync(jobs.status)
    wait = sync(jobs.wait)
    result = sync(jobs.result)
    cancel = sync(jobs.cancel)
    submit_and_wait = sync(jobs.submit_and_wait)


class Tools(_Group):
    """The tool catalog."""

    list = sync(tools.list_)
    describe = sync(tools.describe)


class AsyncRuns(_Group):
    """Agent Runs: one agent turn inside a chat."""

    start = aio(runs.start)
    get = aio(runs.get)
    wait = aio(runs.wait)
    cancel = aio(runs.cancel)
    events = aio(runs.events)
    iterate_events = aio_pages(runs.iterate_events)
    attach = aio_stream(runs.attach)
    start_and_stream = aio_stream(runs.start_and_stream)


class AsyncFiles(_Group):
    """Uploads and the files of a chat."""

    upload = aio(files.upload)
    list = aio_pages(files.list_)
    search = aio(files.search)
    download = aio(files.download)
    rename = aio(files.rename)


class AsyncJobs(_Group):
    """Long-running tool jobs."""

    submit = aio(jobs.submit)
    status = aio(jobs.status)
    wait = aio(jobs.wait)
    result = aio(jobs.result)
    cancel = aio(jobs.cancel)
    submit_and_wait = aio(jobs.submit_and_wait)


class AsyncTools(_Group):
    """The tool catalog."""

    list = aio(tools.list_)
    describe = aio(tools.describe)


class _Client:
    _core: Core

    @property
    def base_url(self) -> str:
        """Origin of the service; the key is sent there and nowhere else."""
        return self._core.base_url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"


class AgentService(_Client):
    """A client of the agent service. It works in scripts, in threads, and inside a running event loop.

    Args:
        api_key: without it the variable `SERVICE_API_KEY` is used.
        base_url: origin of the service.
        max_retries: how often a request is repeated after a transient failure, where that is safe; 0: never.
        timeout: seconds to wait for each answer.
        transport: stands in for the network (tests).
        revive: starts the embedded service again when it is gone, and gives its `(base_url, api_key)`.

    Raises:
        AuthenticationError: there is no key, or it cannot be one.
        StefanBrainError: the base URL is not an http(s) address.

    >>> with AgentService() as client:  # doctest: +SKIP
    ...     run = client.runs.start("What changed in the price list?", files=["prices.csv"])
    ...     print(client.runs.wait(run.run_id).output)
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str = BASE_URL,
        *,
        max_retries: int = MAX_RETRIES,
        timeout: float = TIMEOUT_SECONDS,
        transport: SyncTransport | None = None,
        revive: Revive | None = None,
    ) -> None:
        core = self._core = Core(api_key, base_url, SyncIO(transport), max_retries, timeout, revive)
        self.runs, self.files, self.jobs, self.tools = Runs(core), Files(core), Jobs(core), Tools(core)

    def close(self) -> None:
        """Close the connections; the client opens new ones when it is used again."""
        step(self._core.io.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncAgentService(_Client):
    """The same for asyncio, on any number of event loops; see `AgentService`. Operations are awaited.

    >>> async with AsyncAgentService() as client:  # doctest: +SKIP
    ...     async with await client.runs.start_and_stream("Draft three headlines") as stream:
    ...         async for event in stream:
    ...             print(event.type)
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str = BASE_URL,
        *,
        max_retries: int = MAX_RETRIES,
        timeout: float = TIMEOUT_SECONDS,
        transport: AsyncTransport | None = None,
        revive: Revive | None = None,
    ) -> None:
        core = self._core = Core(api_key, base_url, AsyncIO(transport), max_retries, timeout, revive)
        self.runs, self.files, self.jobs, self.tools = (
            AsyncRuns(core),
            AsyncFiles(core),
            AsyncJobs(core),
            AsyncTools(core),
        )

    async def close(self) -> None:
        """Close the connections of the running event loop; the client opens new ones when it is used again."""
        await self._core.io.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
