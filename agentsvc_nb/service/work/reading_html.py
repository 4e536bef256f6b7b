"""The text that a reader of an HTML page sees (contract.md §4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|u|wbr"  # these part no words
)
_OPEN = re.compile("<[a-zA-Z/!?]")
_CHUNK = 1 << 18


def visible_text(html: str) -> Iterator[str]:
    """Its pieces. Blocks end a line; a page that is cut or malformed gives what can be told.

    >>> "".join(visible_text("<p>Sum<b>mer</b></p><script>x</script>Sale &amp; more")).split("\\n")
    ['', 'Summer', 'Sale & more']
    """
    parser = _Visible()
    for at in range(0, len(html), _CHUNK):
        parser.feed(html[at : at + _CHUNK])
        yield parser.taken()
        if len(parser.rawdata) > _CHUNK * 8:
            parser.rawdata = ""  # a tag or comment without an end: each further chunk would read all of it again
    if not _OPEN.match(parser.rawdata):  # as in browsers, what an unclosed tag or comment holds is not seen
        parser.close()
        yield parser.taken()


class _Visible(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._unseen = False

    def taken(self) -> str:
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def parse_html_declaration(self, i: int) -> int:
        if self.rawdata.startswith("<![", i):  # the base class asserts that something sensible follows
            return self.parse_bogus_comment(i)
        return super().parse_html_declaration(i)

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
