"""The tool calls of a run that wait for approval (docs/decisions/0020-effects-wait.md)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.wire.runs import Event

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService

_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """A tool call that waits for approval, as the agent made it. `since` is a time."""

    run_id: str
    call_id: str
    tool: str
    input: Any
    since: str


def note(waiting: dict[str, WaitingCall], run_id: str, event: Event) -> None:
    """Update `waiting`, by call id, with an event of the run. After a crash the service asks anew."""
    if event.type == "approval.requested":
        given = event.payload
        call_id, tool = str(given.get("call_id", "")), str(given.get("tool", ""))
        waiting[call_id] = WaitingCall(run_id, call_id, tool, given.get("input"), event.created_at)
    elif event.type == "approval.decided":
        waiting.pop(str(event.payload.get("call_id", "")), None)
    elif event.type in ("run.resumed", "run.ended"):
        waiting.clear()


def waiting_calls(client: AgentService, run_id: str) -> dict[str, WaitingCall]:
    """The calls of the run that wait now, in order, by call id. Raises as `client.runs.events`."""
    run = Watched(client, run_id)
    run.look()
    return run.waiting


@dataclass(slots=True)
class Watched:
    """A run as of the last event read: its state, and the calls that wait."""

    client: AgentService
    run_id: str
    status: str = ""
    waiting: dict[str, WaitingCall] = field(default_factory=dict)
    _after: int = 0

    def look(self) -> None:
        """Read the events since the last look. Raises as `client.runs.events`."""
        more = True
        while more:
            page = self.client.runs.events(self.run_id, after=self._after, limit=_PAGE)
            for event in page.data:
                note(self.waiting, self.run_id, event)
            self._after, self.status, more = page.next_after, str(page.status), page.has_more
