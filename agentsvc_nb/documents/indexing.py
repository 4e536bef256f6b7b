"""Make files searchable: in limited child processes, read their text and split it into tokens for the full-text index.

A token's level, from 1 to `TOP_LEVEL`, says how frequent the token is in its text. If a search matches too many files
to rank them all, it ranks only files in which a searched word has a high level.

`DocumentReader` reads all files in child processes (docs/decisions/10), which run `documents.reading`. A child that
uses too much memory or does not answer in time is killed.
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
"""The assumed average length of a text, in tokens. BM25 uses the true average, which changes while files are added."""
_LEVEL_1 = 2**0.5
"""The density (a token's count, normalised by text length) of level 1. Each factor of sqrt(2) adds a level."""
_LENGTH_SHARE = 0.75
"""How strongly a text's length reduces the density: the usual parameter `b` of BM25."""


@dataclass(frozen=True, slots=True)
class IndexedText:
    """Holds a file's text and tokens, for the index.

    Attributes:
        text: The text.
        words: All tokens, separated by spaces.
        levels: The frequent tokens, separated by spaces, each preceded by its level.
        unreadable: A sentence that says why the text, or a part of it, could not be read; otherwise empty.
    """

    text: str = ""
    words: str = ""
    levels: str = ""
    unreadable: str = ""


def index_text(text: str, unreadable: str = "") -> IndexedText:
    """Return a text with its tokens and their levels. This takes almost a second per megabyte.

    >>> index_text("Sale! Sale, sale.").levels
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
"""The time limit for reading a document. It takes a few seconds of CPU time at most, unless a library hangs."""
ANSWER_BYTES: Final = 16_000_000
"""The maximum size of a child's answer. This suffices for a megabyte of text with its tokens in any script, unless
search replaces many characters by several others."""
_CHILD: Final = "agentsvc_nb.documents.reading"
_END: Final = "\0"
"""Separates the parts of an answer. No text contains this character (`documents.texts.make_storable`)."""


class DocumentReader:
    """Reads the text of files in child processes and splits it into tokens."""

    def __init__(self) -> None:
        self._pool = ChildPool(_CHILD, LIMITS)

    async def read(self, file: Path, media_type: str, name: str) -> IndexedText:
        """Return the file's text, tokens and levels. `name` is the file's name as the user knows it.

        Raises `NoAnswer` if the file was not read within the limits, `NoChild` if no child could start.
        """
        question = json.dumps({"path": str(file), "media_type": media_type, "name": name}).encode()
        answer = await self._pool.ask(question, PATIENCE_SECONDS, ANSWER_BYTES)
        return IndexedText(*answer.decode().split(_END))

    def close(self) -> None:
        self._pool.close()


def encode_answer(found: IndexedText) -> bytes:
    """Return the bytes that a child process sends as its answer."""
    return _END.join((found.text, found.words, found.levels, found.unreadable)).encode()
