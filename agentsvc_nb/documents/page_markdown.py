"""A web page as Markdown, for a model to read: headings, lists, links, tables, code; no scripts, no pictures."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin

from agentsvc_nb.documents.documents import Tolerant

_UNREAD: Final = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "select", "textarea"})
_BLOCKS: Final = frozenset(
    {
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "nav",
        "aside",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "table",
    }
    | {"blockquote", "figure", "figcaption", "form", "address", "details", "summary", "pre", "fieldset", "hr"}
)
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def to_markdown(html: str, url: str, clock: Callable[[], float] = time.thread_time) -> tuple[str, str]:
    """The page's title, and its text as Markdown; cut after `PARSE_SECONDS`. Links are made absolute by the page's
    `url`.

    >>> to_markdown("<title>Shop</title><h1>Sale</h1><p>All <a href='/tents'>tents</a>.", "https://shop.example/")
    ('Shop', '# Sale\\n\\nAll [tents](https://shop.example/tents).')
    """
    page = _Page(url)
    for _ in page.read(html, clock):
        pass
    return page.title(), page.text()


class _Page(Tolerant):
    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._unread: Counter[str] = Counter()
        self._opened: tuple[str, int] | None = None
        self._in_title = False
        self._code = False
        self._depth = 0

    def title(self) -> str:
        return " ".join("".join(self._title).split())

    def text(self) -> str:
        lines = (line.rstrip() for line in "".join(self._pieces).split("\n"))
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREAD:
            self._unread[tag] += 1
        elif tag == "title":
            self._in_title = True
        elif tag in _HEADINGS:
            self._pieces += ["\n\n", _HEADINGS[tag]]
        elif tag == "a" and (href := dict(attrs).get("href")):
            self._opened = href, len(self._pieces)  # there is no link in a link
        elif tag in ("td", "th"):
            self._pieces.append("| ")
        elif tag in ("br", "tr"):
            self._pieces.append("\n")
        elif tag == "li":
            self._pieces.append("\n" + "  " * max(self._depth - 1, 0) + "- ")
        elif tag in _BLOCKS:
            self._open(tag)

    def _open(self, tag: str) -> None:
        nested = tag in ("ul", "ol") and self._depth > 0
        self._depth += tag in ("ul", "ol")
        self._pieces.append("" if nested else "\n\n")
        if tag == "pre":
            self._code = True
            self._pieces.append("```\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD:
            self._unread[tag] = max(self._unread[tag] - 1, 0)
        elif tag == "title":
            self._in_title = False
        elif tag == "a" and self._opened:
            self._link(*self._opened)
            self._opened = None
        elif tag in ("td", "th"):
            self._pieces.append(" ")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self._close(tag)

    def _close(self, tag: str) -> None:
        self._depth = max(self._depth - (tag in ("ul", "ol")), 0)
        if tag == "pre" and self._code:
            self._code = False
            self._pieces.append("\n```")
        self._pieces.append("\n\n" if self._depth == 0 else "")

    def _link(self, href: str, begun: int) -> None:
        text = " ".join("".join(self._pieces[begun:]).split())
        try:
            url = urljoin(self._url, href.strip())
        except ValueError:
            url = ""
        if text and url.startswith(("http://", "https://")) and " " not in url:
            self._pieces[begun:] = [f"[{text}]({url})"]

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif self._code:
            self._pieces.append(data)
        elif not any(self._unread.values()):
            text = re.sub(r"\s+", " ", data)
            after = "".join(self._pieces[-1:])
            self._pieces.append(text.lstrip() if not after or after.endswith(("\n", " ")) else text)
