"""Render runs as static mime bundles: safe HTML and plain text, without scripts or remote content.

A run is its status line, its answer, its steps, and its tool calls that wait for approval.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.display import markdown
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.notebook.display.transcript import RunView, ToolCall
from agentsvc_nb.wire.failures import FAILURES
from agentsvc_nb.wire.runs import CENT, Run
from agentsvc_nb.wire.text import escape, exact, label, plain, worded
from agentsvc_nb.wire.tools import Job


def cost(microcents: int) -> str:
    """Format an amount of money: `0.42 cents`, `$1.30`."""
    cents = microcents / CENT
    if cents >= 100:
        return f"${cents / 100:,.2f}"
    return f"{cents:.2f} cents" if cents >= 0.01 or not cents else "under 0.01 cents"


FREE: Final = "free"


def price(microcents: int, model: str | None, own: bool) -> str:
    """`cost`, or `free` of the offline agent on this machine's `own` service, and of a recorded conversation: nobody is
    charged for them."""
    free = (own and model == "offline") or (model or "").startswith("scripted:")
    return FREE if free else cost(microcents)


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


def _timeline_html(view: RunView, muted: str, warning: str) -> str:
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
    """Additions to an answer: notes, the table of files that the run wrote, its charts, the answer's records as a
    table, and the passages that it quotes, as HTML."""

    notes: tuple[str, ...] = ()
    files: Bundle | None = None
    records: Bundle | None = None
    charts: Bundle | None = None
    sources: str = ""


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
    """Return the pieces of a run's status line: state, seconds, steps, cost, model, current activity and run id."""
    state, *now = doing(view)
    run = [f"run {label(view.run_id, 64)}"] if view.run_id else []
    model = [label(view.model, 80)] if view.model else []
    return [state, *amounts(view), *model, *now, *run]


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
    return pieces if run is None else [*pieces, price(run.usage.cost_microcents, run.model, view.own)]


def _doing(view: RunView) -> list[str]:
    if view.asked or any(call.state == "asked" for call in view.kernel):
        return ["waits for your approval"]
    if call := view.active_call:
        return [f"calling {label(call.tool, 60)}"]
    if view.progress is None:
        return []
    done, total = view.progress.get("done"), view.progress.get("total")
    text = label(view.progress.get("message") or "", 80)
    return [piece for piece in (percent(done, total), text) if piece]


RUN_CHARS: Final = 8
"""Of a run's id as people read it."""
_INLINE: Final = "display:inline-block;vertical-align:top;margin:0"
_RUN: Final = re.compile(r"run [0-9a-f]{8}-[0-9a-f-]{27}")


def status_bundle(view: RunView, advice: str = "") -> Bundle:
    """The status line of a run, and a line of our own below it."""
    pieces, below = facts(view), [advice] if advice else []
    return {
        "text/plain": "\n".join([" · ".join(pieces), *below]),
        "text/html": status_html(pieces) + "".join(map(line_html, below)),
    }


def status_html(pieces: list[str], unfolded: str = "") -> str:
    """Return the pieces of a status line as HTML, announced by screen readers; `unfolded` is HTML below the run's id,
    which is shown by its beginning."""
    shown = " · ".join(_piece(piece, unfolded) for piece in pieces)
    return f'<div role="status" style="{markdown.SMALL}">{shown}</div>'


def _piece(piece: str, unfolded: str) -> str:
    """A piece of a status line; a run's id by its beginning, which `%runs` takes. While the line ticks, the whole id is
    in the tooltip: what a reader unfolds would be folded by the next tick."""
    if not _RUN.fullmatch(piece):
        return escape(piece)
    begin = escape(piece[: len("run ") + RUN_CHARS])
    if not unfolded:
        return f'<span title="{escape(piece)}">{begin}</span>'
    return f'<details style="{_INLINE}"><summary>{begin}</summary>{unfolded}</details>'


def _about(view: RunView) -> str:
    """What unfolds of a run that has ended: its whole id, its chat and its tokens."""
    if not view.ended or view.run is None:
        return ""
    used, chat = view.run.usage, view.run.chat
    lines = [f"run <code>{escape(view.run_id)}</code>", f"chat <code>{escape(chat)}</code>" if chat else ""]
    lines.append(f"{used.input_tokens:,} tokens in, {used.output_tokens:,} tokens out")
    return "<br>".join(line for line in lines if line)


def line_html(line: str) -> str:
    """Return a line of our own text as small HTML."""
    return f'<div style="{markdown.SMALL}">{worded(line, LINE_CHARS)}</div>'


def text_bundle(text: str, settled: bool = True) -> Bundle:
    """A part of an answer that is still being written; what has not `settled` is soon sent again, without colours."""
    return {"text/plain": plain(text), "text/html": to_html(text, coloured=settled)}


def answer_bundle(view: RunView, extras: Extras = Extras(), *, why: bool = True) -> Bundle:
    """The final output of a run; of one that failed it says `why`."""
    pieces, lines = facts(view), [label(line, LINE_CHARS) for line in (*extras.notes, *_remarks(view, why))]
    tables = [extras.files] if extras.files else []
    body = [
        status_html(pieces, _about(view)),
        *(line_html(line) for line in lines),
        *(call.bundle()["text/html"] for call in view.kernel),
        extras.records["text/html"] if extras.records else _body_html(view),
        extras.charts["text/html"] if extras.charts else "",
        extras.sources,
        _timeline_html(view, markdown.SMALL, _WRONG),
        *(table["text/html"] for table in tables),
    ]
    said = extras.records["text/plain"] if extras.records else plain(view.text).rstrip()
    drawn = [extras.charts["text/plain"]] if extras.charts else []
    ran = [call.bundle()["text/plain"] for call in view.kernel]
    text = [*ran, said, *drawn, *(table["text/plain"] for table in tables), *lines, " · ".join(pieces)]
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
        return f"{markdown.PRE}<code>{html.escape(plain(text))}</code></pre>"
    return to_html(view.text, (view.run and view.run.app_url) or "")


def _remarks(view: RunView, why: bool) -> list[str]:
    remarks = [f"warning: {label(warning, 300)}" for warning in view.warnings[:5]]
    if why and view.run is not None and view.run.last_error:
        remarks.append(why_failed(view.run))
    return remarks


def why_failed(run: Run) -> str:
    """Return one line about a failed run: the code, its meaning, and what to do."""
    known = FAILURES.get(run.last_error or "")
    said = label(run.last_error_message or "", 300) or (known.cause if known else "")
    line = f"{label(run.last_error or 'failed', 80)}: {said or 'the service gave no reason'}"
    return line if known is None or known.hint in line else f"{line.rstrip('.')}. {known.hint}"


def stacked(bundles: Sequence[Bundle]) -> Bundle:
    """Bundles stacked below each other."""
    return {
        "text/plain": "\n\n".join(bundle["text/plain"] for bundle in bundles),
        "text/html": "".join(f"<div>{bundle['text/html']}</div>" for bundle in bundles),
    }


INPUT_CHARS: Final = 4_000
"""How much of a call's input is shown; `%approve -o calls` has all of it."""
CALLS_SHOWN: Final = 20
_HOW: Final = "`%approve {call}` lets it go on; `%approve --refuse {call}` does not, and the agent is told."
_ELSEWHERE: Final = (
    "This cell waits. Answer in another notebook: `%approve {call}`, or `%approve --refuse {call}`;"
    " in a terminal: `agentsvc runs approve {run}`{page}. Stop cancels the run, and nothing is called."
)
_INPUT_PRE: Final = (
    '<pre style="white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere;max-height:24em;overflow:auto;'
    'margin:2px 0 6px">'
)


def calls_bundle(calls: Sequence[WaitingCall]) -> Bundle:
    """The waiting calls of runs in the background, which can be answered from the next cell."""
    return _asked_bundle(calls, _HOW)


def asked_bundle(view: RunView) -> Bundle:
    """The waiting calls of a run in the foreground, whose cell blocks the notebook; once decided, the decision."""
    if not view.asked:
        return {"text/plain": label(view.verdict, LINE_CHARS), "text/html": line_html(view.verdict)}
    page = f"; on the page {label(view.page)}" if view.page else ""
    return _asked_bundle([*view.asked.values()], _ELSEWHERE, page)


def watched_bundle(view: RunView) -> Bundle:
    """The status line of a run, and its calls that wait for approval."""
    line, asked = status_bundle(view), calls_bundle([*view.asked.values()])
    return {kind: "\n".join(part for part in (line[kind], asked[kind]) if part) for kind in line}


def print_new_calls(calls: Iterable[WaitingCall], printed: set[str]) -> None:
    """Print waiting calls, each once, for a cell without a live output. Adds their ids to `printed`."""
    if new := [call for call in calls if call.call_id not in printed]:
        printed.update(call.call_id for call in new)
        print(f"{calls_bundle(new)['text/plain']}Stop ends this waiting, not the run.")


def why_late(calls: Iterable[WaitingCall]) -> str:
    """Return the sentences of a timeout's message about calls that wait for approval; empty if there are none."""
    waiting = [*calls][:3]
    return "".join(f" {label(c.tool, 60)} waits for approval: `%approve {label(c.call_id, 64)}`." for c in waiting)


def _asked_bundle(calls: Sequence[WaitingCall], how: str, page: str = "") -> Bundle:
    parts = [_asked_call(call, how, page) for call in calls[:CALLS_SHOWN]]
    more = f"… {len(calls) - CALLS_SHOWN} more" if len(calls) > CALLS_SHOWN else ""
    return {
        "text/plain": "\n".join([*(text for text, _ in parts), *([more] if more else [])]),
        "text/html": "".join([*(shown for _, shown in parts), line_html(more) if more else ""]),
    }


def call_bundle(call: WaitingCall) -> Bundle:
    """One call with its exact input, without the hint how to answer it."""
    head = f"{label(call.tool, 60)} waits for your approval"
    given = exact(call.input, 2, INPUT_CHARS)
    shown = f"<div><strong>{html.escape(head)}</strong></div>{_INPUT_PRE}<code>{html.escape(given)}</code></pre>"
    return {"text/plain": f"{head}:\n{given}\n", "text/html": shown}


def _asked_call(call: WaitingCall, how: str, page: str) -> tuple[str, str]:
    shown, hint = call_bundle(call), how.format(call=label(call.call_id, 64), run=label(call.run_id, 64), page=page)
    return f"{shown['text/plain']}{hint}\n", shown["text/html"] + line_html(hint)
