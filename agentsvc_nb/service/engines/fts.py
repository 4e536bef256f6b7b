"""Full-text search on SQLite's FTS5 (`ports.Index`; contract.md §4 Search).

FTS5 gets the tokens of `rules.folding` and the phrases of `rules.search`; its own tokenizers and grammar are not in
play. They glue CJK runs together, or drop short words, and would answer otherwise than the next engine.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.rules.search import Phrase, Query, tokens

_PUT = """
    INSERT INTO file_text (chat, path, text) VALUES (:chat, :path, :text)
    ON CONFLICT (chat, path) DO UPDATE SET text = excluded.text
"""
_ID = "SELECT id FROM file_text WHERE chat = :chat AND path = :path"
_FIND = """
    SELECT t.path AS path, -bm25(file_words, 0, 1) AS rank
    FROM file_words JOIN file_text AS t ON t.id = file_words.rowid
    WHERE file_words MATCH :match AND t.chat = :chat
    ORDER BY rank DESC, t.path LIMIT :limit
"""
_PATHS = """
    SELECT t.path AS path FROM file_words JOIN file_text AS t ON t.id = file_words.rowid
    WHERE file_words MATCH :match AND t.chat = :chat
"""


class FtsIndex:
    """`ports.Index`. `query` is what `rules.search.parse` gave."""

    def put(self, tx: Tx, chat: str, path: str, text: str) -> None:
        text = text.encode("utf-8", "replace").decode()  # a lone surrogate cannot be stored
        tx.run(_PUT, chat=chat, path=path, text=text)
        self._forget(tx, chat, path)
        tx.run(
            f"INSERT INTO file_words (rowid, scope, words) SELECT id, :scope, :words FROM ({_ID})",
            chat=chat,
            path=path,
            scope=_scope(chat),
            words=" ".join(tokens(text)),
        )

    def drop(self, tx: Tx, chat: str, path: str) -> None:
        self._forget(tx, chat, path)
        tx.run("DELETE FROM file_text WHERE chat = :chat AND path = :path", chat=chat, path=path)

    def find(self, tx: Tx, chat: str, query: Query, limit: int) -> list[tuple[str, float]]:
        """(path, rank) of files whose contents match, exclusions included, best first; a greater rank is better."""
        wanted = " AND ".join(_any(group) for group in query.groups)
        if query.exclusions:
            wanted = f"({wanted}) NOT {_any(query.exclusions)}"
        rows = tx.all(_FIND, match=_within(chat, wanted), chat=chat, limit=limit)
        return [(row["path"], row["rank"]) for row in rows]

    def excluded(self, tx: Tx, chat: str, query: Query) -> set[str]:
        if not query.exclusions:
            return set()
        rows = tx.all(_PATHS, match=_within(chat, _any(query.exclusions)), chat=chat)
        return {row["path"] for row in rows}

    def text(self, tx: Tx, chat: str, path: str) -> str:
        row = tx.one("SELECT text FROM file_text WHERE chat = :chat AND path = :path", chat=chat, path=path)
        return row["text"] if row else ""

    def _forget(self, tx: Tx, chat: str, path: str) -> None:
        tx.run(f"DELETE FROM file_words WHERE rowid = ({_ID})", chat=chat, path=path)


def _within(chat: str, expression: str) -> str:
    return f'{{scope}} : "{_scope(chat)}" AND {{words}} : ({expression})'


def _scope(chat: str) -> str:
    """The chat as one token: its id may hold hyphens, and tells capitals apart."""
    return f"c{chat.encode().hex()}"


def _any(phrases: Iterable[Phrase]) -> str:
    return "(" + " OR ".join(map(_phrase, phrases)) + ")"


def _phrase(phrase: Phrase) -> str:
    # Tokens hold neither quotes nor blanks, so that nothing needs escaping.
    return f'"{" ".join(phrase.tokens)}"' + (" *" if phrase.open else "")
