"""Render runs and jobs as static mime bundles: safe HTML and plain text, without scripts or remote content."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentsvc_nb.notebook.display import markdown
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.transcript import RunView, ToolCall
from agentsvc_nb.wire.failures import FAILURES
from agentsvc_nb.wire.runs import CENT, Run
from agentsvc_nb.wire.text import escape, label, plain, worded
from agentsvc_nb.wire.tools import Job


def cost(microcents: int) -> str:
    """Format an amount of money: `0.42 cents`, `$1.30`."""
    cents = microcents / CENT
    if cents >= 100:
        return f"${cents / 100:,.2f}"
    return f"{cents:.2f} cents" if cents >= 0.01 or not cents else "under 0.01 cents"


def percent(done: object, total: object) -> str:
    """Format progress as `42 %`; empty if it is not known."""
    if not isinstance(done, int | float) or not isinstance(total, int | float) or total <= 0:
        return ""
    return f"{min(100, max(0, round(100 * done / total)))} %"


def moment(time: str | None) -> str:
    """Format a time of the service in this machine's time zone: `21 Nov 13:05`; empty if it is not a time."""
    try:
        return f"{datetime.fromisoformat(time or '').astimezone():%d %b %H:%M}"
    except ValueError:
        return ""


_UNITS: Final = ("B", "kB", "MB", "GB")


def size(count: int) -> str:
    """Format a number of bytes: `482 kB`."""
    if count < 1000:
        return f"{count} B"
    power = min(3, (len(str(count)) - 1) // 3)
    amount = count / 1000**power
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 10 else f"{amount:.1f} {_UNITS[power]}"


ROWS: Final = 100
_GIVEN_CHARS: Final = 160


def timeline_html(view: RunView, muted: str, warning: str) -> str:
    """Return the folded list of a run's steps and tool calls; empty for one step without calls.

    `muted` and `warning` are CSS declarations.
    """
    if len(view.marks) <= 1 and not view.calls:
        return ""
    began = view.marks[0].at if view.marks else view.calls[0].at
    lines = [(mark.event, mark.at, escape(mark.text)) for mark in view.marks]
    lines += [(call.event, call.at, _call(call, warning)) for call in view.calls]
    lines.sort(key=lambda line: line[0])
    rows = "".join(f'<li><span style="{muted}">{_offset(began, at)}</span> {text}</li>' for _, at, text in lines[:ROWS])
    more = f"<li>… {len(lines) - ROWS} more</li>" if len(lines) > ROWS else ""
    return f"<details><summary>{_summary(view)}</summary><ul>{rows}{more}</ul></details>"


def _summary(view: RunView) -> str:
    failed = sum(call.failed is True for call in view.calls)
    counts = [_count(view.step, "step")] if view.step else []
    counts += [_count(len(view.calls), "tool call") + (f" ({failed} failed)" if failed else "")] if view.calls else []
    return ", ".join(counts) or "what it did"


def _count(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _call(call: ToolCall, warning: str) -> str:
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


Bundle = dict[str, str]

MUTED: Final = markdown.MUTED
_WRONG: Final = "color:var(--jp-error-color1,#dd3333)"
_MARKS: Final = {"completed": "✓", "succeeded": "✓", "failed": "✗", "cancelled": "■", "cancelling": "◌", "queued": "○"}
LINE_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class Extras:
    """Additions to an answer: notes, the table of files that the run wrote, its charts, and the answer's records as a
    table."""

    notes: tuple[str, ...] = ()
    files: Bundle | None = None
    records: Bundle | None = None
    charts: Bundle | None = None


def mark(status: str) -> str:
    """Return a state with its symbol: `✓ completed`."""
    return f"{_MARKS.get(status, '●')} {label(status, 30)}"


def seconds_of(run: Run | Job) -> float | None:
    """Return how long a run or job took by the service's clock, in seconds; None if it has not ended."""
    start, end = run.started_at or run.created_at, run.ended_at
    if not start or not end:
        return None
    try:
        return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except (ValueError, TypeError):
        return None


def facts(view: RunView) -> list[str]:
    """Return the pieces of a run's status line: state, seconds, steps, cost, current activity and run id."""
    state, *now = doing(view)
    run = [f"run {label(view.run_id, 64)}"] if view.run_id else []
    return [state, *amounts(view), *now, *run]


def doing(view: RunView) -> list[str]:
    """Return a run's state, and what it is doing now or waiting for."""
    state = mark("cancelling" if view.stopping and not view.ended else view.status)
    if view.waiting:
        return [state, f"waiting for run {label(view.waiting, 64)}"]
    return [state] if view.ended else [state, *_doing(view)]


def amounts(view: RunView) -> list[str]:
    """Return a run's seconds, steps, and once known its cost."""
    run = view.run
    seconds = seconds_of(run) if run is not None else None
    pieces = [f"{view.elapsed if seconds is None else seconds:.1f} s"]
    if view.step:
        pieces.append(f"{view.step} step{'s' * (view.step != 1)}")
    return pieces if run is None else [*pieces, cost(run.usage.cost_microcents)]


def _doing(view: RunView) -> list[str]:
    if view.asked:
        return ["waits for your approval"]
    if call := view.active_call:
        return [f"calling {label(call.tool, 60)}"]
    if view.progress is None:
        return []
    done, total = view.progress.get("done"), view.progress.get("total")
    text = label(view.progress.get("message") or "", 80)
    return [piece for piece in (percent(done, total), text) if piece]


def status_bundle(view: RunView) -> Bundle:
    """The status line of a run."""
    pieces = facts(view)
    return {"text/plain": " · ".join(pieces), "text/html": _status_html(pieces)}


def _status_html(pieces: list[str]) -> str:
    return f'<div role="status" style="{markdown.SMALL}">{" · ".join(escape(piece) for piece in pieces)}</div>'


def line_html(line: str) -> str:
    """Return a line of our own text as small HTML."""
    return f'<div style="{markdown.SMALL}">{worded(line, LINE_CHARS)}</div>'


def text_bundle(text: str) -> Bundle:
    """A part of an answer that is still being written."""
    return {"text/plain": plain(text), "text/html": to_html(text)}


def answer_bundle(view: RunView, extras: Extras = Extras()) -> Bundle:
    """The final output of a run."""
    pieces, lines = facts(view), [label(line, LINE_CHARS) for line in (*extras.notes, *_remarks(view))]
    tables = [extras.files] if extras.files else []
    body = [
        _status_html(pieces),
        *(line_html(line) for line in lines),
        extras.records["text/html"] if extras.records else _body_html(view),
        extras.charts["text/html"] if extras.charts else "",
        timeline_html(view, markdown.SMALL, _WRONG),
        *(table["text/html"] for table in tables),
    ]
    said = extras.records["text/plain"] if extras.records else plain(view.text).rstrip()
    drawn = [extras.charts["text/plain"]] if extras.charts else []
    text = [said, *drawn, *(table["text/plain"] for table in tables), *lines, " · ".join(pieces)]
    return {
        "text/plain": "\n\n".join(part for part in text if part),
        "text/html": f'<div role="group" aria-label="Answer">{"".join(body)}</div>',
    }


def note_bundle(line: str) -> Bundle:
    """A line of our own text as an output."""
    return {"text/plain": label(line, LINE_CHARS), "text/html": line_html(line)}


def error_bundle(message: str, hint: str) -> Bundle:
    """An error as an output, when there is no cell that could fail with it."""
    lines = [f"✗ {label(message, LINE_CHARS)}", *([label(hint, LINE_CHARS)] if hint else [])]
    return {"text/plain": "\n".join(lines), "text/html": "".join(map(line_html, lines))}


def columns_bundle(bundles: Sequence[Bundle]) -> Bundle:
    """The outputs of variants side by side, each under its number."""
    wide = f"width:{100 // max(1, len(bundles))}%;text-align:left;vertical-align:top;padding:4px 10px"
    heads = "".join(f'<th scope="col" style="{wide}">{number}</th>' for number in range(1, len(bundles) + 1))
    cells = "".join(f'<td style="{wide}">{bundle["text/html"]}</td>' for bundle in bundles)
    return {
        "text/plain": "\n\n".join(f"Variant {n}:\n{bundle['text/plain']}" for n, bundle in enumerate(bundles, 1)),
        "text/html": f'<table style="width:100%;table-layout:fixed"><thead><tr>{heads}</tr></thead>'
        f"<tbody><tr>{cells}</tr></tbody></table>",
    }


def _body_html(view: RunView) -> str:
    if view.run is not None and view.run.structured_output is not None:
        text = json.dumps(view.run.structured_output, indent=2, ensure_ascii=False)
        return f"<pre><code>{html.escape(plain(text))}</code></pre>"
    return to_html(view.text, (view.run and view.run.app_url) or "")


def _remarks(view: RunView) -> list[str]:
    remarks = [f"warning: {label(warning, 300)}" for warning in view.warnings[:5]]
    if view.run is not None and view.run.last_error:
        remarks.append(why_failed(view.run))
    return remarks


def why_failed(run: Run) -> str:
    """Return one line about a failed run: the code, its meaning, and what to do."""
    known = FAILURES.get(run.last_error or "")
    said = label(run.last_error_message or "", 300) or (known.cause if known else "")
    line = f"{label(run.last_error or 'failed', 80)}: {said or 'the service gave no reason'}"
    return line if known is None or known.hint in line else f"{line.rstrip('.')}. {known.hint}"


def job_doing(job: Job) -> list[str]:
    """Return a job's state, its tool, and its progress message."""
    pieces = [mark(str(job.status)), label(job.tool, 60)]
    if job.progress is not None and job.progress.message and not job.ended:
        pieces.append(label(job.progress.message, 80))
    return pieces


def job_amounts(job: Job, elapsed: float) -> list[str]:
    """Return a job's progress in percent, and its seconds: `elapsed`, or by the service's clock once it has ended."""
    # A tool need not report its last step, so a job that has succeeded counts as 100 %.
    progress, succeeded = job.progress, job.status == "succeeded"
    amount = percent(progress.total if succeeded else progress.done, progress.total) if progress else ""
    seconds = seconds_of(job)
    return [*([amount] if amount else []), f"{elapsed if seconds is None else seconds:.1f} s"]


def stacked(bundles: Sequence[Bundle]) -> Bundle:
    """Bundles stacked below each other."""
    return {
        "text/plain": "\n\n".join(bundle["text/plain"] for bundle in bundles),
        "text/html": "".join(f"<div>{bundle['text/html']}</div>" for bundle in bundles),
    }


def job_bundle(job: Job, elapsed: float, extras: Extras = Extras()) -> Bundle:
    """A job's progress bar, and once it has ended its result."""
    state, *now = job_doing(job)
    pieces = [state, *now[:1], *job_amounts(job, elapsed), *now[1:], f"job {label(job.job_id, 64)}"]
    said = [plain(str(block.get("text", ""))) for block in job.content if block.get("type") == "text"]
    if job.error is not None:
        said = [text for text in said if text != plain(job.error.message)]
        said.insert(0, f"{label(job.error.code, 80)}: {plain(job.error.message)}")
    tables, notes = [extras.files] if extras.files else [], [label(note, LINE_CHARS) for note in extras.notes]
    html_parts = [
        bar_html(job),
        _status_html(pieces),
        *(line_html(note) for note in notes),
        *(to_html(text) for text in said),
        *(table["text/html"] for table in tables),
    ]
    text = [*said, *(table["text/plain"] for table in tables), *notes, " · ".join(pieces)]
    return {"text/plain": "\n\n".join(text), "text/html": "".join(html_parts)}


def bar_html(job: Job) -> str:
    """Return a job's progress bar, named for screen readers: indeterminate without a total, empty once it has ended."""
    if job.ended:
        return ""
    done, total = (job.progress.done, job.progress.total) if job.progress else (0, None)
    amount = percent(done, total)
    value = f' value="{amount[:-2]}"' if amount else ""
    return f'<progress max="100"{value} aria-label="{escape(job.tool, 60)}">{amount}</progress>'
