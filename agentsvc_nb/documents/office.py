"""XML in a ZIP, parsed event by event, as `documents.tables` reads Word files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final
from xml.etree.ElementTree import ParseError, XMLParser
from xml.parsers.expat import errors
from zipfile import ZipFile

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
