"""What holds of every call, however it ends."""

import pickle
from dataclasses import dataclass, field
from typing import Any

from agentsvc_nb import (
    APIConnectionError,
    AuthenticationError,
    ChatBusyError,
    RateLimitError,
    RequestTooLargeError,
    StefanBrainError,
)
from tests.independent.faces import FACES, Call
from tests.independent.mock import Mock
from tests.independent.operations import Operation, sent_rightly
from tests.independent.records import KEY

PASSING = (408, 429, 500, 502, 503, 504)  # the statuses after which a call is made again, where it may be


@dataclass
class Outcome:
    value: Any = None
    error: BaseException | None = None
    notices: list[Any] = field(default_factory=list)

    @property
    def failure(self) -> StefanBrainError:
        """The error, which has to be one of the client's own."""
        assert self.error is not None, f"it gave {self.value!r}"
        if not isinstance(self.error, StefanBrainError):
            raise AssertionError(f"it raised {type(self.error).__name__}: {self.error}") from self.error
        return self.error


def outcome(mock: Mock, face: str, call: Call, **options: Any) -> Outcome:
    """Make a call, and look at what must be so after any."""
    result = Outcome()
    hook = options.pop("on_retry", None)

    def on_retry(notice: Any) -> None:
        result.notices.append(notice)
        if hook:
            hook(notice)

    try:
        result.value = FACES[face](mock.origin, call, on_retry=on_retry, **options)
    except Exception as error:
        result.error = error
    assert mock.left(), "a connection is still there after the client was closed"
    if isinstance(result.error, StefanBrainError):
        same_when_pickled(result.error)
    return result


def same_when_pickled(error: StefanBrainError) -> None:
    data = pickle.dumps(error)
    again = pickle.loads(data)
    names = ("status", "code", "request_id", "retry_after_seconds", "reset_at", "active_run_id", "hint", "body")
    assert type(again) is type(error)
    assert str(again) == str(error)
    for name in (*names, "attempts", "late", "last_event_id"):
        assert getattr(again, name) == getattr(error, name), name
    for text in (data, repr(error).encode(), str(error).encode()):
        assert KEY.encode() not in text, "the key is in the error"


def alike(mock: Mock, operation: Operation, attempts: int) -> None:
    """As many requests as may be, all right and all the same."""
    requests = mock.counted()
    assert len(requests) == attempts, [(seen.method, seen.target) for seen in mock.seen]
    for seen in mock.seen:
        assert seen.header("authorization") == f"Bearer {KEY}"
    if requests:
        sent_rightly(operation, requests[0])
    for seen in requests[1:]:
        assert seen.same == requests[0].same


def kind_of(operation: Operation, status: int, code: str | None = None) -> type[StefanBrainError]:
    """The class of the error for an answer."""
    if operation.name.startswith("ask") and (status, code) == (409, "agent_run_rejected"):
        return ChatBusyError
    by_status = {401: AuthenticationError, 413: RequestTooLargeError, 429: RateLimitError}
    return by_status.get(status, StefanBrainError)


def was_lost(result: Outcome, operation: Operation, attempts: int) -> None:
    """No answer came, however often it was asked for."""
    error = result.failure
    assert type(error) is APIConnectionError, repr(error)
    assert error.status is None
    assert error.attempts == attempts
    assert operation.quiet or len(result.notices) == attempts - 1


def was_answered(result: Outcome, operation: Operation, status: int, code: str | None, attempts: int) -> None:
    """The service said no."""
    error = result.failure
    assert type(error) is kind_of(operation, status, code), repr(error)
    assert (error.status, error.code) == (status, code)
    assert error.request_id == "req_1"
    assert error.attempts == attempts
    assert operation.quiet or len(result.notices) == attempts - 1
