"""The events of a run: a class for each type that is known, beside the payload as the service sent it.

Unknown types are passed on as `OtherEvent`, new fields of an event in `model_extra`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, cast, get_args

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

    def __get__(self, event: Any, owner: type) -> Any:
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
        """Compare with any event, also one that the service wrote."""
        return isinstance(other, runs.Event) and _fields(self) == _fields(other)

    __hash__ = None  # type: ignore[assignment]


def _fields(event: runs.Event) -> tuple[Any, ...]:
    return event.id, event.type, event.created_at, event.payload, getattr(event, "model_extra", {})


class StatusChanged(Event):
    """`run.status`: the run has another status."""

    type: Literal["run.status"]
    status = _field("")


class TextDelta(Event):
    """`text.delta`: a piece of the answer."""

    type: Literal["text.delta"]
    text = _field("")


class ThinkingDelta(Event):
    """`thinking.delta`: a piece of what the model thinks; no part of the output."""

    type: Literal["thinking.delta"]
    text = _field("")


class StepStarted(Event):
    """`step.started`: a model step begins."""

    type: Literal["step.started"]
    step = _field(0)


class _ToolEvent(Event):
    call_id = _field("")
    tool = _field("")


class ToolCalled(_ToolEvent):
    """`tool.call`: a tool is called."""

    type: Literal["tool.call"]
    input: Any = _field(None)
    client = _field(False)
    """Whether the run's caller executes it."""
    changed = _field(False)
    """Whether `input` is what somebody made of the agent's input before approving the call, in an earlier attempt."""


class ToolReturned(_ToolEvent):
    """`tool.result`: a tool has answered; `content` are its blocks."""

    type: Literal["tool.result"]
    is_error = _field(False)
    content: Sequence[dict[str, Any]] = _field(())


class ApprovalRequested(_ToolEvent):
    """`approval.requested`: a call waits for approval."""

    type: Literal["approval.requested"]
    input: Any = _field(None)
    standing: Sequence[str] = _field(())
    """How long an approval can cover later calls of the tool, too (`run`, `hour`)."""
    diff = _field("")
    """What the call would change, line by line, if its tool says that."""


class ApprovalDecided(Event):
    """`approval.decided`: a call was approved or refused."""

    type: Literal["approval.decided"]
    call_id = _field("")
    approved = _field(False)
    reason = _field("")
    input: Any = _field(None)
    """The approved input, if it differs from the one that was requested."""
    standing: dict[str, Any] | None = _field(None)
    """The standing approval that let the call through (`StandingApproval`)."""


class ClientCallWaiting(_ToolEvent):
    """`client_call.waiting`: a call waits for the run's caller, until `expires_at`."""

    type: Literal["client_call.waiting"]
    input: Any = _field(None)
    expires_at = _field("")


class FileWritten(Event):
    """`file.written`: a file of the chat was written. `previous_version` is the version that the run found: None for a
    new file, equal to `version` when the content stayed the same."""

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

    type: Literal["job.submitted"]
    job_id = _field("")
    family = _field("")
    tool = _field("")
    chat = _field("")


class ProgressMade(Event):
    """`progress`: how far the run is; no `total` where it is not known."""

    type: Literal["progress"]
    done: float = _field(0)
    total: float | None = _field(None)
    message = _field("")


class WarningGiven(Event):
    """`warning`: something was left out or cut."""

    type: Literal["warning"]
    code = _field("")
    message = _field("")


class PlanChanged(Event):
    """`plan.changed`: the agent shows another plan; each of its `steps` has a `text` and a `state`, `open`, `doing` or
    `done`."""

    type: Literal["plan.changed"]
    steps: Sequence[dict[str, str]] = _field(())


class LimitNear(Event):
    """`limit.near`: the run has spent 80 % of its `max_cents`; `suggested_cents` is what it could be raised to."""

    type: Literal["limit.near"]
    max_cents: float = _field(0)
    spent_cents: float = _field(0)
    suggested_cents: float = _field(0)


class LimitRaised(Event):
    """`limit.raised`: the run may cost `max_cents` from now on."""

    type: Literal["limit.raised"]
    max_cents: float = _field(0)


class BasisGiven(Event):
    """`answer.basis`: what the answer rests on."""

    type: Literal["answer.basis"]

    @property
    def basis(self) -> AnswerBasis:
        """Raises `StefanBrainError` for a field of a wrong type."""
        return read(AnswerBasis, json.dumps(self.payload), "An event `answer.basis`")


class RunResumed(Event):
    """`run.resumed`: another attempt took over; what came after the event `discard_after` no longer counts."""

    type: Literal["run.resumed"]
    attempt = _field(0)
    discard_after = _field(0)


class RunEnded(Event):
    """`run.ended`: the last event, with the final record."""

    type: Literal["run.ended"]

    @property
    def run(self) -> Run:
        """Raises `StefanBrainError` for a field of a wrong type."""
        return read(Run, json.dumps(self.payload.get("run")), "The event `run.ended`")


class OtherEvent(Event):
    """An event of a type that this version does not know: the fields of its payload are attributes."""

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
    | PlanChanged
    | LimitNear
    | LimitRaised
    | BasisGiven
    | RunResumed
    | RunEnded
    | OtherEvent
)
"""Any event. Where its `type` is compared with a text, type checkers know its fields."""

_KINDS: Final[dict[str, Any]] = {
    get_args(kind.__annotations__["type"])[0]: kind for kind in get_args(RunEvent) if kind is not OtherEvent
}
_FIELDS: Final = frozenset({"id", "type", "created_at", "payload"})


def parse_event(data: Any) -> RunEvent:
    """Return the event of a JSON object. Raises `ValueError`, which names a field that cannot be read.

    The fields of the payload are not looked at: events are read by the thousand, and few of their fields.
    """
    if type(data) is not dict:
        raise ValueError("it is no object")
    number, kind = data.get("id"), data.get("type")
    if type(number) is not int:
        number = _parse_id(number)
    if type(kind) is not str:
        raise ValueError("`type` is missing or no text")
    created_at, payload = data.get("created_at"), data.get("payload")
    if created_at is not None and type(created_at) is not str:
        raise ValueError("`created_at` is no text")
    if payload is not None and type(payload) is not dict:
        raise ValueError("`payload` is no object")
    extra = {} if data.keys() <= _FIELDS else {name: data[name] for name in data if name not in _FIELDS}
    event: RunEvent = _KINDS.get(kind, OtherEvent)(number, kind, created_at or "", payload or {}, extra)
    return event


def _parse_id(number: object) -> int:
    """Read an id that is not a JSON integer, such as "7" or 7.0."""
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

    def to_frame(self) -> "pd.DataFrame":
        """Return one row per event; see `Listing.to_frame`."""
        return to_dataframe(runs.Event, self.data)

    def _mimebundle(self) -> cards.Bundle:
        return records_table(runs.Event, self.data)
