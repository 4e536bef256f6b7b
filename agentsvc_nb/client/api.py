"""The two clients: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Self, Unpack

import httpx

from agentsvc_nb.client import batch, files, jobs, resources, runs, tools
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.faces import Resource, blocking, show_options
from agentsvc_nb.client.history import History
from agentsvc_nb.client.options import ClientOptions, ClientSettings
from agentsvc_nb.client.origin import Origin, Revive
from agentsvc_nb.client.transport.http import SyncIO
from agentsvc_nb.client.transport.io import run_sync


class _Client(Resource, ABC):
    """The base class of both clients."""

    @property
    def base_url(self) -> str:
        """Return the address of the service. The client sends the key only to this address."""
        return self._core.origin.base_url

    @property
    def history(self) -> History:
        """Return the last 200 requests, without the API key.

        A notebook shows the history as a table. `to_curl` returns a request as a `curl` command.

        >>> client.history[-1].to_curl()  # doctest: +SKIP
        """
        return self._core.history

    def with_options(self, **options: Unpack[ClientOptions]) -> Self:
        """Return a client that has other options, but shares connections and history with this client.

        Args:
            timeout: seconds to wait for the response of each attempt.
            deadline: seconds for each whole call, including its retries and waits.
            max_retries: how often the client retries a request after a transient failure, if a retry is safe.
            headers: your own HTTP headers, in addition to the headers of this client. They must not include the key.
            extra_body: your own fields for the bodies of requests, such as fields that a newer service accepts.
            on_retry: the client calls this function with a `RetryNotice` before it sends a request again.
            on_wait: the client calls this function with a `WaitNotice` when a call waits for a run or job.

        Raises:
            StefanBrainError: an option has an invalid value.
            TypeError: an option does not exist.

        >>> client.with_options(deadline=10, max_retries=0).tools.list()  # doctest: +SKIP
        """
        other = copy.copy(self)
        other._use(self._core.with_options(options))
        return other

    @abstractmethod
    def _use(self, core: Core) -> None:
        """Create the resources (`runs`, `files`, ...), which send their requests through `core`."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_url!r})"


class AgentService(_Client):
    """A client of the agent service with blocking calls. It works in scripts, in threads and in notebooks.

    Args:
        api_key: the API key. The default is the environment variable `SERVICE_API_KEY`.
        base_url: the address of the service. The default is the environment variable `AGENTSVC_BASE_URL`, or
            `http://127.0.0.1:8787` if the variable is not set.
        transport: an `httpx` transport that sends the requests, for example `httpx.MockTransport` in tests.
        http_client: your own `httpx` client, with its proxies, certificates, headers and cookies. `AgentService` does
            not use its authentication, redirects and timeouts, and never closes it.
        revive: a function that restarts the embedded service after it has stopped, and returns its
            `(base_url, api_key)`. With `revive`, the service must prove on each new connection that it knows the key.
            Before this proof, the client sends no request.
        timeout: seconds to wait for each response; 60 by default.
        deadline: seconds for each whole call, including its retries and waits; no limit by default.
        max_retries: how often the client retries a request after a transient failure, if that is safe; 2 by default.
        headers: your own HTTP headers for each request. They must not include the key.
        extra_body: your own fields for the bodies of requests.
        on_retry: the client calls this function with a `RetryNotice` before it sends a request again.
        on_wait: the client calls this function with a `WaitNotice` when a call waits for a run or job.

    Raises:
        AuthenticationError: the key is missing or malformed.
        StefanBrainError: the base URL is not an http(s) address, or an option has an invalid value.
        TypeError: `transport` or `http_client` is not an `httpx` object for blocking calls, or you combine it with
            `revive`.

    >>> with AgentService() as client:  # doctest: +SKIP
    ...     run = client.runs.start("What changed in the price list?", files=["prices.csv"])
    ...     print(client.runs.wait(run.run_id).output)
    """

    ask = blocking(tools.ask)
    map = blocking(batch.map_)

    @show_options
    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        http_client: httpx.Client | None = None,
        revive: Revive | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        settings, origin = ClientSettings().with_changes(options), Origin(api_key, base_url, revive)
        self._use(Core(origin, SyncIO(transport, http_client, origin.base_url, origin.secret), settings))

    def _use(self, core: Core) -> None:
        self._core = core
        self.runs = runs.Runs(runs.AsyncRuns(core))
        self.files = files.Files(files.AsyncFiles(core))
        self.jobs = jobs.Jobs(jobs.AsyncJobs(core))
        self.tools = tools.Tools(tools.AsyncTools(core))
        self.models = resources.Models(resources.AsyncModels(core))
        self.usage = resources.Usage(resources.AsyncUsage(core))
        self.projects = resources.Projects(resources.AsyncProjects(core))
        self.chats = resources.Chats(resources.AsyncChats(core))
        self.feedback = resources.Feedback(resources.AsyncFeedback(core))
        self.media = resources.Media(resources.AsyncMedia(core))
        self.labels = resources.Labels(resources.AsyncLabels(core))

    @property
    def _resource(self) -> Resource:
        """Return this client, because `ask` and `map` are not methods of a resource, but of the client itself."""
        return self

    def close(self) -> None:
        """Close the connections. The client opens new ones when you use it again."""
        run_sync(self._core.io.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncAgentService(_Client):
    """A client of the agent service for asyncio. It has the operations of `AgentService`, but you await them.

    It takes the same arguments as `AgentService`, with asynchronous `httpx` objects. You can use one client in several
    event loops.

    >>> async with AsyncAgentService() as client:  # doctest: +SKIP
    ...     async with client.runs.start_and_stream("Draft three headlines") as stream:
    ...         async for event in stream:
    ...             print(event.type)
    """

    # These functions take the client as their first parameter.
    ask = tools.ask
    map = batch.map_

    @show_options
    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        http_client: httpx.AsyncClient | None = None,
        revive: Revive | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        settings, origin = ClientSettings().with_changes(options), Origin(api_key, base_url, revive)
        # Import asyncio only here: the import takes a tenth of the time of a blocking client's first call.
        from agentsvc_nb.client.transport.aio import AsyncIO

        self._use(Core(origin, AsyncIO(transport, http_client, origin.base_url, origin.secret), settings))

    def _use(self, core: Core) -> None:
        self._core = core
        self.runs = runs.AsyncRuns(core)
        self.files = files.AsyncFiles(core)
        self.jobs = jobs.AsyncJobs(core)
        self.tools = tools.AsyncTools(core)
        self.models = resources.AsyncModels(core)
        self.usage = resources.AsyncUsage(core)
        self.projects = resources.AsyncProjects(core)
        self.chats = resources.AsyncChats(core)
        self.feedback = resources.AsyncFeedback(core)
        self.media = resources.AsyncMedia(core)
        self.labels = resources.AsyncLabels(core)

    async def close(self) -> None:
        """Close the connections of the running event loop. The client opens new ones when you use it again."""
        await self._core.io.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
