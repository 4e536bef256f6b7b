"""Outermost middleware: request ids, the request log, the set of open requests with their time-outs and access checks,
and draining of refused uploads."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections import Counter
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.access import CHECK_SECONDS, Access, Credential, credential_of
from agentsvc_nb.service.http.names import OwnNames
from agentsvc_nb.service.http.responses import refusal
from agentsvc_nb.service.logs import Tally, fields, new_request_id
from agentsvc_nb.service.telemetry.tracing import Span
from agentsvc_nb.service.use_cases import UseCaseContext
from agentsvc_nb.wire.limits import (
    BODY_BYTES_PER_SECOND,
    DISCARD_BYTES,
    DISCARD_SECONDS,
    HEAD_BYTES,
    HEADER_BYTES,
    UNREAD_SECONDS,
)

log = logging.getLogger(__name__)
_tally: Final = Tally(log)

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PATH_CHARS: Final = 300


def tell(scope: Scope, status: int | None, seconds: float) -> None:
    """Log a request and its `status`, None when the client went away first. Successful reads are not logged, and
    refusals of requests without a key are counted: anybody can send those in a loop."""
    method, state = scope["method"], scope["state"]
    # A request of MCP is a POST that may be a read, which its endpoint notes.
    if (method in _READS or state.get("read")) and status is not None and status < 400:
        return
    known = {
        "method": method,
        "path": scope["path"][:_PATH_CHARS],
        "status": status or "unanswered",
        "ms": round(seconds * 1000, 1),
        "request": state["request_id"],
        "key": state.get("caller", "none"),
    }
    if "caller" not in state and status is not None and 400 <= status < 500:
        _tally.note(str(status), "request", **known)
        return
    log.log(logging.WARNING if status and status >= 500 else logging.INFO, "request", extra=fields(**known))


def route_of(scope: Scope) -> str:
    """The path of the route that answers, with its parameters as `{name}`; empty before one was found, or without."""
    return getattr(scope.get("route"), "path", "")


def _describe(span: Span, scope: Scope, status: int | None) -> None:
    """Name the span of a request that is over. Those without a key are dropped: anybody can send them in a loop."""
    if "caller" not in scope["state"]:
        return span.drop()
    method, route = scope["method"], route_of(scope)
    found = {"http.request.method": method, "http.route": route, "agentsvc.request_id": scope["state"]["request_id"]}
    span.rename(f"{method} {route}")
    span.set(found if status is None else {**found, "http.response.status_code": status})
    if status is not None and status >= 500:
        span.end(str(status))


_LAST_WORDS: Final = b": this key's access has ended\n\n"
"""A comment at the end of an event stream, which clients ignore."""


def _head_fault(scope: Scope, names: OwnNames) -> ApiError | None:
    """Return what is wrong with the head of a request; None if nothing is."""
    size, host, hosts = len(scope["raw_path"]) + len(scope["query_string"]), None, 0
    for name, value in scope["headers"]:
        size += len(name) + len(value) + HEADER_BYTES
        if name == b"host":
            host, hosts = value, hosts + 1
    if size > HEAD_BYTES:
        return ApiError("headers_too_large")
    if hosts > 1 or (hosts == 0 and scope["http_version"] == "1.1"):
        return ApiError("invalid_query", "Send one `Host`, with the name that you connect to.")
    return None if names.has_host(host) else ApiError("foreign_host")


class RequestLifecycleMiddleware:
    """ASGI middleware. `open` is the number of open requests, `last_seen` the time (monotonic) when one last ended."""

    def __init__(
        self, app: ASGIApp, gateway_seconds: float, access: Access, names: OwnNames, use_case: UseCaseContext
    ) -> None:
        self._app = app
        self._use_case = use_case
        self._names = names
        self._access = access
        self._gateway_seconds = gateway_seconds
        self._exchanges: set[_Exchange] = set()
        self._open_by_account: Counter[str] = Counter()
        self._check_timer: asyncio.TimerHandle | None = None
        self._checking: asyncio.Task[None] | None = None
        self._empty = asyncio.Event()
        self._empty.set()
        self.last_seen = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._use_case)
        scope["state"]["open_requests"] = self._open_by_account
        self._exchanges.add(exchange)
        self._empty.clear()
        if self._check_timer is None:
            self._check_after(min(CHECK_SECONDS, self._gateway_seconds))
        try:
            fault = _head_fault(scope, self._names)
            await exchange.go(self._app if fault is None else refusal(fault))
        finally:
            if account := scope["state"].get("account"):
                self._open_by_account[account] -= 1
                if not self._open_by_account[account]:
                    del self._open_by_account[account]
            self._exchanges.discard(exchange)
            if not self._exchanges:
                self._empty.set()
            self.last_seen = time.monotonic()

    @property
    def open(self) -> int:
        return len(self._exchanges)

    async def emptied(self) -> None:
        """Wait until no request is open, at most `DISCARD_SECONDS`, the time for draining a refused upload."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                await self._empty.wait()

    def _check_after(self, seconds: float) -> None:
        self._check_timer = asyncio.get_running_loop().call_later(seconds, self._start_check)

    def _start_check(self) -> None:
        self._checking = asyncio.create_task(self._check(), name="check of open requests")

    async def _check(self) -> None:
        """Answer requests that were silent for too long, end those that have lost access, and set the timer again while
        any is open. One timer serves all requests; one each would cost a read a twentieth of its time."""
        soonest = CHECK_SECONDS
        try:
            soonest = await self._check_exchanges()
        finally:
            self._check_timer = None
            if self._exchanges:
                self._check_after(soonest)

    async def _check_exchanges(self) -> float:
        """Check all open requests; the seconds until the next check."""
        soonest = CHECK_SECONDS
        refusals: dict[Credential, ApiError | None] = {}
        for exchange in list(self._exchanges):
            left = exchange.seconds_left(self._gateway_seconds)
            if left <= 0:
                exchange.give_up(self._gateway_seconds)
            elif exchange.is_unread:
                exchange.break_off("the client does not read it")
            soonest = min(soonest, max(left, 0.0))
            if credential := exchange.credential:
                if credential not in refusals:
                    refusals[credential] = await self._access.refusal(credential)
                # The exchange may have ended while its credential was looked up.
                if (error := refusals[credential]) and exchange in self._exchanges:
                    exchange.end(error)
        return soonest


class _Exchange:
    """One request and its response, with the time-out and the draining of its body."""

    __slots__ = (
        "_answered_with",
        "_arrears",
        "_awaiting_body",
        "_cut",
        "_last_sign",
        "_metrics",
        "_receive",
        "_received",
        "_replacement",
        "_request_id",
        "_scope",
        "_send",
        "_send_began",
        "_sending",
        "_status",
        "_task",
        "_tracing",
        "_unread",
        "_whole",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send, use_case: UseCaseContext) -> None:
        self._metrics, self._tracing = use_case.metrics, use_case.tracing
        self._received = self._last_sign = time.monotonic()
        self._arrears = 0.0  # seconds that the body is behind the slowest pace
        self._replacement: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._scope = scope
        self._status: int | None = None
        self._answered_with: list[tuple[bytes, bytes]] = []
        self._cut = self._whole = self._awaiting_body = False
        headers = dict(scope["headers"])
        self._receive = receive
        self._send = send
        self._send_began: float | None = None
        self._request_id = new_request_id()
        scope.setdefault("state", {})["request_id"] = self._request_id
        self._unread = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        # With `Expect: 100-continue` the client waits before it sends its body; a refused body need not be drained.
        self._sending = headers.get(b"expect", b"").lower() != b"100-continue"

    async def go(self, app: ASGIApp) -> None:
        """Have the application answer the request, and log it."""
        self._task = asyncio.current_task()
        if not self._tracing.on:
            return await self._answered(app)
        with self._tracing.request(self._scope["method"], dict(self._scope["headers"])) as span:
            try:
                await self._answered(app)
            finally:
                _describe(span, self._scope, self._status)

    async def _answered(self, app: ASGIApp) -> None:
        try:
            await app(self._scope, self.receive, self.send)
        except asyncio.CancelledError:
            if self._cut and self._task is not None and not self._task.uncancel():
                await self._close()
            elif self._status is None:
                await self._interrupted()
            else:
                raise
        finally:
            tell(self._scope, self._status, time.monotonic() - self._received)

    async def _interrupted(self) -> None:
        """Answer `brain_unavailable`: the service stops and no longer waits for this request."""
        answer = refusal(ApiError("brain_unavailable", "The service was stopped during the request."))
        answer.headers["Connection"] = "close"
        await answer({"type": "http"}, self.receive, self.send)

    def seconds_left(self, seconds: float) -> float:
        """Seconds left before the request has been silent for `seconds`; infinite once the answer has begun."""
        if self._status is not None or self._replacement is not None:
            return math.inf
        return self._last_sign + seconds - self._arrears - time.monotonic()

    def give_up(self, seconds: float) -> None:
        """Answer after `seconds` of silence. The application goes on; its answer is dropped."""
        if self._awaiting_body:
            self._answer(ApiError("request_timeout", f"The body stood still for {seconds:g} seconds, or nearly so."))
        else:
            self._answer(ApiError("gateway_timeout", f"No answer within {seconds:g} seconds."))

    @property
    def credential(self) -> Credential | None:
        """The request's credential; None before authentication, and once the request has been ended."""
        return None if self._replacement or self._cut else credential_of(self._scope)

    def end(self, error: ApiError) -> None:
        """End a request that has lost access: answer with `error`, or cut off an answer that has begun.

        Before its answer the application is not cancelled, because that could interrupt it between two writes.
        """
        if self._status is None:
            self._answer(error)
        elif not self._whole:
            self.break_off("its key or session has ended")

    @property
    def is_unread(self) -> bool:
        """True if the client has not read a piece of the answer for too long."""
        return self._send_began is not None and time.monotonic() - self._send_began > UNREAD_SECONDS

    def break_off(self, why: str) -> None:
        """Cut off an answer that has begun."""
        if self._task is not None and not self._cut:
            log.info("an answer broke off: %s", why, extra=fields(request=self._request_id))
            self._cut = True
            self._task.cancel()

    def _answer(self, error: ApiError) -> None:
        answer = refusal(error)
        answer.headers["Connection"] = "close"
        self._status = answer.status_code  # set before the task runs; `send` drops the application's answer from now on
        self._replacement = asyncio.create_task(answer({"type": "http"}, self._receive, self._pass))

    async def _close(self) -> None:
        """End an answer that has begun. One with a Content-Length can only break off, with its connection."""
        headers = dict(self._answered_with)
        if b"content-length" in headers:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CHECK_SECONDS):  # a client that does not read would block this
                streams = headers.get(b"content-type", b"").startswith(b"text/event-stream")
                await self._send({"type": "http.response.body", "body": _LAST_WORDS if streams else b""})

    async def receive(self) -> Message:
        asked = time.monotonic()
        self._awaiting_body = self._unread
        message = await self._receive()
        self._awaiting_body = False
        self._last_sign = time.monotonic()
        if message.get("more_body", False):
            # Only what is slower than the least pace counts, and a fast part makes up for it.
            late = self._arrears + self._last_sign - asked - len(message["body"]) / BODY_BYTES_PER_SECOND
            self._arrears = max(0.0, late)
        else:
            self._unread, self._arrears = False, 0.0
        return message

    async def send(self, message: Message) -> None:
        if self._replacement is None:
            await self._pass(message)

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status, self._answered_with = message["status"], message["headers"]
            seconds = time.monotonic() - self._received
            self._metrics.answered(self._scope["method"], route_of(self._scope), self._status, seconds)
            message["headers"].append((b"x-request-id", self._request_id.encode()))
            if self._unread:
                MutableHeaders(scope=message)["Connection"] = "close"
        elif not message.get("more_body", False) and self._unread and self._sending:
            await self._send({**message, "more_body": True})
            await self._discard()
            message = {"type": "http.response.body", "body": b""}
        self._send_began = time.monotonic()
        await self._send(message)
        self._send_began = None
        self._whole = message["type"] == "http.response.body" and not message.get("more_body", False)

    async def _discard(self) -> None:
        """Read and drop the rest of a refused body, within limits: a client that is still sending when the connection
        closes may never see the answer."""
        left = DISCARD_BYTES
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while self._unread and left > 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return
