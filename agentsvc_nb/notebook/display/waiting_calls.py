"""Show tool calls that wait for the user's approval, as outputs and as printed text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final

from agentsvc_nb.client.approvals import PendingApproval
from agentsvc_nb.client.cards import Bundle
from agentsvc_nb.documents.markdown import linkable
from agentsvc_nb.notebook.display.markdown import LINE_CHARS, LINK, WRAPPED, line_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.wire.ids import CALL_BEGINNING, RUN_BEGINNING
from agentsvc_nb.wire.text import escape, exact, excerpt, label, reveal

INPUT_CHARS: Final = 4_000
"""How many characters of a call's input are shown. `%approve -o calls` stores the complete input."""
CALLS_SHOWN: Final = 20
_HOW: Final = (
    "Approve it with `%approve {call}`, or with other arguments from a dict with `%approve {call} --input NAME`."
    " Refuse it with `%approve --refuse {call}`; the agent then continues without the call."
)
_ELSEWHERE: Final = (
    "This cell waits for your approval. Decide in another notebook with `%approve {call}` or"
    " `%approve --refuse {call}`, or in a terminal with `agentsvc runs approve {run}`{page}."
    " To cancel the run without the call, press Stop."
)
_ON_PAGE: Final = "on the page of its chat"
_INPUT_PRE: Final = f'<pre style="{WRAPPED};max-height:24em;overflow:auto;margin:2px 0 6px">'


def calls_bundle(calls: Sequence[PendingApproval]) -> Bundle:
    """Return an output for waiting calls of background runs. The user can decide about them in the next cell."""
    return _calls_bundle(calls, _HOW)


def foreground_calls_bundle(view: RunView) -> Bundle:
    """Return an output for the waiting calls of a foreground run, or if none waits, for the last decision."""
    if not view.waiting_calls:
        return {"text/plain": label(view.verdict, LINE_CHARS), "text/html": line_html(view.verdict)}
    return _calls_bundle([*view.waiting_calls.values()], _ELSEWHERE, view.page)


def print_new_calls(calls: Iterable[PendingApproval], printed: set[str]) -> None:
    """Print waiting calls that are not in `printed`, and add their ids to it. For cells without a live output."""
    if new := [call for call in calls if call.call_id not in printed]:
        printed.update(call.call_id for call in new)
        print(f"{calls_bundle(new)['text/plain']}Press Stop to stop waiting. The run stays active.")


def describe_waiting_calls(calls: Iterable[PendingApproval]) -> str:
    """Return sentences for the message of a timeout. They name up to three calls that wait for approval.

    If no call waits, the text is empty.
    """
    waiting = [*calls][:3]
    return "".join(
        f" {label(c.tool, 60)} waits for your approval: `%approve {label(c.call_id[:CALL_BEGINNING], 64)}`."
        for c in waiting
    )


def _calls_bundle(calls: Sequence[PendingApproval], how: str, page: str = "") -> Bundle:
    parts = [_call_parts(call, how, page) for call in calls[:CALLS_SHOWN]]
    more = f"… {len(calls) - CALLS_SHOWN} more" if len(calls) > CALLS_SHOWN else ""
    return {
        "text/plain": "\n".join([*(text for text, _ in parts), *([more] if more else [])]),
        "text/html": "".join([*(shown for _, shown in parts), line_html(more) if more else ""]),
    }


def call_bundle(call: PendingApproval) -> Bundle:
    """Return an output with one call and its exact input. It does not say how to approve the call."""
    head = f"{label(call.tool, 60)} waits for your approval"
    given = exact(call.input, 2, INPUT_CHARS)
    shown = f"<div><strong>{html.escape(head)}</strong></div>{_INPUT_PRE}<code>{html.escape(given)}</code></pre>"
    diff = reveal(excerpt(call.diff, INPUT_CHARS)) if call.diff else ""
    if diff:
        shown += f"<div>Proposed change:</div>{_INPUT_PRE}<code>{html.escape(diff)}</code></pre>"
    return {"text/plain": f"{head}:\n{given}\n" + (f"Proposed change:\n{diff}\n" if diff else ""), "text/html": shown}


def _call_parts(call: PendingApproval, how: str, page: str) -> tuple[str, str]:
    """Return a call with approval instructions: as text with the `page`'s address, and as HTML with a link to it."""
    shown = call_bundle(call)
    ids = {"call": label(call.call_id[:CALL_BEGINNING], 64), "run": label(call.run_id[:RUN_BEGINNING], 64)}
    hint = line_html(how.format(**ids, page=f", or {_ON_PAGE}" if linkable(page) else ""))
    link = f'{LINK}{escape(page, LINE_CHARS)}" target="_blank" rel="noopener">{_ON_PAGE}</a>'
    return (
        f"{shown['text/plain']}{how.format(**ids, page=f', or {_ON_PAGE}: {label(page)}' if page else '')}\n",
        f'<div style="margin-bottom:10px">{shown["text/html"]}{hint.replace(_ON_PAGE, link)}</div>',
    )
