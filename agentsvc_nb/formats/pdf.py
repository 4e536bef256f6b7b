"""The text of PDF files (docs/api/files.md "What is read"), in bounded time: their pages are programs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, Final

if TYPE_CHECKING:
    from pypdf import PageObject


log = logging.getLogger(__name__)

_PAGES_MAX: Final = 1_000
_PAGE_BYTES_MAX: Final = 4_000_000
"""Drawing instructions of one page; a page of text has some kilobytes."""
_OPERATIONS_MAX: Final = 2_000_000
"""Of the whole file: forms within forms can ask for any number."""


PAGE_END: Final = "\f"


class TooMuch(Exception):
    """The file asks for more work than its text is worth."""


def pages(file: BinaryIO, limit: int) -> Iterator[str]:
    """The text of page after page, each ended by a form feed, from which places count pages; a damaged one is empty."""
    from pypdf import PdfReader  # heavy, and most files are none

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of each of a file's faults
    meter = _Meter()
    for page in PdfReader(file).pages[:_PAGES_MAX]:
        try:
            yield _text(page, meter) + PAGE_END
        except TooMuch:
            raise
        except Exception as error:
            log.debug("A page of a PDF could not be read: %s", error)
            yield PAGE_END


def _text(page: PageObject, meter: _Meter) -> str:
    contents = page.get_contents()
    if contents is None or len(contents.get_data()) > _PAGE_BYTES_MAX:
        return ""
    return page.extract_text(visitor_operand_before=meter.count)


class _Meter:
    def __init__(self) -> None:
        self._left = _OPERATIONS_MAX

    def count(self, *_: object) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooMuch(f"more than {_OPERATIONS_MAX} drawing operations")
