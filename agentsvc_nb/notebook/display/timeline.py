"""What a run did, folded under its answer: steps and tool calls in their order, with the seconds since it began."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from agentsvc_nb.notebook.display.transcript import Call, Transcript
from agentsvc_nb.safe.text import escape

ROWS: Final = 100
_GIVEN_CHARS: Final = 160


def timeline_html(view: Transcript, muted: str, warning: str) -> str:
    """A folded list in HTML; empty for a run of one step that called nothing. The styles are CSS declarations."""
    if len(view.marks) <= 1 and not view.calls:
        return ""
    began = view.marks[0].at if view.marks else view.calls[0].at
    lines = [(mark.event, mark.at, escape(mark.text)) for mark in view.marks]
    lines += [(call.event, call.at, _call(call, warning)) for call in view.calls]
    lines.sort(key=lambda line: line[0])
    rows = "".join(f'<li><span style="{muted}">{_offset(began, at)}</span> {text}</li>' for _, at, text in lines[:ROWS])
    more = f"<li>… {len(lines) - ROWS} more</li>" if len(lines) > ROWS else ""
    return f"<details><summary>{_summary(view)}</summary><ul>{rows}{more}</ul></details>"


def _summary(view: Transcript) -> str:
    failed = sum(call.failed is True for call in view.calls)
    counts = [_count(view.step, "step")] if view.step else []
    counts += [_count(len(view.calls), "tool call") + (f" ({failed} failed)" if failed else "")] if view.calls else []
    return ", ".join(counts) or "what it did"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _call(call: Call, warning: str) -> str:
    took = _seconds(call.at, call.until)
    facts = {True: f' <span style="{warning}">(failed)</span>', False: "", None: " (not finished)"}[call.failed]
    given = f" <code>{escape(call.given, _GIVEN_CHARS)}</code>" if call.given else ""
    return f"{escape(call.tool, 80)}{given}{'' if took is None else f' {took:.1f} s'}{facts}"


def _offset(began: str, at: str) -> str:
    seconds = _seconds(began, at)
    return "" if seconds is None else f"+{seconds:.1f} s"


def _seconds(start: str, end: str) -> float | None:
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return None
