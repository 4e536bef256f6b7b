"""The two faces of the client: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio."""

from __future__ import annotations

import copy
from types import TracebackType
from typing import Self, Unpack

from agentsvc_nb.client.batch import mapping
from agentsvc_nb.client.downloads import fetching
from agentsvc_nb.client.methods import aio, aio_pages, aio_stream, sync, sync_pages, sync_stream
from agentsvc_nb.client.operations import ask, chats, feedback, jobs, media, runs, tools
from agentsvc_nb.client.request.history import History
from agentsvc_nb.client.request.options import TIMEOUT_SECONDS, ClientOptions, OnRetry, OnWait, Settings
from agentsvc_nb.client.request.request import BASE_URL, Core, Origin, Revive
from agentsvc_nb.client.transport.http import AsyncClient, AsyncIO, AsyncTransport, SyncClient, SyncIO, SyncTransport
from agentsvc_nb.client.transport.io import step
from agentsvc_nb.wire.limits import MAX_RETRIES


class Group:
    def __init__(self, core: Core) -> None:
        self._core = core


class Runs(Group):
    """Agent Runs: one agent turn inside a chat."""

    start = sync(runs.start)
    get = sync(runs.get)
    wait = sync(runs.wait)
    cancel = sync(runs.cancel)
    approve = sync(runs.approve)
    refuse = sync(runs.refuse)
    events = sync(runs.events)
    iterate_events = sync_pages(runs.iterate_events)
    attach = sync_stream(runs.attach)
    start_and_stream = sync_stream(runs.start_and_stream)


class Files(Group):
    """Uploads and the files of a chat."""

    upload = sync(chats.upload)
    list = sync_pages(chats.list_)
    search = sync(chats.search)
    download = sync(fetching.download)
    head = sync(fetching.head)
    rename = sync(chats.rename)


class Jobs(Group):
    """Long-running tool jobs."""

    submit = sync(jobs.submit)
    status = sync(jobs.status)
    wait = sync(jobs.wait)
    result = sync(jobs.result)
    cancel = sync(jobs.cancel)
    submit_and_wait = sync(jobs.submit_and_wait)
    download_artifacts = sync(jobs.download_artifacts)


class Tools(Group):
    """The tool catalog."""

    list = sync(tools.list_)
    describe = sync(tools.describe)
    invoke = sync(tools.invoke)


class Feedback(Group):
    """Reports to the team that runs the service, and its replies."""

    send = sync(feedback.send)
    from_last_error = sync(feedback.from_last_error)
    list = sync(feedback.list_)
    get = sync(feedback.get)


class Media(Group):
    """Stored ad media and their transcripts."""

    get = sync(media.get)
    transcribe = sync(media.transcribe)


class Labels(Group):
    """Landing pages and their labels."""

    list = sync(media.list_labels)
    get = sync(media.get_page)
    write = sync(media.write_labels)


class Projects(Group):
    """Projects: chats that belong together."""

    create = sync(chats.create_project)
    list = sync(chats.list_projects)


class Chats(Group):
    """Chats, which runs and tools make as they need them."""

    retire = sync(chats.retire)


class AsyncRuns(Group):
    """Agent Runs: one agent turn inside a chat."""

    start = aio(runs.start)
    get = aio(runs.get)
    wait = aio(runs.wait)
    cancel = aio(runs.cancel)
    approve = aio(runs.approve)
    refuse = aio(runs.refuse)
    events = aio(runs.events)
    iterate_events = aio_pages(runs.iterate_events)
    attach = aio_stream(runs.attach)
    start_and_stream = aio_stream(runs.start_and_stream)


class AsyncFiles(Group):
    """Uploads and the files of a chat."""

    upload = aio(chats.upload)
    list = aio_pages(chats.list_)
    search = aio(chats.search)
    download = aio(fetching.download)
    head = aio(fetching.head)
    rename = aio(chats.rename)


class AsyncJobs(Group):
    """Long-running tool jobs."""

    submit = aio(jobs.submit)
    status = aio(jobs.status)
    wait = aio(jobs.wait)
    result = aio(jobs.result)
    cancel = aio(jobs.cancel)
    submit_and_wait = aio(jobs.submit_and_wait)
    download_artifacts = aio(jobs.download_artifacts)


class AsyncTools(Group):
    """The tool catalog."""

    list = aio(tools.list_)
    describe = aio(tools.describe)
    invoke = aio(tools.invoke)


class AsyncFeedback(Group):
    """Reports to the team that runs the service, and its replies."""

    send = aio(feedback.send)
    from_last_error = aio(feedback.from_last_error)
    list = aio(feedback.list_)
    get = aio(feedback.get)


class AsyncMedia(Group):
    """Stored ad media and their transcripts."""

    get = aio(media.get)
    transcribe = aio(media.transcribe)


class AsyncLabels(Group):
    """Landing pages and their labels."""

    list = aio(media.list_labels)
    get = aio(media.get_page)
    write = aio(media.write_labels)


class AsyncProjects(Group):
    """Projects: chats that belong together."""

    create = aio(chats.create_project)
    list = aio(chats.list_projects)


class AsyncChats(Group):
    """Chats, which runs and tools make as they need them."""

    retire = aio(chats.retire)


class _Client:
    _core: Core

    @property
    def base_url(self) -> str:
        """Origin of the service; the key is sent there and nowhere else."""
        return self._core.origin.base_url

    @property
    def history(self) -> History:
        """The last 200 requests: a table, and each of them as a `curl` command, never with the key.

        >>> client.history[-1].to_curl()  # doctest: +SKIP
        """
        return self._core.history

    def _use(self, core: Core) -> None:
        raise NotImplementedError

    def with_options(self, **options: Unpack[ClientOptions]) -> Self:
        """A client on the same connections and with the same history, under other options.

        Args:
            timeout: seconds to wait for each answer, per attempt.
            deadline: seconds for each whole call, its repeats and waits included.
            max_retries: how often a call is repeated after a transient failure, where that is safe.
            headers: headers of your own, added to those there are; never the key.
            on_retry, on_wait: called with a notice before each repeat, and for each wait for the service's work.

        >>> client.with_options(deadline=10, max_retries=0).tools.list()  # doctest: +SKIP
        """
        other = copy.copy(self)
        other._use(self._core.configured(options))
        return other

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"


class AgentService(_Client):
    """A client of the agent service. It works in scripts, in threads, and inside a running event loop.

    Args:
        api_key: without it the variable `SERVICE_API_KEY` is used.
        base_url: origin of the service.
        max_retries: how often a request is repeated after a transient failure, where that is safe; 0: never.
        timeout: seconds to wait for each answer.
        on_retry: is called with a `RetryNotice` before a request is sent again.
        on_wait: is called with a `WaitNotice` whenever a call waits for a run or job.
        transport: an `httpx` transport, in place of the network.
        http_client: an `httpx` client of your own, with its proxies and certificates; closing it is yours. Its
            authentication, redirects and timeouts are not used.
        revive: starts the embedded service again when it is gone, and gives its `(base_url, api_key)`. With it each
            connection has to prove that the service at its end holds the key, before anything is sent there.

    Raises:
        AuthenticationError: there is no key, or it cannot be one.
        StefanBrainError: the base URL is not an http(s) address.
        TypeError: `transport` or `http_client` is of another library, for the other of the two clients, or beside
            `revive`.

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
        on_retry: OnRetry | None = None,
        on_wait: OnWait | None = None,
        transport: SyncTransport | None = None,
        http_client: SyncClient | None = None,
        revive: Revive | None = None,
    ) -> None:
        settings = Settings(timeout, None, max_retries, {}, on_retry, on_wait)
        origin = Origin(api_key, base_url, revive)
        self._use(Core(origin, SyncIO(transport, http_client, origin.tls, origin.secret), settings))

    def _use(self, core: Core) -> None:
        self._core = core
        self.runs, self.files, self.jobs, self.tools = Runs(core), Files(core), Jobs(core), Tools(core)
        self.projects, self.chats = Projects(core), Chats(core)
        self.feedback, self.media, self.labels = Feedback(core), Media(core), Labels(core)

    ask = sync(ask.ask)
    map = sync(mapping.map_)

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
        on_retry: OnRetry | None = None,
        on_wait: OnWait | None = None,
        transport: AsyncTransport | None = None,
        http_client: AsyncClient | None = None,
        revive: Revive | None = None,
    ) -> None:
        settings = Settings(timeout, None, max_retries, {}, on_retry, on_wait)
        origin = Origin(api_key, base_url, revive)
        self._use(Core(origin, AsyncIO(transport, http_client, origin.tls, origin.secret), settings))

    def _use(self, core: Core) -> None:
        self._core = core
        self.runs, self.files = AsyncRuns(core), AsyncFiles(core)
        self.jobs, self.tools = AsyncJobs(core), AsyncTools(core)
        self.projects, self.chats = AsyncProjects(core), AsyncChats(core)
        self.feedback, self.media, self.labels = AsyncFeedback(core), AsyncMedia(core), AsyncLabels(core)

    ask = aio(ask.ask)
    map = aio(mapping.map_)

    async def close(self) -> None:
        """Close the connections of the running event loop; the client opens new ones when it is used again."""
        await self._core.io.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
