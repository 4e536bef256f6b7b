"""What a query means (docs/api/files.md "Search"): a row per rule."""

from __future__ import annotations

import random

import pytest

from agentsvc_nb.documents.search_query import has_terms, is_excluded, is_scratch, matches, parse

MATCHES = [
    # words, in any order, whole
    ("sale summer ", "Summer Sale 2024"),
    ("summer", "summer"),
    ("o'brien ", "Mr. O’Brien"),
    ("v2.1 ", "release v2.1 notes"),
    ("hero_image ", "hero_image-final.png"),
    # the last word is a prefix
    ("summer sal", "Summer Sale"),
    ("ad-cop", "the ad copy"),
    ("c++", "c and crabs"),
    ("नमस्", "नमस्ते"),
    # phrases
    ('"ad copy"', "new ad-copy"),
    ("ad-copy ", "an ad, copy"),
    ('"summer sale', "the Summer Sale"),  # an unbalanced quote runs to the end
    ("“summer sale” x", "summer sale x"),
    ('new"ad copy"', "new ad copy"),
    # or
    ("cat or dog ", "a dog"),
    ("cat OR dog ", "a cat"),
    ("or dog ", "dog"),
    ("dog or ", "dog"),
    ("cat or or dog ", "dog"),
    ("cat or !!! dog ", "dog"),
    ("red cat or dog ", "a red dog"),
    ('"or" x ', "x or y"),
    ("cat -bird or dog ", "dog"),
    # exclusions
    ("cat -dog ", "cat and dogs"),
    ('cat -"black cat" ', "white cat"),
    ("cat - dog ", "cat dog"),
    ("cat -", "cat"),
    # folding
    ("strasse ", "Straße"),
    ("STRASSE", "straße"),
    ("istanbul ", "İSTANBUL"),
    ("fine ", "ﬁne"),
    ("cafe ", "cafe\u0301 CAFÉ"),
    ("елка ", "Ёлка"),
    ("αθηνα ", "Αθήνα"),
    ("οδος ", "ΟΔΟΣ"),
    ("advertising ", "adver\u00adtising"),
    ("12 ", "１２"),
    ("ガラス", "ｶﾞﾗｽ"),
    ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8어"),
    # CJK: by pairs, and single characters where they occur
    ("のセ", "夏のセール"),
    ("夏", "夏のセール"),
    ("の ", "夏のセール"),
    ("ル", "夏のセール"),
    ('"ル"', "夏のセール"),
    ("セール夏", "セール夏"),
    ("夏sale", "この夏sale開始"),
    ('"夏 の"', "夏 の"),
    ("人々", "人々の夏"),
    ("국어", "한국어"),
    ("𠮷野", "𠮷野家"),
    # other scripts
    ("ที่ ", "ที่ ก็"),
    ("שלום ", "שלום עולם"),
]

MISSES = [
    ("summer", "Sum"),
    ("summer sale", "summer"),
    ("sal ", "sale"),  # a trailing blank ends the prefix
    ("sal\u3000", "sale"),
    ('"sal"', "sale"),  # a quoted last word is no prefix
    ('"sal', "sale"),
    ("sum sale", "summer sale"),  # only the last word is a prefix
    ('"copy ad"', "ad copy"),
    ("ad-copy ", "copy ad"),
    ("or or", "or"),
    ("red cat or dog ", "a dog"),
    ("cat -dog", "cat dog"),
    ('cat -"black cat" ', "black cat"),
    ('cat -"black cat', "black cat"),
    ('"a b"-c', "a b c"),
    ("夏セ", "夏のセール"),
    ("いセ", "新しい セール"),  # the pair does not occur
    ('"の sale"', "のセ sale"),
    ('"夏 の"', "夏の"),
    ("夏 -ル", "夏のセール"),
    ("ก ", "กั"),  # other scripts' marks are letters
    ("й ", "и\u0301х"),
    ("か ", "が"),
    ("하", "한국"),
]


@pytest.mark.parametrize(("q", "text"), MATCHES)
def test_matches(q: str, text: str) -> None:
    query = parse(q)
    assert query is not None
    assert matches(query, text)


@pytest.mark.parametrize(("q", "text"), MISSES)
def test_does_not_match(q: str, text: str) -> None:
    query = parse(q)
    assert query is None or not matches(query, text)


@pytest.mark.parametrize(
    "q", ["", " ", "or", "OR or", "-", "--", '""', '"', '-""', "!!!", "-cat", '-"a b" -c', "🔥", "\x00"]
)
def test_nothing_to_look_for(q: str) -> None:
    assert parse(q) is None


def test_a_file_is_out_when_its_name_or_its_contents_hold_an_exclusion() -> None:
    """The caller joins the two, so each can be asked alone."""
    query = parse("brief -draft")
    assert query is not None
    assert has_terms(query, "draft of the brief")
    assert is_excluded(query, "draft of the brief")
    assert is_excluded(query, "a draft")
    assert not is_excluded(query, "drafts")


@pytest.mark.parametrize(
    ("path", "scratch"),
    [
        ("tmp/a.txt", True),
        ("out/tmp/a.txt", True),
        ("video/frames/1.png", True),
        ("a/logs/b/c.txt", True),
        (".cache/a", True),
        ("a/.hidden", True),
        ("tmp", False),
        ("logs.txt", False),
        ("tmpl/a.txt", False),
        ("uploads/frames", False),
        ("a.b/c.d", False),
    ],
)
def test_scratch(path: str, scratch: bool) -> None:
    assert is_scratch(path) is scratch


def test_no_text_is_refused() -> None:
    """Any text is a query, and any query can be asked of any text."""
    chance = random.Random(20_000)
    alphabet = [*'ab ""--or夏のル\t\x00\u0301\u3099ßİﬁกั한ᄒ\ud800\U0001f525\U000e0100_.*:(){}^+\\\'“”']
    for number in range(20_000):
        q = "".join(chance.choice(alphabet) for _ in range(chance.randint(1, 40)))
        if number % 4 == 0:
            q += "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(1, 20)))
        query = parse(q)
        if query is not None:
            assert query.groups
            assert all(phrase.tokens for group in query.groups for phrase in group)
            assert not is_excluded(query, q[:10]) or query.exclusions


def test_what_is_said_again_counts_once() -> None:
    once, often = parse('"a phrase" one or two -no end '), parse('"a phrase" one or two ' * 3 + "-no -no end end ")
    assert often == once
