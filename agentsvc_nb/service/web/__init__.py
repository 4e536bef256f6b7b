"""Render the pages under `/app` (docs/team.md) from templates. Escape values, and remove control characters."""

from __future__ import annotations

import functools
from collections.abc import MutableMapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup
from starlette.responses import HTMLResponse

from agentsvc_nb.documents import markdown
from agentsvc_nb.documents.kinds import kind_name
from agentsvc_nb.documents.number_marks import list_sources
from agentsvc_nb.documents.table_edges import edge
from agentsvc_nb.service.api_error import ApiError
from agentsvc_nb.service.runs.run_records import RunRecord
from agentsvc_nb.wire.number_sources import summary
from agentsvc_nb.wire.runs import CENT, AnswerBasis
from agentsvc_nb.wire.text import editable, exact, plain

_INPUT_CHARS: Final = 50_000
_BOX: Final = '<div class="scrolled" role="region" aria-label="Table" tabindex="0"><table>'
_TEMPLATES: Final = Path(__file__).parent / "templates"
CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def render(name: str, status: int = 200, /, **context: Any) -> HTMLResponse:
    """Render the template `name`. Raises `jinja2.UndefinedError` for a variable that the context lacks."""
    # Use "replace", because a lone surrogate can't be encoded.
    html = _templates.get_template(name).render(**context)
    return HTMLResponse(html.encode(errors="replace"), status)


def failure(error: ApiError) -> HTMLResponse:
    """Return the page that shows an error. For users who are not signed in, it says how to sign in."""
    name = "sign_in.html" if error.row.code == "unauthorized" else "failure.html"
    response = render(name, error.row.status, error=error, wrong=False)
    response.headers.update(error.headers)
    return response


def format_time(ms: int) -> str:
    """Format a time in ms.

    >>> format_time(0)
    '1970-01-01 00:00 UTC'
    """
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def format_size(count: int) -> str:
    """Format a number of bytes.

    >>> format_size(999), format_size(1_500), format_size(2_000_000)
    ('999 B', '1.5 kB', '2.0 MB')
    """
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


def format_cost(microcents: int) -> str:
    """Format micro-cents.

    >>> format_cost(420_000), format_cost(130_000_000), format_cost(1)
    ('0.42 cents', '$1.30', 'under 0.01 cents')
    """
    cents = microcents / CENT
    if cents >= 100:
        return f"${cents / 100:,.2f}"
    return f"{cents:.2f} cents" if cents >= 0.01 or not cents else "under 0.01 cents"


_NUMBER: Final = ' class="number"'


@functools.cache
def _parser() -> MarkdownIt:
    return markdown.parser_with(_PageRenderer)


class _PageRenderer(markdown.SafeRenderer):
    """A Markdown renderer that writes CSS classes, because the pages' content security policy forbids inline styles."""

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return f"<th{_NUMBER}>" if edge(tokens, idx) == "right" else "<th>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return f"<td{_NUMBER}>" if edge(tokens, idx) == "right" else "<td>"


def _markdown(text: str, run: RunRecord) -> Markup:
    """Return a run's answer as HTML, with marked numbers, links from quotations to files, and tables that scroll."""
    basis = _basis(run)
    known = {"text_page": f"/app/chats/{quote(run.chat)}/text?path=", "numbers": basis.numbers if basis else ()}
    shown = markdown.to_html(text, _parser(), known=known)
    return Markup(shown.replace("<table>", _BOX).replace("</table>", "</table></div>"))  # `<` in the answer is escaped


def _sources(run: RunRecord) -> Markup:
    """Return HTML with the sources of the numbers in an answer, or nothing if they are unknown.

    It is a line that counts the numbers. A click on the line shows their sources.
    """
    basis = _basis(run)
    if basis is None or not (line := summary(basis)):
        return Markup()
    return Markup(f'<details class="asvc-fold"><summary>{line}</summary><div>{list_sources(basis)}</div></details>')


def _basis(run: RunRecord) -> AnswerBasis | None:
    return None if run.basis is None else AnswerBasis.model_validate_json(run.basis)


def _remove_controls(value: object) -> object:
    """Remove control and bidirectional characters from a value. Jinja escapes the result afterwards."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_remove_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        when=format_time,
        size=format_size,
        cost=format_cost,
        markdown=_markdown,
        sources=_sources,
        kind_name=kind_name,
    )
    made.filters["exact"] = lambda value: exact(value, 2, _INPUT_CHARS)
    made.filters["editable"] = editable
    return made


# Create the environment once, because it caches compiled templates.
_templates: Final = _environment()
