"""Connections before a key is seen: the size of a request's head, the time it may take, and the number of connections
(docs/api/conventions.md "Before a key is seen", docs/decisions/0036)."""

from __future__ import annotations

import itertools
import logging
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.answers import refusal
from agentsvc_nb.service.logs import Tally
from agentsvc_nb.wire.limits import DISCARD_BYTES, DISCARD_SECONDS, HEAD_BYTES, HEAD_SECONDS, HEADER_BYTES

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

KEEP_ALIVE_SECONDS: Final = 75
"""Longer than clients keep idle connections, so that the server never closes one that a client is about to use."""
CHUNK_BYTES: Final = 16
"""What a chunk may take beside its data; more counts as a header would."""
PIPELINED_MAX: Final = 32
"""Requests of one connection that wait for the one before."""
EXAMINED_MAX: Final = 32
"""Connections looked at for one to close, when there are too many."""
LOOPBACK: Final = ("127.", "::1", "::ffff:127.")

_tally = Tally(logging.getLogger(__name__))


class Connections(ServerState):
    """All open connections, by the address of the peer, of which at most `most` may be open. Loopback may hold all of
    them, since everybody behind a proxy on this machine has that address; any other address half."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._by_peer: dict[str, dict[BoundedConnection, None]] = {}

    def admit(self, new: BoundedConnection) -> bool:
        """Count a new connection. If there are too many, another is closed; False if none can be."""
        own = self._by_peer.setdefault(new.peer, {})
        own[new] = None
        most = self._most if new.peer.startswith(LOOPBACK) else self._most // 2
        if len(own) <= most and len(self.connections) <= self._most:
            return True
        _tally.note("full", "there are too many connections", peer=new.peer, open=len(self.connections))
        return self._close_one(own if len(own) > most else max(self._by_peer.values(), key=len))

    def forget(self, connection: BoundedConnection) -> None:
        own = self._by_peer.get(connection.peer, {})
        own.pop(connection, None)
        if not own:
            self._by_peer.pop(connection.peer, None)

    def _close_one(self, crowd: dict[BoundedConnection, None]) -> bool:
        """Close the oldest connection that has shown no key; the last is the new one. Those that are kept
        move to the end, so that a crowd of them is not looked at again for each new connection."""
        for each in list(itertools.islice(crowd, min(EXAMINED_MAX, len(crowd) - 1))):
            del crowd[each]
            if each.is_spare:
                each.transport.abort()
                return True
            crowd[each] = None
        return False


class _Pipeline(list[Any]):
    """uvicorn's queue of a connection's pipelined requests, which is nearly always empty: a deque takes 0.7 kB."""

    __slots__ = ()

    def appendleft(self, request: Any) -> None:
        self.insert(0, request)


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's protocol, with bounds on what comes before a request, and the error envelope for what is none.

    A request's scope has the list `on_disconnect`: what is called when the connection is lost.
    """

    server_state: Connections
    peer = ""
    _in_head = False
    _head_left = HEAD_BYTES
    _beside_body = 0
    _seconds = 0
    _fault: ApiError | None = None
    _active: Any = None
    """The cycle of the request that is being answered; uvicorn's `cycle` is that of the last one parsed."""
    _refused = False
    _discard_left = DISCARD_BYTES

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.on_disconnect: list[Callable[[], object]] = []
        self.pipeline = _Pipeline()  # type: ignore[assignment]
        self.peer = self.client[0] if self.client else ""
        if not self.server_state.admit(self):
            self._refuse(ApiError("brain_unavailable", "Too many connections are open: try again later."))
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for end in list(self.on_disconnect):
            end()
        self.server_state.forget(self)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._discard(data)
            return
        self._beside_body += len(data)
        super().data_received(data)
        # A single long header, address or chunk extension, which the parser reports at its end, if at all.
        if self._beside_body > HEAD_BYTES and not self._refused:
            self._refuse(ApiError("headers_too_large"))

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_left = HEAD_BYTES
        self._seconds = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_left -= len(name) + len(value) + HEADER_BYTES
        if self._head_left < 0:
            self._stop(ApiError("headers_too_large"))
        if self._in_head:  # trailers are dropped
            HttpToolsProtocol.on_header(self, name, value)  # `super()` would take two microseconds of each request

    def on_headers_complete(self) -> None:
        self._head_left -= len(self.url)
        if self._head_left < 0:
            self._stop(ApiError("headers_too_large"))
        if len(self.pipeline) >= PIPELINED_MAX:
            self._stop(ApiError("invalid_query", "Too many requests were sent before the first was answered."))
        self._in_head = False
        self.scope["on_disconnect"] = self.on_disconnect  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._beside_body = max(0, self._beside_body - CHUNK_BYTES)

    def on_body(self, body: bytes) -> None:
        self._beside_body -= len(body)
        if not self.cycle.body:
            self.cycle.body = b""  # type: ignore[assignment]  # joined to uvicorn's bytearray it would be copied twice
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._beside_body = 0
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._active = cycle
        super()._start_asgi_task(cycle, app)

    # Refusals and time

    @property
    def is_spare(self) -> bool:
        """True if no request came yet, or the last one is answered and showed no valid key."""
        cycle = self._active
        if cycle is None or self._refused:
            return True
        return cycle.response_started and "credential" not in cycle.scope["state"]

    def look(self) -> None:
        """End the connection if its request takes too long to arrive. To be called once a second."""
        if self._refused or (self._active is not None and not self._active.response_complete):
            return
        self._seconds += 1
        if self._in_head and self._seconds > HEAD_SECONDS:
            self._refuse(ApiError("request_timeout", f"The headers took over {HEAD_SECONDS} seconds."))
        elif self._seconds > KEEP_ALIVE_SECONDS:
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser, or one of its callbacks, refused."""
        # `invalid_query` is the only code for a malformed request that is not about its body or one of its fields.
        self._refuse(self._fault or ApiError("invalid_query", f"{msg} Send a well-formed HTTP/1.1 request."))

    def _stop(self, fault: ApiError) -> NoReturn:
        """End the parser, and with it the request. Raises `ValueError`, which the parser turns into its own error."""
        self._fault = fault
        raise ValueError(fault.message)

    def _refuse(self, error: ApiError) -> None:
        """Answer straight to the socket, since there is no request that the application could answer, and close the
        connection after what is still being sent: closing at once could lose the answer (docs/decisions/0010)."""
        self._refused = True
        self.pipeline.clear()
        self.loop.call_later(DISCARD_SECONDS, self.transport.abort)  # `close` waits for a peer that may never read
        cycle = self._active
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True  # nothing of the application is sent any more
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
        request_id = f"req_{secrets.token_hex(12)}"
        self.transport.write(_raw(error, request_id))
        self.transport.write_eof()
        status = error.row.status
        _tally.note(str(status), "request", status=status, reason=error.message, request=request_id, peer=self.peer)
        self.flow.resume_reading()

    def _discard(self, data: bytes) -> None:
        self._discard_left -= len(data)
        if self._discard_left < 0:
            self.transport.abort()


def _raw(error: ApiError, request_id: str) -> bytes:
    answer = refusal(error)
    status = HTTPStatus(answer.status_code)
    headers = [*answer.raw_headers, (b"x-request-id", request_id.encode()), (b"connection", b"close")]
    lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode(), *(name + b": " + value for name, value in headers)]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])
