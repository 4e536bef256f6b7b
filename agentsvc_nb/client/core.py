"""What every operation stands on: one request, its address and key, its retries, its errors."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from agentsvc_nb.client import retry
from agentsvc_nb.client.errors import (
    MAY_HAVE_STARTED,
    APIConnectionError,
    AuthenticationError,
    StefanBrainError,
    from_response,
    refused,
)
from agentsvc_nb.client.io import IO, Answer, Request
from agentsvc_nb.client.parts import Part
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.envelope import Model
from agentsvc_nb.wire.limits import MAX_RETRIES
from agentsvc_nb.wire.routes import ROUTES, Resend, Route

log = logging.getLogger("agentsvc")
log.addHandler(logging.NullHandler())

M = TypeVar("M", bound=Model)
T = TypeVar("T")
Revive = Callable[[], tuple[str, str]]
"""Starts or finds the embedded service again: its (base URL, key)."""

BASE_URL: Final = "http://127.0.0.1:8787"
KEY_VARIABLE: Final = "SERVICE_API_KEY"
TIMEOUT_SECONDS: Final = 60.0
ACCEPTED: Final = 202


@dataclass(frozen=True, slots=True)
class Call:
    """One request of an operation: a row of `wire.routes`, and what goes into it. Nones in `query` and `body` are
    left out; an empty `key` counts as none."""

    name: str
    at: dict[str, str] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    files: tuple[Part, ...] | None = None
    key: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    timeout: float | None = None
    stream: bool = False
    resend: Resend | None = None

    def __post_init__(self) -> None:
        if self.key and not ids.is_idempotency_key(self.key):
            raise refused("invalid_idempotency_key")

    @property
    def route(self) -> Route:
        return ROUTES[self.name]

    @property
    def starts_work(self) -> bool:
        """Sending it twice may do its work twice."""
        return not retry.may_resend(self.resend or self.route.resend, bool(self.key))

    @property
    def resendable(self) -> bool:
        return not self.starts_work and all(part.rewindable for part in self.files or ())


class Core:
    """The client without a face. See `surface.AgentService` for the arguments.

    Raises `AuthenticationError` when there is no usable key, `StefanBrainError` for an address that is not http(s).
    """

    def __init__(
        self,
        api_key: str | None,
        base_url: str,
        io: IO,
        max_retries: int = MAX_RETRIES,
        timeout: float = TIMEOUT_SECONDS,
        revive: Revive | None = None,
    ) -> None:
        self.io, self.max_retries, self.timeout = io, max_retries, timeout
        self.dice: Callable[[], float] = random.random
        self._revive = revive
        self._adopt(base_url, api_key or os.environ.get(KEY_VARIABLE, ""))

    def __repr__(self) -> str:
        return f"Core({self.base_url!r})"

    def _adopt(self, base_url: str, api_key: str) -> None:
        self.base_url, self._key = _address(base_url), _key(api_key)

    async def ask(self, model: type[M], call: Call) -> M:
        """Send, and read the answer as `model`. Raises `StefanBrainError` and its kin."""
        return self.read(model, call, await self.send(call))

    async def send(self, call: Call) -> Answer:
        """Send, and give the answer as it came. Raises as `ask`."""
        return await self.repeat(call, lambda: self.once(call))

    def read(self, model: type[M], call: Call, answer: Answer) -> M:
        try:
            return model.read(answer.body)
        except (ValueError, TypeError):
            url = self.base_url + call.route.path
            raise StefanBrainError(
                f"{url} answered something other than a JSON object; check the base URL.", status=answer.status
            ) from None

    async def repeat(self, call: Call, once: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Do `once`, and again after a transient failure as far as the call allows (`retry`)."""
        attempt, day = 0, self.io.today()
        while True:
            attempt += 1
            try:
                return await once()
            except StefanBrainError as error:
                error.attempts = attempt
                # A key means nothing to the service once its UTC day is over: another send would start anew.
                again = call.resendable and not (call.key and self.io.today() != day)
                wait = retry.pause(error, attempt, self.max_retries, self.dice) if again else None
                if wait is None:
                    raise
                log.info("%s: %s; again in %.1f s", call.name, error.code or error.status or "no answer", wait)
            await self.io.sleep(wait)

    async def once(self, call: Call) -> Answer:
        """One attempt. With `revive`, a service that is gone is started again, and the call repeated if it may be."""
        try:
            return await self._transmit(call)
        except APIConnectionError as error:
            # What never left may go out again, whatever it is.
            if self._revive is None or error.timed_out or (error.sent and not call.resendable):
                raise
            self._adopt(*await self.io.call(self._revive))
        return await self._transmit(call)

    async def _transmit(self, call: Call) -> Answer:
        path = call.route.url(**call.at)
        try:
            answer = await self._send(call, path)
            log.debug("%s %s: %d", call.route.method, path, answer.status)
            if 200 <= answer.status < 300:
                return answer
            raise from_response(answer.status, answer.headers, answer.body, may_have_started=call.starts_work)
        except StefanBrainError as error:
            error.method, error.path, error.attempts = call.route.method, path, 1
            if isinstance(error, APIConnectionError) and error.sent and call.starts_work:
                error.hint = MAY_HAVE_STARTED
            raise

    async def _send(self, call: Call, path: str) -> Answer:
        with ExitStack() as opened:
            files = None if call.files is None else [(part.name, part.open(opened)) for part in call.files]
            return await self.io.send(
                Request(
                    call.route.method,
                    self.base_url + path,
                    call.timeout or self.timeout,
                    self._key,
                    headers={**call.headers, "idempotency-key": call.key} if call.key else call.headers,
                    query={name: str(value) for name, value in call.query.items() if value is not None},
                    body=call.body and {name: value for name, value in call.body.items() if value is not None},
                    files=files,
                    stream=call.stream,
                )
            )


def _key(api_key: str) -> str:
    if not api_key:
        raise AuthenticationError(f"There is no API key: set {KEY_VARIABLE}, or give api_key.", code=None)
    if not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise AuthenticationError(f"The API key holds a character that no key has; check {KEY_VARIABLE} or api_key.")
    return api_key


def _address(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        sound = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or not base_url.isprintable() or " " in base_url:
        raise StefanBrainError("The base URL must be an address such as https://host or http://127.0.0.1:8787.")
    return base_url.rstrip("/")
