"""What a query means, and the passages shown with a result (docs/api/files.md "Search"): a row per rule."""

from __future__ import annotations

import pytest

from agentsvc_nb.documents.search_query import has_terms, is_excluded, is_scratch, matches, parse
from agentsvc_nb.documents.snippets import Passage, snippets


@pytest.mark.rule("Quotes, `or`, `-word` and the prefix of the last word work as in a web search.")
@pytest.mark.parametrize(
    ("q", "text"),
    [
        # words, in any order, whole; the last one is a prefix
        ("sale summer ", "Summer Sale 2024"),
        ("o'brien ", "Mr. O’Brien"),
        # phrases
        ('"ad copy"', "new ad-copy"),
        ('"summer sale', "the Summer Sale"),  # an unbalanced quote runs to the end
        # or
        ("cat OR dog ", "a cat"),
        ('"or" x ', "x or y"),
        # exclusions
        ("cat -dog ", "cat and dogs"),
        ('cat -"black cat" ', "white cat"),
        # folding
        ("strasse ", "Straße"),
        ("advertising ", "adver\u00adtising"),
        # CJK: by pairs, and single characters where they occur; other scripts
        ("のセ", "夏のセール"),
        ("ル", "夏のセール"),
        ("नमस्", "नमस्ते"),
    ],
)
def test_matches(q: str, text: str) -> None:
    query = parse(q)
    assert query is not None
    assert matches(query, text)


@pytest.mark.parametrize(
    ("q", "text"),
    [
        ("summer sale", "summer"),
        ("sal ", "sale"),  # a trailing blank ends the prefix
        ('"sal', "sale"),  # a quoted last word is no prefix
        ('"copy ad"', "ad copy"),
        ("cat -dog", "cat dog"),
        ('cat -"black cat', "black cat"),
        ("夏セ", "夏のセール"),
        ("ก ", "กั"),  # other scripts' marks are letters
    ],
)
def test_does_not_match(q: str, text: str) -> None:
    query = parse(q)
    assert query is None or not matches(query, text)


@pytest.mark.parametrize("q", ["", " ", "OR or", "-", '""', "!!!", "-cat", '-"a b" -c', "\x00"])
def test_nothing_to_look_for(q: str) -> None:
    assert parse(q) is None


def test_a_file_is_out_when_its_name_or_its_contents_hold_an_exclusion() -> None:
    """The caller joins the two, so each can be asked alone."""
    query = parse("brief -draft")
    assert query is not None
    assert has_terms(query, "draft of the brief")
    assert is_excluded(query, "a draft")
    assert not is_excluded(query, "drafts")


def test_what_is_said_again_counts_once() -> None:
    once, often = parse('"a phrase" one or two -no end '), parse('"a phrase" one or two ' * 3 + "-no -no end end ")
    assert often == once


@pytest.mark.rule("Search excludes scratch files, which the listing has.")
@pytest.mark.parametrize(
    ("path", "scratch"),
    [
        ("tmp/a.txt", True),
        ("a/logs/b/c.txt", True),
        ("a/.hidden", True),
        ("tmp", False),
    ],
)
def test_scratch(path: str, scratch: bool) -> None:
    assert is_scratch(path) is scratch


# -- passages ------------------------------------------------------------------------------------------------------


def found(q: str, text: str, limit: int = 2) -> list[Passage]:
    query = parse(q)
    assert query is not None
    return snippets(query, text, limit)


@pytest.mark.parametrize(
    ("q", "text", "marks"),
    [
        ("strasse ", "Die Straße, die STRASSE", ["Straße", "STRASSE"]),
        ("のセ", "夏のセール", ["のセ"]),
        ("cat or dog -bird ", "cat bird dog", ["cat", "dog"]),
        ("needle ", "word " * 60_000 + "needle" + " word" * 60_000, ["needle"]),
    ],
)
def test_the_words_of_the_text_are_marked(q: str, text: str, marks: list[str]) -> None:
    assert [part for passage in found(q, text) for part, match in passage if match] == marks
