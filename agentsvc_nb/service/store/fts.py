"""Implement the full-text index (`ports.Index`) with FTS5, the full-text search of SQLite.

One table contains all files, with one row per file. Each token has a tag of its chat (`ranking`), so one FTS5 query
finds only matches in one chat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentsvc_nb.documents.indexing import TOP_LEVEL, IndexedText
from agentsvc_nb.documents.search_query import Phrase, Query
from agentsvc_nb.documents.tokens import tokens
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.store.ranking import (
    FILE_NAME,
    LATEST,
    OWN_NAME,
    WORD,
    RankedIndex,
    add_tag,
    get_bucket,
    tokenize,
)


def words_query(bucket: str, query: Query) -> str:
    """Return the FTS5 query for files whose contents match `query`. `bucket` identifies the chat (`ranking`)."""
    return _exclude(bucket, query, _all(bucket + WORD, query))


def names_query(bucket: str, query: Query) -> str:
    """Return the FTS5 query for files whose file name, or user-given name, matches the whole `query`."""
    return _exclude(bucket, query, f"{_all(bucket + FILE_NAME, query)} OR {_all(bucket + OWN_NAME, query)}")


def levels_query(bucket: str, query: Query, floor: int) -> str:
    """Return the FTS5 query for matching files in which a word of `query` has the level `floor` or a higher level.

    A level says how prominent a word is in a file (`ranking`).

    The levels are the leftmost operand because they match fewer files: FTS5 iterates over the matches of the leftmost
    operand, and looks each of them up in the other operands.
    """
    levels = range(floor, TOP_LEVEL + 1)
    strong = " OR ".join(f'"{bucket}{level}{token}"{star}' for level in levels for token, star in tokenize(query))
    one_word_is_enough = len(query.groups) == 1 and all(len(phrase.tokens) == 1 for phrase in query.groups[0])
    return _exclude(bucket, query, strong if one_word_is_enough else f"({strong}) AND {_all(bucket + WORD, query)}")


def _exclude(bucket: str, query: Query, wanted: str) -> str:
    """Return the FTS5 query `wanted` without files whose contents or names match an exclusion of `query`."""
    if not query.exclusions:
        return wanted
    return f"({wanted}) NOT {_any([bucket + tag for tag in (WORD, FILE_NAME, OWN_NAME)], query.exclusions)}"


def _all(tag: str, query: Query) -> str:
    return "(" + " AND ".join(_any([tag], group) for group in query.groups) + ")"


def _any(tags: Iterable[str], phrases: Iterable[Phrase]) -> str:
    return "(" + " OR ".join(_phrase(tag, phrase) for tag in tags for phrase in phrases) + ")"


def _phrase(tag: str, phrase: Phrase) -> str:
    return '"' + " ".join(tag + token for token in phrase.tokens) + '"' + (" *" if phrase.open else "")


_INSERT = "INSERT INTO file_text (chat, path, text) VALUES (:chat, :path, :text) RETURNING id"
_DELETE = "DELETE FROM file_text WHERE chat = :chat AND path = :path RETURNING id"
_INDEX = "INSERT INTO file_words (rowid, names, words, levels) VALUES (:id, :names, :words, :levels)"
_FILL = "UPDATE file_text SET text = :text WHERE chat = :chat AND path = :path RETURNING id"
_FILL_INDEX = "UPDATE file_words SET words = :words, levels = :levels WHERE rowid = :id"
_FORGET = "DELETE FROM file_words WHERE rowid = :id"
_RENAME = """
    UPDATE file_words SET names = :names WHERE rowid = (SELECT id FROM file_text WHERE chat = :chat AND path = :path)
"""
# SQLite does not reorder a CROSS JOIN: it reads the full-text index first, and then the row of each match.
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


@dataclass(frozen=True, slots=True)
class FtsIndex(RankedIndex[str]):
    """Implements `ports.Index` with FTS5. A match is an FTS5 query."""

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        self.drop(tx, chat, path)  # gives the file the highest id, because results are ordered by id, newest first
        row = tx.one(_INSERT, chat=chat, path=path, text=indexed_text.text)
        assert row is not None
        self.index(tx, row["id"], chat, path, names, indexed_text)

    def index(self, tx: Tx, id_: int, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        bucket = get_bucket(chat)
        tx.run(
            _INDEX,
            id=id_,
            names=_names(bucket, names),
            words=add_tag(bucket + WORD, indexed_text.words),
            levels=add_tag(bucket, indexed_text.levels),
        )

    def fill(self, tx: Tx, chat: str, path: str, indexed_text: IndexedText) -> None:
        if row := tx.one(_FILL, chat=chat, path=path, text=indexed_text.text):
            bucket = get_bucket(chat)
            words, levels = add_tag(bucket + WORD, indexed_text.words), add_tag(bucket, indexed_text.levels)
            tx.run(_FILL_INDEX, id=row["id"], words=words, levels=levels)

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None:
        tx.run(_RENAME, chat=chat, path=path, names=_names(get_bucket(chat), names))

    def drop(self, tx: Tx, chat: str, path: str) -> None:
        if row := tx.one(_DELETE, chat=chat, path=path):
            tx.run(_FORGET, id=row["id"])

    def match_names(self, chat: str, query: Query) -> str:
        return names_query(get_bucket(chat), query)

    def match_words(self, chat: str, query: Query) -> str:
        return words_query(get_bucket(chat), query)

    def match_level(self, chat: str, query: Query, floor: int) -> str:
        return levels_query(get_bucket(chat), query, floor)

    def newest(self, tx: Tx, chat: str, match: str, limit: int, before: int = LATEST) -> list[tuple[int, str]]:
        rows = tx.all(_NEWEST, match=match, chat=chat, limit=limit, before=before)
        return [(row["id"], row["path"]) for row in rows]

    def reach(self, tx: Tx, chat: str, match: str, limit: int) -> tuple[int, int]:
        row = tx.one(_REACH, match=match, chat=chat, limit=limit, before=LATEST)
        assert row is not None
        return row["count"], row["oldest"] or 0

    def ranked(self, tx: Tx, chat: str, match: str, oldest: int, limit: int) -> list[str]:
        return [row["path"] for row in tx.all(_BEST, match=match, chat=chat, oldest=oldest, limit=limit)]


def _names(bucket: str, names: Sequence[str]) -> str:
    return " ".join(
        add_tag(bucket + tag, " ".join(tokens(name))) for tag, name in zip((FILE_NAME, OWN_NAME), names, strict=False)
    )
