"""The outermost middleware: request ids, the request log, timeouts, access checks, and draining of refused uploads.

To drain an upload means to read and drop the rest of its body, so that the client sees the error response.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import Counter
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentsvc_nb import clock
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.http.access import CHECK_SECONDS, Credential, CredentialChecker, credential_of
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
_PATH_CHARS: Final = 300
_LAST_WORDS: Final = b": this key's access has ended\n\n"
"""The end of an event stream whose credential is no longer valid. It is a comment, which clients ignore."""


class RequestLifecycleMiddleware:
    """ASGI middleware that logs each request, limits its time, and checks its credential while it is open.

    `open` is the number of open requests. `last_seen` is the monotonic time at which a request last ended.
    """

    def __init__(
        self, app: ASGIApp, gateway_seconds: float, access: CredentialChecker, names: OwnNames, use_case: UseCaseContext
    ) -> None:
        self._app = app
        self._use_case = use_case
        self._names = names
        self._access = access
        self._gateway_seconds = gateway_seconds
        self._exchanges: set[_Exchange] = set()
        self._open_by_account: Counter[str] = Counter()
        self._checks: asyncio.Task[None] | None = None
        self.last_seen = clock.monotonic()

    @property
    def open(self) -> int:
        return len(self._exchanges)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._use_case)
        scope["state"]["open_requests"] = self._open_by_account
        self._exchanges.add(exchange)
        if self._checks is None or self._checks.done():
            self._checks = asyncio.create_task(self._check_open(), name="check of open requests")
        fault = _head_fault(scope, self._names)
        try:
            with self._use_case.tracing.request(scope["method"], exchange.headers) as span:
                try:
                    await exchange.run(self._app if fault is None else refusal(fault))
                finally:
                    _report(scope, exchange.status, clock.monotonic() - exchange.received_at, span)
        finally:
            if account := scope["state"].get("account"):
                self._open_by_account[account] -= 1
                if not self._open_by_account[account]:
                    del self._open_by_account[account]
            self._exchanges.discard(exchange)
            self.last_seen = clock.monotonic()

    async def wait_until_empty(self) -> None:
        """Wait until no request is open, but at most two seconds, the longest time for draining a refused upload."""
        if tasks := [exchange.task for exchange in self._exchanges]:
            await asyncio.wait(tasks, timeout=DISCARD_SECONDS)

    async def _check_open(self) -> None:
        """End open requests that time out, whose credential is no longer valid, or whose client reads nothing.

        Return when no request is open. One task checks all requests, because a task for each would make a read request
        5 % slower.
        """
        while self._exchanges:
            await asyncio.sleep(min(CHECK_SECONDS, self._gateway_seconds))
            refusals: dict[Credential, ApiError | None] = {}
            for exchange in list(self._exchanges):
                exchange.check_time(self._gateway_seconds)
                credential = credential_of(exchange.scope)
                if credential is None or exchange.is_over:
                    continue
                if credential not in refusals:
                    refusals[credential] = await self._access.refusal(credential)
                # The exchange may have ended while its credential was checked.
                if (error := refusals[credential]) and exchange in self._exchanges:
                    exchange.end(error)


def _head_fault(scope: Scope, names: OwnNames) -> ApiError | None:
    """Return the error for a request whose headers are too large or name a wrong host, or None for other requests."""
    size, hosts = len(scope["raw_path"]) + len(scope["query_string"]), []
    for name, value in scope["headers"]:
        size += len(name) + len(value) + HEADER_BYTES
        if name == b"host":
            hosts.append(value)
    if size > HEAD_BYTES:
        return ApiError("headers_too_large")
    if len(hosts) > 1 or (not hosts and scope["http_version"] == "1.1"):
        return ApiError(
            "invalid_query", "The request must have exactly one `Host` header, with the name to which you connect."
        )
    return None if names.has_host(hosts[0] if hosts else None) else ApiError("foreign_host")


def _route_of(scope: Scope) -> str:
    """Return the path template of the matching route, with its parameters as `{name}`, or "" without a route."""
    path: str = scope["route"].path if "route" in scope else ""
    return path


def _report(scope: Scope, status: int | None, seconds: float, span: Span) -> None:
    """Log a finished request and complete its span. `status` is None if the client disconnected before the response.

    Successful reads are not logged. Anybody can send requests without a key in a loop, so the service only counts their
    refusals and drops their spans.
    """
    method, state, route = scope["method"], scope["state"], _route_of(scope)
    if "caller" in state:
        span.rename(f"{method} {route}")
        span.set({"http.request.method": method, "http.route": route, "agentsvc.request_id": state["request_id"]})
        if status is not None:
            span.set({"http.response.status_code": status})
        if status is not None and status >= 500:
            span.end(str(status))
    else:
        span.drop()
    # An MCP request is a POST even if it only reads. The MCP endpoint marks such requests.
    if (method in ("GET", "HEAD", "OPTIONS") or state.get("read")) and status is not None and status < 400:
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
    else:
        log.log(logging.WARNING if status and status >= 500 else logging.INFO, "request", extra=fields(**known))


class _Exchange:
    """A request and its response, with timeouts.

    `status` is the HTTP status of the response, or None before the response begins.
    `received_at` is the time of the request in seconds, by the monotonic clock.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send, use_case: UseCaseContext) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.scope = scope
        self.status: int | None = None
        self.received_at = self._last_sign = clock.monotonic()
        self._receive = receive
        self._send = send
        self._metrics = use_case.metrics
        self._request_id = new_request_id()
        scope.setdefault("state", {})["request_id"] = self._request_id
        self._answer_headers: list[tuple[bytes, bytes]] = []
        self._replacement: asyncio.Task[None] | None = None
        """The task that sends the error in place of the application's response."""
        self._cut = self._whole = self._awaiting_body = False
        self._send_began: float | None = None
        self._arrears = 0.0  # seconds by which the body is later than the slowest allowed pace
        self.headers = headers = dict(scope["headers"])
        self._unread = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        # With `Expect: 100-continue` the client waits before it sends the body, so a refused body need not be drained.
        self._sending = headers.get(b"expect", b"").lower() != b"100-continue"

    async def run(self, app: ASGIApp) -> None:
        """Let the application respond to the request."""
        try:
            await app(self.scope, self.receive, self.send)
        except asyncio.CancelledError:
            if self._cut and not self.task.uncancel():
                # A response with a Content-Length can end early only if its connection closes.
                headers = Headers(raw=self._answer_headers)
                if "content-length" not in headers:
                    streams = headers.get("content-type", "").startswith("text/event-stream")
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(CHECK_SECONDS):  # sending would block if the client reads nothing
                            await self._send({"type": "http.response.body", "body": _LAST_WORDS if streams else b""})
            elif self.status is None:  # the service is stopping and no longer waits for this request
                answer = refusal(ApiError("brain_unavailable", "The service stopped during the request."))
                answer.headers["Connection"] = "close"
                await answer({"type": "http"}, self.receive, self.send)
            else:
                raise

    @property
    def is_over(self) -> bool:
        """True if the service ended the request before the application's response was complete."""
        return self._replacement is not None or self._cut

    def check_time(self, seconds: float) -> None:
        """End the request if it takes too long.

        If no response has begun `seconds` after the last part of the request arrived, send an error, or sooner if the
        body is too slow. The application continues, but its response is dropped.

        Cut off a response whose client reads nothing.
        """
        now = clock.monotonic()
        if self._send_began is not None and now - self._send_began > UNREAD_SECONDS:
            self._break_off("the client does not read it")
        elif self.status is None and self._last_sign + seconds - self._arrears <= now:
            if self._awaiting_body:
                self.end(
                    ApiError(
                        "request_timeout", f"The service received almost no part of the body for {seconds:g} seconds."
                    )
                )
            else:
                self.end(ApiError("gateway_timeout", f"The service sent no answer within {seconds:g} seconds."))

    def end(self, error: ApiError) -> None:
        """Respond with `error`, or cut off a response that has begun.

        Do not cancel the application before its response begins, because that could interrupt it between two writes.
        """
        if self.status is None:
            answer = refusal(error)
            answer.headers["Connection"] = "close"
            # Set this before the task runs, so that `send` drops the application's response from now on.
            self.status = answer.status_code
            self._replacement = asyncio.create_task(answer({"type": "http"}, self._receive, self._pass))
        elif not self._whole:
            self._break_off("its key or session has ended")

    def _break_off(self, why: str) -> None:
        if not self._cut:
            log.info("a response was cut off: %s", why, extra=fields(request=self._request_id))
            self._cut = True
            self.task.cancel()

    async def receive(self) -> Message:
        asked = clock.monotonic()
        self._awaiting_body = self._unread
        message = await self._receive()
        self._awaiting_body = False
        self._last_sign = clock.monotonic()
        if message.get("more_body", False):
            # Count only time beyond the slowest allowed pace. A fast part makes up for a slow one.
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
            self.status = message["status"]
            seconds = clock.monotonic() - self.received_at
            self._metrics.count_response(self.scope["method"], _route_of(self.scope), message["status"], seconds)
            self._answer_headers = message["headers"]
            self._answer_headers.append((b"x-request-id", self._request_id.encode()))
            if self._unread:
                MutableHeaders(scope=message)["Connection"] = "close"
        elif not message.get("more_body", False) and self._unread and self._sending:
            # A client that is still sending when the connection closes may never see the response. So drain its body,
            # within limits.
            await self._send({**message, "more_body": True})
            left = DISCARD_BYTES
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DISCARD_SECONDS):
                    while self._unread and left > 0:
                        left -= len((await self.receive()).get("body", b""))
            message = {"type": "http.response.body", "body": b""}
        self._send_began = clock.monotonic()
        await self._send(message)
        self._send_began = None
        self._whole = message["type"] == "http.response.body" and not message.get("more_body", False)
