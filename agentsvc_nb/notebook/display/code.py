"""Highlight code in the colours of JupyterLab's editor. The colours follow the theme: light, dark or high contrast."""

from __future__ import annotations

import functools
import html
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from agentsvc_nb.wire.text import plain

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_NAMES: Final = (
    "python py python3 pycon ipython sql postgresql mysql sqlite3 bash sh shell zsh console json jsonl yaml yml toml"
    " ini xml html css scss javascript js jsx typescript ts tsx java kotlin c cpp c++ csharp c# go golang rust rs r"
    " julia ruby rb php swift scala perl lua diff docker dockerfile make makefile graphql http powershell"
)
LANGUAGES: Final = frozenset(_NAMES.split())
"""The languages that are highlighted. Pygments supports hundreds more, but an agent could deliberately name one whose
lexer is slow.
"""
_COLORS: Final = (
    ("Keyword", "color:var(--jp-mirror-editor-keyword-color,#008000);font-weight:bold"),
    ("Name.Tag", "color:var(--jp-mirror-editor-keyword-color,#008000)"),
    ("Literal.String", "color:var(--jp-mirror-editor-string-color,#ba2121)"),
    ("Literal.Number", "color:var(--jp-mirror-editor-number-color,#080)"),
    # the editor's own colour for comments has a contrast of only 4.15 in JupyterLab's dark theme
    ("Comment", "color:var(--jp-ui-font-color2,#767676);font-style:italic"),
    ("Operator.Word", "color:var(--jp-mirror-editor-operator-color,#aa22ff)"),
    ("Name.Builtin", "color:var(--jp-mirror-editor-builtin-color,#008000)"),
    ("Name.Function", "color:var(--jp-mirror-editor-def-color,#00f)"),
)
"""Styles by the beginning of the token type. The colours are JupyterLab's editor colours in the current theme."""


def highlight(code: str, language: str = "python") -> str:
    """Return code as escaped, highlighted HTML, about ten times as long. Unknown languages are not highlighted."""
    text, lexer = plain(code), _lexer(language.lower())
    if lexer is None:
        return html.escape(text)
    parts = groupby(
        _merge_whitespace((_style(str(kind)), value) for kind, value in lexer.get_tokens(text)), itemgetter(0)
    )
    return "".join(_span(style, "".join(value for _, value in part)) for style, part in parts)


@functools.lru_cache(maxsize=16)
def _lexer(language: str) -> Lexer | None:
    if language not in LANGUAGES:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:  # an older Pygments
        return None


def _style(kind: str) -> str:
    name = kind.removeprefix("Token.")
    return next((style for begin, style in _COLORS if name.startswith(begin)), "")


def _merge_whitespace(parts: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Give whitespace the style of the text before it, so that fewer HTML elements are needed."""
    last = ""
    for style, value in parts:
        last = last if value.isspace() else style
        yield last, value


def _span(style: str, text: str) -> str:
    return f'<span style="{style}">{html.escape(text)}</span>' if style else html.escape(text)
