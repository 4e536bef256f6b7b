"""Spans of the service: the interface, and the implementation that records nothing, for a service without an endpoint.

A span is identified by its `traceparent` (W3C Trace Context), which the row of a run can store. An open span of
OpenTelemetry exists in one process and is lost with it. So the spans of a run and its attempts are recorded when these
end, from rows and events, by the process that ends the run or takes it over. Every process knows the ids of these
spans, which are hashes of the run and the attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Literal, Self

Attributes = Mapping[str, str | int | float]
Kind = Literal["server", "client", "internal"]

_current: ContextVar[str | None] = ContextVar("traceparent", default=None)


def get_current() -> str | None:
    """Return the `traceparent` of the current span, or None outside of spans or without tracing."""
    return _current.get()


def set_current(traceparent: str | None) -> None:
    """Make the span with this `traceparent` current, for the rest of this task."""
    _current.set(traceparent)


def ids() -> tuple[str, str] | None:
    """Return the ids of the current trace and span, for logs."""
    found = _current.get()
    return None if found is None else (found[3:35], found[36:52])


def derive(traceparent: str | None, name: str) -> str | None:
    """Return the `traceparent` of the span `name` in the trace of `traceparent`. Every process gets the same result."""
    if traceparent is None:
        return None
    return f"{traceparent[:36]}{hashlib.sha256(name.encode()).hexdigest()[:16]}{traceparent[52:]}"


class Span:
    """A span that is not recorded, and the base of recorded spans. A `with` block makes it current, then ends it."""

    def __init__(self, traceparent: str | None = None) -> None:
        self.traceparent = traceparent
        self._before: Token[str | None] | None = None

    def rename(self, name: str) -> None: ...

    def set(self, attributes: Attributes) -> None: ...

    def end(self, error: str | None = None) -> None:
        """End the span. After a failure, `error` is an error code, or the name of an exception that has no code."""

    def drop(self) -> None:
        """Drop the span without recording it."""

    def __enter__(self) -> Self:
        if self.traceparent is not None:
            self._before = _current.set(self.traceparent)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._before is not None:
            _current.reset(self._before)
        self.end(None if kind is None else getattr(error, "code", kind.__name__))


NO_SPAN: Final = Span()


@dataclass(frozen=True, slots=True)
class FinishedSpan:
    """The span of an ended run or attempt, with times in ms. `link` is the previous attempt's `traceparent`."""

    name: str
    traceparent: str
    parent: str
    began_at: int
    ended_at: int
    attributes: Attributes = field(default_factory=dict)
    error: str | None = None
    link: str | None = None


class Tracing:
    """Creates spans that are not recorded. The service uses this if the extra `telemetry` or an endpoint is missing."""

    on = False
    content = False
    """True if spans show messages, answers, and the inputs and outputs of tools."""

    def request(self, method: str, headers: Mapping[bytes, bytes]) -> Span:
        """Begin the span of a request, in the trace of the request's `traceparent`, or else in a new trace."""
        return NO_SPAN

    def begin(self, name: str, kind: Kind, parent: str | None, attributes: Attributes) -> Span:
        """Begin a span below `parent`. If it is None, record nothing: work that no request began is not traced."""
        return NO_SPAN

    def record(self, span: FinishedSpan) -> None: ...

    def close(self) -> None:
        """Send the remaining spans. This blocks for at most two seconds."""
