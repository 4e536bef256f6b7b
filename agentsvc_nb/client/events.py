"""The events of a run: a class for each type that is known, beside the payload as the service sent it.

Unknown types are passed on as `OtherEvent`, new fields of an event in `model_extra` (docs/decisions/0055).
"""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, cast

from pydantic import Field, field_validator

from agentsvc_nb.client import cards
from agentsvc_nb.client.cards import Showing
from agentsvc_nb.client.models import Run, read, records_table, to_dataframe
from agentsvc_nb.wire import runs
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import AnswerBasis

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class _PayloadField:
    """Looks into the payload when the attribute is asked."""

    def __init__(self, default: object) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, event: Event | None, owner: type) -> Any:
        value = self if event is None else event.payload.get(self._name)
        return self._default if value is None else value


def _field(default: T) -> T:
    """A field of the payload as an attribute of the event; `default` where the payload lacks it."""
    return cast(T, _PayloadField(default))


@dataclass(frozen=True, slots=True, eq=False)
class Event(runs.Event):
    """One event of a run; its class tells what its payload holds. `payload` is as the service sent it.

    >>> for event in client.runs.attach(run):  # doctest: +SKIP
    ...     if event.type == "text.delta":
    ...         print(event.text, end="")
    """

    model_extra: dict[str, Any] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, runs.Event) and _fields(self) == _fields(other)

    __hash__ = None  # type: ignore[assignment]


def _fields(event: runs.Event) -> tuple[Any, ...]:
    return event.id, event.type, event.created_at, event.payload, getattr(event, "model_extra", {})


class StatusChanged(Event):
    """`run.status`: the run has another status."""

    __slots__ = ()
    type: Literal["run.status"]
    status = _field("")


class TextDelta(Event):
    """`text.delta`: a piece of the answer."""

    __slots__ = ()
    type: Literal["text.delta"]
    text = _field("")


class ThinkingDelta(Event):
    """`thinking.delta`: a piece of what the model thinks; no part of the output."""

    __slots__ = ()
    type: Literal["thinking.delta"]
    text = _field("")


class StepStarted(Event):
    """`step.started`: a model step begins."""

    __slots__ = ()
    type: Literal["step.started"]
    step = _field(0)


class _ToolEvent(Event):
    __slots__ = ()
    call_id = _field("")
    tool = _field("")


class ToolCalled(_ToolEvent):
    """`tool.call`: a tool is called."""

    __slots__ = ()
    type: Literal["tool.call"]
    input: Any = _field(None)
    client = _field(False)
    """Whether the run's caller executes it."""


class ToolReturned(_ToolEvent):
    """`tool.result`: a tool has answered; `content` are its blocks."""

    __slots__ = ()
    type: Literal["tool.result"]
    is_error = _field(False)
    content: Sequence[dict[str, Any]] = _field(())


class ApprovalRequested(_ToolEvent):
    """`approval.requested`: a call waits for approval."""

    __slots__ = ()
    type: Literal["approval.requested"]
    input: Any = _field(None)


class ApprovalDecided(Event):
    """`approval.decided`: a call was approved or refused."""

    __slots__ = ()
    type: Literal["approval.decided"]
    call_id = _field("")
    approved = _field(False)
    reason = _field("")


class ClientCallWaiting(_ToolEvent):
    """`client_call.waiting`: a call waits for the run's caller, until `expires_at`."""

    __slots__ = ()
    type: Literal["client_call.waiting"]
    input: Any = _field(None)
    expires_at = _field("")


class FileWritten(Event):
    """`file.written`: a file of the chat was written. `previous_version` is the version that the run found: None for a
    new file, equal to `version` when the content stayed the same."""

    __slots__ = ()
    type: Literal["file.written"]
    path = _field("")
    file_name = _field("")
    media_type = _field("")
    size_bytes = _field(0)
    version = _field(1)
    previous_version: int | None = _field(None)

    @property
    def file(self) -> WorkspaceFile:
        """The file, for `files.download`. Raises `StefanBrainError` for a field of a wrong type."""
        return read(WorkspaceFile, json.dumps(self.payload), "An event `file.written`")


class JobSubmitted(Event):
    """`job.submitted`: the run submitted a job."""

    __slots__ = ()
    type: Literal["job.submitted"]
    job_id = _field("")
    family = _field("")
    tool = _field("")
    chat = _field("")


class ProgressMade(Event):
    """`progress`: how far the run is; no `total` where it is not known."""

    __slots__ = ()
    type: Literal["progress"]
    done: float = _field(0)
    total: float | None = _field(None)
    message = _field("")


class WarningGiven(Event):
    """`warning`: something was left out or cut."""

    __slots__ = ()
    type: Literal["warning"]
    code = _field("")
    message = _field("")


class BasisGiven(Event):
    """`answer.basis`: what the answer rests on."""

    __slots__ = ()
    type: Literal["answer.basis"]

    @property
    def basis(self) -> AnswerBasis:
        """Raises `StefanBrainError` for a field of a wrong type."""
        return read(AnswerBasis, json.dumps(self.payload), "An event `answer.basis`")


class RunResumed(Event):
    """`run.resumed`: another attempt took over; what came after the event `discard_after` no longer counts."""

    __slots__ = ()
    type: Literal["run.resumed"]
    attempt = _field(0)
    discard_after = _field(0)


class RunEnded(Event):
    """`run.ended`: the last event, with the final record."""

    __slots__ = ()
    type: Literal["run.ended"]

    @property
    def run(self) -> Run:
        """Raises `StefanBrainError` for a field of a wrong type."""
        return read(Run, json.dumps(self.payload.get("run")), "The event `run.ended`")


class OtherEvent(Event):
    """An event of a type that this version does not know: the fields of its payload are attributes."""

    __slots__ = ()
    if TYPE_CHECKING:
        # It may be any text. With `str`, mypy would know nothing after `event.type == "text.delta"`; whoever waits for
        # a type that is not known here asks `isinstance(event, OtherEvent)`.
        type: Literal["(unknown)"]

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.payload:
            return self.payload[name]
        raise AttributeError(f"An event of type {self.type!r} has no {name!r}")


RunEvent = (
    StatusChanged
    | TextDelta
    | ThinkingDelta
    | StepStarted
    | ToolCalled
    | ToolReturned
    | ApprovalRequested
    | ApprovalDecided
    | ClientCallWaiting
    | FileWritten
    | JobSubmitted
    | ProgressMade
    | WarningGiven
    | BasisGiven
    | RunResumed
    | RunEnded
    | OtherEvent
)
"""Any event. Where its `type` is compared with a text, type checkers know its fields."""

_KINDS: Final[dict[str, Any]] = {
    "run.status": StatusChanged,
    "text.delta": TextDelta,
    "thinking.delta": ThinkingDelta,
    "step.started": StepStarted,
    "tool.call": ToolCalled,
    "tool.result": ToolReturned,
    "approval.requested": ApprovalRequested,
    "approval.decided": ApprovalDecided,
    "client_call.waiting": ClientCallWaiting,
    "file.written": FileWritten,
    "job.submitted": JobSubmitted,
    "progress": ProgressMade,
    "warning": WarningGiven,
    "answer.basis": BasisGiven,
    "run.resumed": RunResumed,
    "run.ended": RunEnded,
}


_FIELDS: Final = ("id", "type", "created_at", "payload")
_fields_of: Final = operator.itemgetter(*_FIELDS)


def parse_event(data: Any) -> RunEvent:
    """The event of a JSON object. Raises `ValueError`, which names a field that cannot be read.

    The fields of the payload are not looked at: events are read by the thousand, and few of their fields.
    """
    if type(data) is not dict:
        raise ValueError("it is no object")
    try:
        number, kind, created_at, payload = _fields_of(data)
        known = len(data) == len(_FIELDS)
    except KeyError:
        number, kind, created_at, payload = map(data.get, _FIELDS)
        known = False
    if not (type(number) is int and type(kind) is str and type(created_at) is str and type(payload) is dict):
        number, kind, created_at, payload = _checked(number, kind, created_at, payload)
    event: RunEvent = _new(_KINDS.get(kind, OtherEvent))
    # As the constructor does, which takes three times as long because events are frozen.
    _set_id(event, number)
    _set_type(event, kind)
    _set_created_at(event, created_at)
    _set_payload(event, payload)
    _set_extra(event, {} if known else {name: data[name] for name in data if name not in _FIELDS})
    return event


def _checked(number: object, kind: object, created_at: object, payload: object) -> tuple[int, str, str, dict[str, Any]]:
    if type(kind) is not str:
        raise ValueError("`type` is missing or no text")
    if created_at is not None and type(created_at) is not str:
        raise ValueError("`created_at` is no text")
    if payload is not None and type(payload) is not dict:
        raise ValueError("`payload` is no object")
    return number if type(number) is int else _whole(number), kind, created_at or "", payload or {}


_new: Final[Any] = object.__new__
_set_id, _set_type, _set_created_at, _set_payload = (vars(runs.Event)[name].__set__ for name in _FIELDS)
_set_extra = vars(Event)["model_extra"].__set__


def _whole(number: object) -> int:
    """An id that is no JSON integer: its digits as a text, or 7.0."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    if isinstance(number, str) and number.isascii() and number.isdigit():
        return int(number)
    raise ValueError("`id` is missing or no integer")


class EventPage(Showing, runs.EventPage):
    """A page of a run's events."""

    if TYPE_CHECKING:
        data: list[RunEvent]  # type: ignore[assignment]
    else:
        data: list[Any] = Field(default_factory=list)

    @field_validator("data", mode="after")
    @classmethod
    def _parsed(cls, data: list[Any]) -> list[Any]:
        return [event if isinstance(event, Event) else parse_event(event) for event in data]

    @classmethod
    def _parse(cls, data: bytes | str) -> Self:
        # As the stream reads each event: pydantic's own parser refuses text and depths that Python's accepts.
        return cls.model_validate(json.loads(data))

    def to_frame(self) -> pd.DataFrame:
        """A row an event; see `Listing.to_frame`."""
        return to_dataframe(runs.Event, self.data)

    def _mimebundle(self) -> cards.Bundle:
        return records_table(runs.Event, self.data)
