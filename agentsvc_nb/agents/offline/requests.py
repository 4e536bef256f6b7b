"""What a message wants beside facts: text that only a language model writes, a judgement, or an outline; and what the
answer to a question must hold. The words stand in `languages/`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final

from agentsvc_nb.agents.offline.languages import REQUESTS
from agentsvc_nb.agents.offline.languages.language import ANY, phrases_of
from agentsvc_nb.agents.offline.words import stem
from agentsvc_nb.agents.offline.writing import AnswerPart, without_result
from agentsvc_nb.documents.normalization import tokens

SWITCH: Final = "agentsvc model anthropic:claude-sonnet-4-6"
"""It asks for the key; docs/models.md has the others."""
_CANNOT: Final = (
    "I cannot write, translate, judge or describe pictures: that needs a language model, and I am the offline agent, "
    f"which quotes and computes. To switch: `%{SWITCH}` in a notebook, `{SWITCH}` in a terminal.\n\n"
)
SENTENCES_MAX: Final = 20
_DIGIT = re.compile(r"\d")
_GAP: Final = r"(?:\S+ ){0,6}?"
_CASE: Final = r"(?:if|when|in case|wenn|falls|si|quand|cuando) "
"""What follows names a case, of which the files may say what to do."""


def language_of(text: str) -> str:
    """The language of a question, by its commonest words; English unless another has more of them."""
    words = set(tokens(text))
    counts = {name: len(words & _markers(name)) for name in REQUESTS}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > counts["english"] else "english"


def is_english(text: str) -> bool:
    """Whether a question may be English: no other language has two more of its words.

    >>> is_english("May toddlers be filmed on bikes?"), is_english("Wo sind die Helme?")
    (True, False)
    """
    words = set(tokens(text))
    counts = {name: len(words & _markers(name)) for name in REQUESTS}
    return max(counts.values()) < counts["english"] + 2


def needs_model(text: str) -> bool:
    """Whether a sentence of a text asks for what needs a model: to write, translate, judge, or describe a picture.

    >>> needs_model("Please translate the brief"), needs_model("Wer übersetzt den Text?")
    (True, False)
    """
    return any(map(_needs_model, re.split(r"(?<=[.!?;])\s+|\n+", text, maxsplit=SENTENCES_MAX)))


def _needs_model(sentence: str) -> bool:
    folded = _folded(sentence)
    rests = {name: _pattern(name, "polite").sub("", folded, count=1) for name in REQUESTS}
    # A summary is asked for with the same verbs (`write a summary`), and gets an outline.
    if any(_wants_outline(name, rest) for name, rest in rests.items()):
        return False
    return any(
        _begins(name, rest) or _judges(name, folded, rest) or _describes(name, rest) for name, rest in rests.items()
    )


def with_one_for_models(questions: Sequence[str]) -> list[str]:
    """The questions with only the first of those that need a model: it is said once."""
    first = next((one for one in questions if needs_model(one)), None)
    return [one for one in questions if one is first or not needs_model(one)]


def cannot() -> AnswerPart:
    """The one sentence that says so, with the line that switches to a model."""
    return without_result("cannot", _CANNOT)


def outline_words(sentence: str) -> Sequence[str] | None:
    """The words by which a sentence asks for an outline, folded: all that is not the request itself says of what. None
    when it asks for none."""
    folded = _folded(sentence)
    for name in REQUESTS:
        rest = _pattern(name, "polite").sub("", folded, count=1)
        if found := _pattern(name, "summaries").match(rest):
            taken = _phrase_words(name, "summaries") | _phrase_words(name, "shapes") | _phrase_words(name, "polite")
            return [
                *folded[: len(folded) - len(rest)].split(),
                *(word for word in rest.split() if word in taken),
                found[0],
            ]
    return None


def expects(question: str) -> str:
    """What the answer of a question holds: a `number` (or a time), `money`, a `name`, or nothing that can be told.

    >>> expects("How many came?"), expects("What did the van cost?"), expects("Who came?")
    ('number', 'money', '')
    """
    folded = _folded(question)
    kinds = {"named": "name", "prices": "money", "amounts": "number"}
    found = (kind for field, kind in kinds.items() for name in REQUESTS if _pattern(name, field).match(folded))
    return next(found, "")


def has_number(text: str, but: Collection[str] = ()) -> bool:
    """Whether a text holds a number or a time, in digits or in words, that is none of the folded words `but`."""
    return not numbers_in(text) <= set(but)


def numbers_in(text: str) -> frozenset[str]:
    """The folded words of a text that are numbers or times, or hold a digit."""
    found = frozenset(tokens(text))
    return found & _numbers() | {token for token in found if _DIGIT.search(token)}


def is_free(text: str) -> bool:
    """Whether a text says that there is nothing to pay.

    >>> is_free("Children get in free of charge."), is_free("Adults pay 5 euros.")
    (True, False)
    """
    folded = f" {' '.join(tokens(text))} "
    return any(f" {phrase} " in folded for name in REQUESTS for phrase in filter(None, phrases_of(REQUESTS[name].free)))


@cache
def function_words() -> frozenset[str]:
    """The folded words of all languages that say nothing of what a question is about."""
    return frozenset(word for name in REQUESTS for word in _markers(name) if len(word) > 1)


@cache
def base_forms() -> Mapping[str, str]:
    """The stem of the base form of each irregular form (`sold`: the stem of `sell`), by the form's stem."""
    groups = [one.split() for name in REQUESTS for one in phrases_of(REQUESTS[name].irregular)]
    return {stem(form): stem(base) for base, *forms in groups for form in forms}


def _begins(name: str, rest: str) -> bool:
    """Whether the sentence is a command that needs a model."""
    made = _pattern(name, "makers").match(rest)
    if made and re.match(rf"{_GAP}(?:{_alternatives(name, 'texts')}) ", rest[made.end() :]):
        return True
    verb = _pattern(name, "verbs").match(rest)
    if verb and re.match(rf"(?:{_alternatives(name, 'objects')}) ", rest[verb.end() :]):
        return True
    return _pattern(name, "commands").match(rest) is not None


def _judges(name: str, folded: str, rest: str) -> bool:
    """Whether the sentence asks for an opinion, or politely for something to be written."""
    if re.search(rf"(?:^| )(?:{_alternatives(name, 'opinions')}) (?!{_CASE})", folded):
        return True
    asked = rest != folded and re.search(rf" (?:{_alternatives(name, 'infinitives')}) $", f" {rest}")
    if asked:
        return True
    is_it = _pattern(name, "is_it").match(folded)
    return is_it is not None and re.search(rf" (?:{_alternatives(name, 'judged')}) $", folded) is not None


def _describes(name: str, rest: str) -> bool:
    asked = _pattern(name, "describes").match(rest)
    return asked is not None and re.search(rf"(?:^| )(?:{_alternatives(name, 'pictures')}) ", rest) is not None


def _wants_outline(name: str, rest: str) -> bool:
    return _pattern(name, "summaries").match(rest) is not None and not _describes(name, rest)


def _folded(sentence: str) -> str:
    """The words of a sentence, folded, each with a blank behind it."""
    return "".join(f"{word} " for word in tokens(sentence[:500]))


@cache
def _alternatives(name: str, field: str) -> str:
    """A field of a language as a regular expression, the longest phrases first."""
    found = sorted(filter(None, phrases_of(getattr(REQUESTS[name], field))), key=len, reverse=True)
    return "|".join(re.escape(phrase).replace(re.escape(ANY) + r"\ ", _GAP) for phrase in found) or "(?!)"


@cache
def _pattern(name: str, field: str) -> re.Pattern[str]:
    """Matches phrases of a field at the beginning; of what is polite, several."""
    times = "+" if field == "polite" else ""
    return re.compile(rf"(?:(?:{_alternatives(name, field)}) ){times}")


@cache
def _phrase_words(name: str, field: str) -> frozenset[str]:
    return frozenset(word for phrase in phrases_of(getattr(REQUESTS[name], field)) for word in phrase.split())


def _markers(name: str) -> frozenset[str]:
    return _phrase_words(name, "markers")


@cache
def _numbers() -> frozenset[str]:
    return frozenset(word for name in REQUESTS for word in _phrase_words(name, "numbers"))
