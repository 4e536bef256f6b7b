"""The events of a run: one class for each type of event that this version of the client knows.

An event has the fields of its payload as attributes. `payload` is the payload exactly as the service sent it. An event
of an unknown type is an `OtherEvent`. `model_extra` contains the unknown fields of the event itself.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeVar, cast, get_args

from pydantic import Field, field_validator

from agentsvc_nb.client import cards
from agentsvc_nb.client.cards import Displayable
from agentsvc_nb.client.models import Run, read, records_table, to_dataframe
from agentsvc_nb.wire import runs
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.runs import AnswerBasis

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")


class _PayloadField:
    """A descriptor that reads a field of the event's payload when a program accesses the attribute."""

    def __init__(self, default: object) -> None:
        self._default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, event: Any, owner: type) -> Any:
        value = self if event is None else event.payload.get(self._name)
        return self._default if value is None else value


def _field(default: T) -> T:
    """Return an event attribute that reads a field of the payload. It is `default` if the payload lacks the field."""
    return cast(T, _PayloadField(default))


@dataclass(frozen=True, slots=True, eq=False)
class Event(runs.Event):
    """The base class of all events of a run. Each subclass has the fields of its payload as attributes.

    - `id`: the number of the event in the run, from 1.
    - `created_at`: the time of the event (RFC 3339).
    - `payload`: a dict, exactly as the service sent it.

    >>> for event in client.runs.attach(run):  # doctest: +SKIP
    ...     if event.type == "text.delta":
    ...         print(event.text, end="")
    """

    model_extra: dict[str, Any] = field(default_factory=dict, repr=False)

    def __eq__(self, other: object) -> bool:
        """Return True if both events have the same fields, even if `other` is an event of the service's own class."""
        return isinstance(other, runs.Event) and _fields(self) == _fields(other)

    __hash__ = None  # type: ignore[assignment]


def _fields(event: runs.Event) -> tuple[Any, ...]:
    return event.id, event.type, event.created_at, event.payload, getattr(event, "model_extra", {})


class StatusChanged(Event):
    """`run.status`: the status of the run has changed."""

    type: Literal["run.status"]
    status = _field("")


class TextDelta(Event):
    """`text.delta`: the agent has written a piece of the answer, `text`."""

    type: Literal["text.delta"]
    text = _field("")


class ThinkingDelta(Event):
    """`thinking.delta`: the model has written a piece of its reasoning, which is not part of the answer."""

    type: Literal["thinking.delta"]
    text = _field("")


class StepStarted(Event):
    """`step.started`: a step of the run begins. A step is one call of the language model."""

    type: Literal["step.started"]
    step = _field(0)


class _ToolEvent(Event):
    call_id = _field("")
    tool = _field("")


class ToolCalled(_ToolEvent):
    """`tool.call`: the agent calls a tool."""

    type: Literal["tool.call"]
    input: Any = _field(None)
    client = _field(False)
    """True if the program that started the run must execute the call, because the tool is a client tool."""
    changed = _field(False)
    """True if a person changed the agent's `input` when they approved the call in an earlier attempt."""


class ToolReturned(_ToolEvent):
    """`tool.result`: a tool has returned its result. `content` contains the result's content blocks."""

    type: Literal["tool.result"]
    is_error = _field(False)
    content: Sequence[dict[str, Any]] = _field(())


class ApprovalRequested(_ToolEvent):
    """`approval.requested`: a tool call waits for a person's approval."""

    type: Literal["approval.requested"]
    input: Any = _field(None)
    standing: Sequence[str] = _field(())
    """How long an approval can also cover later calls of the tool, `run` for the run and `hour` for an hour."""
    diff = _field("")
    """The lines that the call would change, as a diff. It is "" if the tool does not report changes."""


class ApprovalDecided(Event):
    """`approval.decided`: a person, or a standing approval, approved or refused a tool call."""

    type: Literal["approval.decided"]
    call_id = _field("")
    approved = _field(False)
    reason = _field("")
    input: Any = _field(None)
    """The approved input, if it differs from the input that the agent requested; else None."""
    standing: dict[str, Any] | None = _field(None)
    """The fields of the standing approval that covered the call, or None. `runs.approve` with `lasts` creates those."""


class ClientCallWaiting(_ToolEvent):
    """`client_call.waiting`: a call of a client tool waits until `expires_at` for the program that started the run."""

    type: Literal["client_call.waiting"]
    input: Any = _field(None)
    expires_at = _field("")


class FileWritten(Event):
    """`file.written`: the run wrote a file of the chat.

    - `version`: the number of the version that the run wrote.
    - `previous_version`: the number of the version before, or None for a new file. It equals `version` if the content
      did not change.
    """

    type: Literal["file.written"]
    path = _field("")
    file_name = _field("")
    media_type = _field("")
    size_bytes = _field(0)
    version = _field(1)
    previous_version: int | None = _field(None)

    @property
    def file(self) -> WorkspaceFile:
        """Return the written file, which you can pass to `files.download`.

        Raises `StefanBrainError` for a field of the wrong type.
        """
        return read(WorkspaceFile, json.dumps(self.payload), "An event `file.written`")


class JobSubmitted(Event):
    """`job.submitted`: the run submitted a job."""

    type: Literal["job.submitted"]
    job_id = _field("")
    family = _field("")
    tool = _field("")
    chat = _field("")


class ProgressMade(Event):
    """`progress`: the run has done `done` of `total` parts of its work. `total` is None if it is unknown."""

    type: Literal["progress"]
    done: float = _field(0)
    total: float | None = _field(None)
    message = _field("")


class WarningGiven(Event):
    """`warning`: the service omitted or shortened something."""

    type: Literal["warning"]
    code = _field("")
    message = _field("")


class PlanChanged(Event):
    """`plan.changed`: the agent has changed its plan, a list of steps for longer work.

    Each item of `steps` has a `text` and a `state`: `open`, `doing` or `done`.
    """

    type: Literal["plan.changed"]
    steps: Sequence[dict[str, str]] = _field(())


class LimitNear(Event):
    """`limit.near`: the run has spent 80 % of its cost limit `max_cents`.

    `suggested_cents` is a higher limit that you can pass to `runs.raise_limit`.
    """

    type: Literal["limit.near"]
    max_cents: float = _field(0)
    spent_cents: float = _field(0)
    suggested_cents: float = _field(0)


class LimitRaised(Event):
    """`limit.raised`: the cost limit of the run was raised to `max_cents`."""

    type: Literal["limit.raised"]
    max_cents: float = _field(0)


class BasisGiven(Event):
    """`answer.basis`: the service reports the sources and calculations on which the answer is based."""

    type: Literal["answer.basis"]

    @property
    def basis(self) -> AnswerBasis:
        """Return the answer's sources and calculations. Raises `StefanBrainError` for a field of the wrong type."""
        return read(AnswerBasis, json.dumps(self.payload), "An event `answer.basis`")


class RunResumed(Event):
    """`run.resumed`: after a crash, another attempt continues the run.

    Discard the events that you received before this event and whose id is over `discard_after`.
    """

    type: Literal["run.resumed"]
    attempt = _field(0)
    discard_after = _field(0)


class RunEnded(Event):
    """`run.ended`: the run has ended. This is the last event, and contains the final record of the run."""

    type: Literal["run.ended"]

    @property
    def run(self) -> Run:
        """Return the final record of the run. Raises `StefanBrainError` for a field of the wrong type."""
        return read(Run, json.dumps(self.payload.get("run")), "The event `run.ended`")


class OtherEvent(Event):
    """An event of a type that this version of the client does not know. The fields of its payload are attributes."""

    if TYPE_CHECKING:
        # The type may be any text. But with `str` as the annotation, mypy could not narrow events by
        # `event.type == "text.delta"`. To find an unknown type, callers test `isinstance(event, OtherEvent)`.
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
"""The union of all events. After `if event.type == "text.delta"`, type checkers know the fields of the event."""

_KINDS: Final[dict[str, Any]] = {
    get_args(kind.__annotations__["type"])[0]: kind for kind in get_args(RunEvent) if kind is not OtherEvent
}
_FIELDS: Final = frozenset({"id", "type", "created_at", "payload"})


def parse_event(data: Any) -> RunEvent:
    """Return the event that a JSON object describes. Raises `ValueError` that names the invalid field.

    The fields of the payload are not checked, because callers read thousands of events, but only a few of their fields.
    """
    if type(data) is not dict:
        raise ValueError("it is not an object")
    number, kind = data.get("id"), data.get("type")
    if type(number) is not int:
        number = _parse_id(number)
    if type(kind) is not str:
        raise ValueError("`type` is missing or not text")
    created_at, payload = data.get("created_at"), data.get("payload")
    if created_at is not None and type(created_at) is not str:
        raise ValueError("`created_at` is not text")
    if payload is not None and type(payload) is not dict:
        raise ValueError("`payload` is not an object")
    extra = {} if data.keys() <= _FIELDS else {name: data[name] for name in data if name not in _FIELDS}
    event: RunEvent = _KINDS.get(kind, OtherEvent)(number, kind, created_at or "", payload or {}, extra)
    return event


def _parse_id(number: object) -> int:
    """Return the integer for an event id that is not a JSON integer, such as "7" or 7.0."""
    if isinstance(number, float) and number.is_integer():
        return int(number)
    if isinstance(number, str) and number.isascii() and number.isdigit():
        return int(number)
    raise ValueError("`id` is missing or not an integer")


class EventPage(Displayable, runs.EventPage):
    """A page of a run's events: the events in `data`, and the cursor `next_after` of the next page."""

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
        # Use Python's JSON parser, as the stream does. pydantic's parser rejects some texts and deep nesting.
        return cls.model_validate(json.loads(data))

    def to_frame(self) -> "pd.DataFrame":
        """Return a DataFrame with one row per event. Raises `ImportError` without pandas."""
        return to_dataframe(runs.Event, self.data)

    def _mimebundle(self) -> cards.Bundle:
        return records_table(runs.Event, self.data)
