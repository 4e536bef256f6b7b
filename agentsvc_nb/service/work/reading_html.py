"""The text that a reader of an HTML page sees (contract.md §4)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentsvc_nb.service.rules.html_feed import Tolerant

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
