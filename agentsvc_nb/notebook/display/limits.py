"""The warning that a run has spent most of its cost limit (`max_cents`), and how to raise the limit."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.client.cards import Bundle
from agentsvc_nb.documents.markdown import linkable
from agentsvc_nb.notebook.display.markdown import LINE_CHARS, LINK, line_html
from agentsvc_nb.notebook.display.transcript import NearLimit, RunView
from agentsvc_nb.wire.ids import RUN_BEGINNING
from agentsvc_nb.wire.text import escape, label

_SPENT: Final = (
    "This run has spent {spent:,.2f} of its {most:,.2f} cents. It ends when the next call could exceed the limit."
)
_ELSEWHERE: Final = (
    "in another notebook with `%runs raise {run} {to:g}`, or in a terminal with `agentsvc runs raise {run} {to:g}`"
)
_ON_PAGE: Final = "on the page of its chat"
_RAISED: Final = "The run's limit is now {most:,.2f} cents."


def spent_line(near: NearLimit) -> str:
    """Return a sentence that says how much a run has spent of its limit."""
    return _SPENT.format(spent=near.spent_cents, most=near.max_cents)


def limit_bundle(view: RunView) -> Bundle:
    """Return the warning that a run is near its cost limit, or after the limit was raised, a line with the new limit.

    The warning suggests the web page, another notebook or a terminal, because the run's cell keeps this notebook busy.
    """
    if (near := view.near_limit) is None:
        said = _RAISED.format(most=view.raised_to or 0.0)
        return {"text/plain": said, "text/html": line_html(said)}
    elsewhere = _ELSEWHERE.format(run=label(view.run_id[:RUN_BEGINNING], 64), to=near.suggested_cents)
    said, page = f"{spent_line(near)} Raise its limit", linkable(view.page)
    link = f'{LINK}{escape(view.page, LINE_CHARS)}" target="_blank" rel="noopener">{_ON_PAGE}</a>'
    return {
        "text/plain": f"{said} {f'{_ON_PAGE} ({label(view.page)}), ' if page else ''}{elsewhere}.",
        "text/html": line_html(f"{said} {f'{_ON_PAGE}, ' if page else ''}{elsewhere}.").replace(_ON_PAGE, link),
    }
