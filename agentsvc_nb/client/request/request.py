"""One request: its address and key, its retries, its deadline, its errors."""

from __future__ import annotations

import copy
import logging
import math
import os
import random
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from agentsvc_nb.client.errors import (
    MAY_HAVE_STARTED,
    APIConnectionError,
    AuthenticationError,
    StefanBrainError,
    deadline_passed,
    from_response,
    refused,
)
from agentsvc_nb.client.models import read
from agentsvc_nb.client.request import retry
from agentsvc_nb.client.request.history import History, attempted
from agentsvc_nb.client.request.inputs import Part
from agentsvc_nb.client.request.options import ClientOptions, RetryNotice, Settings, WaitNotice, WaitOptions
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.io import CLOCK_SLACK, IO, OnBytes, Request, Response, tell
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.failures import Model
from agentsvc_nb.wire.routes import ROUTES, Resend, Route

Revive = Callable[[], tuple[str, str]]
"""Starts or finds the embedded service again, and replaces a key that it does not know: its (base URL, key)."""

BASE_URL: Final = "http://127.0.0.1:8787"
KEY_VARIABLE: Final = "SERVICE_API_KEY"


class Origin:
    """Shared by all that talk to one service; an embedded service that was started again has a new address.

    Raises `AuthenticationError` when there is no usable key, `StefanBrainError` for an address that is not http(s).
    """

    def __init__(self, api_key: str | None, base_url: str, revive: Revive | None = None) -> None:
        self.revive, self._secret = revive, Secret("")
        self.adopt(base_url, api_key or os.environ.get(KEY_VARIABLE, ""))

    def adopt(self, base_url: str, api_key: str) -> None:
        self.base_url, self._secret.key = _address(base_url), _key(api_key)

    @property
    def key(self) -> str:
        return self._secret.key

    @property
    def secret(self) -> Secret | None:
        """What a connection has to prove to know, with the embedded service; any other proves nothing."""
        return self._secret if self.revive else None

    @property
    def tls(self) -> bool:
        return self.base_url.startswith("https:")

    def scrubbed(self, content: bytes) -> bytes:
        """`content` without the key, should the service have sent it back."""
        return content.replace(self.key.encode(), b"[key]")


def _key(api_key: str) -> str:
    if not api_key:
        message = f"There is no API key: set {KEY_VARIABLE}, or give api_key; `agentsvc_nb.local()` needs none."
        raise AuthenticationError(message, code=None)
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


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A row of `wire.routes`, and what goes into it. Nones in `query` and `body` are left out; an empty `key` counts
    as none. `timeout` is what the call needs when the caller gave none; `attempt` and `waited` are `Core.repeat`'s."""

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
    on_sent: OnBytes | None = None
    attempt: int = 1
    waited: float = 0.0

    def __post_init__(self) -> None:
        if self.key and not ids.is_idempotency_key(self.key):
            raise refused("invalid_idempotency_key")

    @property
    def route(self) -> Route:
        return ROUTES[self.name]

    @property
    def path(self) -> str:
        return self.route.url(**self.at)

    @property
    def starts_work(self) -> bool:
        """Sending it twice may do its work twice."""
        return not retry.may_resend(self.resend or self.route.resend, bool(self.key))

    @property
    def resendable(self) -> bool:
        return not self.starts_work and self.rewindable

    @property
    def rewindable(self) -> bool:
        """Whether it can be sent twice; a pipe among its files cannot."""
        return all(part.rewindable for part in self.files or ())


log = logging.getLogger("agentsvc")
log.addHandler(logging.NullHandler())

M = TypeVar("M", bound=Model)
T = TypeVar("T")
E = TypeVar("E", bound=StefanBrainError)
Once = Callable[[ApiRequest], Coroutine[Any, Any, T]]

ACCEPTED: Final = 202


class Core:
    """The client without a face. `deadline` is a time of `io.now`, infinite unless the call was given one."""

    def __init__(self, origin: Origin, io: IO, settings: Settings | None = None) -> None:
        self.origin, self.io, self.settings = origin, io, settings or Settings()
        self.history = History()
        self.deadline = math.inf
        self.dice: Callable[[], float] = random.random

    def __repr__(self) -> str:
        return f"Core({self.origin.base_url!r})"

    # -- options -------------------------------------------------------------------------------------------------

    def configured(self, options: WaitOptions | ClientOptions) -> Core:
        """The same connections under other settings."""
        other = copy.copy(self)
        other.settings = self.settings.updated(options)
        return other

    def scoped(self, options: WaitOptions) -> Core:
        """The core for one call, whose deadline runs from now. An operation that uses others scopes once, and gives
        them the scoped core and no options."""
        core = self.configured(options) if options else self
        if core.settings.deadline is None or (self.deadline < math.inf and "deadline" not in options):
            return core
        return core.within(core.settings.deadline)

    def within(self, seconds: float | None) -> Core:
        """A core whose deadline is at most `seconds` from now."""
        other = copy.copy(self)
        other.deadline = min(self.deadline, self.io.now() + (math.inf if seconds is None else seconds))
        return other

    @property
    def left(self) -> float:
        """Seconds to the deadline; not positive once it has passed."""
        return self.deadline - self.io.now()

    async def rest(self, seconds: float) -> None:
        """Sleep, but not past the deadline."""
        await self.io.sleep(max(0.0, min(seconds, self.left)))

    async def tell(self, notice: RetryNotice | WaitNotice) -> None:
        """Call the hook, and await it if it asks for that."""
        hooks = self.settings
        hook: Callable[[Any], Any] | None = hooks.on_retry
        if isinstance(notice, WaitNotice):
            hook = hooks.on_wait
        await tell(hook, notice)

    # -- requests ------------------------------------------------------------------------------------------------

    async def ask(self, model: type[M], call: ApiRequest) -> M:
        """Send, and read the answer as `model`. Raises `StefanBrainError` and its kin."""
        return self.read(model, call, await self.send(call))

    async def send(self, call: ApiRequest) -> Response:
        """Send, and give the answer as it came. Raises as `ask`."""
        return await self.repeat(call, self.once)

    def read(self, model: type[M], call: ApiRequest, answer: Response) -> M:
        """An answer as `model`. Raises `StefanBrainError`, naming the field, for one of a wrong type."""
        try:
            return read(model, answer.body, self.origin.base_url + call.route.path, answer.status)
        except StefanBrainError as error:
            raise told_by(error, call, answer) from None

    async def repeat(self, call: ApiRequest, once: Once[T]) -> T:
        """Do `once`, and again after a transient failure as far as the call allows (`retry`)."""
        day = self.io.today()
        while True:
            try:
                return await once(call)
            except StefanBrainError as error:
                failure, failure.attempts = error, call.attempt
                # A key means nothing to the service once its UTC day is over: another send would start anew.
                again = call.resendable and not (call.key and self.io.today() != day)
                wait = retry.pause(error, call.attempt, self.settings.max_retries, self.dice) if again else None
                if wait is None:
                    raise
                if wait >= self.left:
                    error.late = True
                    raise
            log.info("%s: %s; again in %.1f s", call.name, failure.code or failure.status or "no answer", wait)
            await self.tell(RetryNotice(call.name, call.attempt, wait, failure))
            await self.io.sleep(wait)
            call = replace(call, attempt=call.attempt + 1, waited=wait)

    async def once(self, call: ApiRequest) -> Response:
        """One attempt. A service that can be revived and is gone is, a key of its own that it no longer knows is
        replaced, and the call is repeated if it may be."""
        try:
            return await self._transmit(call)
        except APIConnectionError as error:
            # What never left may go out again, whatever it is.
            if self.origin.revive is None or error.timed_out or (error.sent and not call.resendable):
                raise
        except AuthenticationError:
            # What is refused for its key has done nothing.
            if self.origin.revive is None or not call.rewindable:
                raise
        self.origin.adopt(*await self.io.call(self.origin.revive))
        return await self._transmit(call)

    async def _transmit(self, call: ApiRequest) -> Response:
        with ExitStack() as opened:
            files = None if call.files is None else [(part.name, part.open(opened)) for part in call.files]
            path, began = call.path, self.io.now()
            request = self._request(call, path, files)
            try:
                answer = await self._answered(call, path, request)
            except BaseException as error:
                self._note(call, path, request, error, began)
                raise
            self._note(call, path, request, answer, began)
            return answer

    def _note(
        self, call: ApiRequest, path: str, request: Request, outcome: Response | BaseException, began: float
    ) -> None:
        log.debug("%s %s: %s", request.method, path, getattr(outcome, "status", None) or type(outcome).__name__)
        ms = 1000 * (self.io.now() - began)
        self.history.add(attempted(request, path, outcome, ms, attempt=call.attempt, waited=call.waited))

    async def _answered(self, call: ApiRequest, path: str, request: Request) -> Response:
        try:
            if self.left <= 0:
                raise deadline_passed(sent=False)
            answer = await self.io.send(request)
            if 200 <= answer.status < 300:
                return answer
            body = self.origin.scrubbed(answer.body)
            raise from_response(answer.status, answer.headers, body, may_have_started=call.starts_work)
        except StefanBrainError as error:
            error.method, error.path, error.attempts = request.method, path, call.attempt
            if isinstance(error, APIConnectionError):
                self._explain(error, call)
            raise

    def _explain(self, error: APIConnectionError, call: ApiRequest) -> None:
        if error.timed_out and self.left < CLOCK_SLACK:
            error.message, error.late = deadline_passed().message, True
            error.args = (error.message,)
        if error.sent and call.starts_work:
            error.hint = MAY_HAVE_STARTED

    def _request(self, call: ApiRequest, path: str, files: list[tuple[str, Any]] | None) -> Request:
        headers = {**self.settings.headers, **call.headers}
        return Request(
            call.route.method,
            self.origin.base_url + path,
            min(self.settings.timeout if call.timeout is None else call.timeout, self.left),
            self.origin.key,
            headers={**headers, "idempotency-key": call.key} if call.key else headers,
            query={name: str(value) for name, value in call.query.items() if value is not None},
            body=call.body and {name: value for name, value in call.body.items() if value is not None},
            files=files,
            stream=call.stream,
            on_sent=call.on_sent,
            ends=self.deadline,
        )


def told_by(error: E, call: ApiRequest, answer: Response) -> E:
    """`error` with the names of the request in whose successful answer it was told."""
    error.method, error.path, error.attempts = call.route.method, call.path, call.attempt
    error.request_id = answer.headers.get("x-request-id")
    return error
