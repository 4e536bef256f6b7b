"""What every request passes first: its id, the count of open requests, and the end of refused uploads.

After an early answer (a 401, a 413) the client may still be sending. Closing at once would reset the connection and
lose the answer, so the rest is read and discarded for up to 2 s or 64 MB (contract §1).

A request that is silent for 120 s, on both sides, is answered 504 as a gateway would (spec.md "Status codes"). What it
started goes on. One that the end of the service interrupts is answered 503. How it ended is logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http import request_log
from agentsvc_nb.service.http.answers import refusal
from agentsvc_nb.wire.limits import DISCARD_BYTES, DISCARD_SECONDS


class Edge:
    """ASGI middleware; knows how many requests are open and since when none is."""

    def __init__(self, app: ASGIApp, gateway_seconds: float) -> None:
        self._app = app
        self._gateway_seconds = gateway_seconds
        self.open = 0
        self._empty = asyncio.Event()
        self._empty.set()
        self.last_seen = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self.open += 1
        self._empty.clear()
        try:
            await _Exchange(scope, receive, send, self._gateway_seconds).go(self._app)
        finally:
            self.open -= 1
            if not self.open:
                self._empty.set()
            self.last_seen = time.monotonic()

    async def emptied(self) -> None:
        """Wait until no request is open, for as long as a refused upload may be read on."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DISCARD_SECONDS):
                await self._empty.wait()


class _Exchange:
    """One request and its answer."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, gateway_seconds: float) -> None:
        self._gateway_seconds = gateway_seconds
        self._last_sign = time.monotonic()
        self._given_up: asyncio.Task[None] | None = None
        self._scope = scope
        self._status: int | None = None
        headers = dict(scope["headers"])
        self._receive = receive
        self._send = send
        self._request_id = f"req_{secrets.token_hex(12)}"
        scope.setdefault("state", {})["request_id"] = self._request_id
        self._unread = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        # With `Expect: 100-continue` the client waits for leave to send; refused, it sends nothing.
        self._sending = headers.get(b"expect", b"").lower() != b"100-continue"

    async def go(self, app: ASGIApp) -> None:
        """Have the application answer it, or give up: by a timer, because a task a request would cost more."""
        received = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(self._gateway_seconds, self._look)
        try:
            await app(self._scope, self.receive, self.send)
        except asyncio.CancelledError:
            if self._status is not None:
                raise
            await self._interrupted()
        finally:
            self._timer.cancel()
            request_log.tell(self._scope, self._status, time.monotonic() - received)

    async def _interrupted(self) -> None:
        """The service ends and waits no longer for this request."""
        answer = refusal(Fail("brain_unavailable", "The service was stopped during the request."))
        answer.headers["Connection"] = "close"
        await answer({"type": "http"}, self.receive, self.send)

    def _look(self) -> None:
        left = self._last_sign + self._gateway_seconds - time.monotonic()
        if left > 0:
            self._timer = asyncio.get_running_loop().call_later(left, self._look)
        else:
            self._given_up = asyncio.create_task(self._give_up())

    async def _give_up(self) -> None:
        fail = Fail("gateway_timeout", f"No answer within {self._gateway_seconds:g} seconds.")
        answer = refusal(fail)
        self._status = answer.status_code
        answer.headers["X-Request-Id"] = self._request_id
        answer.headers["Connection"] = "close"
        await answer({"type": "http"}, self._receive, self._send)

    async def receive(self) -> Message:
        message = await self._receive()
        self._last_sign = time.monotonic()
        if not message.get("more_body", False):
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if self._given_up is not None:
            return
        self._timer.cancel()
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"].append((b"x-request-id", self._request_id.encode()))
            if self._unread:
                MutableHeaders(scope=message)["Connection"] = "close"
        elif not message.get("more_body", False) and self._unread and self._sending:
            await self._send({**message, "more_body": True})
            await self._discard()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _discard(self) -> None:
        left = DISCARD_BYTES
        try:
            async with asyncio.timeout(DISCARD_SECONDS):
                while self._unread and left > 0:
                    left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return
