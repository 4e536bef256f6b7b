"""Whether a passage holds what its question asks for, and not only its words: a number, an amount of money, a name, the
most of something. Only what a language's data tell is asked for."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache, lru_cache
from typing import Final

from agentsvc_nb.agents.offline.languages import LANGUAGES
from agentsvc_nb.agents.offline.passages.splitting import TEXTS_KEPT, Passage, sentences
from agentsvc_nb.agents.offline.requests import has_number, is_free, numbers_in
from agentsvc_nb.agents.offline.words import STOP, meanings
from agentsvc_nb.documents.normalization import fold
from agentsvc_nb.documents.queries import tokens

_ID = re.compile(r"(?i)\b(?:\w*_)?(?:id|uuid|sku|nr|no|code|key): [^·]*")
_NUMBERING = re.compile(r"\A\(?(?:\d+[.)]|\d+(?:\.\d+)+)\s+(?=[^\W\d_a-z])")
"""The number of a section, which answers nothing (but not that of `2.5 million`)."""
_CURRENCY: Final = r"(?:euros?|dollars?|pounds?|francs?|francos?|franken|cents?|eur|usd|gbp|chf)\b|[€$£¥]"
_YEAR = re.compile(rf"(?<![\d.,:$€£])(?:1[5-9]|20)\d\d(?![\d%]|[.,]\d|\s?(?:{_CURRENCY}))")
_TIME = re.compile(r"\b\d{1,2}:\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\b\d{4}-\d\d-\d\d\b")
_PRICE = re.compile(
    rf"{_CURRENCY}|(?<![\w.,])(?>\d(?:[\d.,]*\d)?)(?: (?:thousand|million|billion))?+"
    r"(?= ?(?:$|[.,;:!?·|)\]/-])| (?:per|a|each|for|pro|je|par|por)\b)"
)
"""A currency, or a number without a unit: a price is none of `21 degrees`."""
_WORD = re.compile(r"\w[\w'’-]*")


def said_of(passage: Passage, shares: Sequence[float]) -> str:
    """The sentences of a passage that hold much of the question, each with the one behind it, which may go on; of a row
    all of it but its ids. `shares`: how much each sentence holds."""
    if passage.kind == "row":
        return _ID.sub("", passage.text)
    said = sentences(passage.text)
    least = max(shares, default=0.0) / 2
    near = [one for at, one in enumerate(said) if shares[at] >= least or (at and shares[at - 1] >= least)]
    return _NUMBERING.sub("", " ".join(near))


def holds_number(passage: Passage, said: Collection[str]) -> bool:
    """Whether there is a number or a time anywhere, beside those `said` in the question."""
    return not _numbers_in(passage) <= set(said)


@lru_cache(maxsize=TEXTS_KEPT)
def _numbers_in(passage: Passage) -> frozenset[str]:
    return numbers_in(said_of(passage, [1.0] * len(sentences(passage.text))))


def holds(expected: str, text: str, said: Collection[str]) -> bool:
    """Whether a text holds what is expected, beside the folded words that are `said` in the question."""
    if expected == "money":
        return is_free(text) or _has_price(text, said)
    if expected == "number":
        return has_number(text, said)
    return expected != "name" or _has_name(text, said)


def _has_price(text: str, said: Collection[str]) -> bool:
    """Whether the text has a number that is no year and no date."""
    months = "|".join(sorted(_words("month")))
    date = rf"\b\d{{1,2}}(?:\.|st|nd|rd|th)? (?:of |de )?(?:{months})\b|\b(?:{months}) \d{{1,2}}(?!\d)"
    left = _TIME.sub(" ", re.sub(date, " ", _YEAR.sub(" ", fold(text))))
    return _PRICE.search(" ".join(word for word in left.split() if not set(tokens(word)) & set(said))) is not None


def _has_name(text: str, said: Collection[str]) -> bool:
    """Whether the text has a word written like a name and of no month or day; the first of a sentence must be no word
    that is known."""
    others = STOP | _words("month") | _words("weekday") | set(said)
    for sentence in sentences(text):
        for at, word in enumerate(_WORD.findall(sentence)):
            known = at == 0 and word.lower() in meanings()
            if word[0].isupper() and not known and not set(tokens(word)) & others:
                return True
    return False


def asks_for_most(question: str) -> bool:
    """Whether the question asks for the most or the least of something, which no single row of many tells."""
    return _holds_phrase("most", question)


def tells_most(text: str) -> bool:
    return any(_holds_phrase(part, text) for part in ("most", "sup", "implied", "cmp"))


def _holds_phrase(part: str, text: str) -> bool:
    words = f" {' '.join(tokens(text))} "
    return any(f" {phrase} " in words for phrase in _words(part))


@cache
def _words(part: str) -> frozenset[str]:
    """The phrases of all languages that mean something of this part of their data."""
    return frozenset(
        " ".join(phrase)
        for language in LANGUAGES
        for phrase, meant in language.phrases.items()
        if any(one == part for one, _ in meant)
    )
