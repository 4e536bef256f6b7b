"""Files made searchable: their text read and split into the tokens of the full-text index, in limited child processes.

A word's level says how dense it is in its text, from 1 to `TOP_LEVEL`; it is used when too many files match to rank.

`DocumentReader` asks child processes, whatever a file holds (docs/decisions/10):
`documents.reading` reads there; a child that takes too much memory or does not answer is killed.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Final

from agentsvc_nb.documents.child_process import ChildPool, Limits
from agentsvc_nb.documents.tokens import tokens

TOP_LEVEL = 9
_USUAL_TOKENS = 300
"""The length, in tokens, of a text in which a word that occurs once has level 0. BM25 would take the average length; a
constant does not change while files are added."""
_LEVEL_1 = 2**0.5
"""The lowest density that has a level; `_level` adds one with each factor of the square root of 2."""
_LENGTH_SHARE = 0.75
"""The weight of a text's length: the usual `b` of BM25."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A file's text, its tokens (`words`), and the frequent tokens with their levels, as made by `indexed_text`; tokens
    are separated by spaces. `unreadable` says why the text, or a part of it, could not be read."""

    text: str = ""
    words: str = ""
    levels: str = ""
    unreadable: str = ""


def indexed_text(text: str, unreadable: str = "") -> IndexedText:
    """A file's text with its tokens and levels. Takes most of a second per megabyte.

    >>> indexed_text("Sale! Sale, sale.").levels
    '6sale'
    """
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
    found = tokens(text)
    usual = 1 - _LENGTH_SHARE + _LENGTH_SHARE * len(found) / _USUAL_TOKENS
    levels = (f"{_level(count / usual)}{token}" for token, count in Counter(found).items() if count / usual >= _LEVEL_1)
    return IndexedText(text, " ".join(found), " ".join(levels), unreadable)


def _level(density: float) -> int:
    return max(1, min(TOP_LEVEL, int(2 * log2(density))))


LIMITS: Final = Limits(memory_bytes=768 * 2**20, file_bytes=0)
PATIENCE_SECONDS: Final = 30.0
"""The longest that a document may take in all. It takes some seconds of processor time at most, unless its format's
library does not come back."""
ANSWER_BYTES: Final = 16_000_000
"""Text and tokens of a megabyte of any script; only characters that stand for many others give more."""
_CHILD: Final = "agentsvc_nb.documents.reading"
_END: Final = "\0"
"""Between the parts of an answer; no text has it (`documents.texts.tidied`)."""


class DocumentReader:
    """Reads the text of documents and makes its tokens."""

    def __init__(self) -> None:
        self._pool = ChildPool(_CHILD, LIMITS)

    async def read(self, file: Path, media_type: str, name: str) -> IndexedText:
        """Return the file's text; `name` is its user's name for it. Raises `NoChild`, and `NoAnswer` when it was not
        read within the limits."""
        question = json.dumps({"path": str(file), "media_type": media_type, "name": name}).encode()
        answer = await self._pool.ask(question, PATIENCE_SECONDS, ANSWER_BYTES)
        return IndexedText(*answer.decode().split(_END))

    def close(self) -> None:
        """End the children."""
        self._pool.close()


def answer_of(found: IndexedText) -> bytes:
    """Return what a child answers."""
    return _END.join((found.text, found.words, found.levels, found.unreadable)).encode()
