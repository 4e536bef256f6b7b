"""An HTML parser that `documents.tables` uses."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Final

_OPEN = re.compile("<[a-zA-Z/!?]")
_CHUNK = 1 << 18
PARSE_SECONDS: Final = 5.0
"""Processor time for a page. The rest of a page that takes longer is not read."""


class Tolerant(HTMLParser):
    """An HTML parser for pages that are malformed, cut off or made to be slow to parse."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def read(self, html: str, clock: Callable[[], float] = time.thread_time) -> Iterator[None]:
        """Parse the page, for at most `PARSE_SECONDS`; yield after each chunk, so that the caller can take what was
        found so far."""
        ends = clock() + PARSE_SECONDS
        for at in range(0, len(html), _CHUNK):
            if clock() > ends:
                return
            self.feed(html[at : at + _CHUNK])
            yield
            if len(self.rawdata) > _CHUNK * 8:
                self.rawdata = ""  # a tag or comment without an end: each further chunk would read all of it again
        if not _OPEN.match(self.rawdata):  # as in browsers, the rest of an unclosed tag or comment is not shown
            self.close()
            yield

    def parse_html_declaration(self, i: int) -> int:
        if self.rawdata.startswith("<![", i):  # the base class asserts that something sensible follows
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)
