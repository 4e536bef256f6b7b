"""The readable text of a file, for search and for agents (docs/api/files.md), also of damaged and hostile files.

Whatever is not quick to read belongs into a limited process: `documents.indexing`.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from agentsvc_nb.documents import office
from agentsvc_nb.documents.decoding import decode
from agentsvc_nb.documents.media_types import OFFICE
from agentsvc_nb.wire.limits import INDEXED_TEXT_BYTES

if TYPE_CHECKING:
    import pypdfium2


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


_INLINE = re.compile(
    "a|abbr|b|bdi|bdo|cite|code|em|font|i|kbd|mark|q|s|small|span|strong|sub|sup|u|wbr"  # these do not separate words
)


def visible_text(html: str) -> Iterator[str]:
    """The text that a reader sees of a page, in pieces. Blocks end a line; of a malformed page, what can be read.

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
        self._unseen = tag in self.CDATA_CONTENT_ELEMENTS  # script and style, which hold no elements
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


PAGE_END: Final = "\f"
_PAGES_MAX: Final = 1_000
_LINE_END_HYPHENS: Final = str.maketrans("", "", "\x02\ufffe")
"""PDFium's signs for a hyphen at the end of a line; the rest of the word follows directly."""


def pages(file: BinaryIO, limit: int) -> Iterator[str]:
    """The text of a PDF file, page by page. Each page ends with a form feed, by which pages are counted; a damaged page
    is empty. A file that needs a password has no pages.
    """
    import pypdfium2

    with pypdfium2.PdfDocument(file) as document:
        for number in range(min(len(document), _PAGES_MAX)):
            yield _text(document, number) + PAGE_END


def scanned(text: str) -> int:
    """The number of pages of a PDF whose text (`pages`) is empty; 0 for any other text.

    >>> scanned("\\f\\f"), scanned("One page.\\f"), scanned("")
    (2, 0, 0)
    """
    return 0 if text.strip() else text.count(PAGE_END)


def _text(document: pypdfium2.PdfDocument, number: int) -> str:
    import pypdfium2

    try:
        page = document[number]
        text: str = page.get_textpage().get_text_bounded()
    except pypdfium2.PdfiumError:
        return ""
    page.close()  # frees what PDFium holds for it: a thousand open pages would take too much memory
    return text.translate(_LINE_END_HYPHENS).replace("\r\n", "\n")


log = logging.getLogger(__name__)

CPU_SECONDS: Final = 5.0
QUICK_BYTES: Final = 64_000
"""Plain text up to this size takes some milliseconds to read and index."""

Reader = Callable[[BinaryIO, int], Iterator[str]]

_HTML_SHARE: Final = 4
"""Bytes of HTML that are read for each character of text: most of a page is markup."""
_BYTES_PER_CHARACTER: Final = 4
_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}charset=["']?\s*((?:iso|windows|shift|sjis|euc|gb|big5|koi8)[\w-]{0,20})""", re.IGNORECASE
)
_TEXT_TYPES = re.compile(r"text/|message/rfc822|application/(?:.*\+)?(?:json|xml|yaml|toml|x-ndjson|javascript|sql)\b")
# A NUL would end the text in some databases, and a lone surrogate cannot be encoded.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def read_text(path: Path, media_type: str, limit: int = INDEXED_TEXT_BYTES) -> str:
    """At most `limit` characters of a file's text; empty when the file has none.

    Text, Markdown, HTML, CSV, JSON, PDF and Office files are read; of a damaged file, and of one that takes more than
    `CPU_SECONDS`, as much as can be. Raises `OSError` when there is no such file.

    >>> read_text(Path("page.html"), "text/html")  # doctest: +SKIP
    'Summer sale'
    """
    with path.open("rb") as file:
        pieces: list[str] = []
        left, ends = limit, time.process_time() + CPU_SECONDS
        try:
            for piece in _reader(media_type)(file, limit):
                pieces.append(piece[:left])
                left -= len(piece)
                if left <= 0 or time.process_time() > ends:
                    break
        except MemoryError:
            if not any(pieces):
                raise
        except Exception as error:  # the file is damaged, or hostile: any parser may fail in any way
            log.debug("A %s could not be read to its end: %s", media_type, error)
    return _UNSTORABLE.sub(" ", "".join(pieces))


def is_cut(text: str) -> bool:
    """Return True if a text of the index fills its room: the file's own text may go on.

    The index cuts texts at that size, but never within a character. Most are short enough to tell without encoding.
    """
    most = _BYTES_PER_CHARACTER
    return len(text) * most >= INDEXED_TEXT_BYTES <= len(text.encode()) + most


def has_text(media_type: str) -> bool:
    """Whether files of the type have text that is read."""
    return _reader(media_type) is not _nothing


def is_quick(media_type: str, size_bytes: int) -> bool:
    """Whether a file is read in a few milliseconds, whatever it holds."""
    return size_bytes <= QUICK_BYTES and _reader(media_type) in (_plain, _json)


def _reader(media_type: str) -> Reader:
    media_type = media_type.partition(";")[0].strip().lower()
    if found := _READERS.get(media_type):
        return found
    return _plain if _TEXT_TYPES.match(media_type) else _nothing


def _nothing(file: BinaryIO, limit: int) -> Iterator[str]:
    yield from ()


def _plain(file: BinaryIO, limit: int) -> Iterator[str]:
    yield _decoded(file.read(limit * _BYTES_PER_CHARACTER))


def _json(file: BinaryIO, limit: int) -> Iterator[str]:
    """JSON as it stands, but with escapes such as `caf\\u00e9` written as the letters they mean."""
    text = _decoded(file.read(limit * _BYTES_PER_CHARACTER))
    try:
        yield json.dumps(json.loads(text), ensure_ascii=False, indent=1) if "\\u" in text else text
    except (ValueError, RecursionError):
        yield text


def _html(file: BinaryIO, limit: int) -> Iterator[str]:
    data = file.read(limit * _HTML_SHARE)
    named = _CHARSET.search(data[:2048])
    return visible_text(_decoded(data, named[1].decode() if named else "cp1252"))


def _decoded(data: bytes, charset: str = "cp1252") -> str:
    """The text of the beginning of a file; empty if it is none. Guessing would cost more than a quick file may."""
    found = decode(data, cut=True, declared=charset)
    return found.text if found else ""


_READERS: dict[str, Reader] = {
    "application/json": _json,
    "application/x-ipynb+json": _json,
    "text/html": _html,
    "application/xhtml+xml": _html,
    "application/pdf": pages,
    OFFICE + "wordprocessingml.document": office.document,
    OFFICE + "spreadsheetml.sheet": office.workbook,
    OFFICE + "presentationml.presentation": office.slides,
}
