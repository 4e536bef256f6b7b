"""A run that has spent most of its `max_cents`: what its output says, and how to raise the limit."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.client.cards import Bundle
from agentsvc_nb.documents.markdown import linkable
from agentsvc_nb.notebook.display.markdown import LINE_CHARS, LINK, line_html
from agentsvc_nb.notebook.display.transcript import RunView
from agentsvc_nb.wire.text import escape, label

_SPENT: Final = "This run has spent {spent:,.2f} of its {most:,.2f} cents. It ends when its next call could cost more."
_HOW: Final = "`%runs raise {run} {to:g}` lets it cost more"
_ELSEWHERE: Final = (
    "To let it cost more: `%runs raise {run} {to:g}` in another notebook, or `agentsvc runs raise {run} {to:g}` in a"
    " terminal"
)
_ON_PAGE: Final = "on the page of its chat"
_RAISED: Final = "This run may cost {most:,.2f} cents now."


def limit_bundle(view: RunView, *, blocked: bool = False) -> Bundle:
    """The warning of a run near its limit, or, once the limit was raised, what it is now.

    `blocked`: the cell of the run keeps the notebook from running the command.
    """
    if (near := view.near) is None:
        return _line(_RAISED.format(most=view.raised_to or 0.0))
    said = _SPENT.format(spent=near.spent_cents, most=near.max_cents)
    how = (_ELSEWHERE if blocked else _HOW).format(run=label(view.run_id, 64), to=near.suggested_cents)
    if not blocked:
        return _line(f"{said} {how}.")
    page = f", or {_ON_PAGE}" if linkable(view.page) else ""
    link = f'{LINK}{escape(view.page, LINE_CHARS)}" target="_blank" rel="noopener">{_ON_PAGE}</a>'
    return {
        "text/plain": f"{said} {how}{f'{page}: {label(view.page)}' if page else ''}.",
        "text/html": line_html(f"{said} {how}{page}.").replace(_ON_PAGE, link),
    }


def _line(said: str) -> Bundle:
    return {"text/plain": said, "text/html": line_html(said)}
