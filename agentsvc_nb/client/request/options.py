"""Options of a client and of a call: timeouts, retries, headers, hooks; and what may be sent again, and when
(docs/api/errors.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypedDict, cast

from agentsvc_nb.client.errors import APIConnectionError, StefanBrainError
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.limits import MAX_RETRIES, RETRY_AFTER_MAX_SECONDS
from agentsvc_nb.wire.routes.route import Resend

STATUSES: Final = frozenset({408, 429, 500, 502, 503, 504})
FIRST_SECONDS: Final = 0.5


def may_resend(resend: Resend, keyed: bool) -> bool:
    """Whether sending the request a second time cannot do its work twice."""
    return resend == "always" or (resend == "keyed" and keyed)


def transient(error: StefanBrainError) -> bool:
    """Whether the same request may succeed later. What the code table calls hopeless stays so at any status."""
    if isinstance(error, APIConnectionError):
        return True
    row = CODES.get(error.code or "")
    return error.status in STATUSES and (row is None or row.retry == "transient")


def pause(
    error: StefanBrainError,
    attempt: int,
    limit: int,
    rng: Callable[[], float],
    first: float = FIRST_SECONDS,
    longest: float = RETRY_AFTER_MAX_SECONDS,
) -> float | None:
    """Seconds to wait before the next attempt, or None to give up.

    `attempt` counts from 1, `limit` is how many repeats are allowed, `rng()` is in [0, 1). The service's
    `Retry-After` is waited out up to 60 s and raised at once beyond; without one the wait is anything up to `first`,
    then up to twice as long each time (full jitter: clients that failed together do not come back together).
    """
    if attempt > limit or not transient(error):
        return None
    asked = error.retry_after_seconds
    if asked is not None:
        return asked if asked <= RETRY_AFTER_MAX_SECONDS else None
    return rng() * min(longest, first * 2.0 ** (attempt - 1))


TIMEOUT_SECONDS: Final = 60.0
_OURS: Final = frozenset({"authorization", "x-api-key", "cookie", "host", "content-length", "content-type"})


class WaitOptions(TypedDict, total=False):
    """Options of every call.

    deadline: seconds for the whole call, its repeats and waits included.
    max_retries: how often it is repeated after a transient failure, where that is safe.
    headers: headers of your own; never the key.
    """

    deadline: float | None
    max_retries: int | None
    headers: Mapping[str, str] | None


class Options(WaitOptions, total=False):
    """`timeout`: seconds to wait for the answer, per attempt."""

    timeout: float | None


@dataclass(frozen=True, slots=True)
class RetryNotice:
    """A request failed and will be sent again in `seconds`. `attempt`: how often it was sent so far."""

    operation: str
    attempt: int
    seconds: float
    error: StefanBrainError


@dataclass(frozen=True, slots=True)
class WaitNotice:
    """A call waits for work of the service. `seconds`: until the next look; None while its events are followed."""

    reason: Literal["run", "job", "chat_busy"]
    id: str | None
    status: str | None = None
    seconds: float | None = None


OnRetry = Callable[[RetryNotice], Any]
OnWait = Callable[[WaitNotice], Any]
"""Hooks. With the async client they may be coroutine functions; what one raises ends the call."""


class ClientOptions(Options, total=False):
    """What `with_options` takes: `Options` for all calls of the new client, and its hooks."""

    on_retry: OnRetry | None
    on_wait: OnWait | None


_NAMES: Final = ClientOptions.__optional_keys__


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """The options in force, none of them open."""

    timeout: float = TIMEOUT_SECONDS
    deadline: float | None = None
    max_retries: int = MAX_RETRIES
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    on_retry: OnRetry | None = None
    on_wait: OnWait | None = None

    def updated(self, options: WaitOptions | ClientOptions) -> ClientSettings:
        """These, with what is given (and not None) in their place; headers are added to those there are."""
        if unknown := sorted(options.keys() - _NAMES):
            options_there = ", ".join(sorted(_NAMES))
            raise TypeError(f"{unknown[0]!r} is no argument of this call, and no option: those are {options_there}.")
        changes = {name: value for name, value in options.items() if value is not None}
        if "headers" in changes:
            changes["headers"] = {**self.headers, **_headers(cast("Mapping[str, str]", changes["headers"]))}
        return replace(self, **cast("dict[str, Any]", changes)) if changes else self


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name.lower() in _OURS:
            raise StefanBrainError(f"The header {name} is set by the client; give the key as api_key.")
        if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
            raise StefanBrainError(f"The header {name!r} holds a character that no header may have.")
    return {name.lower(): value for name, value in given.items()}
