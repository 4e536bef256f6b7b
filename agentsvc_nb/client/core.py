"""The request core of both clients: add address and API key, retry within the call's deadline, and raise errors."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from agentsvc_nb.client import options
from agentsvc_nb.client.errors import (
    MAY_HAVE_STARTED,
    APIConnectionError,
    AuthenticationError,
    JobTimeoutError,
    StefanBrainError,
    deadline_error,
    error_for_code,
    from_response,
    with_request,
)
from agentsvc_nb.client.history import History, record_attempt
from agentsvc_nb.client.log import log
from agentsvc_nb.client.models import read
from agentsvc_nb.client.options import ClientOptions, ClientSettings, RetryNotice, WaitNotice, WaitOptions
from agentsvc_nb.client.origin import Origin
from agentsvc_nb.client.references import identifier, in_path
from agentsvc_nb.client.transport.io import IO, HttpRequest, OnBytes, Response, Stopper, call_hook
from agentsvc_nb.client.uploads import Part
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.models import Model
from agentsvc_nb.wire.routes import ROUTES, Resend, Route


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request to a route of `wire.routes`, which `Core` turns into an `HttpRequest`.

    - `name` is the name of the route, and `at` contains the parameters of its path.
    - `query` and `body` may contain None, which `Core` omits, and records, which `Core` replaces with their ids.
    - `link` is a full URL of the service. It replaces the path and `query`.
    - `key` is the idempotency key; "" or None means no key.
    - `timeout` (seconds) overrides the client's timeout, and `resend` overrides the route's rule for retries.
    - `Core.repeat` sets `attempt` (from 1) and `waited`, the seconds that it waited before this attempt.

    Raises `StefanBrainError` (`invalid_idempotency_key`) for a malformed `key`.
    """

    name: str
    at: dict[str, Any] = field(default_factory=dict)
    query: dict[str, Any] = field(default_factory=dict)
    body: dict[str, Any] | None = None
    files: tuple[Part, ...] | None = None
    link: str | None = None
    key: str | None = None
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    timeout: float | None = None
    stream: bool = False
    resend: Resend | None = None
    on_sent: OnBytes | None = None
    stopper: Stopper | None = None
    attempt: int = 1
    waited: float = 0.0

    def __post_init__(self) -> None:
        if self.key and not ids.is_idempotency_key(self.key):
            raise error_for_code("invalid_idempotency_key")

    @property
    def route(self) -> Route:
        return ROUTES[self.name]

    @property
    def path(self) -> str:
        """Return the path of the request's URL. Raises `StefanBrainError` for an invalid id."""
        if self.link:
            return urlsplit(self.link).path
        try:
            return self.route.url(**{name: in_path(name, given) for name, given in self.at.items()})
        except UnicodeEncodeError as error:
            raise StefanBrainError(f"An id cannot be sent: {_unencodable(error)}.") from None

    @property
    def starts_work(self) -> bool:
        """Return True if sending the request twice may make the service do the work twice."""
        return not options.may_resend(self.resend or self.route.resend, bool(self.key))

    @property
    def resendable(self) -> bool:
        return not self.starts_work and self.rewindable

    @property
    def rewindable(self) -> bool:
        """Return True if the body can be sent twice. This is False for a pipe, which cannot be read again."""
        return all(part.rewindable for part in self.files or ())


M = TypeVar("M", bound=Model)
T = TypeVar("T")
E = TypeVar("E", bound=StefanBrainError)
Attempt = Callable[[ApiRequest], Coroutine[Any, Any, T]]

ACCEPTED: Final = 202


class Core:
    """Send requests with retries, within the deadline of a call. Both clients use this class.

    `deadline` is a time of the clock `io.now`, in seconds. Without the option `deadline`, it is infinite. Tests replace
    `rng`, the random numbers for the waits before retries.
    """

    def __init__(self, origin: Origin, io: IO, settings: ClientSettings | None = None) -> None:
        self.origin = origin
        self.io = io
        self.settings = settings or ClientSettings()
        self.history = History()
        self.deadline = math.inf
        self.rng: Callable[[], float] = random.random
        self.client_calls: dict[str, Any] = {}
        """A `client_tools.ClientCalls` for each run that this client started with client tools, by run id."""

    def __repr__(self) -> str:
        return f"Core({self.origin.base_url!r})"

    # -- options -------------------------------------------------------------------------------------------------

    def with_options(self, options: WaitOptions | ClientOptions) -> Core:
        """Return a core with these options. It shares connections, origin and history with this core."""
        other = copy.copy(self)
        other.settings = self.settings.with_changes(options)
        return other

    def scoped(self, options: WaitOptions) -> Core:
        """Return a core for one call of an operation. The call's deadline starts now.

        An operation that consists of other operations calls `scoped` once. It passes the returned core to the other
        operations without options, so that all of them share its deadline.
        """
        core = self.with_options(options) if options else self
        # Within a scoped operation, keep the operation's deadline. Only a new option `deadline` starts a new deadline.
        if core.settings.deadline is None or (self.deadline < math.inf and "deadline" not in options):
            return core
        return core.within(core.settings.deadline)

    def within(self, seconds: float | None) -> Core:
        """Return a core whose deadline is `seconds` from now, or this core's deadline if that is earlier."""
        other = copy.copy(self)
        other.deadline = min(self.deadline, self.io.now() + (math.inf if seconds is None else seconds))
        return other

    @property
    def left(self) -> float:
        """Return the seconds until the deadline. After the deadline, the value is zero or negative."""
        return self.deadline - self.io.now()

    async def sleep(self, seconds: float) -> None:
        """Sleep for `seconds`, but at most until the deadline."""
        await self.io.sleep(max(0.0, min(seconds, self.left)))

    async def notify(self, notice: RetryNotice | WaitNotice) -> None:
        """Call the hook for this kind of notice, if any. If the hook is a coroutine function, await it."""
        hooks = self.settings
        hook: Callable[[Any], Any] | None = hooks.on_retry
        if isinstance(notice, WaitNotice):
            hook = hooks.on_wait
        await call_hook(hook, notice)

    # -- requests ------------------------------------------------------------------------------------------------

    async def ask(self, model: type[M], request: ApiRequest) -> M:
        """Send the request and return the response as `model`. Raises `StefanBrainError`."""
        return self.read(model, await self.send(request))

    async def send(self, request: ApiRequest) -> Response:
        """Send the request, with retries, and return the raw response. Raises `StefanBrainError`."""
        return await self.repeat(request, self.attempt)

    def read(self, model: type[M], response: Response) -> M:
        """Return a response's body as `model`.

        Raises `StefanBrainError` if a field has the wrong type. Its message names the field.
        """
        try:
            made = read(model, response.body, self.origin.base_url + response.path, response.status)
        except StefanBrainError as error:
            raise add_request_facts(error, response) from None
        return keep_request_id(made, response)

    async def read_chunk(self, response: Response) -> bytes | None:
        """Return the next chunk of a streamed response, or None at its end. Raises `APIConnectionError`."""
        try:
            return await self.io.read(response)
        except StefanBrainError as error:
            raise add_request_facts(error, response) from None

    async def repeat(self, request: ApiRequest, attempt: Attempt[T]) -> T:
        """Call `attempt(request)` until it succeeds, and return its result.

        Stop if a retry is unsafe, or if no retry or no time is left, and raise the last error. The error's `late` is
        True if only the deadline prevented another retry.
        """
        day = self.io.today()
        while True:
            try:
                return await attempt(request)
            except StefanBrainError as error:
                failure, failure.attempts = error, request.attempt
                # An idempotency key is valid for one UTC day. A retry on the next day would start new work.
                again = request.resendable and not (request.key and self.io.today() != day)
                wait = (
                    options.retry_delay(error, request.attempt, self.settings.max_retries, self.rng) if again else None
                )
                if wait is None:
                    raise
                if wait >= self.left:
                    error.late = True
                    raise
            why = failure.code or failure.status or "no response"
            log.info("%s failed (%s); the client tries again in %.1f s", request.name, why, wait)
            await self.notify(RetryNotice(request.name, request.attempt, wait, failure))
            await self.io.sleep(wait)
            request = replace(request, attempt=request.attempt + 1, waited=wait)

    async def attempt(self, request: ApiRequest) -> Response:
        """Send the request. If the embedded service stopped or has a new key, reconnect and send the request again.

        If sending the request again is not safe, raise the error of the first attempt instead.
        """
        try:
            return await self._send_once(request)
        except APIConnectionError as error:
            # If nothing was sent, sending again is always safe.
            ended = error.timed_out or error.closed
            if self.origin.reconnect is None or ended or (error.sent and not request.resendable):
                raise
        except AuthenticationError:
            # If the service refused the key, it has done nothing.
            if self.origin.reconnect is None or not request.rewindable:
                raise
        self.origin.update(*await self.io.run_blocking(self.origin.reconnect))
        return await self._send_once(request)

    async def _send_once(self, request: ApiRequest) -> Response:
        """Send a request, and record it in the history.

        Raises `StefanBrainError` for an error response, and `APIConnectionError` if no response comes.
        """
        method, path = request.route.method, request.route.path  # until the path with its ids is known
        with ExitStack() as opened:
            try:
                path = request.path
                http_request = self._http_request(request, path, opened)
            except StefanBrainError as error:
                raise with_request(error, method, path, request.attempt) from None
            began = self.io.now()
            outcome: Response | BaseException | None = None
            try:
                if self.left <= 0:
                    raise deadline_error(sent=False)
                outcome = response = await self.io.send(http_request)
                response.method, response.path, response.attempt = method, path, request.attempt
                if 200 <= response.status < 300:
                    return response
                body = self.origin.remove_key(response.body)
                raise from_response(response.status, response.headers, body, may_have_started=request.starts_work)
            except StefanBrainError as error:
                outcome = with_request(error, method, path, request.attempt)
                if isinstance(error, APIConnectionError) and error.sent and request.starts_work:
                    error.hint = MAY_HAVE_STARTED
                raise
            except BaseException as error:
                outcome = error
                raise
            finally:
                counts = {"attempt": request.attempt, "waited": request.waited}
                made = record_attempt(http_request, path, outcome, 1000 * (self.io.now() - began), **counts)
                status = made.status or made.code
                log.debug("%s %s: %s in %.0f ms (%s)", method, path, status, made.ms, made.request_id)
                self.history.add(made)

    def _http_request(self, request: ApiRequest, path: str, opened: ExitStack) -> HttpRequest:
        """Return the HTTP request. `opened` closes the files that this method opens for the request.

        Raises `StefanBrainError` for a value that cannot be sent.
        """
        headers = {**self.settings.headers, **request.headers}
        return HttpRequest(
            request.route.method,
            request.link or self.origin.base_url + path,
            min(self.settings.timeout if request.timeout is None else request.timeout, self.left),
            self.origin.key,
            headers={**headers, "idempotency-key": request.key} if request.key else headers,
            query={} if request.link else _query_texts(request.query),
            body=None if request.body is None else _json_body(request.body, self.settings.extra_body),
            files=None if request.files is None else [(part.name, part.open(opened)) for part in request.files],
            stream=request.stream,
            on_sent=request.on_sent,
            ends=self.deadline,
            stopper=request.stopper,
        )


def add_request_facts(error: E, response: Response) -> E:
    """Add method, path and request id of `response` to `error`. Also add the status, if the whole response arrived."""
    error.request_id = response.headers.get("x-request-id")
    if error.status is None and not isinstance(error, APIConnectionError | JobTimeoutError):
        error.status = response.status
    return with_request(error, response.method, response.path, response.attempt)


def keep_request_id(made: M, response: Response) -> M:
    """Store the request id with the record. The id is not a field, so comparisons of records ignore it."""
    made.__dict__["_request_id"] = response.headers.get("x-request-id")
    return made


# -- values of a request ----------------------------------------------------------------------------------------------

_REFERENCES: Final = ("chat", "chat_id", "project")


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not None, and replace records with their ids."""
    given = {name: value for name, value in values.items() if value is not None}
    return given | {name: identifier(name, given[name]) for name in _REFERENCES if name in given}


def _query_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the query parameters as text. Raises `StefanBrainError` for text that UTF-8 cannot encode."""
    texts = {name: str(value) for name, value in _without_none(values).items()}
    try:
        "".join(texts.values()).encode()
    except UnicodeEncodeError as error:
        raise StefanBrainError(f"A value cannot be sent: {_unencodable(error)}.") from None
    return texts


def _json_body(body: Mapping[str, Any], extra: Mapping[str, Any]) -> bytes:
    """Return a body and the fields of `extra` as JSON.

    Raises `StefanBrainError` (`invalid_json`) for values without a JSON form, such as dates, NaN and cycles.
    """
    try:
        whole = _with_extra(body, extra)
        return json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except UnicodeEncodeError as error:
        why = _unencodable(error)
    except (TypeError, ValueError) as error:
        why = str(error)
    except RecursionError:
        why = "it is nested too deeply"
    raise error_for_code("invalid_json", f"The request cannot be sent as JSON: {why}.")


def _with_extra(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body with the fields of `extra` added. If both have an object of the same name, merge the objects."""
    whole = _without_none(body)
    for name, value in extra.items():
        there = whole.get(name)
        whole[name] = {**there, **value} if isinstance(there, dict) and isinstance(value, Mapping) else value
    return whole


def _unencodable(error: UnicodeEncodeError) -> str:
    """Return the reason why the client cannot send a text that contains half of a surrogate pair."""
    return f"{error.object[error.start : error.end]!a} is half of a surrogate pair"
