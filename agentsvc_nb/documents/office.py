"""The text of Word, Excel and PowerPoint files: XML in a ZIP, parsed event by event."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final
from xml.etree.ElementTree import ParseError, XMLParser
from xml.parsers.expat import errors
from zipfile import ZipFile

_BREAKS: Final = {"br": "\n", "cr": "\n", "tab": "\t"}
_GAP_MAX: Final = 64
"""Empty cells kept between two cells of a row: columns stay aligned, and a single cell far out costs nothing."""


_DEPTH_MAX: Final = 1_000
"""Elements within each other: the parser keeps something of each that is open."""


class Target:
    """Receives `XMLParser`'s events; subclasses make text of them in `opened`, `closed` and `text`.

    Names come without their namespaces: in each of these formats only one namespace matters.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._heard = False
        self._depth = 0
        self.full = False
        """Whether no more is wanted of the member."""

    def taken(self) -> str:
        """The text since the last call."""
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def heard(self) -> bool:
        """Whether any event came since the last call."""
        heard, self._heard = self._heard, False
        return heard

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("office files declare no document type, and so no entities")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._heard = True
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise ValueError("elements within elements without end")
        self.opened(tag.rpartition("}")[2], attributes)

    def end(self, tag: str) -> None:
        self._heard = True
        self._depth -= 1
        self.closed(tag.rpartition("}")[2])

    def data(self, text: str) -> None:
        self._heard = True
        self.text(text)

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""

    def closed(self, name: str) -> None:
        """An element ends."""

    def text(self, text: str) -> None:
        """Some of an element's text."""


class Paragraphs(Target):
    """Word and PowerPoint, which both call paragraphs `p` and texts `t`. A `Fallback` repeats the content before it, so
    it is left out."""

    def __init__(self) -> None:
        super().__init__()
        self._in_text = False
        self._repeating = 0

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self._in_text = name == "t"
        self._repeating += name == "Fallback"
        if name in _BREAKS and (name != "tab" or not attributes):  # a tab stop has attributes, a tab has none
            self._pieces.append(_BREAKS[name])

    def closed(self, name: str) -> None:
        self._in_text = False
        self._repeating -= name == "Fallback"
        if name == "p" and not self._repeating:
            self._pieces.append("\n")

    def text(self, text: str) -> None:
        if self._in_text and not self._repeating:
            self._pieces.append(text)


class SheetNames(Target):
    """Excel's workbook: the names of its sheets, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        if name == "sheet":
            self.found.append(attributes.get("name", ""))


class Strings(Target):
    """Excel's shared strings, which cells refer to by number; about `room` characters of them."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.found: list[str] = []
        self._room = room
        self._in_text = False
        self._in_phonetic = False

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self._in_text = name == "t"
        self._in_phonetic |= name == "rPh"

    def closed(self, name: str) -> None:
        self._in_text = False
        self._in_phonetic &= name != "rPh"
        if name == "si":
            text = self.taken()
            self._room -= len(text) + 16  # an empty string costs too
            self.full = self._room <= 0
            if not self.full:
                self.found.append(text)

    def text(self, text: str) -> None:
        if self._in_text and not self._in_phonetic and self._room > 0:
            self._pieces.append(text)


class Cells(Target):
    """The cells of an Excel sheet. Numbers are given as they are stored, and so are dates."""

    def __init__(self, strings: list[str]) -> None:
        super().__init__()
        self._strings = strings
        self._type = ""
        self._value: list[str] = []
        self._in_value = False
        self._column = 0

    def opened(self, name: str, attributes: dict[str, str]) -> None:
        self._in_value = name in ("v", "t")
        if name == "row":
            self._column = 0
        elif name == "c":
            self._type = attributes.get("t", "")
            column = _column(attributes.get("r", "")) or self._column + 1
            self._pieces.append("\t" * min(max(column - max(self._column, 1), 0), _GAP_MAX))
            self._column = column

    def closed(self, name: str) -> None:
        self._in_value = False
        if name == "c":
            self._pieces.append(self._shown("".join(self._value)))
            self._value.clear()
        elif name == "row":
            self._pieces.append("\n")

    def text(self, text: str) -> None:
        if self._in_value:
            self._value.append(text)

    def _shown(self, value: str) -> str:
        if self._type == "s":
            at = int(value)
            return self._strings[at] if at < len(self._strings) else ""
        if self._type == "b":
            return "TRUE" if value == "1" else "FALSE"
        return value


def _column(reference: str) -> int:
    """
    The number of a cell's column (from 1), from its reference; 0 without one.

    >>> _column("AB12")
    28
    """
    letters = re.match(r"[A-Z]{1,3}", reference)
    number = 0
    for letter in letters[0] if letters else "":
        number = number * 26 + ord(letter) - 64
    return number


_CHUNK: Final = 1 << 16
_XML_MAX: Final = 32_000_000
"""Bytes of unpacked XML that are read of one file."""
_NO_MEMORY: Final = errors.codes[errors.XML_ERROR_NO_MEMORY]
_SILENCE_MAX: Final = 2_000_000
"""Bytes without an event, after which parsing stops: one giant token, which the parser would read again with each
chunk."""
_DIRECTORY_MAX: Final = 4_000_000
"""Bytes of a ZIP's list of members, which Python reads whole; a document's has some kilobytes."""
_END: Final = b"PK\x05\x06"
_END_64: Final = b"PK\x06\x07"


class Damaged(Exception):
    """The file is not an office document that can be read in bounded memory."""


def document(file: BinaryIO, limit: int) -> Iterator[str]:
    """Word: the text, then notes, comments, headers and footers."""
    with Archive(file) as archive:
        yield from archive.paragraphs(r"word/document\d*\.xml")
        yield from archive.paragraphs(r"word/(?:footnotes|endnotes|comments|header\d*|footer\d*)\.xml")


def slides(file: BinaryIO, limit: int) -> Iterator[str]:
    """PowerPoint: slide by slide, then the speaker's notes."""
    with Archive(file) as archive:
        yield from archive.paragraphs(r"ppt/slides/slide\d+\.xml")
        yield from archive.paragraphs(r"ppt/notesSlides/notesSlide\d+\.xml")


def workbook(file: BinaryIO, limit: int) -> Iterator[str]:
    """Excel: sheet by sheet under their names, a line per row, cells separated by tabs."""
    with Archive(file) as archive:
        names, strings = SheetNames(), Strings(8 * limit)
        yield from archive.feed(r"xl/workbook\.xml", names)
        yield from archive.feed(r"xl/sharedStrings\.xml", strings)
        for at, member in enumerate(archive.members(r"xl/worksheets/sheet\d+\.xml")):
            yield (names.found[at] if at < len(names.found) else member) + "\n"
            yield from archive.parsed(member, Cells(strings.found))


class Archive:
    """A ZIP of XML, read within bounds. Raises `Damaged`."""

    def __init__(self, file: BinaryIO) -> None:
        _check_directory(file)
        self._zip = ZipFile(file)
        self._left = _XML_MAX

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def members(self, pattern: str) -> list[str]:
        """Names of members, slide 2 before slide 10."""
        found = {name for name in self._zip.namelist() if re.fullmatch(pattern, name)}
        return sorted(found, key=lambda name: (re.sub(r"\d+", "", name), int("0" + re.sub(r"\D+", "", name)[:9])))

    def paragraphs(self, pattern: str) -> Iterator[str]:
        for member in self.members(pattern):
            yield from self.parsed(member, Paragraphs())

    def feed(self, pattern: str, target: Target) -> Iterator[str]:
        """Feed all these members to `target`. Yields nothing but empty texts, now and then."""
        for member in self.members(pattern):
            for _ in self.parsed(member, target):
                yield ""

    def parsed(self, member: str, target: Target) -> Iterator[str]:
        """The text that `target` makes of a member, up to its end or first error."""
        parser = XMLParser(target=target)
        silence = 0
        with self._zip.open(member) as xml:
            while silence < _SILENCE_MAX and not target.full and (chunk := xml.read(min(_CHUNK, self._left))):
                self._left -= len(chunk)
                try:
                    parser.feed(chunk)
                except (ParseError, ValueError) as error:
                    yield target.taken()
                    if getattr(error, "code", None) == _NO_MEMORY:
                        raise MemoryError from None
                    return
                silence = 0 if target.heard() else silence + len(chunk)
                yield target.taken()


def _check_directory(file: BinaryIO) -> None:
    file.seek(max(0, file.seek(0, 2) - 66_000))
    before, mark, end = file.read().rpartition(_END)
    if not mark or before[-20:].startswith(_END_64) or int.from_bytes(end[8:12], "little") > _DIRECTORY_MAX:
        raise Damaged("no list of members that an office file would have")
