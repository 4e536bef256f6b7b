"""Show background runs as live cards, and background jobs as live bars.

They are updated even after their cell has ended. When the work ends, a static output replaces them.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.plan import plan_html
from agentsvc_nb.notebook.display.render import (
    Bundle,
    amounts,
    current_activity,
    percent,
    status_label,
    widget_line_bundle,
)
from agentsvc_nb.notebook.display.screens import STATUS_SECONDS, SavedOutput
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.jobs.follower import JobResult, JobScreen
from agentsvc_nb.notebook.jobs.output import BARS, job_amounts, job_state
from agentsvc_nb.notebook.widgets.approvals import ApprovalCards, Decide
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.notebook.widgets.limit_card import LimitCard, RaiseLimit
from agentsvc_nb.wire.text import label, plain
from agentsvc_nb.wire.tools import Job

TAIL_CHARS: Final = 1_000
"""The approximate length of the part of an answer that a card shows, in characters of Markdown."""
_DRAW_SECONDS: Final = STATUS_SECONDS / 4
_ICONS: Final = {"image": "picture", "transcript": "sound", "mail": "send", "search": "search", "page": "code"}


def card_front() -> Front:
    """Return an empty front end that can show cards and bars."""
    return Front("live", "card")


class LiveOutput:
    """A static line with a front end below. Create it in a cell. Any thread may update it, even after the cell ends."""

    def __init__(self, output: SavedOutput, line: str, front: Front) -> None:
        self._output = output
        self._line = line
        self._line_id = secrets.token_hex(4)
        self._front_id = secrets.token_hex(4)
        self._front = front
        data, metadata = front._repr_mimebundle_()
        output.keep(widget_line_bundle(line), display_id=self._line_id)
        output.show({**data, "text/plain": ""}, display_id=self._front_id, metadata=metadata)

    def set_line(self, line: str) -> None:
        if line != self._line:
            self._line = line
            self._output.update(widget_line_bundle(line), self._line_id)

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        """Replace the static line with this output.

        Also empty the output with the front end, because a thread can't remove it.
        """
        self._output.update({"text/plain": "", "text/html": ""}, self._front_id)
        self._output.update(bundle, self._line_id, metadata=metadata)
        self._front.change(dict.fromkeys(self._front.parts()) | {"closed": bundle["text/html"]})


class CardScreen:
    """Shows a background run as a card. Create it in the cell that starts the run. Another thread then calls `draw`."""

    def __init__(
        self,
        output: SavedOutput,
        decide: Decide,
        raise_limit: RaiseLimit,
        clock: Callable[[], float] = clock.monotonic,
    ) -> None:
        self._clock = clock
        self._drawn = self._ticked = -STATUS_SECONDS
        self._written = ""
        self._front = card_front()
        self._approvals = ApprovalCards(self._front, decide)
        self._limit = LimitCard(self._front, raise_limit)
        self._run: dict[str, Any] = {"icon": "agent", "name": "Agent", "state": status_label("queued"), "amounts": ""}
        self._front.change({"run": self._run})
        self._live = LiveOutput(output, _line(""), self._front)

    def on_cancel(self, cancel: Callable[[], object]) -> None:
        """Set the function that the Cancel button calls. It must return quickly and be safe to call in any thread."""

        def pressed(_: object, __: object) -> None:
            self._front.remember({"run": {**self._run, "cancelling": True}})
            cancel()

        self._front.on("cancel", pressed)

    def draw(self, view: RunView) -> None:
        """Update the card's state at most four times a second, and its text and duration at most once a second."""
        now = self._clock()
        if now - self._drawn < _DRAW_SECONDS:
            return
        self._drawn = now
        self._run = {**self._run, "state": " · ".join(current_activity(view)), "cancelling": view.stopping}
        if view.progress and (amount := percent(view.progress.get("done"), view.progress.get("total"))):
            self._run["percent"] = int(amount[:-2])
        if now - self._ticked >= STATUS_SECONDS:
            self._ticked = now
            self._run["amounts"] = " · ".join(amounts(view))
            self._live.set_line(_line(view.run_id))
            self._write(last_blocks(view.streamed_text))
        self._front.change({"run": self._run})
        self._approvals.show(view.waiting_calls, view.kernel)
        self._limit.show(view)
        self._front.change({"plan": plan_html(view.plan) or None})

    def _write(self, text: str) -> None:
        if text != self._written:
            self._written = text
            self._front.change({"text": to_html(text, coloured=False)})

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        self._live.finish(bundle, metadata)

    def clear(self) -> None:
        pass  # the run did not start; `Background.show_error` shows the error


class QuietScreen:
    """The screen of a background run in a terminal. Its methods do nothing.

    Users print the answer by displaying the value of the cell.
    """

    def on_cancel(self, cancel: Callable[[], object]) -> None:
        pass

    def draw(self, view: RunView) -> None:
        pass

    def finish(self, bundle: Bundle, metadata: Mapping[str, Any] | None = None) -> None:
        pass

    def clear(self) -> None:
        pass


def last_blocks(said: str) -> str:
    """Return the last blocks of the text so far, about `TAIL_CHARS` characters of Markdown."""
    text = plain(said).rstrip()
    cut = len(text) - TAIL_CHARS
    if cut <= 0:
        return text
    start = text.rfind("\n\n", max(0, cut - TAIL_CHARS), cut)  # keep the header of a table
    start = start if start >= 0 else max(cut, text.find("\n\n", cut))
    fence = "```\n" if f"\n{text[:start]}".count("\n```") % 2 else ""
    return f"…\n\n{fence}{text[start:].lstrip()}"


def _line(run_id: str) -> str:
    if not run_id:
        return "This question runs in the background. After reopening the notebook, find it with `%runs`."
    shown = label(run_id, 64)
    return (
        "This question runs in the background. After reopening the notebook, show the answer with"
        f" `%runs show {shown}`."
    )


class BarsScreen(JobScreen):
    """Shows background jobs as progress bars, which another thread draws.

    Args:
        output: the output area of the cell that starts the jobs. None if the caller shows `front` itself.
    """

    def __init__(self, output: SavedOutput | None = None) -> None:
        self.front = card_front()
        self._output = output
        self._live: LiveOutput | None = None
        self._cancelling: set[str] = set()

    def begin(self, jobs: Sequence[Job], cancel: Callable[[str], object]) -> None:
        def pressed(content: Mapping[str, Any], _: object) -> None:
            job_id = str(content.get("job"))
            if any(job.job_id == job_id for job in jobs):
                self._cancelling.add(job_id)
                cancel(job_id)

        self.front.on("cancel", pressed)
        self.draw(jobs, {}, 0.0)
        if self._output is not None:
            self._live = LiveOutput(self._output, static_line(jobs), self.front)

    def draw(self, jobs: Sequence[Job], results: Mapping[str, JobResult], elapsed: float) -> None:
        parts: dict[str, Any] = {"more": f"… {len(jobs) - BARS} more" if len(jobs) > BARS else None}
        for job in jobs[:BARS]:
            result = results.get(job.job_id)
            shown = {"end": result.shown["text/html"]} if result else self._bar(job, elapsed)
            parts[f"job/{job.job_id}"] = shown
        self.front.change(parts)

    def _bar(self, job: Job, elapsed: float) -> dict[str, Any]:
        amount = percent(job.progress.done, job.progress.total) if job.progress else ""
        return {
            "icon": next((icon for word, icon in _ICONS.items() if word in job.tool), "tool"),
            "name": label(job.tool, 60),
            "state": job_state(job),
            "amounts": " · ".join(job_amounts(job, elapsed)),
            "percent": int(amount[:-2]) if amount else None,
            "cancelling": job.job_id in self._cancelling,
        }

    def finish(self, bundle: Bundle) -> None:
        if self._live is not None:
            self._live.finish(bundle)


def static_line(jobs: Sequence[Job]) -> str:
    """Return the static line above the bars, which a saved notebook shows instead of them."""
    if len(jobs) == 1:
        shown, what = f"%jobs show {label(jobs[0].job_id, 64)}", "shows its result"
        return f"This job runs in the background. After reopening the notebook, `{shown}` {what}."
    return f"{len(jobs)} jobs run in the background. After reopening the notebook, list them with `%jobs`."
