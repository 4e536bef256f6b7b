"""The text of Word, Excel and PowerPoint files: XML in a ZIP (contract.md §4).

No tree is built and no member is unpacked whole, so that neither a bomb nor a giant costs more than `_XML_MAX` bytes of
reading and little memory. Only the members that hold text are opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final
from xml.etree.ElementTree import ParseError, XMLParser
from zipfile import ZipFile

from agentsvc_nb.service.work.reading_xml import Cells, Paragraphs, SheetNames, Strings, Target

_CHUNK: Final = 1 << 16
_XML_MAX: Final = 32_000_000
"""Bytes of XML read of one file, unpacked."""
_SILENCE_MAX: Final = 2_000_000
"""Bytes without a tag or a text in them: one giant token, which the parser would read again with each chunk."""
_DIRECTORY_MAX: Final = 4_000_000
"""Bytes of a ZIP's list of members, which Python reads whole; a document's has some kilobytes."""
_END: Final = b"PK\x05\x06"
_END_64: Final = b"PK\x06\x07"


class Damaged(Exception):
    """Not a document that can be read in bounded space."""


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
    """Excel: sheet by sheet under their names, a line a row, cells parted by tabs."""
    with Archive(file) as archive:
        names, strings = SheetNames(), Strings(8 * limit)
        archive.tell(r"xl/workbook\.xml", names)
        archive.tell(r"xl/sharedStrings\.xml", strings)
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

    def tell(self, pattern: str, target: Target) -> None:
        """Have `target` hear all of these members."""
        for member in self.members(pattern):
            for _ in self.parsed(member, target):
                pass

    def parsed(self, member: str, target: Target) -> Iterator[str]:
        """What `target` makes of a member, up to its end or first fault."""
        parser = XMLParser(target=target)
        silence = 0
        with self._zip.open(member) as xml:
            while silence < _SILENCE_MAX and (chunk := xml.read(min(_CHUNK, self._left))):
                self._left -= len(chunk)
                try:
                    parser.feed(chunk)
                except ParseError:
                    yield target.taken()
                    return
                silence = 0 if target.heard() else silence + len(chunk)
                yield target.taken()


def _check_directory(file: BinaryIO) -> None:
    file.seek(max(0, file.seek(0, 2) - 66_000))
    before, mark, end = file.read().rpartition(_END)
    if not mark or before[-20:].startswith(_END_64) or int.from_bytes(end[8:12], "little") > _DIRECTORY_MAX:
        raise Damaged("no list of members that an office file would have")
