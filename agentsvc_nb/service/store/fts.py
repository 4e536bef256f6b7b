"""Full-text search on FTS5 (`ports.Index`; docs/decisions/0011-search-at-scale.md).

Each token is indexed with a prefix: the chat's bucket and a tag (`w` for words, a name's tag, or a level), so that one
FTS5 query finds the matches of one chat.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Final

from agentsvc_nb.formats.indexing import TOP_LEVEL, IndexedText
from agentsvc_nb.formats.normalization import tokens
from agentsvc_nb.formats.queries import Phrase, Query
from agentsvc_nb.service.ports import Tx

WORD: Final = "w"
FILE_NAME: Final = "f"
OWN_NAME: Final = "m"
"""The tag of the member's own name for the file. The tags of levels are digits."""


def by_words(bucket: str, query: Query) -> str:
    """The FTS5 query for files whose contents match."""
    return _but(bucket, query, _all(bucket + WORD, query))


def by_name(bucket: str, query: Query) -> str:
    """The FTS5 query for files of which one name alone matches."""
    return _but(bucket, query, f"{_all(bucket + FILE_NAME, query)} OR {_all(bucket + OWN_NAME, query)}")


def by_level(bucket: str, query: Query, floor: int) -> str:
    """The FTS5 query for files whose contents match and have one of the query's words at the level `floor` or above.

    The levels, which match fewer files, stand first: FTS5 iterates over the leftmost operand and looks the others up.
    """
    levels = range(floor, TOP_LEVEL + 1)
    strong = " OR ".join(f'"{bucket}{level}{token}"{star}' for level in levels for token, star in _tokens(query))
    one_word_is_enough = len(query.groups) == 1 and all(len(phrase.tokens) == 1 for phrase in query.groups[0])
    return _but(bucket, query, strong if one_word_is_enough else f"({strong}) AND {_all(bucket + WORD, query)}")


def _but(bucket: str, query: Query, wanted: str) -> str:
    """The query `wanted` without files that match an exclusion, in their contents or in a name."""
    if not query.exclusions:
        return wanted
    return f"({wanted}) NOT {_any([bucket + tag for tag in (WORD, FILE_NAME, OWN_NAME)], query.exclusions)}"


def _tokens(query: Query) -> Iterator[tuple[str, str]]:
    """The query's tokens, each with a star if it is a prefix, else an empty text."""
    for phrase in chain.from_iterable(query.groups):
        *whole, last = phrase.tokens
        yield from ((token, "") for token in whole)
        yield last, " *" if phrase.open else ""


def _all(tag: str, query: Query) -> str:
    return "(" + " AND ".join(_any([tag], group) for group in query.groups) + ")"


def _any(tags: Iterable[str], phrases: Iterable[Phrase]) -> str:
    return "(" + " OR ".join(_phrase(tag, phrase) for tag in tags for phrase in phrases) + ")"


def _phrase(tag: str, phrase: Phrase) -> str:
    return '"' + " ".join(tag + token for token in phrase.tokens) + '"' + (" *" if phrase.open else "")


TOKENS_VERSION: Final = "1"
"""Raise it when the tokens of a text change (folding, levels, tags): the next start then indexes all files again."""

_INSERT = "INSERT INTO file_text (chat, path, text) VALUES (:chat, :path, :text) RETURNING id"
_DELETE = "DELETE FROM file_text WHERE chat = :chat AND path = :path RETURNING id"
_INDEX = "INSERT INTO file_words (rowid, names, words, levels) VALUES (:id, :names, :words, :levels)"
_FILL = "UPDATE file_text SET text = :text WHERE chat = :chat AND path = :path RETURNING id"
_FILL_INDEX = "UPDATE file_words SET words = :words, levels = :levels WHERE rowid = :id"
_FORGET = "DELETE FROM file_words WHERE rowid = :id"
_RENAME = """
    UPDATE file_words SET names = :names WHERE rowid = (SELECT id FROM file_text WHERE chat = :chat AND path = :path)
"""
_TEXT = "SELECT text FROM file_text WHERE chat = :chat AND path = :path"
# SQLite keeps the order of a CROSS JOIN: first the full-text index, then the row of each match.
_NEWEST = """
    SELECT t.id AS id, t.path AS path FROM file_words AS w CROSS JOIN file_text AS t ON t.id = w.rowid
    WHERE w.file_words MATCH :match AND w.rowid < :before AND t.chat = :chat
    ORDER BY w.rowid DESC LIMIT :limit
"""
_REACH = f"SELECT COUNT(*) AS count, MIN(id) AS oldest FROM ({_NEWEST}) AS newest"
_BEST = """
    SELECT t.id AS id, t.path AS path FROM file_words AS w CROSS JOIN file_text AS t ON t.id = w.rowid
    WHERE w.file_words MATCH :match AND w.rowid >= :oldest AND t.chat = :chat
    ORDER BY bm25(file_words, 0, 1, 0), w.rowid DESC LIMIT :limit
"""
_LATEST = 2**63 - 1
_VERSION = "SELECT value FROM meta WHERE name = 'search_tokens'"
_SET_VERSION = """
    INSERT INTO meta (name, value) VALUES ('search_tokens', :version)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


@dataclass(frozen=True, slots=True)
class FtsIndex:
    """`ports.Index`. `query` is what `formats.queries.parse` returned."""

    ranked_max: int = 1_000
    """The most matches that are ranked by BM25. Ranking takes some 2 µs per match, finding 0.1 µs."""
    page: int = 200
    """Matches fetched at first. More are needed when many of them belong to one typed output."""

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        self.drop(tx, chat, path)  # so that the file gets a new id: results are ordered by it, newest first
        row = tx.one(_INSERT, chat=chat, path=path, text=indexed_text.text)
        assert row is not None
        bucket = bucket_of(chat)
        tx.run(
            _INDEX,
            id=row["id"],
            names=_names(bucket, names),
            words=_tagged(bucket + WORD, indexed_text.words),
            levels=_tagged(bucket, indexed_text.levels),
        )

    def fill(self, tx: Tx, chat: str, path: str, indexed_text: IndexedText) -> None:
        if row := tx.one(_FILL, chat=chat, path=path, text=indexed_text.text):
            bucket = bucket_of(chat)
            words, levels = _tagged(bucket + WORD, indexed_text.words), _tagged(bucket, indexed_text.levels)
            tx.run(_FILL_INDEX, id=row["id"], words=words, levels=levels)

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None:
        tx.run(_RENAME, chat=chat, path=path, names=_names(bucket_of(chat), names))

    def drop(self, tx: Tx, chat: str, path: str) -> None:
        if row := tx.one(_DELETE, chat=chat, path=path):
            tx.run(_FORGET, id=row["id"])

    def by_name(self, tx: Tx, chat: str, query: Query) -> Iterator[str]:
        match = by_name(bucket_of(chat), query)
        rows = _newest(tx, chat, match, self.page)
        while rows:
            yield from (path for _, path in rows)
            rows = _newest(tx, chat, match, self.page, before=rows[-1][0]) if len(rows) == self.page else []

    def by_words(self, tx: Tx, chat: str, query: Query) -> Iterator[str]:
        told: set[str] = set()
        limit = self.page
        while True:
            found = self._best(tx, chat, query, limit)
            yield from (path for path in found if path not in told)
            if len(found) < limit:
                return
            told.update(found)
            # Matches of one typed output count once, so more are needed: they are ranked anew, in larger steps.
            limit *= 4

    def text(self, tx: Tx, chat: str, path: str) -> str:
        row = tx.one(_TEXT, chat=chat, path=path)
        return row["text"] if row else ""

    def is_current(self, tx: Tx) -> bool:
        row = tx.one(_VERSION)
        return row is not None and row["value"] == TOKENS_VERSION

    def set_current(self, tx: Tx) -> None:
        tx.run(_SET_VERSION, version=TOKENS_VERSION)

    def _best(self, tx: Tx, chat: str, query: Query, limit: int) -> list[str]:
        """The `limit` best matches by BM25. Of more matches than can be ranked, only those with a word at the highest
        levels are ranked, and followed by the newest of the others if they are too few."""
        most = max(self.ranked_max, limit)
        bucket = bucket_of(chat)
        match = by_words(bucket, query)
        matching, _ = _reach(tx, chat, match, most + 1)
        if matching <= most:
            return _ranked(tx, chat, match, 0, limit)
        for level in range(TOP_LEVEL, 0, -1):
            strong = by_level(bucket, query, level)
            candidates, oldest = _reach(tx, chat, strong, most)
            if candidates >= limit:
                return _ranked(tx, chat, strong, oldest, limit)
        best = _ranked(tx, chat, strong, 0, limit)
        known = set(best)
        others = _newest(tx, chat, match, limit + len(best))
        return [*best, *(path for _, path in others if path not in known)][:limit]


def _newest(tx: Tx, chat: str, match: str, limit: int, before: int = _LATEST) -> list[tuple[int, str]]:
    """(id, path) of the matching files with ids below `before`, last written first."""
    rows = tx.all(_NEWEST, match=match, chat=chat, limit=limit, before=before)
    return [(row["id"], row["path"]) for row in rows]


def _reach(tx: Tx, chat: str, match: str, limit: int) -> tuple[int, int]:
    """The number of matches, counted up to `limit`, and the id of the oldest of the newest `limit`; (0, 0) without
    any."""
    row = tx.one(_REACH, match=match, chat=chat, limit=limit, before=_LATEST)
    assert row is not None
    return row["count"], row["oldest"] or 0


def _ranked(tx: Tx, chat: str, match: str, oldest: int, limit: int) -> list[str]:
    return [row["path"] for row in tx.all(_BEST, match=match, chat=chat, oldest=oldest, limit=limit)]


def bucket_of(chat: str) -> str:
    """Four characters that stand for the chat in tokens. There are a million; the SQL condition on `t.chat` tells chats
    apart that share one."""
    return base64.b32encode(blake2b(chat.encode(), digest_size=5).digest())[:4].decode().lower()


def _names(bucket: str, names: Sequence[str]) -> str:
    return " ".join(
        _tagged(bucket + tag, " ".join(tokens(name))) for tag, name in zip((FILE_NAME, OWN_NAME), names, strict=False)
    )


def _tagged(tag: str, words: str) -> str:
    return tag + words.replace(" ", f" {tag}") if words else ""
