"""What the words of a question may mean, each way to read them all: a path through the meanings of its spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Final

from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary, in_english
from agentsvc_nb.agents.offline.tables.grammar.periods import When
from agentsvc_nb.agents.offline.tables.linking import (
    ALIKE,
    EXACT,
    FORM,
    PART,
    SPAN_MAX,
    TRANSLATED,
    TYPO,
    Link,
    TableLinks,
)
from agentsvc_nb.agents.offline.tables.question import Word

PATHS_MAX: Final = 30
_WORD: Final = 1.0
_LIGHT_BESIDES: Final = 0.5
"""A word that may have a meaning is rather read as one that has."""
_UNKNOWN: Final = 8.0
_PER: Final = (("per",), ("pro",), ("je",))
_MONEY: Final = frozenset((word,) for word in ("€", "eur", "euro", "euros", "$", "dollar", "dollars", "£"))
"""Behind a number they limit nothing where no column says which money it is in."""
_NOUN: Final = 1.2
_DATED_PERIOD: Final = 0.8
_VERB_LETTERS_MIN: Final = 4
"""A verb that is a value or that of a header is never without a meaning, as `delivered` beside `Delivered on`."""


@dataclass(frozen=True, slots=True)
class Item:
    """A part of a question: its `tag` says what it is, `value` which one."""

    tag: str
    value: Any = None
    told: tuple[str, ...] = ()
    plural: bool = False
    """Of a column: whether it was named in the plural, unlike its header."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way to read all words. `unknown` are those that have no meaning."""

    items: tuple[Item, ...]
    cost: float
    unknown: tuple[str, ...] = ()


def paths(words: Sequence[Word], links: TableLinks, language: Vocabulary) -> list[Path]:
    """The nearest ones, in order."""
    reached: list[dict[tuple[tuple[Item, ...], tuple[str, ...]], float]] = [{} for _ in range(len(words) + 1)]
    reached[0][(), ()] = 0.0
    for start in range(len(words)):
        here = sorted(reached[start].items(), key=lambda one: one[1])[:PATHS_MAX]
        for item, length, cost in _meanings(words, start, links, language):
            for (items, unknown), before in here:
                after = items if item.tag in ("light", "unknown") else (*items, item)
                lost = (*unknown, words[start].text) if item.tag == "unknown" else unknown
                there = reached[start + length]
                there[after, lost] = min(there.get((after, lost), 1e9), before + cost)
    found = [Path(items, cost, unknown) for (items, unknown), cost in reached[-1].items()]
    return sorted(found, key=lambda path: path.cost)[:PATHS_MAX]


def _meanings(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary
) -> Iterator[tuple[Item, int, float]]:
    """Items that begin with a word, how many words they have, and how far they are from them."""
    word, meant, exact, named = words[start], False, False, False
    known, done, translated, nearest = False, False, False, 0.0
    for length in range(1, min(SPAN_MAX, len(words) - start) + 1):
        span = words[start : start + length]
        if length > 1 and any(one.quoted for one in span):
            break
        for link in links.links(span):
            if link.cell is not None and start and words[start - 1].tokens in _PER:
                continue  # `tickets per team`, where a tier is called `Team`
            known = known or (length == 1 and (not PART <= link.distance < ALIKE or link.cell is not None))
            done = done or (length == 1 and (link.cell is not None or PART < link.distance < ALIKE))
            named = named or (length == 1 and link.distance < FORM)
            exact = exact or (link.distance == EXACT and length == 1 and link.cell is None)
            if length == 1 and link.cell is None and links.profile(link.column).kind == "text":
                nearest = min(nearest or link.distance, link.distance)
            translated = translated or (length == 1 and link.cell is not None and link.distance == TRANSLATED)
            meant = meant or length == 1
            told = (link.told,) if link.told else ()
            last = span[-1].tokens[-1]
            plural = last.endswith("s") and link.cell is None and last not in links.headers[link.column.name]
            item = (
                Item("glossing" if word.bracketed and link.distance < PART else "column", link.column, told, plural)
                if link.cell is None
                else Item("cell", (link.column, link.cell), told)
            )
            yield item, length, _WORD + link.distance + _rivalry(link, span, links, language)
    if word.quoted:
        yield Item("text", word.text), 1, _WORD + 0.5
        return
    if word.number is not None:
        meant = True
        yield Item("ordinal" if word.ordinal else "number", word.number), 1, _WORD
    if word.day is not None:
        meant = True
        yield Item("when", When(word.day.year, None, word.day.month, word.day.day)), 1, _WORD
    example = any(
        part == "anyone"
        for length in range(2, PHRASE_MAX + 1)
        for part, _ in language.phrases.get(_phrase(words[start : start + length]), ())
    )
    for length in range(1, min(PHRASE_MAX, len(words) - start) + 1):
        phrase = _phrase(words[start : start + length])
        for part, which in language.phrases.get(phrase, ()):
            if (
                part in ("relative", "doing")
                or (part == "wh" and word.bracketed)
                or (part == "yesno" and start)
                or (example and part != "anyone")
            ):
                continue
            if part == "share" and start and words[start - 1].number is not None:
                continue  # `10 percent`
            if part == "period" and which == "week" and exact:
                continue  # the weeks of the column
            if part == "prep" and not _value_follows(words[start + length :], links, language):
                continue
            meant = meant or length == 1
            aside = part == "wh" and phrase[0] in language.light and not _begins(words[:start], language)
            besides = TRANSLATED if part == "each" and translated else 0.0  # `anuales`, where a value is `annual`
            besides += _LIGHT_BESIDES if named and length == 1 else 0.7 if aside else 0.0
            yield _item(part, which), length, _WORD + besides
    if len(word.tokens) == 1 and links.is_title(word.tokens[0]):
        meant = known = True
        yield Item("rows", "title"), 1, _WORD + (0.6 + nearest if exact or nearest >= ALIKE else 0.1)
        yield Item("light"), 1, _WORD + 2 * _LIGHT_BESIDES + nearest
    if (
        word.tokens
        and not known
        and _may_be_noun(word, meant, language)
        and _is_row_noun(words, start, links, language)
    ):
        line = f"{word.text} was read as the rows of {PurePosixPath(links.table.path).name}."
        yield Item("rows", "noun", (line,)), 1, _WORD + _NOUN
    if start and words[start - 1].number is not None and word.tokens[:1] in _MONEY and not links.has_money:
        meant = True
        yield Item("light"), 1, _WORD
    if word.tokens and word.tokens[0] in links.units:
        meant = True
        yield Item("unit", links.units[word.tokens[0]]), 1, _WORD
    if not start and any(part == "yesno" for part, _ in language.phrases.get(word.tokens, ())):
        return  # a question for yes or no is none for a number
    if example:
        return
    light = word.tokens and word.tokens[0] in language.light and not word.bracketed
    if light and not (done and len(word.tokens[0]) >= _VERB_LETTERS_MIN):
        yield Item("light"), 1, _WORD + (_LIGHT_BESIDES if meant else 0.0)
    elif not meant:
        yield from _unknown(words, start, links, language)


def _may_be_noun(word: Word, meant: bool, language: Vocabulary) -> bool:
    """Of other languages only nouns are that are known, but of no header."""
    if language.code == "en":
        return not language.knows(word.tokens[0])
    return not meant and (word.tokens[0],) in language.nouns and word.tokens[0] not in language.light


def _plural(noun: str, language: Vocabulary) -> str:
    """In English."""
    return noun if language.code == "en" else max(in_english(noun), key=lambda one: one.endswith("s"), default="")


def _is_row_noun(words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary) -> bool:
    """Whether a noun that nothing in the table backs stands where rows are counted (`how many firms`), or limited
    (`of firms whose`, `for French firms`)."""
    if not links.alone or len(words[start].tokens) != 1:
        return False
    before = [language.phrases.get(_phrase(words[max(at, 0) : start]), ()) for at in range(start - PHRASE_MAX, start)]
    counted = any(part == "count" for meant in before for part, _ in meant)
    after = words[start + 1 : start + 2]
    if any(part == "doing" for part, _ in language.phrases.get(_phrase(after), ())):
        return False  # `how many goals did Ann score` counts no rows
    limited = bool(after) and any(part == "relative" for part, _ in language.phrases.get(_phrase(after), ()))
    if limited and not counted and start:
        last = words[start - 1].tokens
        limited = last[:1] in [(one,) for one in language.light] or bool(language.phrases.get(last))
    kinds = (
        start > 0
        and not _is_counting(words[:start], language)
        and any(one.cell is not None and one.distance < PART for one in links.links(words[start - 1 : start]))
    )
    return (counted or limited or kinds) and links.may_be_rows(_plural(words[start].tokens[0], language))


def _begins(before: Sequence[Word], language: Vocabulary) -> bool:
    """Whether nothing was said yet."""
    return all(one.tokens[:1] in [(), (",",)] or one.tokens[0] in language.light for one in before)


def _value_follows(words: Sequence[Word], links: TableLinks, language: Vocabulary) -> bool:
    """Whether a value comes next, but for a light word before it."""
    at = 1 if len(words) > 1 and words[0].tokens[:1] in [(one,) for one in language.light] else 0
    spans = (words[begin:end] for begin in {0, at} for end in range(begin + 1, min(begin + SPAN_MAX, len(words)) + 1))
    return any(link.cell is not None for span in spans for link in links.links(span))


def _is_counting(words: Sequence[Word], language: Vocabulary) -> bool:
    spans = (words[at : at + length] for at in range(len(words)) for length in (1, 2))
    return any(part == "count" for span in spans for part, _ in language.phrases.get(_phrase(span), ()))


def _phrase(words: Sequence[Word]) -> tuple[str, ...]:
    return tuple(token for one in words for token in one.tokens)


def _rivalry(link: Link, span: Sequence[Word], links: TableLinks, language: Vocabulary) -> float:
    """A column of dates that is called `month` is rather meant as months."""
    phrase = tuple(token for word in span for token in word.tokens)
    is_period = any(part == "period" and by != "week" for part, by in language.phrases.get(phrase, ()))
    dated = link.cell is None and links.profile(link.column).kind in ("date", "datetime")
    return _DATED_PERIOD if is_period and dated else 0.0


def _unknown(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary
) -> Iterator[tuple[Item, int, float]]:
    """A word of which nothing is known: one that is mistyped, or none."""
    yield Item("unknown"), 1, _UNKNOWN
    if start + 1 < len(words) and words[start + 1].bracketed and (glossed := _gloss(words, start + 1, links)):
        yield Item("glossed", None, (f"{words[start].text} was read as {glossed}.",)), 1, _WORD + TYPO
    for link in links.mistyped(words[start], language):
        item = Item("column", link.column, (link.told,))
        yield item if link.cell is None else Item("cell", (link.column, link.cell), (link.told,)), 1, 1 + link.distance


def _gloss(words: Sequence[Word], start: int, links: TableLinks) -> str:
    """The header or value in brackets behind a word, which says what is meant by it."""
    for length in range(1, min(SPAN_MAX, len(words) - start) + 1):
        span = words[start : start + length]
        if any(link.distance < PART for link in links.links(span)):
            return " ".join(word.text for word in span)
    return ""


def _item(part: str, which: str) -> Item:
    match part:
        case "light":
            return Item("light")
        case "number":
            return Item("number", Decimal(which))
        case "month":
            return Item("when", When(month=int(which)))
        case "weekday":
            return Item("when", When(weekday=int(which)))
        case "quarter":
            return Item("when", When(quarter=int(which)))
        case _:
            return Item(part, which)
