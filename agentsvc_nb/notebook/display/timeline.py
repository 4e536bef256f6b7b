"""The timeline of a run: sources, steps and tool calls, with times and file changes, folded below the answer."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from agentsvc_nb.notebook.display.markdown import PRE, SMALL, fold
from agentsvc_nb.notebook.display.plan import plan_html, plan_summary
from agentsvc_nb.notebook.display.transcript import RunView, ToolCall
from agentsvc_nb.wire.text import escape, plain

ROWS: Final = 100
_GIVEN_CHARS: Final = 160
_LOOKS: Final = {None: "asvc-going", False: "asvc-good", True: "asvc-wrong"}
"""The CSS class of a tool call's row: unfinished (None), successful (False) or failed (True). The front end draws an
icon for each.
"""
_WRONG: Final = "color:var(--jp-error-color1,#dd3333)"
_GOOD: Final = "color:var(--jp-success-color1,#2e7d32)"
_UNFOLDED_LINES: Final = 12


def timeline_html(view: RunView, sources: Sequence[str] = (), *, planned: bool = True) -> str:
    """Return the folded timeline of a run. It is empty if the run has no sources, no plan, no calls and only one step.

    With `planned`, the timeline begins with the agent's plan.
    """
    plan = plan_html(view.plan) if planned else ""
    counted = [_count(len(sources), "source")] if sources else []
    done = _steps_html(view) if len(view.marks) > 1 or view.calls else ""
    if plan or done:
        counted.append(_summary(view))
    return fold(", ".join(counted), f"{''.join(sources)}{plan}{done}") if counted else ""


def _steps_html(view: RunView) -> str:
    began = view.marks[0].at if view.marks else view.calls[0].at
    lines = [(mark.event, mark.at, "asvc-step", escape(mark.text)) for mark in view.marks]
    lines += [(call.event, call.at, _LOOKS[call.failed], _call(call)) for call in view.calls]
    lines.sort(key=lambda line: line[0])
    rows = "".join(
        f'<li class="{look}"><span style="{SMALL}">{_offset(began, at)}</span> {text}</li>'
        for _, at, look, text in lines[:ROWS]
    )
    more = f"<li>… {len(lines) - ROWS} more</li>" if len(lines) > ROWS else ""
    return f'<ul class="asvc-steps">{rows}{more}</ul>'


def _summary(view: RunView) -> str:
    failed = sum(call.failed is True for call in view.calls)
    counts = [plan_summary(view.plan)] if view.plan else []
    counts += [_count(view.step, "step")] if view.step else []
    counts += [_count(len(view.calls), "tool call") + (f" ({failed} failed)" if failed else "")] if view.calls else []
    return ", ".join(counts) or "what it did"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _call(call: ToolCall) -> str:
    took = seconds_between(call.at, call.until)
    facts = {True: f' <span style="{_WRONG}">(failed)</span>', False: "", None: " (not finished)"}[call.failed]
    given = f" <code>{escape(call.given, _GIVEN_CHARS)}</code>" if call.given else ""
    given += " (arguments changed before approval)" if call.changed else ""
    line = f"{escape(call.tool, 80)}{given}{'' if took is None else f' {took:.1f} s'}{facts}"
    return line + (_diff_html(call.diff) if call.diff else "")


def _diff_html(diff: str) -> str:
    """Return a unified diff as HTML. A short diff is unfolded."""
    lines = plain(diff).splitlines()
    changed = lines[2:]  # without the two lines with file names
    counts = [sum(line.startswith(sign) for line in changed) for sign in "+-"]
    styles = {"+": _GOOD, "-": _WRONG}
    shown = "\n".join(
        f'<span style="{styles[line[0]]}">{html.escape(line)}</span>' if line[:1] in styles else html.escape(line)
        for line in changed
    )
    block = fold(f"{_count(counts[0], 'line')} added, {counts[1]} removed", f"{PRE}{shown}</pre>")
    return block.replace("<details", "<details open", 1) if len(changed) <= _UNFOLDED_LINES else block


def _offset(began: str, at: str) -> str:
    seconds = seconds_between(began, at)
    return "" if seconds is None else f"+{seconds:.1f} s"


def seconds_between(start: str | None, end: str | None) -> float | None:
    """Return the seconds between two times from the service. Return None if a time is missing or invalid."""
    try:
        return max(0.0, (datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")).total_seconds())
    except (ValueError, TypeError):
        return None
