"""The index, the rules and the snippets against a brute force that was written from the grammar alone.

The oracle shares no code with the product: it reads queries a character at a time, knows scripts by the names of
their characters, and compares words one by one (docs/api/files.md "Search").
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from unicodedata import category, name, normalize

import pytest

from agentsvc_nb.documents.indexing import index_text
from agentsvc_nb.documents.search_query import parse
from agentsvc_nb.service.ports import Index, Tx
from agentsvc_nb.service.store.fts import FtsIndex
from agentsvc_nb.service.store.migrations import migrate
from agentsvc_nb.service.store.sqlite import SqliteTx
from tests.support import databases

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


def new_index(**options: int) -> Index:
    if databases.chosen == "sqlite":
        return FtsIndex(**options)
    from agentsvc_nb.service.store.tsearch import TsvectorIndex

    return TsvectorIndex(**options)


@pytest.fixture
def chance(seed: int) -> random.Random:
    return random.Random(seed)


@pytest.fixture
def tx() -> Iterator[Tx]:
    if databases.chosen != "sqlite":
        with databases.transaction() as tx:
            yield tx
        return
    connection = sqlite3.connect(":memory:", isolation_level=None)
    migrate(connection)
    connection.row_factory = sqlite3.Row
    yield SqliteTx(connection)
    connection.close()


def document(chance: random.Random) -> str:
    return "".join(chance.choice(WORDS) + chance.choice(BLANKS) for _ in range(chance.randint(0, 14)))


def question(chance: random.Random) -> str:
    parts = []
    for _ in range(chance.choice([1, 1, 2, 2, 3, 5, 8, 40])):
        word = chance.choice(WORDS)
        start = chance.randrange(len(word)) if chance.random() < 0.2 else 0
        word = word[start : chance.randint(start + 1, len(word)) if chance.random() < 0.4 else None]
        shape = chance.choice(
            ["{}"] * 5
            + ['"{}"', '"{}', "-{}", '-"{}"', "{} or", "or {}", "-- {}", '{}"', '"{} ' + chance.choice(WORDS) + '"']
        )
        parts.append(shape.format(word))
    return chance.choice([" ", " ", " ", "  ", "\u3000", " or ", ""]).join(parts)[:200] + chance.choice(
        ["", "", " ", "!", '"']
    )


class IndexedFiles:
    """Files of one chat in an index, beside files of another chat; and what a query finds by reading them all."""

    def __init__(self, tx: Tx, chance: random.Random) -> None:
        self.texts = {f"f{number:03}": document(chance) for number in range(100)}
        self.names = {path: [document(chance)[:40] for _ in range(chance.choice([1, 1, 2]))] for path in self.texts}
        index = new_index()
        for path, text in self.texts.items():
            index.put(tx, CHATS[0], path, ["summer sale"], index_text("summer sale, replaced"))
            index.put(tx, CHATS[0], path, ["summer sale"], index_text(text))
            index.rename(tx, CHATS[0], path, self.names[path])
            index.put(tx, CHATS[1], path, [document(chance)], index_text(document(chance)))
        self.contents = Oracle(self.texts)
        self._first = Oracle({path: names[0] for path, names in self.names.items()})
        self._own = Oracle({path: names[-1] for path, names in self.names.items()})

    def expected(self, q: str) -> tuple[set[str], set[str]]:
        """The paths found by name, and those whose contents answer."""
        found, barred = [], set[str]()
        for oracle in (self._first, self._own, self.contents):
            answering, excluded = oracle.find(*read(q))
            found.append(answering)
            barred |= excluded
        return (found[0] | found[1]) - barred, found[2] - barred


def exactly(paths: Iterator[str]) -> set[str]:
    listed = list(paths)
    assert len(listed) == len(set(listed)), "a path is found once"
    return set(listed)


@pytest.mark.rule("The search index finds the same files as a plain implementation of the grammar.")
def test_the_index_and_the_oracle_agree(tx: Tx, chance: random.Random) -> None:
    """With the index as it is, and with one that ranks by levels what it would rank by BM25."""
    files_indexed = IndexedFiles(tx, chance)
    by_name = by_words = 0
    for number in range(3_000):
        q = question(chance)
        query = parse(q)
        assert (query is not None) == bool(read(q)[0]), q
        if query is None:
            continue
        named, worded = files_indexed.expected(q)
        index = new_index() if number % 2 else new_index(ranked_max=9, page=5)
        assert exactly(index.by_name(tx, CHATS[0], query)) == named, q
        assert exactly(index.by_words(tx, CHATS[0], query)) == worded, q
        by_name, by_words = by_name + bool(named), by_words + bool(worded)
    assert by_name > 400, "the questions are too hard"
    assert 700 < by_words < 2_300, "the questions are too easy, or too hard"


def test_100_000_random_strings_are_answered(tx: Tx, chance: random.Random) -> None:
    """Any text is a query, and any query can be asked of the index."""
    odd = '“”ab ""--or夏のル\t\x00\u0301\u3099ßİﬁกั한ᄒ\ud800\U0001f525\U000e0100_.*:(){}^+\\\''
    alphabet = [*odd, " NEAR(", " AND "]
    index = new_index()
    index.put(tx, CHATS[0], "a", ["ab.txt"], index_text("夏の a b, or ab"))
    answered = 0
    for number in range(100_000):
        q = "".join(chance.choices(alphabet, k=chance.randint(1, 200 if number % 50 == 0 else 20)))
        if number % 4 == 0:
            q += "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(1, 20)))
        query = parse(q)
        if query is not None:
            for found in (index.by_name(tx, CHATS[0], query), index.by_words(tx, CHATS[0], query)):
                answered += list(found) == ["a"]
    assert answered > 2_000
