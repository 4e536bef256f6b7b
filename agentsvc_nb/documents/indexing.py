"""Make files searchable: read their text and split it into tokens of the full-text index, in limited child processes.

A word's level, from 1 to `TOP_LEVEL`, says how frequent the word is in its text. Search uses levels when too many files
match to rank them all.

`DocumentReader` reads all files in child processes (docs/decisions/10), which run `documents.reading`. A child that
takes too much memory or does not answer is killed.
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
"""The length, in tokens, of a text in which a word that occurs once has level 0.

BM25 would use the average length, but a constant does not change while files are added.
"""
_LEVEL_1 = 2**0.5
"""The lowest density that has a level. `_level` adds one for each factor of the square root of 2."""
_LENGTH_SHARE = 0.75
"""The weight of a text's length: the usual `b` of BM25."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A file's text, its tokens (`words`), and the frequent tokens with their levels; see `indexed_text`.

    Spaces separate tokens. `unreadable` says why the text, or a part of it, could not be read.
    """

    text: str = ""
    words: str = ""
    levels: str = ""
    unreadable: str = ""


def indexed_text(text: str, unreadable: str = "") -> IndexedText:
    """Return a file's text with its tokens and levels. Takes almost a second per megabyte.

    >>> indexed_text("Sale! Sale, sale.").levels
    '7sale'
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
"""The time limit of a document. Reading takes a few seconds of CPU time at most, unless a library hangs."""
ANSWER_BYTES: Final = 16_000_000
"""The size limit of an answer. It is enough for text and tokens of a megabyte in any script, unless many characters
expand to several others."""
_CHILD: Final = "agentsvc_nb.documents.reading"
_END: Final = "\0"
"""Separates the parts of an answer. No text contains this character (`documents.texts.tidied`)."""


class DocumentReader:
    """Reads the text of documents and creates its tokens."""

    def __init__(self) -> None:
        self._pool = ChildPool(_CHILD, LIMITS)

    async def read(self, file: Path, media_type: str, name: str) -> IndexedText:
        """Return the file's text. `name` is the user's name for it.

        Raises `NoChild`, and `NoAnswer` if the file was not read within the limits.
        """
        question = json.dumps({"path": str(file), "media_type": media_type, "name": name}).encode()
        answer = await self._pool.ask(question, PATIENCE_SECONDS, ANSWER_BYTES)
        return IndexedText(*answer.decode().split(_END))

    def close(self) -> None:
        self._pool.close()


def answer_of(found: IndexedText) -> bytes:
    """Return the answer that a child sends."""
    return _END.join((found.text, found.words, found.levels, found.unreadable)).encode()
