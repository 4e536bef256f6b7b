"""Tag tokens and rank many matches, for the full-text indexes of both databases.

Each token in an index has a tag of five characters. Four characters, the bucket, identify the chat, so that the index
has a separate list of each word for each chat. The fifth character says what the token is: a word of a text, a word of
a name, or a level. A level, from 1 to 9, says how prominent a word is in a file: how often it occurs, relative to the
length of the text. Most words have no level.

FTS5 finds a match in 0.1 µs, but needs 2 µs to rank it. Therefore at most `ranked_max` matches are ranked. If there are
more, the search looks for matches in which a query word has level 9, then level 8 or above, and so on, until there are
enough. The set of found files is always exact. Only the order of more than `ranked_max` matches is approximate.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Final, Generic, TypeVar

from agentsvc_nb.documents.indexing import TOP_LEVEL
from agentsvc_nb.documents.search_query import Query
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.sql import sql_list

M = TypeVar("M")

WORD: Final = "w"
FILE_NAME: Final = "f"
OWN_NAME: Final = "m"
"""The fifth character of the tag for words of the name that a user gave the file. Levels have a digit there."""
TOKENS_VERSION: Final = "1"
"""The version of the tokens. Increase it when the tokens of a text change (folding, levels, tags).

The next start of the service then indexes all files again, because SQL can't compute the tokens.
"""

LATEST: Final = 2**63 - 1
_TEXT = "SELECT text FROM file_text WHERE chat = :chat AND path = :path"
_TEXTS = "SELECT path, text FROM file_text WHERE chat = :chat AND path IN"
_VERSION = "SELECT value FROM meta WHERE name = 'search_tokens'"
_SET_VERSION = """
    INSERT INTO meta (name, value) VALUES ('search_tokens', :version)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


@dataclass(frozen=True, slots=True)
class RankedIndex(ABC, Generic[M]):
    """The part of `ports.Index` that searches. `M` is the type of a match: a query in the database's form."""

    ranked_max: int = 1_000
    """The maximum number of matches to rank."""
    page: int = 200
    """The number of matches to fetch at first. If many of them belong to one typed output, a search fetches more."""

    @abstractmethod
    def match_names(self, chat: str, query: Query) -> M:
        """Return the match for files whose file name, or user-given name, matches the whole query."""

    @abstractmethod
    def match_words(self, chat: str, query: Query) -> M:
        """Return the match for files whose contents match the query."""

    @abstractmethod
    def match_level(self, chat: str, query: Query, floor: int) -> M:
        """Return the match for files whose contents match, and in which a query word has the level `floor` or above."""

    @abstractmethod
    def newest(self, tx: Tx, chat: str, match: M, limit: int, before: int = LATEST) -> list[tuple[int, str]]:
        """Return the id and path of each matching file with an id below `before`, last written first."""

    @abstractmethod
    def reach(self, tx: Tx, chat: str, match: M, limit: int) -> tuple[int, int]:
        """Count the matching files, up to `limit`. Return the count, and the lowest id among the files counted.

        Count the newest files, which have the highest ids. Return (0, 0) if no file matches.
        """

    def count(self, tx: Tx, chat: str, match: M, limit: int) -> int:
        """Return the number of matching files, or `limit` if there are more."""
        return self.reach(tx, chat, match, limit)[0]

    @abstractmethod
    def ranked(self, tx: Tx, chat: str, match: M, oldest: int, limit: int) -> list[str]:
        """Return the paths of at most `limit` matching files whose ids are at least `oldest`.

        The best files come first. Of equally good files, the newest comes first.
        """

    def by_name(self, tx: Tx, chat: str, query: Query) -> Iterator[str]:
        match = self.match_names(chat, query)
        rows = self.newest(tx, chat, match, self.page)
        while rows:
            yield from (path for _, path in rows)
            rows = self.newest(tx, chat, match, self.page, before=rows[-1][0]) if len(rows) == self.page else []

    def by_words(self, tx: Tx, chat: str, query: Query) -> Iterator[str]:
        yielded: set[str] = set()
        limit = self.page
        while True:
            found = self._best(tx, chat, query, limit)
            yield from (path for path in found if path not in yielded)
            if len(found) < limit:
                return
            yielded.update(found)
            # Files of one typed output count as one result, so the search needs more files: rank again, with a larger
            # limit.
            limit *= 4

    def text(self, tx: Tx, chat: str, path: str) -> str:
        row = tx.one(_TEXT, chat=chat, path=path)
        return row["text"] if row else ""

    def texts(self, tx: Tx, chat: str, paths: Sequence[str]) -> Mapping[str, str]:
        these, params = sql_list(paths)
        return {row["path"]: row["text"] for row in tx.all(f"{_TEXTS} {these}", chat=chat, **params)}

    def is_current(self, tx: Tx) -> bool:
        row = tx.one(_VERSION)
        return row is not None and row["value"] == TOKENS_VERSION

    def set_current(self, tx: Tx) -> None:
        tx.run(_SET_VERSION, version=TOKENS_VERSION)

    def _best(self, tx: Tx, chat: str, query: Query, limit: int) -> list[str]:
        """Return the `limit` best files.

        If too many files match, rank only those in which a query word has a high level. If these are too few, add the
        newest other files.
        """
        most = max(self.ranked_max, limit)
        match = self.match_words(chat, query)
        if self.count(tx, chat, match, most + 1) <= most:
            return self.ranked(tx, chat, match, 0, limit)
        for level in range(TOP_LEVEL, 0, -1):
            strong = self.match_level(chat, query, level)
            candidates, oldest = self.reach(tx, chat, strong, most)
            if candidates >= limit:
                return self.ranked(tx, chat, strong, oldest, limit)
        best = self.ranked(tx, chat, strong, 0, limit)
        known = set(best)
        others = self.newest(tx, chat, match, limit + len(best))
        return [*best, *(path for _, path in others if path not in known)][:limit]


def tokenize(query: Query) -> Iterator[tuple[str, str]]:
    """Yield each token of the query with a suffix: ` *` if the token is a prefix, otherwise an empty text."""
    for phrase in chain.from_iterable(query.groups):
        *whole, last = phrase.tokens
        yield from ((token, "") for token in whole)
        yield last, " *" if phrase.open else ""


def get_bucket(chat: str) -> str:
    """Return a chat's bucket, the first four characters of its tags.

    There are a million buckets, so two chats may have the same one.
    """
    return base64.b32encode(blake2b(chat.encode(), digest_size=5).digest())[:4].decode().lower()


def add_tag(tag: str, words: str) -> str:
    """Put the tag before each of the `words`, which are separated by single spaces."""
    return tag + words.replace(" ", f" {tag}") if words else ""
