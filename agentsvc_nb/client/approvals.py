"""Find the tool calls of a run that wait for a person's approval (docs/decisions/09)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentsvc_nb.client.errors import circular_pages_error
from agentsvc_nb.wire.limits import PAGE_MAX
from agentsvc_nb.wire.runs import Event

if TYPE_CHECKING:
    from agentsvc_nb.client.api import AgentService
    from agentsvc_nb.client.events import EventPage


@dataclass(frozen=True, slots=True)
class PendingApproval:
    """A tool call that waits for a person's approval.

    - `input`: the arguments that the agent wants to pass to the tool.
    - `since`: the time of the request for approval (RFC 3339).
    - `standing`: for how long the approval may also cover further calls of the tool: `run` for the rest of the run,
      `hour` for an hour. It is empty if each call needs its own approval.
    - `diff`: what the call would change, or "" if the tool does not report changes.
    """

    run_id: str
    call_id: str
    tool: str
    input: Any
    since: str
    standing: tuple[str, ...] = ()
    diff: str = ""

    @property
    def folder(self) -> str:
        """Return the folder of the file that `input["path"]` names, or "" if the input names no file."""
        path = self.input.get("path") if isinstance(self.input, dict) else None
        return path.rpartition("/")[0].lstrip("/") if isinstance(path, str) else ""


def apply_event(waiting: dict[str, PendingApproval], run_id: str, event: Event) -> None:
    """Update `waiting`, the dictionary of waiting calls by call id, with one event of the run.

    The event `run.resumed` clears the dictionary: after a crash, the service requests all open approvals again.
    """
    if event.type == "approval.requested":
        given = event.payload
        call_id, tool = str(given.get("call_id", "")), str(given.get("tool", ""))
        durations = tuple(map(str, given.get("standing") or ()))
        diff = str(given.get("diff") or "")
        waiting[call_id] = PendingApproval(run_id, call_id, tool, given.get("input"), event.created_at, durations, diff)
    elif event.type == "approval.decided":
        waiting.pop(str(event.payload.get("call_id", "")), None)
    elif event.type in ("run.resumed", "run.ended"):
        waiting.clear()


def event_pages(client: AgentService, run_id: str, after: int = 0) -> Iterator[EventPage]:
    """Yield the run's events so far, page by page, from the first event with an id over `after`.

    Raises the same errors as `client.runs.events`, and `StefanBrainError` if the pages would never end.
    """
    more = True
    while more:
        page = client.runs.events(run_id, after=after, limit=PAGE_MAX)
        yield page
        if page.has_more and page.next_after <= after:
            raise circular_pages_error(page.next_after)
        after, more = page.next_after, page.has_more


def waiting_calls(client: AgentService, run_id: str) -> dict[str, PendingApproval]:
    """Return the calls that wait for approval, by call id, oldest first. Raises the same errors as `event_pages`."""
    run = RunApprovals(client, run_id)
    run.update()
    return run.waiting


@dataclass(slots=True)
class RunApprovals:
    """The status of a run, and its calls that wait for approval. `update` updates both."""

    client: AgentService
    run_id: str
    status: str = ""
    waiting: dict[str, PendingApproval] = field(default_factory=dict)
    _after: int = 0

    def update(self) -> None:
        """Read the events since the last call of `update`. Raises the same errors as `event_pages`."""
        for page in event_pages(self.client, self.run_id, self._after):
            for event in page.data:
                apply_event(self.waiting, self.run_id, event)
            self._after, self.status = page.next_after, str(page.status)
