"""The index, the rules and the snippets against a brute force that was written from the grammar alone.

The oracle shares no code with the product: it reads queries a character at a time, knows scripts by the names of
their characters, and compares words one by one (contract.md §4 Search).
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from typing import Any
from unicodedata import category, name, normalize

import pytest

from agentsvc_nb.service.engines.fts import FtsIndex
from agentsvc_nb.service.engines.migrations import migrate
from agentsvc_nb.service.ports import Row
from agentsvc_nb.service.rules.search import has_terms, is_excluded, matches, parse, snippets

VOCABULARY = """
    summer Sale sales ad copy AD ads or OR not AND near c C++ v2.1 12e5 12 Straße strasse İstanbul ﬁne fine café cafe
    O'Brien brief-alpha-12.md hero_image x y a b Ёлка елка Αθήνα ΟΔΟΣ नमस्ते नमस दुनिया ที่ ก็ กั ก שלום سلام
    夏のセール 夏 の セール 人々 東京タワー 東京 京都 ｶﾞﾗｽ ガラス 한국어 한국 국 어 sale夏 夏sale夏 B2B向け 𠮷野家
    ½ m² ™ ㎆ 🔥 adver\u00adtising cafe\u0301 Việt tiếng ŉ Ǆ 葛\U000e0100飾 か゚ ___ --- ... zzzzzzzzzzzzzzzzzzzzzzzzzz
"""
WORDS = VOCABULARY.split()
BLANKS = [" ", " ", " ", "  ", "\n", ", ", ". ", "-", "_", "/", "\u3000", ""]
CHATS = ("chat_A-b", "chat_a-b")
Unit = tuple[str, bool]  # a word or a CJK run, and which of the two
Asked = tuple[tuple[Unit, ...], bool]  # a phrase, and whether its last word is a prefix


def folded(text: str) -> str:
    seen = [
        c for c in text if category(c) != "Cf" and not 0xFE00 <= ord(c) <= 0xFE0F and not 0xE0100 <= ord(c) <= 0xE01EF
    ]
    kept: list[str] = []
    base = ""
    for c in normalize("NFKD", normalize("NFKD", "".join(seen)).casefold()):
        if category(c)[0] != "M":
            base = c
        elif not keeps(base) or cjk(base) != ("VOICED SOUND" in name(c, "")):
            continue
        kept.append(c)
    return normalize("NFC", "".join(kept))


def keeps(base: str) -> bool:
    return base.isalnum() and not base.isascii() and not name(base, "").startswith(("LATIN", "GREEK", "CYRILLIC"))


def cjk(c: str) -> bool:
    return name(c, "").startswith(("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "COMBINING KATAKANA"))


def units(text: str) -> list[Unit]:
    found: list[Unit] = []
    going = False
    for c in folded(text):
        if not c.isalnum() and not (category(c)[0] == "M" and going):
            going = False
        elif going and found[-1][1] == cjk(c):
            found[-1] = (found[-1][0] + c, cjk(c))
        else:
            found.append((c, cjk(c)))
            going = True
    return found


class Oracle:
    """The texts of one chat, and by reading every one of them what a query finds."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._units = {path: tuple(units(text)) for path, text in texts.items()}
        self._known: dict[Asked, frozenset[str]] = {}

    def find(self, wanted: list[list[Asked]], barred: list[Asked]) -> tuple[set[str], set[str]]:
        """(paths that answer, paths that an exclusion bars)"""
        excluded = set[str]().union(*map(self._holding, barred))
        groups = [set[str]().union(*map(self._holding, group)) for group in wanted]
        return (set.intersection(*groups) if groups else set()) - excluded, excluded

    def _holding(self, asked: Asked) -> frozenset[str]:
        if asked not in self._known:
            self._known[asked] = frozenset(path for path, text in self._units.items() if stands(*asked, text))
        return self._known[asked]


def stands(phrase: tuple[Unit, ...], prefix: bool, document: tuple[Unit, ...]) -> bool:
    return any(fits(phrase, prefix, document[at : at + len(phrase)]) for at in range(len(document) - len(phrase) + 1))


def fits(phrase: tuple[Unit, ...], prefix: bool, part: tuple[Unit, ...]) -> bool:
    for at, ((asked, run), (there, _)) in enumerate(zip(phrase, part, strict=True)):
        first, last = at == 0, at == len(phrase) - 1
        # a run of CJK characters may begin within one of the text when it is the first, and end within when the last
        if run and first and last:
            ok = asked in there
        elif run and last:
            ok = there.startswith(asked)
        elif run and first:
            ok = there.endswith(asked)
        else:
            ok = there.startswith(asked) if last and prefix else there == asked
        if not ok or run != part[at][1]:
            return False
    return True


def terms(q: str) -> Iterator[tuple[str, bool, bool, bool]]:
    """(text, quoted, excluded, last) of each term."""
    at = 0
    while at < len(q):
        if q[at].isspace():
            at += 1
            continue
        excluded = q[at] == "-" and at + 1 < len(q) and not q[at + 1].isspace()
        at += excluded
        if q[at] == '"':
            end = q.find('"', at + 1)
            end = len(q) if end < 0 else end
            yield q[at + 1 : end], True, excluded, False
            at = end + 1
            continue
        start = at
        while at < len(q) and not q[at].isspace() and q[at] != '"':
            at += 1
        yield q[start:at], False, excluded, at == len(q)


def read(q: str) -> tuple[list[list[Asked]], list[Asked]]:
    wanted: list[list[Asked]] = []
    barred: list[Asked] = []
    alternative = False
    for text, quoted, excluded, last in terms(q):
        if not quoted and not excluded and text.lower() == "or":
            alternative = bool(wanted)
            continue
        phrase = tuple(units(text))
        if not phrase:
            continue
        if excluded:
            barred.append((phrase, False))
        elif alternative:
            wanted[-1].append((phrase, last))
        else:
            wanted.append([(phrase, last)])
        alternative = False
    return wanted, barred


class MemoryTx:
    """`ports.Tx` over SQLite in memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, sql: str, /, **params: Any) -> list[Row]:
        cursor = self._connection.execute(sql, params)
        return [dict(zip((column[0] for column in cursor.description), row, strict=True)) for row in cursor]

    def one(self, sql: str, /, **params: Any) -> Row | None:
        return next(iter(self.all(sql, **params)), None)

    def run(self, sql: str, /, **params: Any) -> int:
        return self._connection.execute(sql, params).rowcount


@pytest.fixture
def tx() -> Iterator[MemoryTx]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    migrate(connection)
    yield MemoryTx(connection)
    connection.close()


def document(chance: random.Random) -> str:
    return "".join(chance.choice(WORDS) + chance.choice(BLANKS) for _ in range(chance.randint(0, 14)))


def question(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.choice([1, 1, 2, 2, 3, 5, 8])):
        word = chance.choice(WORDS)
        start = chance.randrange(len(word)) if chance.random() < 0.2 else 0
        word = word[start : chance.randint(start + 1, len(word)) if chance.random() < 0.4 else None]
        shape = chance.choice(
            ["{}"] * 5
            + ['"{}"', '"{}', "-{}", '-"{}"', "{} or", "or {}", "-- {}", '{}"', '"{} ' + chance.choice(WORDS) + '"']
        )
        parts.append(shape.format(word))
    return chance.choice([" ", " ", " ", "  ", "\u3000", ""]).join(parts)[:200] + chance.choice(["", "", " ", "!", '"'])


def test_the_index_the_rules_and_the_oracle_agree(tx: MemoryTx) -> None:
    chance = random.Random(7)
    index = FtsIndex()
    texts = {f"f{number:03}.txt": document(chance) for number in range(330)}
    for number, (path, text) in enumerate(texts.items()):
        index.put(tx, CHATS[number % 11 == 0], path, "summer sale, replaced")
        index.put(tx, CHATS[number % 11 == 0], path, text)
    chat = {path: text for number, (path, text) in enumerate(texts.items()) if number % 11}
    oracle = Oracle(chat)
    answered = 0
    for number in range(3_000):
        q = question(chance)
        wanted, barred = read(q)
        expected, excluded = oracle.find(wanted, barred)
        query = parse(q)
        assert (query is not None) == bool(wanted), q
        if query is None:
            continue
        found = index.find(tx, CHATS[0], query, len(texts))
        assert {path for path, _ in found} == expected, q
        assert [rank for _, rank in found] == sorted((rank for _, rank in found), reverse=True)
        assert index.excluded(tx, CHATS[0], query) == excluded, q
        for path in [*chat][number % 60 :: 60]:
            assert matches(query, chat[path]) == (path in expected), (q, chat[path])
            assert is_excluded(query, chat[path]) == (path in excluded), (q, chat[path])
        for path in sorted(expected)[:2]:
            assert has_terms(query, chat[path])
            assert any(match for passage in snippets(query, chat[path]) for _, match in passage), (q, chat[path])
        answered += bool(expected)
    assert 1_000 < answered < 2_000, "the questions are too easy, or too hard"


def test_replaced_and_dropped_texts_are_not_found(tx: MemoryTx) -> None:
    index = FtsIndex()
    query = parse("winter")
    assert query is not None
    index.put(tx, CHATS[0], "a", "winter")
    index.put(tx, CHATS[1], "a", "winter")
    index.put(tx, CHATS[0], "a", "spring \ud800")
    assert index.find(tx, CHATS[0], query, 50) == []
    assert [path for path, _ in index.find(tx, CHATS[1], query, 50)] == ["a"]
    assert index.text(tx, CHATS[0], "a") == "spring ?"
    index.drop(tx, CHATS[1], "a")
    index.drop(tx, CHATS[1], "a")
    assert index.find(tx, CHATS[1], query, 50) == []
    assert index.text(tx, CHATS[1], "a") == ""
    assert tx.all("SELECT rowid FROM file_words WHERE words MATCH 'winter'") == []


def test_the_best_comes_first_and_equals_by_path(tx: MemoryTx) -> None:
    index = FtsIndex()
    query = parse("sale ")
    assert query is not None
    for path in ("c", "a", "b"):
        index.put(tx, CHATS[0], path, "one sale among many other words")
    index.put(tx, CHATS[0], "z", "sale sale sale")
    for number in range(9):
        index.put(tx, CHATS[0], f"other{number}", "nothing of the kind here")
    assert [path for path, _ in index.find(tx, CHATS[0], query, 50)] == ["z", "a", "b", "c"]
    assert [path for path, _ in index.find(tx, CHATS[0], query, 2)] == ["z", "a"]


def test_a_query_of_hundreds_of_words_can_be_asked(tx: MemoryTx) -> None:
    """Agents search with whole messages."""
    index = FtsIndex()
    words = [f"w{number}" for number in range(700)]
    index.put(tx, CHATS[0], "all", " ".join(words))
    for q in (" ".join(words), " or ".join(words), "w1 -" + " -".join(f"v{number}" for number in range(700))):
        query = parse(q)
        assert query is not None
        assert [path for path, _ in index.find(tx, CHATS[0], query, 50)] == ["all"]
