"""The state of a run, built from the run's events (docs/api/events.md). This module does no I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.client.approvals import PendingApproval, apply_event
from agentsvc_nb.client.plans import read_plan
from agentsvc_nb.wire.runs import TERMINAL, Event, PlanStep, Run

if TYPE_CHECKING:
    from agentsvc_nb.notebook.kernel.calls import KernelCall

MARKS: Final = 200
"""The maximum number of timeline lines that are kept, because a run may have 1,500 steps."""
_GIVEN_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool in a run. `failed` is None until the call has ended.

    Attributes:
        event: the id of the event that reported the call.
        given: the call's input as JSON, truncated.
        at, until: when the call started and ended, by the service's clock.
        diff: the unified diff of the file that the call changed; empty if it changed none.
        changed: whether the user changed the agent's input before approving the call. `given` is then the changed
            input.
    """

    event: int
    call_id: str
    tool: str
    failed: bool | None = None
    given: str = ""
    changed: bool = False
    at: str = ""
    until: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A line in a run's timeline, other than a tool call, such as the beginning of a step."""

    event: int
    at: str
    text: str


@dataclass(frozen=True, slots=True)
class NearLimit:
    """How much a run near its cost limit has spent, and the higher limit that the service suggests."""

    max_cents: float
    spent_cents: float
    suggested_cents: float


@dataclass
class RunView:
    """The state of one run. `apply` updates it with the run's events, in order, and ignores events already applied."""

    run_id: str = ""
    own: bool = False
    """Whether the embedded service on this machine runs the agent."""
    model: str = ""
    """The name of the model that answers. Empty until it is known."""
    chat: str | None = None
    status: str = "queued"
    step: int = 0
    run: Run | None = None
    calls: list[ToolCall] = field(default_factory=list)
    marks: list[TimelineEntry] = field(default_factory=list)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    progress: dict[str, Any] | None = None
    warnings: list[str] = field(default_factory=list)
    notice: str = ""
    """A warning to show while there is no answer yet."""
    waiting_calls: dict[str, PendingApproval] = field(default_factory=dict)
    """The calls that wait for approval, by call id."""
    verdict: str = ""
    """The last decision about a call that waited for approval, as a sentence."""
    plans: list[tuple[int, Sequence[PlanStep]]] = field(default_factory=list)
    """All plans that the agent has shown, each with the id of its event. The last one is the current plan."""
    near_limit: NearLimit | None = None
    """Set while the run is near its cost limit and the limit was not raised."""
    raised_to: float | None = None
    """The new cost limit in cents, if the limit was raised."""
    page: str = ""
    """The address of the chat's web page."""
    last_event_id: int = 0
    """The id of the last event that was applied."""
    stopping: bool = False
    """Whether this kernel has asked the service to cancel the run."""
    waiting: str = ""
    """The id of another run that holds the chat. This run starts when the other run has ended."""
    kernel: Sequence[KernelCall] = ()
    """The run's calls for the user's kernel. Empty if the question does not let the agent use the kernel."""
    elapsed: float = 0.0
    """For how many seconds this kernel has been following the run."""
    _pieces: list[tuple[int, str]] = field(default_factory=list)
    _text: str | None = ""

    def apply_start(self, run: Run) -> None:
        """Update the state with the service's response to the start of the run."""
        self.run_id = run.run_id
        self.chat = run.chat or self.chat
        self.waiting = ""
        self.page = run.app_url or ""
        self.model = run.model or self.model
        if not self.ended:
            self.status = str(run.status)

    def apply(self, event: Event) -> None:
        if event.id <= self.last_event_id:
            return
        self.last_event_id = event.id
        if handler := _HANDLERS.get(event.type):
            handler(self, event)
        apply_event(self.waiting_calls, self.run_id, event)

    def apply_record(self, run: Run) -> None:
        """Update the state with the run's final record. Its output is the answer, even if other text was streamed."""
        self.run = run
        self.near_limit = None if run.ended else self.near_limit
        self.model = run.model or self.model
        self.status = str(run.status)
        self.step = run.steps or self.step
        self.run_id = run.run_id
        self.chat = run.chat or self.chat

    @property
    def ended(self) -> bool:
        return self.run is not None and self.run.status in TERMINAL

    @property
    def record(self) -> Run:
        """The run's final record. Until the run has ended, a record with what is known so far."""
        return self.run or Run(run_id=self.run_id, status=self.status, chat=self.chat or "")

    @property
    def streamed_text(self) -> str:
        """The text that was streamed so far, without text that a `run.resumed` event withdrew."""
        if self._text is None:
            self._text = "".join(text for _, text in self._pieces)
        return self._text

    def tail(self, characters: int) -> str:
        """Return the end of `streamed_text`: at least this many characters, or the whole text if it is shorter.

        The time that this takes does not depend on the length of the text.
        """
        kept: list[str] = []
        for _, text in reversed(self._pieces):
            kept.append(text[-characters:])
            characters -= len(text)
            if characters <= 0:
                break
        return "".join(reversed(kept))

    @property
    def text(self) -> str:
        """The answer: the final output if it is known, otherwise the text that was streamed so far."""
        return self.run.output if self.run is not None and self.run.output is not None else self.streamed_text

    @property
    def plan(self) -> Sequence[PlanStep]:
        """The agent's current plan. Empty if the agent has shown none."""
        return self.plans[-1][1] if self.plans else ()

    @property
    def last_plan(self) -> int:
        """The id of the event with the current plan; 0 if no plan exists."""
        return self.plans[-1][0] if self.plans else 0

    @property
    def active_call(self) -> ToolCall | None:
        return next((call for call in reversed(self.calls) if call.failed is None), None)

    def _status(self, event: Event) -> None:
        self.status = str(event.payload.get("status", self.status))

    def _step(self, event: Event) -> None:
        self.step = int(event.payload.get("step") or 0)
        self._mark(event, f"step {self.step}")

    def _mark(self, event: Event, text: str) -> None:
        if len(self.marks) < MARKS:
            self.marks.append(TimelineEntry(event.id, event.created_at, text))

    def _say(self, event: Event) -> None:
        self._pieces.append((event.id, str(event.payload.get("text", ""))))
        self._text = None

    def _call(self, event: Event) -> None:
        given = event.payload
        call_id, tool = str(given.get("call_id", "")), str(given.get("tool", ""))
        shown, changed = _beginning(given.get("input")), bool(given.get("changed"))
        self.calls.append(ToolCall(event.id, call_id, tool, given=shown, changed=changed, at=event.created_at))

    def _result(self, event: Event) -> None:
        given = event.payload
        failed, diff = bool(given.get("is_error")), _diff(given.get("content"))
        self._change(str(given.get("call_id", "")), failed=failed, until=event.created_at, diff=diff)

    def _change(self, call_id: str, **fields: Any) -> None:
        """Change fields of the call with this id. A call that has ended is not changed."""
        self.calls = [
            replace(call, **fields) if call.call_id == call_id and call.failed is None else call for call in self.calls
        ]

    def _file(self, event: Event) -> None:
        path = str(event.payload.get("path", ""))
        self.files.pop(path, None)
        self.files[path] = event.payload | {"updated_at": event.created_at}

    def _progress(self, event: Event) -> None:
        self.progress = event.payload

    def _warn(self, event: Event) -> None:
        self.warnings.append(str(event.payload.get("message") or event.payload.get("code") or ""))
        if event.payload.get("code") == "tools_not_used":
            self.notice = self.warnings[-1]

    def _planned(self, event: Event) -> None:
        self.plans.append((event.id, read_plan(event)))

    def _near(self, event: Event) -> None:
        given = event.payload
        self.near_limit = NearLimit(*(_number(given.get(f"{name}_cents")) for name in ("max", "spent", "suggested")))
        self._mark(event, f"{self.near_limit.spent_cents:,.2f} of {self.near_limit.max_cents:,.2f} cents spent")

    def _raised(self, event: Event) -> None:
        self.near_limit, self.raised_to = None, _number(event.payload.get("max_cents"))
        self._mark(event, f"its limit was raised to {self.raised_to:,.2f} cents")

    def _waits(self, event: Event) -> None:
        self._mark(event, f"{event.payload.get('tool')} waits for approval")

    def _decided(self, event: Event) -> None:
        given = event.payload
        call, reason = self.waiting_calls.get(str(given.get("call_id", ""))), str(given.get("reason") or "")
        said = "refused" if not given.get("approved") else "approved as changed" if "input" in given else "approved"
        tool = call.tool if call else "a call"
        if isinstance(standing := given.get("standing"), dict):  # approved in advance, so the user was not asked
            tool, said = str(standing.get("tool")), "approved in advance (`%approve --standing`)"
        if "input" in given:
            self._change(str(given.get("call_id", "")), given=_beginning(given["input"]), changed=True)
        self.verdict = f"{tool} was {said}{f': {reason}' if reason else ''}"
        self._mark(event, self.verdict)

    def _resumed(self, event: Event) -> None:
        keep = int(event.payload.get("discard_after") or 0)
        self._pieces = [piece for piece in self._pieces if piece[0] <= keep]
        self.calls = [call for call in self.calls if call.event <= keep]
        self.plans = [plan for plan in self.plans if plan[0] <= keep]
        self._mark(event, "the service restarted, and repeats the last step")
        self._text = None

    def _end(self, event: Event) -> None:
        self.apply_record(Run.read(json.dumps(event.payload["run"])))


def _diff(content: Any) -> str:
    """Return the diff among the content blocks of a tool's result. Return an empty text if there is none."""
    blocks = [block for block in content or () if isinstance(block, dict) and block.get("format") == "diff"]
    return str(blocks[0].get("text") or "") if blocks else ""


def _number(given: Any) -> float:
    return float(given) if isinstance(given, int | float) else 0.0


def _beginning(given: Any) -> str:
    """Return a tool's input as JSON, truncated, because the input may be a whole document."""
    return "" if given in (None, {}) else json.dumps(given, ensure_ascii=False)[:_GIVEN_CHARS]


_HANDLERS: dict[str, Callable[[RunView, Event], None]] = {
    "run.status": RunView._status,
    "text.delta": RunView._say,
    "step.started": RunView._step,
    "tool.call": RunView._call,
    "tool.result": RunView._result,
    "approval.requested": RunView._waits,
    "approval.decided": RunView._decided,
    "file.written": RunView._file,
    "progress": RunView._progress,
    "warning": RunView._warn,
    "plan.changed": RunView._planned,
    "limit.near": RunView._near,
    "limit.raised": RunView._raised,
    "run.resumed": RunView._resumed,
    "run.ended": RunView._end,
}
