"""HTML pages: a parser that takes any page there is, and the text that a reader sees."""

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


_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|u|wbr"  # these part no words
)


def visible_text(html: str) -> Iterator[str]:
    """Its pieces. Blocks end a line; a page that is cut or malformed gives what can be told.

    >>> "".join(visible_text("<p>Sum<b>mer</b></p><script>x</script>Sale &amp; more")).split("\\n")
    ['', 'Summer', 'Sale & more']
    """
    parser = _Visible()
    for _ in parser.read(html):
        yield parser.taken()


class _Visible(Tolerant):
    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[str] = []
        self._unseen = False

    def taken(self) -> str:
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unseen = tag in self.CDATA_CONTENT_ELEMENTS  # script and style: nothing else can be within them
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._unseen = False
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._pieces.append(data)

    def _break(self, tag: str) -> None:
        if not _INLINE.fullmatch(tag) and self._pieces[-1:] != ["\n"]:
            self._pieces.append("\n")
