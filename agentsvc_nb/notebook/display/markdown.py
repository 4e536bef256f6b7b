"""Markdown of an agent to HTML for a cell's output.

Never `IPython.display.Markdown`: JupyterLab executes script in it.
"""

from __future__ import annotations

import functools
from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from agentsvc_nb.safe import markdown
from agentsvc_nb.safe.markdown import SafeRenderer, linkable, parser_with

_CELL: Final = "text-align:left;padding:2px 10px"
_LINK: Final = '<a style="text-decoration:underline" href="'
"""JupyterLab tells links from the text around by their colour alone."""


class _Renderer(SafeRenderer):
    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # JupyterLab right-aligns table cells, and its sanitiser drops <style>: hence inline.
        return f'<th style="{_CELL}">'

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return f'<td style="{_CELL}">'


@functools.cache
def parser() -> MarkdownIt:
    return parser_with(_Renderer)


def to_html(text: str, app_url: str = "") -> str:
    """Safe HTML of Markdown, with tables as a notebook needs them.

    With a run's `app_url`, the source of a quoted passage (`— file, line 12`) is a link to that place in the file.
    """
    known = {"text_page": f"{app_url.partition('?')[0]}/text?path="} if linkable(app_url) else {}
    shown = markdown.to_html(text, parser(), ": the whole text is in the answer's .text", known)
    return shown.replace('<a href="', _LINK)  # foreign text holds no <
