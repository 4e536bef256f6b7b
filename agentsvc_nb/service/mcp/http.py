"""Send MCP requests over HTTP (the transport "streamable HTTP"): each request is a POST to the server's address.

Before each request, the channel checks the address like any untrusted address (`tools.support.fetching`). It follows no
redirects, so it sends the server's key to no other address.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
from collections.abc import AsyncIterator, Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.service.mcp import messages
from agentsvc_nb.service.mcp.messages import (
    ConnectionLost,
    EventReader,
    InvalidResponse,
    McpError,
    Message,
    Refused,
    Unavailable,
)
from agentsvc_nb.service.mcp.servers import ServerConfig
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.tools.support.fetching import Fetcher, Resolve, tls
from agentsvc_nb.wire.limits import MCP_MESSAGE_BYTES

if TYPE_CHECKING:
    import httpx

LEAVING_SECONDS: Final = 2.0
_SESSION: Final = re.compile(r"[\x21-\x7e]{1,256}")
_MAYBE_EXECUTED: Final = frozenset({408, 500, 502, 503, 504, 520, 522, 524})
"""HTTP statuses of a failure during the call, from a gateway or the server: the call may have been executed."""


class HttpChannel:
    """Carries requests to one MCP server over HTTP.

    Each request resolves the server's host name again, and checks all addresses of the host.
    """

    def __init__(self, server: ServerConfig, allow: tuple[str, ...] = (), resolve: Resolve | None = None) -> None:
        import httpx

        self._server = server
        self._fetcher = Fetcher(allow, resolve)
        self._url = httpx.URL(server.url)
        # Open a new connection for each request. The server may close an idle connection just as the channel writes a
        # call. Then the channel could not know whether the server has received the call.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.AsyncClient(verify=tls(), trust_env=False, timeout=None, limits=limits)
        self._numbers = itertools.count(1)
        self._session = ""
        self.version = ""

    async def request(
        self, method: str, params: Mapping[str, Any], seconds: float, *, modern: bool, mirrored: Mapping[str, str] = {}
    ) -> Message:
        """Send a request and return the server's result. Raises subclasses of `McpError`.

        A `modern` request also has the headers `mirrored`.
        """
        number = next(self._numbers)
        message = messages.build_request(number, method, params, modern=modern)
        headers = {"MCP-Protocol-Version": messages.MODERN, "Mcp-Method": method, **mirrored} if modern else {}
        if modern and isinstance(params.get("name"), str):
            headers["Mcp-Name"] = messages.encode_header(params["name"])
        try:
            async with asyncio.timeout(seconds):
                return await self._exchange(number, message, headers)
        except TimeoutError:
            raise ConnectionLost(f"it did not answer within {seconds:g} s") from None

    async def notify(self, method: str) -> None:
        async with self._send({"jsonrpc": "2.0", "method": method}, {}):
            pass

    async def close(self) -> None:
        """Close the connections. If the server has started an MCP session, end the session first."""
        import httpx

        try:
            if self._session:
                with contextlib.suppress(McpError, httpx.HTTPError, TimeoutError):
                    async with asyncio.timeout(LEAVING_SECONDS):
                        await self._client.send(await self._request("DELETE", b"", {}))
        finally:
            await self._client.aclose()

    async def _exchange(self, number: int, message: Message, headers: Mapping[str, str]) -> Message:
        async with self._send(message, headers) as answer:
            if session := answer.headers.get("mcp-session-id", ""):
                self._session = session if _SESSION.fullmatch(session) else ""
            if answer.headers.get("content-type", "").lower().startswith("text/event-stream"):
                return await self._read_events(answer, number)
            found = self._parse(await _read_body(answer))
        if not messages.is_response_to(found, number):
            raise InvalidResponse("its response has the id of another request")
        return messages.get_result(found)

    async def _read_events(self, answer: httpx.Response, number: int) -> Message:
        events = EventReader()
        async for piece in _read_pieces(answer):
            for data in events.feed(piece):
                message = self._parse(data)
                if messages.is_response_to(message, number):
                    return messages.get_result(message)
                if messages.is_request(message):
                    async with self._send(messages.build_response(message), {}):
                        pass
        raise ConnectionLost("its event stream ended without a response")

    @contextlib.asynccontextmanager
    async def _send(self, message: Message, headers: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        """Send a message and yield the HTTP response.

        Raises subclasses of `McpError`, also for an HTTP error status.
        """
        import httpx

        body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
        request = await self._request("POST", body, headers)
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx.ConnectError, httpx.UnsupportedProtocol) as error:
            raise Unavailable(f"it can't be reached: {error or type(error).__name__}") from None
        except httpx.HTTPError as error:
            raise ConnectionLost(f"the connection was lost: {error or type(error).__name__}") from None
        try:
            await self._check(answer)
            yield answer
        except httpx.HTTPError as error:
            raise ConnectionLost(f"the connection was lost: {error or type(error).__name__}") from None
        finally:
            await answer.aclose()

    async def _check(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status in (401, 403):
            raise Unavailable(f"it needs a key, or refused the configured key (HTTP {status})")
        if 300 <= status < 400:
            raise Refused(
                f"it redirects to another address (HTTP {status}), which agentsvc does not follow: add the "
                "server with that address"
            )
        if status < 300:
            return
        with contextlib.suppress(InvalidResponse):
            # raises the server's own error, which says more than a status
            messages.get_result(self._parse(await _read_body(answer)))
        if status in _MAYBE_EXECUTED:
            raise ConnectionLost(f"it failed (HTTP {status})")
        raise Refused(f"HTTP {status}")

    async def _request(self, method: str, body: bytes, headers: Mapping[str, str]) -> httpx.Request:
        host = self._url.raw_host.decode("ascii")
        sent = {
            "Host": self._url.netloc.decode("ascii"),
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "agentsvc-nb",
        }
        sent |= {"MCP-Protocol-Version": self.version} if self.version else {}
        sent |= {"Mcp-Session-Id": self._session} if self._session else {}
        sent |= {"Authorization": f"Bearer {self._server.key}"} if self._server.key else {}
        sent |= headers
        pinned = self._url.copy_with(host=await self._resolve_address())
        return self._client.build_request(method, pinned, content=body, headers=sent, extensions={"sni_hostname": host})

    async def _resolve_address(self) -> str:
        """Return the IP address of the server.

        Raises `Unavailable` if the host does not exist or the service must not connect to its address.
        """
        host = self._url.host
        try:
            address = await self._fetcher.address(self._url)
        except WorkFailure as failure:
            if failure.code == "address_refused":
                port = f":{self._url.port}" if self._url.port else ""
                said = f"{host} is not a public address: the operator can add {host}{port} to AGENTSVC_MCP_ALLOW"
                raise Unavailable(said) from None
            raise Unavailable(f"the host {host} does not exist") from None
        if self._url.scheme == "http" and not ip_address(address).is_loopback:
            raise Unavailable("plain http works only for servers on this machine: use an https address")
        return address

    def _parse(self, data: bytes) -> Message:
        return messages.parse(data, self._server.key)


async def _read_body(answer: httpx.Response) -> bytes:
    return b"".join([piece async for piece in _read_pieces(answer)])


async def _read_pieces(answer: httpx.Response) -> AsyncIterator[bytes]:
    """Yield the response's body in pieces. Raises `InvalidResponse` if it is compressed or too long."""
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        raise InvalidResponse("its response is compressed, although agentsvc did not request compression")
    size = 0
    async for piece in answer.aiter_raw():
        size += len(piece)
        if size > MCP_MESSAGE_BYTES:
            raise InvalidResponse(f"its response exceeds {MCP_MESSAGE_BYTES:,} bytes")
        yield piece
