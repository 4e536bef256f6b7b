"""The two faces of the client: `AgentService` for scripts and notebooks, `AsyncAgentService` for asyncio."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import TracebackType
from typing import Self, Unpack

import httpx

from agentsvc_nb.client import mapping, tools
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.groups import Chats, Feedback, Files, Jobs, Labels, Media, Models, Projects, Runs, Tools
from agentsvc_nb.client.history import History
from agentsvc_nb.client.methods import Async, Sync, operation
from agentsvc_nb.client.options import TIMEOUT_SECONDS, ClientOptions, ClientSettings, OnRetry, OnWait
from agentsvc_nb.client.origin import Origin, Revive
from agentsvc_nb.client.transport.http import SyncIO
from agentsvc_nb.client.transport.io import run_sync
from agentsvc_nb.wire.limits import MAX_RETRIES


class _Client:
    _core: Core
    _face: Sync | Async

    @property
    def base_url(self) -> str:
        """Origin of the service; the key is sent there and nowhere else."""
        return self._core.origin.base_url

    @property
    def history(self) -> History:
        """The last 200 requests, as a table and each as a `curl` command, never with the key.

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
            extra_body: fields of your own for the bodies of requests, such as those that a newer service takes.
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
        base_url: origin of the service; without it the variable `AGENTSVC_BASE_URL`, else `http://127.0.0.1:8787`.
        max_retries: how often a request is repeated after a transient failure, where that is safe; 0: never.
        timeout: seconds to wait for each answer.
        deadline: seconds for each whole call, its repeats and waits included.
        headers: headers of your own for each request; never the key.
        on_retry: is called with a `RetryNotice` before a request is sent again.
        on_wait: is called with a `WaitNotice` whenever a call waits for a run or job.
        transport: an `httpx` transport, in place of the network.
        http_client: an `httpx` (or `httpx2`) client of your own, with its proxies and certificates; closing it is
            yours. Its authentication, redirects and timeouts are not used.
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

    _face: Sync = Sync()

    # In both classes: what is inherited is offered after private names.
    ask = operation(tools.ask)
    map = operation(mapping.map_)

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        max_retries: int = MAX_RETRIES,
        timeout: float = TIMEOUT_SECONDS,
        deadline: float | None = None,
        headers: Mapping[str, str] | None = None,
        on_retry: OnRetry | None = None,
        on_wait: OnWait | None = None,
        transport: httpx.BaseTransport | None = None,
        http_client: httpx.Client | None = None,
        revive: Revive | None = None,
    ) -> None:
        settings = ClientSettings().updated(
            {
                "timeout": timeout,
                "deadline": deadline,
                "max_retries": max_retries,
                "headers": headers,
                "on_retry": on_retry,
                "on_wait": on_wait,
            }
        )
        origin = Origin(api_key, base_url, revive)
        self._use(Core(origin, SyncIO(transport, http_client, origin.base_url, origin.secret), settings))

    def _use(self, core: Core) -> None:
        self._core = core
        self.runs = Runs(core, self._face)
        self.files = Files(core, self._face)
        self.jobs = Jobs(core, self._face)
        self.tools = Tools(core, self._face)
        self.models = Models(core, self._face)
        self.projects = Projects(core, self._face)
        self.chats = Chats(core, self._face)
        self.feedback = Feedback(core, self._face)
        self.media = Media(core, self._face)
        self.labels = Labels(core, self._face)

    def close(self) -> None:
        """Close the connections; the client opens new ones when it is used again."""
        run_sync(self._core.io.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


class AsyncAgentService(_Client):
    """The same for asyncio, on any number of event loops; see `AgentService`. Operations are awaited.

    >>> async with AsyncAgentService() as client:  # doctest: +SKIP
    ...     async with client.runs.start_and_stream("Draft three headlines") as stream:
    ...         async for event in stream:
    ...             print(event.type)
    """

    _face: Async = Async()

    ask = operation(tools.ask)
    map = operation(mapping.map_)

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        max_retries: int = MAX_RETRIES,
        timeout: float = TIMEOUT_SECONDS,
        deadline: float | None = None,
        headers: Mapping[str, str] | None = None,
        on_retry: OnRetry | None = None,
        on_wait: OnWait | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        http_client: httpx.AsyncClient | None = None,
        revive: Revive | None = None,
    ) -> None:
        settings = ClientSettings().updated(
            {
                "timeout": timeout,
                "deadline": deadline,
                "max_retries": max_retries,
                "headers": headers,
                "on_retry": on_retry,
                "on_wait": on_wait,
            }
        )
        origin = Origin(api_key, base_url, revive)
        # Here, because importing asyncio is a tenth of the other client's first call.
        from agentsvc_nb.client.transport.aio import AsyncIO

        self._use(Core(origin, AsyncIO(transport, http_client, origin.base_url, origin.secret), settings))

    def _use(self, core: Core) -> None:
        self._core = core
        self.runs = Runs(core, self._face)
        self.files = Files(core, self._face)
        self.jobs = Jobs(core, self._face)
        self.tools = Tools(core, self._face)
        self.models = Models(core, self._face)
        self.projects = Projects(core, self._face)
        self.chats = Chats(core, self._face)
        self.feedback = Feedback(core, self._face)
        self.media = Media(core, self._face)
        self.labels = Labels(core, self._face)

    async def close(self) -> None:
        """Close the connections of the running event loop; the client opens new ones when it is used again."""
        await self._core.io.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()
