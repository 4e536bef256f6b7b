"""The questions are what they say: enough of a kind, gold that stands in the files, paraphrases that share no word."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections import Counter
from itertools import takewhile

import pytest

from tests.bench.quality.questions import FILES, Question, paragraph, pitfalls, questions

ALL = questions()

# Words that carry no content: articles, pronouns, prepositions, auxiliaries, question words.
_EMPTY = """
a about across all an and any are as at be been before by can come comes could did do does for from get had has have
how i if in inside into is it its long may me might more much must my no not of off on one or our out own s shall
should so some that the their them there they this through to too under up was we were what when whether which who
whose why will with would you your
"""
EMPTY = frozenset(_EMPTY.split())


def content(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - EMPTY


def alike(one: str, other: str) -> bool:
    """The same word but for its ending: all but the last letter of the shorter one, and four at the least."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    return one == other or shared >= max(4, min(len(one), len(other)) - 1)


def of_kind(kind: str) -> list[Question]:
    return [question for question in ALL if question.kind == kind]


def test_there_are_as_many_of_each_kind_as_was_promised() -> None:
    counts = Counter(question.kind for question in ALL)
    assert len(ALL) >= 120
    assert counts["paraphrased"] == 0.40 * len(ALL)
    assert counts["table"] == 0.25 * len(ALL)
    assert counts["unanswerable"] == 0.15 * len(ALL)
    assert counts["plain"] == 0.20 * len(ALL)
    assert len({question.id for question in ALL}) == len({question.question for question in ALL}) == len(ALL)


def test_half_of_each_kind_is_held_out() -> None:
    halves = Counter((question.kind, question.half) for question in ALL)
    assert all(halves[kind, "open"] == halves[kind, "held"] for kind, _ in halves)


@pytest.mark.parametrize("question", of_kind("paraphrased") + of_kind("plain"), ids=lambda each: each.id)
def test_the_gold_quote_stands_in_one_place_of_its_file(question: Question) -> None:
    assert (FILES / question.file).read_text("utf-8").count(question.quote) == 1


@pytest.mark.parametrize("question", of_kind("paraphrased"), ids=lambda each: each.id)
def test_a_paraphrase_shares_no_content_word_with_its_paragraph(question: Question) -> None:
    there = content(paragraph(question))
    shared = {word for word in content(question.question) for other in there if alike(word, other)}
    assert not shared


@pytest.mark.parametrize("question", [*of_kind("table"), *pitfalls()], ids=lambda each: each.id)
def test_the_gold_of_a_table_is_what_its_query_gives(question: Question) -> None:
    with (FILES / question.file).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    database = sqlite3.connect(":memory:")
    # NUMERIC affinity keeps a word a word and makes a number of what looks like one.
    database.execute(f"CREATE TABLE t ({', '.join(f'{name} NUMERIC' for name in header)})")
    database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(header))})", rows)
    [[value]] = database.execute(question.sql)
    database.close()
    assert value == (question.text or pytest.approx(question.number, rel=1e-4))
