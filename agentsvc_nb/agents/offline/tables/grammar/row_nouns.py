"""Nouns that are what the rows of a table are: those of its title, those that go with its headers, and those that
nothing backs but the words around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary, in_english
from agentsvc_nb.agents.offline.tables.calling import is_topic, may_be_called
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
from agentsvc_nb.agents.offline.tables.grammar.spans import (
    LIGHT_BESIDES,
    WORD,
    Meaning,
    Told,
    is_count,
    is_counting,
    phrase_of,
)
from agentsvc_nb.agents.offline.tables.linking import ALIKE, PART, TableLinks
from agentsvc_nb.agents.offline.tables.question import Word
from agentsvc_nb.agents.offline.tables.topics import is_participle, is_person


def of_rows(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told
) -> Iterator[Meaning]:
    """What the rows are called."""
    word = words[start]
    if len(word.tokens) == 1 and links.is_title(word.tokens[0]):
        yield Item("rows", "title"), 1, WORD + (0.6 + told.nearest if told.exact or told.nearest >= ALIKE else 0.1)
        if not is_count(words[:start], language):  # `in how many orders was a coupon used` counts orders
            yield Item("light"), 1, WORD + 2 * LIGHT_BESIDES + told.nearest
    elif len(word.tokens) == 1 and not word.quoted and not told.any:
        noun = word.tokens[0]
        # Of other languages than English a verb that only says again what the rows are is none.
        if may_be_called(noun, links) and not is_participle(word.text, language.code):
            line = f"{word.text} was read as the rows of {PurePosixPath(links.table.path).name}."
            yield Item("rows", "called", (line,)), 1, WORD + 0.2
        elif is_topic(noun, links) and (noun,) not in language.phrases:
            yield Item("light"), 1, WORD + LIGHT_BESIDES


def may_be_noun(word: Word, meant: bool, language: Vocabulary) -> bool:
    """Of other languages only nouns are that are known, but of no header."""
    if language.code == "en":
        return not language.knows(word.tokens[0])
    return not meant and (word.tokens[0],) in language.nouns and word.tokens[0] not in language.light


def _plural(noun: str, language: Vocabulary) -> str:
    """In English."""
    return noun if language.code == "en" else max(in_english(noun), key=lambda one: one.endswith("s"), default="")


def is_row_noun(words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary) -> bool:
    """Whether a noun that nothing in the table backs stands where rows are counted (`how many firms`), or limited
    (`of firms whose`, `for French firms`)."""
    if not links.alone or len(words[start].tokens) != 1:
        return False
    if language.code != "en" and is_person(words[start].tokens[0]):
        return False
    before = [language.phrases.get(phrase_of(words[max(at, 0) : start]), ()) for at in range(start - PHRASE_MAX, start)]
    counted = any(part == "count" for meant in before for part, _ in meant)
    after = words[start + 1 : start + 2]
    if any(part == "doing" for part, _ in language.phrases.get(phrase_of(after), ())):
        return False  # `how many goals did Ann score` counts no rows
    limited = bool(after) and any(part == "relative" for part, _ in language.phrases.get(phrase_of(after), ()))
    if limited and not counted and start:
        last = words[start - 1].tokens
        limited = last[:1] in [(one,) for one in language.light] or bool(language.phrases.get(last))
    kinds = (
        start > 0
        and not is_counting(words[:start], language)
        and any(one.cell is not None and one.distance < PART for one in links.links(words[start - 1 : start]))
    )
    return (counted or limited or kinds) and links.may_be_rows(_plural(words[start].tokens[0], language))
