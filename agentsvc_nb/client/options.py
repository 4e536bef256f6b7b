"""The options of a client and of a call (timeouts, retries, headers, hooks), and the rules for retries.

docs/api/errors.md describes which errors the client retries.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypedDict

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.wire.codes import CODES, STATUSES
from agentsvc_nb.wire.limits import MAX_RETRIES, RETRY_AFTER_MAX_SECONDS
from agentsvc_nb.wire.routes import Resend

FIRST_SECONDS: Final = 0.5
"""The maximum number of seconds that the client waits before the first retry."""
_DOUBLINGS: Final = 64
TIMEOUT_SECONDS: Final = 60.0
LONGEST_SECONDS: Final = 1e7
"""Longer times count as no limit, because the operating system's clocks do not accept them."""


def may_resend(resend: Resend, keyed: bool) -> bool:
    """Return True if a repeated request cannot make the service do the work twice.

    `resend` is the route's rule for retries. `keyed` is True if the request has an idempotency key.
    """
    return resend == "always" or (resend == "keyed" and keyed)


def is_transient(error: StefanBrainError) -> bool:
    """Return True if the same request may succeed later. The error's status and, if known, its code decide this."""
    if isinstance(error, APIConnectionError):
        return not error.closed
    by_status, by_code = STATUSES.get(error.status or 0), CODES.get(error.code or "")
    if by_status is None or by_status.retry != "transient":
        return False
    return by_code is None or by_code.retry == "transient"


def retry_delay(
    error: StefanBrainError,
    attempt: int,
    limit: int,
    rng: Callable[[], float],
    first: float = FIRST_SECONDS,
    longest: float = RETRY_AFTER_MAX_SECONDS,
) -> float | None:
    """Return the seconds to wait before the next attempt, or None if the client must not retry.

    If the response has the header `Retry-After`, the wait is the time in the header. If this is longer than 60 s, the
    client does not retry. Without the header, the wait is random (exponential backoff with full jitter), so that
    clients that failed at the same time do not retry at the same time.

    Args:
        error: the error of the last attempt.
        attempt: the number of the last attempt, from 1.
        limit: the maximum number of retries.
        rng: a function that returns a random number in [0, 1).
        first: the maximum wait before the first retry in seconds. It doubles with each retry.
        longest: the maximum of this maximum.
    """
    if attempt > limit or not is_transient(error):
        return None
    asked = error.retry_after_seconds
    if asked is not None:
        return asked if asked <= RETRY_AFTER_MAX_SECONDS else None
    return rng() * min(longest, first * 2.0 ** min(attempt - 1, _DOUBLINGS))


# -- checks of arguments ----------------------------------------------------------------------------------------------
#
# Each function returns the checked value, and raises `StefanBrainError` for an invalid value.


def check_seconds(name: str, given: Any) -> float:
    """Return `given` as a number of seconds, or infinity if it is more than 115 days.

    Raises `StefanBrainError` if `given` is not a number.
    """
    try:
        found = math.nan if isinstance(given, str | bytes | bool) else float(given)
    except (TypeError, ValueError):
        found = math.nan
    except OverflowError:
        found = math.inf
    if math.isnan(found):
        raise StefanBrainError(f"`{name}` must be a number of seconds, not {given!r:.80}.")
    return found if found <= LONGEST_SECONDS else math.inf


def check_timeout(given: Any) -> float:
    """Return the seconds of the argument `timeout` of a call that waits. None becomes infinity."""
    return math.inf if given is None else check_seconds("timeout", given)


def check_poll(given: Any) -> float | None:
    """Return the seconds in the argument `poll` of a call that waits, or None, so that the service chooses them."""
    return None if given is None else check_positive_seconds("poll", given)


def check_positive_seconds(name: str, given: Any) -> float:
    """Return `given` as a number of seconds, at most 115 days. Raises `StefanBrainError` if it is not over 0."""
    found = check_seconds(name, given)
    if found <= 0:
        raise StefanBrainError(f"`{name}` must be a number of seconds over 0, not {given!r:.80}.")
    return min(found, LONGEST_SECONDS)


def check_integer(name: str, given: Any, least: int) -> int:
    """Return `given` if it is a whole number of at least `least`. Raises `StefanBrainError` otherwise."""
    try:
        found = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        found = least - 1
    if found < least:
        raise StefanBrainError(f"`{name}` must be a whole number of at least {least}, not {given!r:.80}.")
    return found


def check_hook(name: str, given: Any) -> Any:
    """Return `given` if it is a function or None. Raises `StefanBrainError` otherwise."""
    if given is not None and not callable(given):
        raise StefanBrainError(f"`{name}` must be a function, not {given!r:.80}.")
    return given


# Only the client sets these headers.
_OURS: Final = frozenset({"authorization", "x-api-key", "cookie", "host", "content-length", "content-type"})
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"(?:[!-~](?:[ \t!-~]*[!-~])?)?")


def _headers(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        raise StefanBrainError(f"`headers` must be a dictionary of header names and values, not {given!r:.80}.")
    for name, value in given.items():
        texts = isinstance(name, str) and isinstance(value, str)
        if not (texts and _TOKEN.fullmatch(name) and _VALUE.fullmatch(value)):
            raise StefanBrainError(f"The header {name!r} has an invalid name or value. Use printable ASCII text.")
        if name.lower() in _OURS:
            raise StefanBrainError(f"You cannot set the header {name}: the client sets it. Pass the key as `api_key`.")
    return {name.lower(): value for name, value in given.items()}


def _extra_body(given: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise StefanBrainError("`extra_body` must be a dictionary of field names and values.")
    return given


_CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "timeout": functools.partial(check_positive_seconds, "timeout"),
    "deadline": functools.partial(check_seconds, "deadline"),
    "max_retries": functools.partial(check_integer, "max_retries", least=0),
    "headers": _headers,
    "extra_body": _extra_body,
    "on_retry": functools.partial(check_hook, "on_retry"),
    "on_wait": functools.partial(check_hook, "on_wait"),
}


# -- options ----------------------------------------------------------------------------------------------------------


class WaitOptions(TypedDict, total=False):
    """The options that every call accepts. The docstring of each operation lists them."""

    deadline: float | None
    """The number of seconds for the whole call, including its retries and waits."""
    max_retries: int | None
    """How often the client retries a request after a transient failure, if a retry is safe."""
    headers: Mapping[str, str] | None
    """Your own HTTP headers. They must not include the key."""
    extra_body: Mapping[str, Any] | None
    """Your own fields for the request's body, for example fields that a newer service accepts."""


class Options(WaitOptions, total=False):
    """The options of a call that does not wait for a run or job: those of `WaitOptions`, and `timeout`."""

    timeout: float | None
    """The number of seconds to wait for the response of each attempt."""


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """A notice that a request has failed and that the client will send it again. The hook `on_retry` receives it.

    - `operation`: the name of the request, such as `runs.start`.
    - `attempt`: the number of attempts so far.
    - `seconds`: the seconds until the next attempt.
    - `error`: the error of the last attempt.
    """

    operation: str
    attempt: int
    seconds: float
    error: StefanBrainError


@dataclass(frozen=True, slots=True)
class WaitNotice:
    """A notice that a call waits for a run, a job or a busy chat. The hook `on_wait` receives it.

    - `reason`: `run`, `job` or `chat_busy`.
    - `id`, `status`: the id and status of the run or job, or None if they are unknown.
    - `seconds`: the seconds until the next request, or None if the call follows the run's events.
    """

    reason: Literal["run", "job", "chat_busy"]
    id: str | None
    status: str | None = None
    seconds: float | None = None


OnRetry = Callable[[RetryNotice], Any]
OnWait = Callable[[WaitNotice], Any]
"""A hook. With the async client, a hook may be a coroutine function. An exception in a hook ends the call."""


class ClientOptions(Options, total=False):
    """The options of a client: the default options of its calls, and its hooks."""

    on_retry: OnRetry | None
    on_wait: OnWait | None


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The options of a client, with a value for each option."""

    timeout: float = TIMEOUT_SECONDS
    deadline: float | None = None
    max_retries: int = MAX_RETRIES
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    on_retry: OnRetry | None = None
    on_wait: OnWait | None = None

    def with_changes(self, options: WaitOptions | ClientOptions) -> ClientSettings:
        """Return a copy with the given options. An option that is None changes nothing.

        Headers and body fields are added to the existing ones. Raises `TypeError` for an unknown option, and
        `StefanBrainError` for an invalid value.
        """
        if unknown := sorted(options.keys() - _CHECKS.keys()):
            known = ", ".join(sorted(_CHECKS))
            raise TypeError(f"This call has no argument {unknown[0]!r}. Its options are {known}.")
        changes = {name: _CHECKS[name](value) for name, value in options.items() if value is not None}
        for joined in ("headers", "extra_body"):
            if joined in changes:
                changes[joined] = {**getattr(self, joined), **changes[joined]}
        return replace(self, **changes) if changes else self
