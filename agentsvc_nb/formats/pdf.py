"""The text of PDF files (docs/api/files.md "What is read"), read by PDFium in a limited child.

The pages of a PDF are programs, and PDFium is C++: a file that takes too much, or crashes it, costs the child alone.
The child reads a line of JSON, `{"path", "limit"}`, and prints the text of each page as JSON, a line each.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from agentsvc_nb.formats.sandbox import LimitedChild, Limits

if TYPE_CHECKING:
    import pypdfium2

CHILD: Final = "agentsvc_nb.formats.pdf"
PAGE_END: Final = "\f"
LIMITS: Final = Limits(memory_bytes=2**30, cpu_seconds=10, file_bytes=0)
PATIENCE_SECONDS: Final = 20.0
_PAGES_MAX: Final = 1_000
_PAGE_BYTES_MAX: Final = 20_000_000
"""Of the line for a page, whose text the child cuts at the limit."""
_AT_ONCE: Final = 2
_turns = threading.BoundedSemaphore(_AT_ONCE)
_LINE_END_HYPHENS: Final = str.maketrans("", "", "\x02\ufffe")
"""PDFium's signs for a hyphen at the end of a line, behind which it goes on with the rest of the word."""


def pages(file: BinaryIO, limit: int) -> Iterator[str]:
    """The text of page after page, each ended by a form feed, by which pages are counted; a damaged one is empty.

    Ends early where the file takes too much memory or time. A file that needs a password has no pages.
    """
    question = json.dumps({"path": str(Path(file.name).absolute()), "limit": limit}).encode()
    with _turns, LimitedChild(CHILD, limits=LIMITS) as child, child.deadline(PATIENCE_SECONDS):
        child.write_line(question)
        while (line := child.read_line(_PAGE_BYTES_MAX)).endswith(b"\n"):
            yield json.loads(line) + PAGE_END


def main() -> None:
    import pypdfium2

    given = json.loads(sys.stdin.readline())
    left = given["limit"]
    document = pypdfium2.PdfDocument(given["path"])
    for number in range(min(len(document), _PAGES_MAX)):
        text = _text(document, number)[:left]
        print(json.dumps(text), flush=True)
        left -= len(text) + len(PAGE_END)
        if left <= 0:
            break


def _text(document: pypdfium2.PdfDocument, number: int) -> str:
    import pypdfium2

    try:
        page = document[number]
        text: str = page.get_textpage().get_text_bounded()
    except pypdfium2.PdfiumError:
        return ""
    page.close()  # and what it has drawn: a thousand pages would be too much at once
    return text.translate(_LINE_END_HYPHENS).replace("\r\n", "\n")


if __name__ == "__main__":
    main()
