"""How results are displayed in a notebook: small cards and tables, as plain text and as static HTML.

Content from the service is untrusted: it is shown as text, so markup, scripts, links and pictures in it have no effect.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, Final
from unicodedata import combining, normalize

from agentsvc_nb.wire.text import escape, excerpt, in_bold, is_number, label

Bundle = dict[str, str]
"""A mime bundle as IPython displays it: content by media type."""

ROWS: Final = 20
TEXT_CHARS: Final = 2_000
_PACKAGE: Final = __name__.partition(".")[0]
_CELL: Final = ' style="text-align:left;vertical-align:top;padding-right:12px"'
_NUMBERS: Final = _CELL.replace("left", "right").replace('px"', 'px;font-variant-numeric:tabular-nums"')
"""Inline, because pages without a stylesheet for tables (marimo) would show cells without space between them."""
_PRE: Final = '<pre style="white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere">'
_HTML: Final = "text/html"
# Classes that switch typesetting off: the first for MathJax 3 (JupyterLab, Notebook, voila), the second for MathJax 2
# (pages of nbconvert).
IGNORED: Final = "mathjax_ignore tex2jax_ignore"


def untypeset(markup: str) -> str:
    """Wrap `markup` so that no notebook typesets text between dollars as mathematics; "" stays ""."""
    return f'<div class="{IGNORED}">{markup}</div>' if markup else ""


def untypeset_bundle(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the bundle with `untypeset` HTML, as every output and every `_repr_mimebundle_` must return it.

    >>> untypeset_bundle({"text/plain": "$5", "text/html": "<p>$5</p>"})["text/html"]
    '<div class="mathjax_ignore tex2jax_ignore"><p>$5</p></div>'
    """
    return {**bundle, _HTML: untypeset(bundle[_HTML])} if _HTML in bundle else dict(bundle)


class Showing:
    """Base of all objects that a notebook displays. Subclasses define `_mimebundle`, never `_repr_mimebundle_`."""

    def _mimebundle(self) -> Bundle:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return untypeset_bundle(self._mimebundle())


def card(title: str, facts: Mapping[str, object], text: str = "") -> Bundle:
    """Return a card: a title, the facts except those that are None or "", and a text below, cut at 2,000 characters."""
    known = [(name, value) for name, value in facts.items() if value not in (None, "")]
    lines = [label(title), *(f"  {name}: {label(value)}" for name, value in known)]
    cells = "".join(f"<tr><th{_CELL}>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in known)
    parts = [f"<p><strong>{escape(title)}</strong></p>", f"<table>{cells}</table>" if known else ""]
    if text:
        shown = excerpt(text, TEXT_CHARS)
        lines.append(shown)
        parts.append(f"{_PRE}{html.escape(shown)}</pre>")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(parts)}</div>"}


def table(title: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], count: int) -> Bundle:
    """Return a table of the first 20 of `count` rows; its title says how many there are."""
    first = [*islice(rows, ROWS)]
    by_column = []
    for name in columns:
        values = separated(name, [row.get(name) for row in first])
        by_column.append(["" if value is None else label(value) for value in values])
    styles = [_NUMBERS if side(values) == "right" else _CELL for values in by_column]
    head, more = f"{title} ({count:,})", f"… {count - ROWS:,} more" if count > ROWS else ""
    lines, parts = [label(head)], [f"<p><strong>{escape(head)}</strong></p>"]
    if first:
        shown = [*map(list, zip(*by_column, strict=True))]
        lines += [f"  {line}" for line in aligned([[label(name) for name in columns], *shown])]
        body = "".join(_tr(cells, styles, "td") for cells in shown)
        parts.append(f"<table><thead>{_tr(columns, styles, 'th')}</thead><tbody>{body}</tbody></table>")
    if more:
        lines.append(more)
        parts.append(f"<p>{more}</p>")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(parts)}</div>"}


def _tr(cells: Iterable[str], styles: Iterable[str], tag: str) -> str:
    shown = (f"<{tag}{style}>{escape(cell)}</{tag}>" for cell, style in zip(cells, styles, strict=True))
    return f"<tr>{''.join(shown)}</tr>"


def side(texts: Iterable[str]) -> str:
    """Return the side on which a column is aligned: right if most of its texts are amounts, else left."""
    known = [text for text in texts if text]
    return "right" if known and sum(map(is_number, known)) > len(known) / 2 else "left"


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a text table: cells padded to the width of their column, with two spaces between columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def failure(
    name: str, message: str, facts: Iterable[str | None], hint: str | None, stack: TracebackType | None
) -> list[str]:
    """Return an error in up to three lines: its message, the facts and the calling line, and the hint."""
    known = [label(fact) for fact in facts if fact]
    # The caller's line: the innermost frame outside this package and site-packages.
    for frame, line in reversed([*walk_tb(stack)]):
        file, module = frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] != _PACKAGE and "site-packages" not in file:
            cell = "ipykernel_" in file or file.startswith("<ipython-input")
            known.append(f"line {line} of {'the cell' if cell else Path(file).name}")
            break
    lines = [f"\x1b[1m{name}\x1b[0m: {label(message, TEXT_CHARS)}", ", ".join(known), label(hint or "", TEXT_CHARS)]
    return [in_bold(line) for line in lines if line]


# -- numbers in tables -------------------------------------------------------------------------------------------------

_WORD: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(name: str) -> list[str]:
    """Split a column's name into words, without case and accents."""
    letters = normalize("NFKD", _HUMP.sub(" ", name[:200]))
    return _WORD.findall("".join(char for char in letters if not combining(char)).casefold())


# In English, German, French and Spanish.
IDENTIFIERS: Final = frozenset(
    _words(
        "id ids uuid guid sku nr no num number code key index nummer kennung schluessel numero clave codigo cle zip plz"
        " phone ean isbn asin"
    )
)
_YEARS: Final = frozenset(_words("year jahr annee ano season saison"))
_YEAR_NUMBERS: Final = range(1900, 2101)


def names_label(name: str) -> bool:
    """Return True if a column of this name has identifiers or years, not amounts.

    >>> names_label("orderId"), names_label("Année"), names_label("id count")
    (True, True, False)
    """
    words = _words(name)
    return not _YEARS.isdisjoint(words) or (bool(words) and words[-1] in IDENTIFIERS)


def separated(name: str, values: Sequence[object]) -> list[object]:
    """Return a column's values with its numbers as texts, with separators unless they are years or identifiers.

    >>> separated("views", [1234567, 0.1 + 0.2, None, "x"])
    ['1,234,567', '0.3', None, 'x']
    >>> separated("order_id", [1234567]), separated("", [2024, 2025])
    (['1234567'], ['2024', '2025'])
    """
    numbers = [value for value in values if _is_amount(value)]
    comma = "" if names_label(name) or all(value in _YEAR_NUMBERS for value in numbers) else ","
    # A float has 15 exact decimal digits; further digits come from its binary form.
    return [
        format(value, f"{comma}.15g" if isinstance(value, float) else comma) if _is_amount(value) else value
        for value in values
    ]


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
