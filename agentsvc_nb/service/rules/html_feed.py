"""The standard library's HTML parser, made to take any page there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

_OPEN = re.compile("<[a-zA-Z/!?]")
_CHUNK = 1 << 18


class Tolerant(HTMLParser):
    """Reads pages that are malformed, cut or made to be slow."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def read(self, html: str) -> Iterator[None]:
        """Parse, with a pause after each chunk."""
        for at in range(0, len(html), _CHUNK):
            self.feed(html[at : at + _CHUNK])
            yield
            if len(self.rawdata) > _CHUNK * 8:
                self.rawdata = ""  # a tag or comment without an end: each further chunk would read all of it again
        if not _OPEN.match(self.rawdata):  # as in browsers, what an unclosed tag or comment holds is not seen
            self.close()
            yield

    def parse_html_declaration(self, i: int) -> int:
        if self.rawdata.startswith("<![", i):  # the base class asserts that something sensible follows
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)
