"""The files that a question names, and the question without their names: a file's name names no column."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from agentsvc_nb.service.rules.search import tokens
from agentsvc_nb.service.rules.tables import Table

_OPEN, _CLOSE = "[\"'`“„«‘]?", "[\"'`”“»’]?"
_GONE = " ; "  # keeps the words on either side apart
_LIKE_A_FILE = re.compile(
    rf"{_OPEN}(?<!\w)([\w./-]+\.(?:csv|tsv|xlsx?|md|txt|pdf|docx?|json|html?))(?!\w){_CLOSE}", re.I
)
_IN = (
    r"\b(?:in|im|from|within|aus|laut|dans|en|selon|según|according to|file|table|datei|tabelle|fichier|archivo)\s+"
    r"(?:(?:the|der|den|dem|die|das|la|le|les|el|los|file|table|datei|tabelle)\s+)*"
)


@dataclass(frozen=True)
class Mentions:
    """`text` is the question without the files it names: `files` of the chat, and `unknown` ones."""

    text: str
    files: frozenset[str]
    unknown: tuple[str, ...]


def mentions(question: str, paths: Iterable[str]) -> Mentions:
    """The files named by path, by name, or by a title of several words.

    >>> mentions("Total cost in 'data/Q3 sales.csv'?", ["data/Q3 sales.csv"]).text
    'Total cost in  ; ?'
    """
    text, files = unicodedata.normalize("NFC", question), set[str]()
    for path in sorted(paths, key=len, reverse=True):
        whole, name = unicodedata.normalize("NFC", path), PurePosixPath(unicodedata.normalize("NFC", path)).name
        names = [re.escape(whole), re.escape(name)]
        if len(words := _words(name)) > 1:
            names.append(r"[\W_]+".join(map(re.escape, words)))
        left = re.sub(rf"{_OPEN}(?<!\w)(?:{'|'.join(names)})(?!\w){_CLOSE}", _GONE, text, flags=re.I)
        if left != text:
            text, files = left, files | {path}
    unknown = tuple(dict.fromkeys(_LIKE_A_FILE.findall(text)))
    return Mentions(_LIKE_A_FILE.sub(_GONE, text), frozenset(files), unknown)


def without_title(text: str, table: Table) -> str:
    """Without `in sales` where the table is `sales.csv`; a value of the table stays, for it may well be meant."""
    words = _words(unicodedata.normalize("NFC", table.path.rsplit("/", 1)[-1]))
    if len(words) != 1 or any(tokens(cell) == tokens(words[0]) for row in table.rows[:10_000] for cell in row):
        return text
    return re.sub(rf"{_IN}{_OPEN}{re.escape(words[0])}(?!\w){_CLOSE}", _GONE, text, flags=re.I)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", PurePosixPath(name).stem) if word]
