"""Render the status line, answer and steps of a run as safe HTML and text that contain no scripts and load nothing."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from agentsvc_nb.client.cards import MUTED as MUTED
from agentsvc_nb.client.cards import SMALL
from agentsvc_nb.client.cards import Bundle as Bundle
from agentsvc_nb.notebook.display import markdown
from agentsvc_nb.notebook.display.markdown import LINE_CHARS, line_html, numbers_html, to_html
from agentsvc_nb.notebook.display.timeline import seconds_between, timeline_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.notebook.display.waiting_calls import calls_bundle
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.codes import FAILURES, resume_command
from agentsvc_nb.wire.number_sources import summary
from agentsvc_nb.wire.runs import CENT, NOT_COMPUTED, Run
from agentsvc_nb.wire.text import escape, label, plain, worded
from agentsvc_nb.wire.tools import Job


def cost(microcents: int) -> str:
    """Format a cost in micro-cents, such as `0.42 cents` or `$1.30`."""
    cents = microcents / CENT
    if cents >= 100:
        return f"${cents / 100:,.2f}"
    return f"{cents:.2f} cents" if cents >= 0.01 or not cents else "under 0.01 cents"


FREE: Final = "free"


def price(microcents: int, model: str | None, own: bool) -> str:
    """Return the cost. Return `free` for recorded conversations, and with `own`, for the offline agent.

    `own` is True if the embedded service on this machine runs the agent.
    """
    free = (own and model == "offline") or (model or "").startswith("scripted:")
    return FREE if free else cost(microcents)


def percent(done: object, total: object) -> str:
    """Format `done` of `total` as a percentage, such as `42 %`. Return an empty text if either is unknown."""
    if not isinstance(done, int | float) or not isinstance(total, int | float) or total <= 0:
        return ""
    return f"{min(100, max(0, round(100 * done / total)))} %"


def format_time(time: str | None) -> str:
    """Format a time from the service in local time, such as `21 Nov 13:05`. Return an empty text if it is invalid."""
    try:
        return f"{datetime.fromisoformat(time or '').astimezone():%d %b %H:%M}"
    except ValueError:
        return ""


_UNITS: Final = ("B", "kB", "MB", "GB")


def size(count: int) -> str:
    """Format a number of bytes, such as `482 kB`."""
    if count < 1000:
        return f"{count} B"
    power = min(3, (len(str(count)) - 1) // 3)
    amount = count / 1000**power
    return f"{amount:.0f} {_UNITS[power]}" if amount >= 10 else f"{amount:.1f} {_UNITS[power]}"


_MARKS: Final = {"completed": "✓", "succeeded": "✓", "failed": "✗", "cancelled": "■", "cancelling": "◌", "queued": "○"}
_QUIET: Final = ("quiet", "var(--jp-border-color1,#9e9e9e)")
_DONE: Final = ("done", "var(--jp-success-color1,#2e7d32)")
_DOTS: Final = {
    "completed": _DONE,
    "succeeded": _DONE,
    "failed": ("failed", "var(--jp-error-color1,#d32f2f)"),
    "cancelled": _QUIET,
    "queued": _QUIET,
}
"""The appearance of each status: a class in our style sheet, and a colour for pages without the style sheet."""
_ACTIVE: Final = ("active", "var(--jp-brand-color1,#1976d2)")
_DOT: Final = (
    "display:inline-block;width:8px;height:8px;border-radius:50%;overflow:hidden;font-size:0px;"
    "margin-right:6px;vertical-align:middle"
)
_FAILURE: Final = "margin:6px 0;padding:4px 10px;border-left:3px solid var(--jp-error-color1,#d32f2f)"
_UNANSWERED: Final = ("asked_back", "nothing", "cannot")
"""Values of `basis` for texts that do not answer the question, but say why not and suggest other questions."""


def status_label(status: str) -> str:
    """Return a status with its symbol, such as `✓ completed`."""
    return f"{_MARKS.get(status, '●')} {label(status, 30)}"


def seconds_of(run: Run | Job) -> float | None:
    """Return how many seconds a run or job took by the service's clock. Return None if it has not ended."""
    return seconds_between(run.started_at or run.created_at, run.ended_at)


def status_parts(view: RunView) -> list[str]:
    """Return the parts of a run's status line: status, duration, model and cost, and current activity."""
    state, *now = current_activity(view)
    return [state, *amounts(view), *now]


def current_activity(view: RunView) -> list[str]:
    """Return a run's status, and its current activity or the reason why it waits."""
    state = status_label(_status(view))
    if view.waiting:
        return [state, f"waiting for run {label(view.waiting, 64)}"]
    if view.ended:
        return [state, *(["file changes undone"] if view.run and view.run.undone_at else [])]
    return [state, *_doing(view)]


def _status(view: RunView) -> str:
    return "cancelling" if view.stopping and not view.ended else view.status


def amounts(view: RunView) -> list[str]:
    """Return a run's duration, its current step while it is active, its model, and its cost if known."""
    run = view.run
    seconds = seconds_of(run) if run is not None else None
    pieces = [f"{view.elapsed if seconds is None else seconds:.1f} s"]
    if view.step and not view.ended:
        pieces.append(f"step {view.step}")
    paid = price(run.usage.cost_microcents, run.model, view.own) if run is not None else ""
    who = ", ".join(filter(None, (label(view.model, 80), paid)))
    return [*pieces, *([who] if who else [])]


def _doing(view: RunView) -> list[str]:
    if view.waiting_calls or any(call.state == "asked" for call in view.kernel):
        return ["waits for your approval"]
    if call := view.active_call:
        return [f"calling {label(call.tool, 60)}"]
    if view.progress is None:
        return []
    done, total = view.progress.get("done"), view.progress.get("total")
    text = label(view.progress.get("message") or "", 80)
    return [piece for piece in (percent(done, total), text) if piece]


def status_bundle(view: RunView, advice: str = "") -> Bundle:
    """Return the status line of a run, with the line `advice` below it."""
    pieces, below = status_parts(view), [advice] if advice else []
    return {
        "text/plain": "\n".join([" · ".join(pieces), *below]),
        "text/html": status_html(_status(view), pieces[1:]) + "".join(map(line_html, below)),
    }


def status_html(status: str, pieces: Sequence[str], unfolded: str = "", *, answered: bool = True) -> str:
    """Return a status line as HTML: a dot in the status's colour, then `pieces`. Screen readers announce changes.

    For a successful run, the status itself is not visible, but screen readers read it. A click on the line shows the
    HTML `unfolded`. If `answered` is False, the dot is grey.
    """
    symbol, _, word = status_label(status).partition(" ")
    heard, shown = (f"{symbol} {word}", pieces) if symbol == "✓" else (symbol, [word, *pieces])
    look, color = _DOTS.get(status, _ACTIVE) if answered else _QUIET
    dot = f'<span class="asvc-dot asvc-{look}" style="{_DOT};background:{color}">{escape(heard)}</span>'
    line = f"{dot} {' · '.join(map(escape, shown))}"
    if unfolded:
        line = f'<details><summary style="list-style:none;cursor:pointer">{line}</summary>{unfolded}</details>'
    return f'<div class="asvc-status" role="status" style="{SMALL};margin-bottom:4px">{line}</div>'


def _ended_status(view: RunView, run: Run) -> str:
    """Return the status line of an ended run. A click on it shows the tokens, the run's id and the chat."""
    used, (_, *pieces) = run.usage, status_parts(view)
    chat = f" · chat <code>{escape(run.chat)}</code>" if run.chat else ""
    tokens = f"{used.input_tokens:,} tokens in, {used.output_tokens:,} tokens out"
    about = f"<div>{tokens} · run <code>{escape(view.run_id)}</code>{chat}</div>"
    return status_html(_status(view), pieces, about, answered=_answered(view))


def with_space_below(lines: Iterable[str]) -> str:
    """Wrap lines of HTML in an element with space below it."""
    return f'<div style="margin-bottom:6px">{"".join(lines)}</div>'


def text_bundle(text: str, settled: bool = True) -> Bundle:
    """Return a part of a streamed answer. Code is highlighted only if the part is `settled`.

    Other parts are soon sent again, and highlighted code is long.
    """
    return {"text/plain": plain(text), "text/html": to_html(text, coloured=settled)}


def answer_bundle(
    view: RunView,
    *,
    notes: Sequence[str] = (),
    records: Bundle | None = None,
    charts: Bundle | None = None,
    sources: Sequence[str] = (),
    files: Bundle | None = None,
    why: bool = True,
) -> Bundle:
    """Return the final output of a run.

    Args:
        notes: lines to show above the answer.
        records: the answer's records as a table, which is shown instead of the text.
        charts: the charts that the run drew.
        sources: the passages that the answer quotes, each as HTML.
        files: the files that the run wrote.
        why: whether to say why the run failed.
    """
    run = view.run if view.ended else None
    basis = run.basis if run is not None else None
    lines = [label(line, LINE_CHARS) for line in (*notes, *_warnings(view))]
    failure = (
        label(describe_failure(view.run), LINE_CHARS) if why and view.run is not None and view.run.last_error else ""
    )
    calls = [call.bundle() for call in view.kernel]
    status = _ended_status(view, run) if run is not None else status_bundle(view)["text/html"]
    look = "asvc-body" if _answered(view) else "asvc-body asvc-unanswered"
    body = [
        status,
        *map(line_html, lines),
        f'<div class="asvc-failure" style="{_FAILURE}">{worded(failure, LINE_CHARS)}</div>' if failure else "",
        *(call["text/html"] for call in calls),
        f'<div class="{look}">{records["text/html"] if records else _body_html(view)}',
        charts["text/html"] if charts else "",
        f"</div>{numbers_html(basis)}",
        timeline_html(view, sources),
        files["text/html"] if files else "",
    ]
    text = [
        *(call["text/plain"] for call in calls),
        records["text/plain"] if records else plain(view.text).rstrip(),
        charts["text/plain"] if charts else "",
        summary(basis, named=True),
        files["text/plain"] if files else "",
        *lines,
        failure,
        " · ".join([*status_parts(view), *([f"run {label(view.run_id, 64)}"] if failure else [])]),
    ]
    return {
        "text/plain": "\n\n".join(part for part in text if part),
        "text/html": f'<div class="asvc-answer" role="group" aria-label="Answer">{"".join(body)}</div>',
    }


def note_bundle(line: str) -> Bundle:
    """Return an output that shows a line of this package's own text."""
    return {"text/plain": label(line, LINE_CHARS), "text/html": line_html(line)}


def undone_bundle(answer: Bundle) -> Bundle:
    """Return the answer of a run whose file changes were undone, with a line above that says so."""
    return stack([note_bundle("The file changes of this run were undone."), answer])


def widget_line_bundle(line: str) -> Bundle:
    """Return a line that describes a widget. It is visible in saved notebooks, and hidden while the widget is shown."""
    return {**note_bundle(line), "text/html": f'<div role="note">{line_html(line)}</div>'}


def error_bundle(message: str, hint: str) -> Bundle:
    """Return an error as an output, for errors that can't be raised in a cell."""
    lines = [f"✗ {label(message, LINE_CHARS)}", *([label(hint, LINE_CHARS)] if hint else [])]
    return {"text/plain": "\n".join(lines), "text/html": "".join(map(line_html, lines))}


def _body_html(view: RunView) -> str:
    if view.run is not None and view.run.structured_output is not None:
        text = json.dumps(view.run.structured_output, indent=2, ensure_ascii=False)
        return f"{markdown.PRE}<code>{html.escape(plain(text))}</code></pre>"
    numbers = view.run.basis.numbers if view.run is not None and view.run.basis is not None else ()
    return to_html(view.text, (view.run and view.run.app_url) or "", suggests=not _answered(view), numbers=numbers)


def _answered(view: RunView) -> bool:
    """Return True if the run's text answers the question, and False if it only says why there is no answer."""
    return view.run is None or view.run.basis is None or view.run.basis.basis not in _UNANSWERED


def _warnings(view: RunView) -> list[str]:
    lines = [f"warning: {label(warning, 300)}" for warning in view.warnings[:5]]
    basis = view.run.basis if view.run is not None else None
    return [*lines, *([NOT_COMPUTED] if basis is not None and basis.basis == "not_computed" else [])]


def describe_failure(run: Run) -> str:
    """Return one line that says why a run failed: the error code, its meaning, and what to do next."""
    known = FAILURES.get(run.last_error or "")
    said = label(run.last_error_message or "", 300) or (known.cause if known else "")
    line = f"{label(run.last_error or 'failed', 80)}: {said or 'the service gave no reason'}"
    if again := resume_command("%runs resume", run.run_id[: ids.RUN_BEGINNING], run.last_error, run.last_error_message):
        return f"{line.rstrip('.')}. Resume it with `{again}`."
    return line if known is None or known.hint in line else f"{line.rstrip('.')}. {known.hint}"


def stack(bundles: Sequence[Bundle]) -> Bundle:
    """Combine several bundles into one, one below the other."""
    return {
        "text/plain": "\n\n".join(bundle["text/plain"] for bundle in bundles),
        "text/html": "".join(f'<div style="margin-bottom:10px">{bundle["text/html"]}</div>' for bundle in bundles),
    }


def run_bundle(view: RunView) -> Bundle:
    """Return the status line of a run, and the run's calls that wait for approval."""
    line, asked = status_bundle(view), calls_bundle([*view.waiting_calls.values()])
    return {kind: "\n".join(part for part in (line[kind], asked[kind]) if part) for kind in line}
