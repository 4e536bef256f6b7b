"""A connection: the size of a request's head, the time it may take, and how its answers are taken
(docs/api/conventions.md "Before a key is seen", docs/decisions/0036)."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NoReturn

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.responses import refusal
from agentsvc_nb.service.logs import Tally, new_request_id
from agentsvc_nb.service.server.admission import STILL_SECONDS, Activity, Connections
from agentsvc_nb.service.server.transports import READ_BYTES
from agentsvc_nb.wire.limits import (
    DISCARD_BYTES,
    DISCARD_SECONDS,
    HEAD_BYTES,
    HEAD_SECONDS,
    HEADER_BYTES,
    UNREAD_SECONDS,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from agentsvc_nb.service.server.transports import CoalescingTransport

KEEP_ALIVE_SECONDS: Final = 75
"""Longer than clients keep idle connections, so that the server never closes one that a client is about to use."""
CHUNK_BYTES: Final = 16
"""Bytes that a chunk may have beside its data; more of them count like a header."""
TINY_BYTES: Final = 32
"""If chunks are smaller on average, only `CHUNKED_READ_BYTES` are read at once: each takes a microsecond or two."""
CHUNKED_READ_BYTES: Final = 4_096
PIPELINED_MAX: Final = 32
"""Requests of one connection that wait for the one before."""
FRESH_SECONDS: Final = 0.02
"""How long a new connection has for its first request before it may be closed for another."""
PACE_SECONDS: Final = 16
"""The time over which a peer's pace is averaged: it takes data in steps, of 0.1 MB with usual buffers."""

_tally = Tally(logging.getLogger(__name__))


class _Pipeline(list[Any]):
    """uvicorn's queue of a connection's pipelined requests, which is nearly always empty: a deque takes 0.7 kB."""

    __slots__ = ()

    def appendleft(self, request: Any) -> None:
        self.insert(0, request)


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's protocol, with bounds on what comes before a request, and the error envelope for what is not a request.

    A request's scope has the list `on_disconnect`: what is called when the connection is lost.
    """

    server_state: Connections
    transport: CoalescingTransport
    __slots__ = (
        "_active",
        "_beside_body",
        "_chunks",
        "_discard_left",
        "_fault",
        "_fresh",
        "_halted",
        "_head_left",
        "_heard",
        "_in_head",
        "_pace",
        "_quiet",
        "_refused",
        "_seconds",
        "_stalled",
        "_taken",
        "on_disconnect",
        "peer",
        "waited",
    )
    """With these in the dictionary that uvicorn's attributes are in, it would be too large to be shared: 2 kB."""

    def _begin(self) -> None:
        self.on_disconnect: list[Callable[[], object]] = []
        self.peer = self.client[0] if self.client else ""
        self.waited = 0
        """Seconds for which something has waited for the peer."""
        self._stalled = 0
        """Seconds since it took some of it."""
        self._pace = 0.0
        """Bytes that it takes a second."""
        self._taken = self._chunks = self._quiet = self._beside_body = self._seconds = 0
        self._heard = self._halted = self._in_head = self._refused = False
        self._fresh = True
        self._head_left = HEAD_BYTES
        self._discard_left = DISCARD_BYTES
        self._fault: ApiError | None = None
        self._active: Any = None
        """The cycle of the request that is being answered; uvicorn's `cycle` is that of the last one parsed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.pipeline = _Pipeline()  # type: ignore[assignment]
        self._begin()
        if not self.server_state.admit(self):
            self._refuse(ApiError("brain_unavailable", "Too many connections are open: try again later."))
            self.transport.close()
        # A timer, and no time: it rings after what has arrived is read, however busy the loop is.
        self.loop.call_later(FRESH_SECONDS, self._age)

    def _age(self) -> None:
        self._fresh = False

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for end in list(self.on_disconnect):
            end()
        self.server_state.forget(self)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            self._discard(data)
            return
        self._heard = True
        self._beside_body += len(data)
        super().data_received(data)
        if self._chunks:
            self._beside_body = max(0, self._beside_body - CHUNK_BYTES * self._chunks)
            self.transport.read_at_once(CHUNKED_READ_BYTES if self._chunks * TINY_BYTES > len(data) else READ_BYTES)
            self._chunks = 0
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
        if self.url[:1] != b"/":
            self._check_absolute()
        self._in_head = False
        self.scope["on_disconnect"] = self.on_disconnect  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()

    def _check_absolute(self) -> None:
        """Refuse an address with a host unless `Host` is the same, as clients must send it (RFC 9112 section 3.2)."""
        scheme, _, rest = self.url.lower().partition(b"://")
        authority = re.split(rb"[/?#]", rest, maxsplit=1)[0]
        if scheme != b"http" or [authority] != [value.lower() for name, value in self.headers if name == b"host"]:
            self._stop(ApiError("invalid_query", "Send the path as the address, or with the same host as `Host`."))

    def on_chunk_header(self) -> None:
        self._chunks += 1

    def on_body(self, body: bytes) -> None:
        """Without uvicorn's own, which looks for upgrades, too: a body may come in millions of chunks."""
        self._beside_body -= len(body)
        cycle = self.cycle
        if cycle.response_complete:
            return
        if cycle.body:
            cycle.body = bytearray(cycle.body) if isinstance(cycle.body, bytes) else cycle.body
            cycle.body += body
        else:
            cycle.body = body  # type: ignore[assignment]  # joined to uvicorn's bytearray it would be copied twice
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        self._beside_body = self._chunks = 0  # the end of a chunked body came as a chunk of none
        self.transport.read_at_once(READ_BYTES)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if self.flow.write_paused and not self.transport.is_closing():
            self._halted = True  # nothing more is read, and no next answer made, until this one is taken
            self.flow.pause_reading()
        else:
            super().on_response_complete()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._halted:
            self._halted = False
            super().on_response_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._active = cycle
        super()._start_asgi_task(cycle, app)

    # Refusals and time

    @property
    def activity(self) -> Activity:
        cycle = self._active
        if self._refused:
            return Activity.NO_KEY
        if cycle is None:
            return Activity.FRESH if self._fresh else Activity.NO_KEY
        if "credential" not in cycle.scope["state"]:
            return Activity.NO_KEY if cycle.response_started else Activity.WORK
        if self.on_disconnect:
            return Activity.STREAM
        if cycle.response_complete:
            return Activity.WORK if self._in_head or self.transport.waiting else Activity.IDLE
        still = cycle.more_body and self._quiet >= STILL_SECONDS and not self.flow.read_paused
        return Activity.STILL if still else Activity.WORK

    @property
    def account(self) -> str:
        """The account of the request that is being answered; empty if it has shown no key."""
        return str(self._active.scope["state"].get("account", ""))

    def look(self) -> None:
        """End the connection if its request takes too long to arrive, or its answer to be taken. To be called once a
        second."""
        if self._refused:
            return
        self._quiet = 0 if self._heard else self._quiet + 1
        self._heard = False
        if self.transport.waiting:
            self._measure()
            if self._stalled > UNREAD_SECONDS:
                self.end_unread()
            return
        self.waited = self._stalled = 0
        self._pace = 0.0
        if self._active is not None and not self._active.response_complete:
            return
        self._seconds += 1
        if self._in_head and self._seconds > HEAD_SECONDS:
            self._refuse(ApiError("request_timeout", f"The headers took over {HEAD_SECONDS} seconds."))
        elif self._seconds > KEEP_ALIVE_SECONDS:
            self.transport.abort()

    def _measure(self) -> None:
        taken = self.transport.taken
        if self.waited:  # what came before may have filled the peer's buffers, and says nothing of its pace
            lately = taken - self._taken
            self._stalled = 0 if lately else self._stalled + 1
            self._pace += (lately - self._pace) / PACE_SECONDS
        self._taken = taken
        self.waited += 1

    @property
    def seconds_left(self) -> float:
        """How long the peer would take for what waits for it, at its pace."""
        return self.transport.waiting / (self._pace + 1)

    def end_unread(self) -> None:
        """End a connection whose peer does not take what it asked for."""
        _tally.note("unread", "a connection was ended with its answer unread", peer=self.peer, seconds=self.waited)
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
        request_id = new_request_id()
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
