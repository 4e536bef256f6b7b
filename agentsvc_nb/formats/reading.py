"""Documents read in limited child processes, whatever they hold (docs/decisions/0035-costly-work-in-lanes.md).

`formats.documents` reads in the child, with a limit of processor time after which it gives what it has; a child that
takes too much memory or does not answer is killed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from agentsvc_nb.formats.children.pool import ChildPool, answer_questions
from agentsvc_nb.formats.documents import read_text
from agentsvc_nb.formats.indexing import IndexedText, indexed_text
from agentsvc_nb.formats.sandbox import Limits

LIMITS: Final = Limits(memory_bytes=768 * 2**20, file_bytes=0)
PATIENCE_SECONDS: Final = 30.0
"""The longest that a document may take in all. It takes some seconds of processor time at most, unless its format's
library does not come back."""
ANSWER_BYTES: Final = 16_000_000
"""Text and tokens of a megabyte of any script; only characters that stand for many others give more."""
_END: Final = "\0"
"""Between the parts of an answer; no text has it (`documents.read_text`)."""


class DocumentReader:
    """Reads the text of documents and makes its tokens, in turn for the accounts."""

    def __init__(self) -> None:
        self._pool = ChildPool(__name__, LIMITS)

    async def read(self, file: Path, media_type: str, account: str) -> IndexedText:
        """The file's text; empty when it has none. Raises `NoChild`, and `NoAnswer` when it was not read within the
        limits."""
        answer = await self._pool.ask(_question(file, media_type), PATIENCE_SECONDS, ANSWER_BYTES, account)
        return IndexedText(*answer.decode().split(_END))

    def close(self) -> None:
        """End the children."""
        self._pool.close()


def _question(file: Path, media_type: str) -> bytes:
    return json.dumps({"path": str(file.absolute()), "media_type": media_type}).encode()


def _answer(question: bytearray) -> bytes:
    given = json.loads(question)
    try:
        found = indexed_text(read_text(Path(given["path"]), given["media_type"]))
    except OSError:  # the file was replaced and removed meanwhile
        found = IndexedText()
    return _END.join((found.text, found.words, found.levels)).encode()


if __name__ == "__main__":
    answer_questions(_answer)
