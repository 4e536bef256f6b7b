"""Code that an agent proposes: read from its answer, never run."""

from __future__ import annotations

import functools
from typing import Final

from markdown_it import MarkdownIt

from agentsvc_nb.safe.text import plain

REQUEST: Final = "Answer with one Python code block that can stand as the next cell of this notebook."
_PYTHON: Final = ("", "python", "py", "python3", "ipython")


def first_code(text: str) -> str | None:
    r"""The first Python code block of Markdown, without what a reader would not see; None when there is none.

    >>> first_code("Try:\n```python\nprint(1)\n```")
    'print(1)'
    """
    for token in _parser().parse(text):
        words = token.info.split()
        if token.type == "fence" and (words[0].lower() if words else "") in _PYTHON:
            return plain(token.content).rstrip("\n")
    return None


@functools.cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})
