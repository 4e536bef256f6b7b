"""The passages shown with a search result, and the way back from folded words to the text (docs/api/files.md)."""

from __future__ import annotations

import random
from itertools import pairwise
from unicodedata import category, normalize

import pytest

from agentsvc_nb.documents.search_query import parse
from agentsvc_nb.documents.snippets import Passage, snippets
from agentsvc_nb.documents.tokens import Folded, fold, tokens

VOCABULARY = "Straße ﬁne İx Ёлка cafe\u0301 ½ ㎆ ｶﾞﾗｽ 夏のセール 한국 ที่ नमस्ते ﷺ \u200czwj a\u00adb 🔥 \u0301 x \ufeff"
FILLER = "many other words that nobody is looking for stand here. " * 8


def found(q: str, text: str, limit: int = 2) -> list[Passage]:
    query = parse(q)
    assert query is not None
    return snippets(query, text, limit)


def marked(q: str, text: str) -> list[str]:
    return [part for passage in found(q, text) for part, match in passage if match]


def joined(passage: Passage) -> str:
    return "".join(part for part, _ in passage)


@pytest.mark.parametrize(
    ("q", "text", "marks"),
    [
        ("strasse ", "Die Straße, die STRASSE", ["Straße", "STRASSE"]),
        ("istanbul", "nach İstanbul!", ["İstanbul"]),
        ("fin", "a ﬁne day", ["ﬁne"]),
        ("cafe ", "un cafe\u0301, un café", ["cafe\u0301", "café"]),
        ("summ", "Summertime and sum", ["Summertime"]),
        ("ad-copy ", "the ad,  copy", ["ad, copy"]),
        ("advertising", "adver\u00adtising\u00ad pays", ["adver\u00adtising\u00ad"]),
        ("夏 sale ", "この夏sale夏", ["夏sale夏"]),
        ("のセ", "夏のセール", ["のセ"]),
        ("ガラス", "赤いｶﾞﾗｽの", ["ｶﾞﾗｽ"]),
        ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8어", ["\u1112\u1161\u11ab\u1100\u116e\u11a8"]),
        ("cat or dog -bird ", "cat bird dog", ["cat", "dog"]),
        ('"a b" b ', "a b", ["a b"]),
        ("2 ", "½ cup", ["½"]),
        ("नमस्", "नमस्ते", ["नमस्ते"]),
    ],
)
def test_marks_the_words_of_the_text(q: str, text: str, marks: list[str]) -> None:
    """Neighbours are joined in 夏sale夏: each of its three parts is a match."""
    assert "".join(marked(q, text)) == "".join(marks)
    if q != "夏 sale ":
        assert marked(q, text) == marks


def test_a_short_text_is_shown_whole() -> None:
    assert found("sale", "The summer sale is on") == [[("The summer ", False), ("sale", True), (" is on", False)]]


def test_nothing_is_shown_of_a_text_that_does_not_match() -> None:
    assert found("winter", FILLER) == []
    assert found("winter", "") == []


def test_passages_are_cut_between_words_and_do_not_overlap() -> None:
    text = (FILLER + "a summer sale begins. ") * 4
    first, second = found("summer sale ", text)
    for passage in (first, second):
        shown = joined(passage)
        assert 100 <= len(shown) <= 170
        assert f" {shown} " in f" {text} "
        assert shown == shown.strip()
    assert text.index(joined(first)) + len(joined(first)) <= text.index(joined(second), 500)
    assert len(found("summer sale ", text, limit=1)) == 1


def test_the_passage_with_most_of_the_words_is_preferred() -> None:
    text = "summer " + FILLER + "sale " + FILLER + "the summer sale " + FILLER
    [best] = found("summer sale ", text, limit=1)
    assert [part for part, match in best if match] == ["summer", "sale"]


def test_what_is_shown_is_clean() -> None:
    """No control characters, no lone surrogates, nothing that turns the reading direction; blanks made one."""
    [passage] = found("sale", "a\x00b\x1b[31m \u202esummer\r\n\n\t  sale\u2028\ud800 now\x85")
    assert joined(passage) == "a b [31m summer sale now"


def test_a_text_without_blanks_is_cut_where_it_is() -> None:
    first, second = found("夏", "夏のセールは今日から始まります。" * 100)
    assert len(joined(first)) == len(joined(second)) == 160


def test_a_letter_keeps_its_marks_at_the_cut() -> None:
    [passage] = found("夏", "e\u0301" * 300 + "夏" + "e\u0301" * 300)
    assert joined(passage).startswith("e\u0301")
    assert joined(passage).endswith("\u0301")


def test_a_match_far_behind_is_shown() -> None:
    text = "word " * 60_000 + "needle" + " word" * 60_000
    assert marked("needle ", text) == ["needle"]
    assert marked("word needle ", text).count("needle") <= 1


def test_texts_of_any_kind_have_clean_passages() -> None:
    """Whatever the scripts and the folding: parts are of the text, and a marked part is what was looked for."""
    chance = random.Random(11)
    words = VOCABULARY.split(" ")
    for _ in range(500):
        text = "".join(
            chance.choice(words) + chance.choice([" ", "", "\n", ", "]) for _ in range(chance.randrange(120))
        )
        q = chance.choice(words) + chance.choice(["", " ", " " + chance.choice(words)])
        if (query := parse(q)) is None:
            continue
        passages = snippets(query, text)
        assert len(passages) <= 2
        clean = " ".join(text.replace("\ufeff", "").split())
        at = 0
        for passage in passages:
            assert all(part for part, _ in passage)
            assert all(before[1] or after[1] for before, after in pairwise(passage))
            at = clean.index(joined(passage), at) + len(joined(passage))
            assert any(match for _, match in passage)
            for part, match in passage:
                assert not match or tokens(part)


def test_the_way_back_from_any_folded_part() -> None:
    chance = random.Random(13)
    letters = [*"aéßİﬁЁΐ½㎆ｶﾞ夏の한ᄒ\u1161ทกั \n", "e\u0301", "\u00ad", "ﷺ", "x" * 300, "𠮷"]
    for _ in range(400):
        text = "".join(chance.choice(letters) for _ in range(chance.randrange(1, 60)))
        folded = Folded(text, "".join(set(text)))
        assert folded.text == fold(text)
        for _ in range(5 if folded.text else 0):
            start = chance.randrange(len(folded.text))
            end = chance.randrange(start + 1, len(folded.text) + 1)
            first, last = folded.span(start, end)
            assert 0 <= first < last <= len(text)
            if not any(category(c)[0] == "M" for c in folded.text[start : start + 1] + folded.text[end : end + 1]):
                assert folded.text[start:end] in fold(text[first:last])


def test_folding_again_changes_nothing_and_composition_does_not_matter() -> None:
    chance = random.Random(17)
    for _ in range(1_000):
        text = "".join(
            chr(chance.choice([chance.randrange(0x250), chance.randrange(0x3100), chance.randrange(0x20000)]))
            for _ in range(20)
        )
        assert tokens(fold(text)) == tokens(text)
        assert fold(normalize("NFD", text)) == fold(text)


def test_tokens_are_safe_for_the_index() -> None:
    chance = random.Random(19)
    for _ in range(1_000):
        text = "".join(chr(chance.randrange(0x110000)) for _ in range(30)) + 'a"b C*'
        for token in tokens(text):
            assert all(c.isalnum() or c > "\x7f" for c in token)
            assert token == token.lower() or not token.isascii()
            assert len(token.split()) == 1


def test_a_letter_with_a_million_marks_is_folded() -> None:
    assert tokens("a" + "\u0301\u0323" * 500_000 + " b") == ["a", "b"]


def test_however_many_kinds_of_characters_a_text_has_each_is_folded() -> None:
    few, many = "Ä Straße Ёлка ﬁ " * 3, "".join(chr(code) for code in range(0xC0, 0x250))
    for text in (few, many, few + many):
        assert fold(text) == "".join(fold(char) for char in text)
        assert fold(fold(text)) == fold(text)
