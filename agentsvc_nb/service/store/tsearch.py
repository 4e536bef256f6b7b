"""Implement the full-text index (`ports.Index`) with PostgreSQL.

The index has the same tokens and tags as the index of SQLite (`ranking`). They are lexemes of a `tsvector` without
positions. A GIN index finds the files that have all words of a query. For a phrase, the texts of these files are then
searched, because a GIN index has no positions.

If all words of a phrase are common, most files of a chat have them, and reading all these texts is slow. Therefore each
row has a Bloom filter of the pairs of neighbouring words in its text. A text is read only if the filter contains the
pairs of the phrase.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from operator import xor
from typing import Any, Final
from zlib import crc32

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

LEXEME_CHARS: Final = 200
"""The number of characters of a word to index. A lexeme must not exceed 2,046 bytes."""
LEXEMES_BYTES: Final = 900_000
"""The maximum size of a file's lexemes, as a `tsvector` is at most 1 MB. The column `whole` is false above it."""

_INSERT = "INSERT INTO file_text (chat, path, text) VALUES (:chat, :path, :text) RETURNING id"
_DELETE = "DELETE FROM file_text WHERE chat = :chat AND path = :path"
_FORGET = "DELETE FROM file_words WHERE chat = :chat AND path = :path"
_INDEX = """
    INSERT INTO file_words (id, chat, path, names, first_name, own_name, tokens, levels, whole, words, pairs)
    VALUES (:id, :chat, :path, CAST(:names AS tsvector), :first_name, :own_name,
        CAST(:tokens AS tsvector), CAST(:levels AS tsvector), :whole, :words, :pairs)
"""
_FILL = "UPDATE file_text SET text = :text WHERE chat = :chat AND path = :path"
_FILL_INDEX = """
    UPDATE file_words SET tokens = CAST(:tokens AS tsvector), levels = CAST(:levels AS tsvector), whole = :whole,
        words = :words, pairs = :pairs
    WHERE chat = :chat AND path = :path
"""
_RENAME = """
    UPDATE file_words SET names = CAST(:names AS tsvector), first_name = :first_name, own_name = :own_name
    WHERE chat = :chat AND path = :path
"""


@dataclass(frozen=True, slots=True)
class Match:
    """SQL conditions for rows of `file_words`.

    Attributes:
        indexed: for files whose lexemes are all indexed, the condition that the GIN index evaluates.
        exact: the condition that then checks the rows found in the index.
        otherwise: for other files, the condition that replaces `indexed` and `exact`.
        rank: a tsquery of the query's words, to rank the rows.
    """

    indexed: str
    exact: str
    otherwise: str
    rank: str
    params: dict[str, Any] = field(default_factory=dict)

    def rows(self, columns: str, more: str = "") -> str:
        """Return the `WITH` clause that defines the matching rows as `found`.

        The SQL finds all rows before any ordering. If PostgreSQL read the rows in the order of the primary key, it
        would have to skip the rows of other chats one by one.
        """
        found = f"SELECT {columns} FROM file_words WHERE chat = :chat {more} AND"
        parts = [f"{found} whole AND {self.indexed} AND {self.exact}", f"{found} NOT whole AND {self.otherwise}"]
        return f"WITH found AS MATERIALIZED ({' UNION ALL '.join(parts)})"


@dataclass(frozen=True, slots=True)
class TsvectorIndex(RankedIndex[Match]):
    """Implements `ports.Index` with PostgreSQL."""

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        self.drop(tx, chat, path)  # gives the file the highest id, because results are ordered by id, newest first
        row = tx.one(_INSERT, chat=chat, path=path, text=indexed_text.text)
        assert row is not None
        self.index(tx, row["id"], chat, path, names, indexed_text)

    def index(self, tx: Tx, id_: int, chat: str, path: str, names: Sequence[str], indexed_text: IndexedText) -> None:
        bucket = get_bucket(chat)
        values = {**_name_values(bucket, names), **_word_values(bucket, indexed_text)}
        tx.run(_INDEX, id=id_, chat=chat, path=path, **values)

    def fill(self, tx: Tx, chat: str, path: str, indexed_text: IndexedText) -> None:
        tx.run(_FILL, chat=chat, path=path, text=indexed_text.text)
        tx.run(_FILL_INDEX, chat=chat, path=path, **_word_values(get_bucket(chat), indexed_text))

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None:
        tx.run(_RENAME, chat=chat, path=path, **_name_values(get_bucket(chat), names))

    def drop(self, tx: Tx, chat: str, path: str) -> None:
        tx.run(_DELETE, chat=chat, path=path)
        tx.run(_FORGET, chat=chat, path=path)

    def match_names(self, chat: str, query: Query) -> Match:
        bucket, made = get_bucket(chat), _Conditions()
        loose = " | ".join(f"({_tsquery(bucket + tag, query)})" for tag in (FILE_NAME, OWN_NAME))
        indexed = f"names @@ {made.tsquery(loose)}"
        exact = f"({made.all('first_name', query)} OR {made.all('own_name', query)}){made.without(query.exclusions)}"
        return Match(indexed, exact, f"{indexed} AND {exact}", "", made.params)

    def match_words(self, chat: str, query: Query) -> Match:
        return self._words(chat, query, [])

    def match_level(self, chat: str, query: Query, floor: int) -> Match:
        tags = [f"{get_bucket(chat)}{level}" for level in range(floor, TOP_LEVEL + 1)]
        return self._words(chat, query, [_lexeme(tag + token, star) for tag in tags for token, star in tokenize(query)])

    def _words(self, chat: str, query: Query, strong: list[str]) -> Match:
        """Return the condition that finds the files whose contents match the query.

        If `strong` is not empty, the files must also have one of the lexemes in `strong`.
        """
        made = _Conditions()
        # The index can exclude only single words: it does not know whether the words of a phrase are neighbours.
        unwanted = [phrase for phrase in query.exclusions if _is_single_word(phrase)]
        but = "".join(f" & !{_phrase_query(get_bucket(chat) + WORD, phrase)}" for phrase in unwanted)
        loose = _tsquery(get_bucket(chat) + WORD, query) + but
        level = f"tokens @@ {made.tsquery(' | '.join(strong))}" if strong else "TRUE"
        has_words = made.all("words", query)
        indexed = f"tokens @@ {made.tsquery(loose)} AND {level}"
        exact = "TRUE" if _has_only_words(query) else has_words
        # If all lexemes of a file are indexed, the index has already evaluated the exclusions of single words.
        exact += made.without(query.exclusions, ["first_name", "own_name"])
        exact += made.without([phrase for phrase in query.exclusions if not _is_single_word(phrase)], ["words"])
        rank = " | ".join(dict.fromkeys(_lexeme(token, star) for token, star in tokenize(query)))
        return Match(indexed, exact, f"{level} AND {has_words}{made.without(query.exclusions)}", rank, made.params)

    def newest(self, tx: Tx, chat: str, match: Match, limit: int, before: int = LATEST) -> list[tuple[int, str]]:
        sql = f"{match.rows('id, path', 'AND id < :before')} SELECT id, path FROM found ORDER BY id DESC LIMIT :limit"
        rows = tx.all(sql, chat=chat, limit=limit, before=before, **match.params)
        return [(row["id"], row["path"]) for row in rows]

    def reach(self, tx: Tx, chat: str, match: Match, limit: int) -> tuple[int, int]:
        newest = "SELECT id FROM found ORDER BY id DESC LIMIT :limit"
        sql = f"{match.rows('id')} SELECT COUNT(*) AS count, MIN(id) AS oldest FROM ({newest}) AS newest"
        row = tx.one(sql, chat=chat, limit=limit, **match.params)
        assert row is not None
        return row["count"], row["oldest"] or 0

    def count(self, tx: Tx, chat: str, match: Match, limit: int) -> int:
        # Unlike `reach`, which has to find the newest rows, this may stop after any `limit` rows.
        sql = f"{match.rows('id')} SELECT COUNT(*) AS count FROM (SELECT id FROM found LIMIT :limit) AS counted"
        row = tx.one(sql, chat=chat, limit=limit, **match.params)
        assert row is not None
        return int(row["count"])

    def ranked(self, tx: Tx, chat: str, match: Match, oldest: int, limit: int) -> list[str]:
        rank = "ts_rank(levels, CAST(:rank AS tsquery)) AS rank"
        found = match.rows(f"id, path, {rank}", "AND id >= :oldest")
        sql = f"{found} SELECT path FROM found ORDER BY rank DESC, id DESC LIMIT :limit"
        rows = tx.all(sql, chat=chat, oldest=oldest, limit=limit, rank=match.rank, **match.params)
        return [row["path"] for row in rows]


class _Conditions:
    """Builds SQL conditions and collects their parameters."""

    def __init__(self) -> None:
        self.params: dict[str, str | int] = {}

    def tsquery(self, text: str) -> str:
        return f"CAST({self._add_param(text)} AS tsquery)"

    def all(self, column: str, query: Query) -> str:
        """Return the condition that, for each group of the query, `column` contains at least one of its phrases."""
        return "(" + " AND ".join(self._any([column], group) for group in query.groups) + ")"

    def without(self, phrases: Sequence[Phrase], columns: Sequence[str] = ("words", "first_name", "own_name")) -> str:
        """Return the condition that none of the columns contains any of the phrases."""
        return f" AND NOT {self._any(columns, phrases)}" if phrases else ""

    def _any(self, columns: Sequence[str], phrases: Sequence[Phrase]) -> str:
        return "(" + " OR ".join(self._has(c, phrase) for phrase in phrases for c in columns) + ")"

    def _has(self, column: str, phrase: Phrase) -> str:
        # In these columns, a space comes before and after each token.
        text = f" {' '.join(phrase.tokens)}{'' if phrase.open else ' '}"
        found = f"strpos({column}, {self._add_param(text)}) > 0"
        bits = self._filter_conditions(phrase) if column == "words" else []
        # Without CASE, the planner would search the text first, because it evaluates the shorter operand of AND first.
        return f"CASE WHEN {' AND '.join(bits)} THEN {found} ELSE FALSE END" if bits else found

    def _filter_conditions(self, phrase: Phrase) -> list[str]:
        """Return the conditions that the row's Bloom filter contains the phrase's pairs of neighbouring words.

        A row without a filter meets all conditions.
        """
        whole = phrase.tokens[:-1] if phrase.open else phrase.tokens
        last = "(8 * octet_length(pairs) - 1)"
        found = [f"get_bit(pairs, {self._add_param(place)} & {last})" for pair in pair_bits(whole) for place in pair]
        return [f"COALESCE({bit}, 1) = 1" for bit in found]

    def _add_param(self, value: str | int) -> str:
        for name, known in self.params.items():
            if known == value:
                return f":{name}"
        name = f"p{len(self.params)}"
        self.params[name] = value
        return f":{name}"


def _tsquery(tag: str, query: Query) -> str:
    """Return the tsquery for files that contain the words of the phrases anywhere, and may therefore match."""
    return " & ".join(f"({' | '.join(_phrase_query(tag, phrase) for phrase in group)})" for group in query.groups)


def _phrase_query(tag: str, phrase: Phrase) -> str:
    *whole, last = phrase.tokens
    lexemes = [*(_lexeme(tag + token) for token in whole), _lexeme(tag + last, "*" if phrase.open else "")]
    return f"({' & '.join(lexemes)})"


def _has_only_words(query: Query) -> bool:
    """Return whether the lexemes alone decide if a file matches, because each phrase is a single word."""
    phrases = chain.from_iterable(query.groups)
    return all(map(_is_single_word, phrases))


def _is_single_word(phrase: Phrase) -> bool:
    """Return whether the phrase is a single word that is short enough to be indexed unchanged."""
    return len(phrase.tokens) == 1 and len(phrase.tokens[0]) < LEXEME_CHARS - 10


def _lexeme(token: str, star: str = "") -> str:
    """Quote a word as a lexeme of a tsvector or tsquery.

    With a `star`, the tsquery also finds words that begin with this lexeme.
    """
    cut = token[:LEXEME_CHARS].replace("\\", "\\\\").replace("'", "''")
    return f"'{cut}'" + (":*" if star else "")


def _name_values(bucket: str, names: Sequence[str]) -> dict[str, Any]:
    first, own = [*(" ".join(tokens(name)) for name in names), "", ""][:2]
    tokens_of_both = [*add_tag(bucket + FILE_NAME, first).split(), *add_tag(bucket + OWN_NAME, own).split()]
    lexemes = dict.fromkeys(map(_lexeme, tokens_of_both))
    return {"names": " ".join(lexemes), "first_name": f" {first} ", "own_name": f" {own} "}


def _word_values(bucket: str, text: IndexedText) -> dict[str, Any]:
    # Levels come first, so that words are dropped if the lexemes don't fit. Words are also searched in `words`, but
    # without its level a file may not be found among very many.
    words = text.words.split()
    found = chain(add_tag(bucket, text.levels).split(), (f"{bucket}{WORD}{word}" for word in dict.fromkeys(words)))
    indexed, whole = _truncate(map(_lexeme, found))
    levels, _ = _truncate(_with_positions(word) for word in text.levels.split())
    values = {"tokens": indexed, "levels": levels, "whole": whole, "words": f" {text.words} "}
    return {**values, "pairs": pair_filter(words)}


def _with_positions(word: str) -> str:
    """Return a word's lexeme with as many positions as its level, because `ts_rank` counts positions."""
    return f"{_lexeme(word[1:])}:{','.join(map(str, range(1, int(word[0]) + 1)))}"


def _truncate(lexemes: Iterable[str]) -> tuple[str, bool]:
    """Return the distinct lexemes that fit into a tsvector, and True if these are all."""
    every = list(dict.fromkeys(lexemes))
    text = " ".join(every)
    if len(text.encode()) <= LEXEMES_BYTES:
        return text, True
    ends = accumulate(len(lexeme.encode()) + 1 for lexeme in every)
    return " ".join(every[: bisect(list(ends), LEXEMES_BYTES)]), False


# A Bloom filter of the pairs of neighbouring words in a text. Each pair sets two bits. The number of bits is a power of
# two. The bits are numbered as in PostgreSQL's `get_bit`: bit 0 is the lowest bit of the first byte.

PAIR_BITS: Final = 8
"""The minimum number of bits per pair; a filter has up to twice as many. If a text does not contain a pair, the filter
wrongly reports the pair in 1 of 20 to 70 cases.
"""
_HALF_BITS: Final = 30
_HASH_FACTOR: Final = 0x9E3779B97F4A7C15
_HASH_MASK: Final = 2 ** (2 * _HALF_BITS) - 1


def pair_filter(words: Sequence[str]) -> bytes | None:
    """Return the Bloom filter of the pairs of neighbouring words, or None if there are fewer than two words.

    >>> pair_filter(["summer", "sale"]).hex(), pair_filter(["sale"])
    ('0801', None)
    """
    found = set(_pair_hashes(words))
    if not found:
        return None
    size = 1 << (len(found) * PAIR_BITS // 8).bit_length()
    last = 8 * size - 1
    ones = bytearray(b"0") * (8 * size)  # built as a text of digits, which takes half the time of setting bits in bytes
    for pair in found:
        ones[pair & last] = ones[pair >> _HALF_BITS & last] = 0x31
    ones.reverse()
    return int(ones, 2).to_bytes(size, "little")


def pair_bits(words: Sequence[str]) -> list[tuple[int, int]]:
    """Return two numbers for each pair of neighbouring words.

    Modulo the number of bits in a filter, the numbers are the positions of the pair's two bits.
    """
    return [(pair & 2**_HALF_BITS - 1, pair >> _HALF_BITS) for pair in _pair_hashes(words)]


def _pair_hashes(words: Sequence[str]) -> list[int]:
    """Return a hash of 60 bits for each pair of neighbouring words."""
    known = {word: crc32(word.encode()) * _HASH_FACTOR & _HASH_MASK for word in set(words)}
    moved = {word: value >> 1 for word, value in known.items()}
    return list(map(xor, map(known.__getitem__, words), map(moved.__getitem__, words[1:])))
