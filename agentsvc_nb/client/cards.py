"""Cards and tables that show results in a notebook, as plain text and as static HTML.

A card shows one result: a title, a few facts, and a text. Content from the service is untrusted, so cards and tables
show it as text. Markup, scripts, links and pictures in this content have no effect.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, Final
from unicodedata import combining, normalize

from agentsvc_nb.wire.text import escape, excerpt, in_bold, is_number, label, worded

Bundle = dict[str, str]
"""A mime bundle, which IPython displays. It maps media types such as `text/html` to content."""

ROWS: Final = 50
"""The maximum number of rows that a table shows."""
TEXT_CHARS: Final = 2_000
CELL_CHARS: Final = 60
"""The maximum number of characters that a cell of a plain-text table shows."""
MUTED: Final = "color:var(--jp-ui-font-color2,#767676)"
SMALL: Final = f"{MUTED};font-size:90%;overflow-wrap:anywhere"
LINE: Final = "1px solid var(--jp-border-color2,#8884)"
# The styles are inline, because most programs show a saved output without our style sheet. If the JupyterLab extension
# has loaded the style sheet (`labextension/static/answer.css`), the classes add details such as lines between rows.
TABLE: Final = (
    '<div class="asvc-tablebox" style="overflow-x:auto;width:fit-content;max-width:100%;margin:8px 0;'
    f'border:{LINE};border-radius:8px">'
    '<table style="border-collapse:collapse;margin:0;font-variant-numeric:tabular-nums">'
)
TABLE_END: Final = "</table></div>"
THEAD: Final = f'<thead style="{MUTED};background:var(--jp-rendermime-table-row-background,#8881)">'
_PACKAGE: Final = __name__.partition(".")[0]
_FACT: Final = ' style="text-align:left;vertical-align:top;padding-right:12px"'
_PRE: Final = '<pre style="white-space:pre-wrap;word-break:normal;overflow-wrap:anywhere">'
_HTML: Final = "text/html"
# These classes turn mathematical typesetting off: the first for MathJax 3 (JupyterLab, Notebook, voila), the second for
# MathJax 2 (pages of nbconvert).
IGNORED: Final = "mathjax_ignore tex2jax_ignore"


def untypeset(markup: str) -> str:
    """Wrap `markup` so that notebooks do not typeset text between dollar signs as mathematics. Return "" for ""."""
    return f'<div class="{IGNORED}">{markup}</div>' if markup else ""


def untypeset_bundle(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mime bundle with its HTML wrapped by `untypeset`.

    Every output and every `_repr_mimebundle_` must call this function.

    >>> untypeset_bundle({"text/plain": "$5", "text/html": "<p>$5</p>"})["text/html"]
    '<div class="mathjax_ignore tex2jax_ignore"><p>$5</p></div>'
    """
    return {**bundle, _HTML: untypeset(bundle[_HTML])} if _HTML in bundle else dict(bundle)


class Displayable:
    """The base class of objects that notebooks display.

    Subclasses define `_mimebundle`. They must not override `_repr_mimebundle_`, which calls `untypeset_bundle`.
    """

    def _mimebundle(self) -> Bundle:
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return untypeset_bundle(self._mimebundle())


def card(title: str, facts: Mapping[str, object], text: str = "") -> Bundle:
    """Return a card with a title, the facts that are not None or "", and at most 2,000 characters of the text."""
    known = [(name, value) for name, value in facts.items() if value not in (None, "")]
    lines = [label(title), *(f"  {name}: {label(value)}" for name, value in known)]
    cells = "".join(f"<tr><th{_FACT}>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in known)
    parts = [f"<p><strong>{escape(title)}</strong></p>", f"<table>{cells}</table>" if known else ""]
    if text:
        shown = excerpt(text, TEXT_CHARS)
        lines.append(shown)
        parts.append(f"{_PRE}{html.escape(shown)}</pre>")
    return {"text/plain": "\n".join(lines), "text/html": f"<div>{''.join(parts)}</div>"}


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table cell. If given, `html` replaces the escaped `text` in HTML, and must be safe. `title` is the tooltip."""

    text: str
    html: str = ""
    title: str = ""


Row = Sequence[object]
"""A table row. Its items are `TableCell`s, or values that the table shows as text. None is an empty cell."""


def table(title: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], count: int) -> Bundle:
    """Return a table of the first 20 records. Its title includes `count`, the number of all records."""
    shown = [[row.get(name) for name in columns] for row in islice(rows, 20)]
    return grid(f"{title} ({count:,})", columns, shown, total=count)


def grid(
    caption: str, columns: Sequence[str], rows: Sequence[Row], notes: Sequence[str] = (), *, total: int = 0
) -> Bundle:
    """Return a table of the first 50 rows. Lines below it show how many rows the table omits, and the notes.

    `total` is the number of all rows, if `rows` does not contain all of them.

    >>> print(grid("Tools", ["name"], [["web_search"]], ["1 tool"])["text/plain"])
    Tools
      name
      web_search
    1 tool
    """
    shown = rows[:ROWS]
    values = [format_numbers(name, [row[at] for row in shown]) for at, name in enumerate(columns)]
    by_column = [[value if isinstance(value, TableCell) else _cell(value) for value in column] for column in values]
    cells = [*zip(*by_column, strict=True)]
    more = max(total, len(rows)) - len(shown)
    below = [*([f"… {more:,} more"] if more else []), *(label(note, 400) for note in notes)]
    texts = [list(columns), *([cell.text for cell in row] for row in cells)] if cells else []
    lines = [
        label(caption),
        *(f"  {line}" for line in align_columns([[label(t, CELL_CHARS) for t in line] for line in texts])),
    ]
    markup = f'<div class="asvc-note" style="{SMALL}">{escape(caption)}</div>'
    if cells:
        edges = [column_alignment(cell.text for cell in column) for column in by_column]
        head = "".join(
            f'<th scope="col" style="{cell_style(edge)};white-space:nowrap">{escape(name)}</th>'
            for name, edge in zip(columns, edges, strict=True)
        )
        body = "".join(f"<tr>{''.join(map(_td, row, edges))}</tr>" for row in cells)
        markup += f"{TABLE}{THEAD}<tr>{head}</tr></thead><tbody>{body}</tbody>{TABLE_END}"
    markup += "".join(f'<div class="asvc-note" style="{SMALL}">{worded(line, 400)}</div>' for line in below)
    return {"text/plain": "\n".join([*lines, *below]), "text/html": markup}


def _cell(value: object) -> TableCell:
    return TableCell("" if value is None else label(value))


def _td(cell: TableCell, edge: str) -> str:
    title = f' title="{escape(cell.title, 400)}"' if cell.title else ""
    style = f"{cell_style(edge)};{wrap_style(cell.text)}"
    return f'<td style="{style}"{title}>{cell.html or escape(cell.text)}</td>'


def cell_style(edge: str) -> str:
    """Return the CSS of a table cell. `edge` is the text's alignment: `left`, `center` or `right`."""
    return f"text-align:{edge};padding:6px 12px"


SHORT_CHARS: Final = 28
_LONG_CHARS: Final = 80


def wrap_style(text: str) -> str:
    """Return the CSS that decides how a cell wraps its text.

    A short text, such as an id or a price, stays on one line. A longer text gets a minimum width, so that a narrow page
    scrolls the table instead of showing one word per line.
    """
    if len(text) <= SHORT_CHARS:
        return "white-space:nowrap"
    return f"min-width:{22 if len(text) > _LONG_CHARS else 14}em"


def column_alignment(texts: Iterable[str]) -> str:
    """Return the alignment of a column: "right" if most of its texts are numbers, else "left"."""
    known = [text for text in texts if text]
    return "right" if known and sum(map(is_number, known)) > len(known) / 2 else "left"


def align_columns(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a plain-text table. Each cell has its column's width, with two spaces between columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def render_error(
    name: str, message: str, facts: Iterable[str | None], hint: str | None, stack: TracebackType | None
) -> list[str]:
    """Return at most three lines that show an error: its message, its facts, and its hint.

    The facts end with the line of the caller's code that caused the error, if `stack` contains it.
    """
    known = [label(fact) for fact in facts if fact]
    # The caller's line is the line of the innermost frame outside this package and site-packages.
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
    """Return the words of a column's name in lower case and without accents."""
    letters = normalize("NFKD", _HUMP.sub(" ", name[:200]))
    return _WORD.findall("".join(char for char in letters if not combining(char)).casefold())


# The words are English, German, French and Spanish.
IDENTIFIERS: Final = frozenset(
    _words(
        "id ids uuid guid sku nr no num number code key index nummer kennung schluessel numero clave codigo cle zip plz"
        " phone ean isbn asin"
    )
)
_YEARS: Final = frozenset(_words("year jahr annee ano season saison"))
_YEAR_NUMBERS: Final = range(1900, 2101)


def names_label(name: str) -> bool:
    """Return True if the column's name says that its numbers are identifiers or years instead of amounts.

    >>> names_label("orderId"), names_label("Année"), names_label("id count")
    (True, True, False)
    """
    words = _words(name)
    return not _YEARS.isdisjoint(words) or (bool(words) and words[-1] in IDENTIFIERS)


def format_numbers(name: str, values: Sequence[object]) -> list[object]:
    """Return a column's values, with its numbers as text. Only amounts get separators, not years and identifiers.

    >>> format_numbers("views", [1234567, 0.1 + 0.2, None, "x"])
    ['1,234,567', '0.3', None, 'x']
    >>> format_numbers("order_id", [1234567]), format_numbers("", [2024, 2025])
    (['1234567'], ['2024', '2025'])
    """
    numbers = [value for value in values if _is_amount(value)]
    comma = "" if names_label(name) or all(value in _YEAR_NUMBERS for value in numbers) else ","
    # A float is exact to 15 decimal digits. Further digits are artefacts of its binary form.
    return [
        format(value, f"{comma}.15g" if isinstance(value, float) else comma) if _is_amount(value) else value
        for value in values
    ]


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
