"""Phrases on PostgreSQL, with the filter of their pairs and without (docs/decisions/0069-pairs-of-words.md)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from agentsvc_nb.documents.indexing import indexed_text
from agentsvc_nb.documents.search_query import parse
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.store.ranking import WORD, bucket_of
from agentsvc_nb.service.store.tsearch import TsvectorIndex, pair_bits, pair_filter
from tests.support import databases

CHAT = "chat_1"
INDEX = TsvectorIndex()
TOKENS = " ".join(f"'{bucket_of(CHAT)}{WORD}{word}'" for word in ("summer", "sale"))


@pytest.fixture
def tx() -> Iterator[Tx]:
    with databases.transaction() as tx:
        yield tx


def found(tx: Tx, q: str) -> list[str]:
    query = parse(q)
    assert query is not None
    return sorted(INDEX.by_words(tx, CHAT, query))


def put(tx: Tx, **texts: str) -> None:
    for path, text in texts.items():
        INDEX.put(tx, CHAT, path, [path], indexed_text(text))


def test_the_filter_of_a_text_has_its_pairs_and_few_others() -> None:
    chance = random.Random(1)
    words = [f"w{chance.randrange(500)}" for _ in range(2_000)]
    made = pair_filter(words)
    assert made is not None
    number = int.from_bytes(made, "little")

    def has(*pair: str) -> bool:
        ((one, other),) = pair_bits(pair)
        return bool(number >> one % (8 * len(made)) & number >> other % (8 * len(made)) & 1)

    assert all(map(has, words, words[1:]))
    known = {*pairwise(words)}
    others = [pair for a in range(40) for b in range(40) if (pair := (f"w{a}", f"w{b}")) not in known]
    assert sum(has(*pair) for pair in others) < len(others) / 15


@pytest.mark.parametrize("words", ["one", "one two", "one two three " * 3_000])
def test_the_database_finds_the_pairs_that_were_noted(tx: Tx, words: str) -> None:
    """Of texts whose filters have two bytes and kilobytes."""
    put(tx, a=f"{words} summer sale", b=f"{words} sale in summer")
    assert found(tx, '"summer sale"') == ["a"]
    assert found(tx, 'one -"summer sale"') == ["b"]
    assert found(tx, f'"{words.split()[-1]} summer sal') == []
    assert found(tx, "summer-sal") == ["a"], "a prefix has no pair"


def test_files_that_were_indexed_without_pairs_are_found(tx: Tx) -> None:
    """By an earlier version; and beside them those of this one."""
    put(tx, old="a summer sale", other="summer, no sale")
    tx.run("UPDATE file_words SET pairs = NULL")
    put(tx, new="the summer sale")
    assert found(tx, '"summer sale"') == ["new", "old"]
    assert found(tx, 'summer -"summer sale"') == ["other"]
    assert found(tx, '"no summer"') == []


def test_a_text_that_an_earlier_version_fills_in_is_found(tx: Tx) -> None:
    """It works with the same database during an upgrade, and knows nothing of pairs."""
    put(tx, a="")
    tx.run("UPDATE file_words SET tokens = CAST(:tokens AS tsvector), words = ' summer sale '", tokens=TOKENS)
    assert found(tx, '"summer sale"') == ["a"]
    INDEX.fill(tx, CHAT, "a", indexed_text("summer sale"))
    assert found(tx, '"summer sale"') == ["a"]


def test_the_words_of_a_file_without_the_pair_are_not_read(tx: Tx) -> None:
    put(tx, a="summer sale")
    tx.run("UPDATE file_words SET pairs = decode('0000', 'hex')")
    assert found(tx, '"summer sale"') == [], "what its words would say otherwise"
    assert found(tx, "summer sale ") == ["a"]
