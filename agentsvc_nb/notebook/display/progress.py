"""The progress bar of a running cell. It is static HTML that looks like the bars of the widgets."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.notebook.display.markdown import SMALL
from agentsvc_nb.wire.text import escape

_PANEL: Final = (
    "border:1px solid var(--jp-border-color2,#8884);border-radius:10px;padding:8px 12px 10px;margin:4px 0;"
    "box-sizing:border-box;max-width:760px"
)
_ROW: Final = "display:flex;flex-wrap:wrap;align-items:baseline;gap:2px 6px"
_BAR: Final = "display:block;width:100%;height:6px;margin-top:8px;accent-color:var(--jp-brand-color1,#1976d2)"


def progress_html(name: str, state: str, amounts: str = "", percent: str = "") -> str:
    """Return the HTML of a progress bar with its text.

    Args:
        name: the name of the work.
        state: the current activity. Screen readers announce each change.
        amounts: values that change often, such as the elapsed seconds. Screen readers do not announce them.
        percent: the progress, such as `42 %`; if empty, the bar shows activity without progress.
    """
    value = f' value="{percent[:-2]}"' if percent else ""
    quiet = f'<span style="{SMALL}">{escape(amounts, 400)}</span>' if amounts else ""
    return (
        f'<div style="{_PANEL}"><div style="{_ROW}"><strong>{escape(name, 60)}</strong>'
        f'<span role="status" style="{SMALL}">{escape(state, 400)}{" ·" * bool(state and amounts)}</span>{quiet}</div>'
        f'<progress class="asvc-progress" max="100"{value} aria-label="{escape(name, 60)}" style="{_BAR}">{percent}'
        "</progress></div>"
    )
