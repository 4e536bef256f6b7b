"""What the words of a question may mean, each way to read them all: a path through the meanings of its spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary, in_english
from agentsvc_nb.agents.offline.tables.grammar.amounts import When
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
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
from agentsvc_nb.agents.offline.tables.topics import is_participle, is_person

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
class Path:
    """A way to read all words. `unknown` are those that have no meaning."""

    items: tuple[Item, ...]
    cost: float
    unknown: tuple[str, ...] = ()


def paths(words: Sequence[Word], links: TableLinks, language: Vocabulary) -> list[Path]:
    """The nearest ways to read the words, in order."""
    reached: list[dict[tuple[tuple[Item, ...], tuple[str, ...]], float]] = [{} for _ in range(len(words) + 1)]
    # A beam search: of the ways to reach a word only the nearest go on, as their number grows with each word.
    reached[0][(), ()] = 0.0
    for start in range(len(words)):
        here = sorted(reached[start].items(), key=lambda one: one[1])[:PATHS_MAX]
        for item, length, cost in _meanings(words, start, links, language):
            for (items, unknown), before in here:
                # Ways that differ in light words alone are one way, and the nearest counts.
                after = items if item.tag in ("light", "unknown") else (*items, item)
                lost = (*unknown, words[start].text) if item.tag == "unknown" else unknown
                there = reached[start + length]
                there[after, lost] = min(there.get((after, lost), 1e9), before + cost)
    found = [Path(items, cost, unknown) for (items, unknown), cost in reached[-1].items()]
    return sorted(found, key=lambda path: path.cost)[:PATHS_MAX]


@dataclass(frozen=True, slots=True)
class _Links:
    """What the links of a single word tell of it."""

    any: bool
    known: bool
    """It is a value, or a header by more than its sense."""
    done: bool
    named: bool
    exact: bool
    """It is a header as it stands."""
    translated: bool
    nearest: float
    """How far the nearest header of texts is; 0 without one."""


def _told_by(found: Sequence[Link], links: TableLinks) -> _Links:
    texts = [one for one in found if one.cell is None and links.profile(one.column).kind == "text"]
    return _Links(
        any=bool(found),
        known=any(not PART <= one.distance < ALIKE or one.cell is not None for one in found),
        done=any(one.cell is not None or PART < one.distance < ALIKE for one in found),
        named=any(one.distance < FORM for one in found),
        exact=any(one.distance == EXACT and one.cell is None for one in found),
        translated=any(one.cell is not None and one.distance == TRANSLATED for one in found),
        nearest=min((one.distance for one in texts), default=0.0),
    )


_Meaning = tuple[Item, int, float]
"""An item, how many words it has, and how far it is from them."""


def _meanings(words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary) -> Iterator[_Meaning]:
    """Items that begin with a word."""
    word = words[start]
    linked = list(_links_at(words, start, links))
    for link, length in linked:
        span = words[start : start + length]
        yield _linked(link, span, links), length, _WORD + link.distance + _rivalry(link, span, links, language)
    if word.quoted:
        yield Item("text", word.text), 1, _WORD + 0.5
        return
    told = _told_by([link for link, length in linked if length == 1], links)
    example = any(
        part == "anyone"
        for length in range(2, PHRASE_MAX + 1)
        for part, _ in language.phrases.get(_phrase(words[start : start + length]), ())
    )
    others = [
        *_written(word),
        *_phrases(words, start, links, language, told, example),
        *_of_rows(words, start, links, told),
        *_units(words, start, links),
    ]
    yield from others
    meant = told.any or any(length == 1 for _, length, _ in others)
    is_title = len(word.tokens) == 1 and links.is_title(word.tokens[0])
    may_be_noun = word.tokens and not (told.known or is_title) and _may_be_noun(word, meant, language)
    # Decision 0043: a noun that nothing in the table backs may be what its rows are; the answer tells so.
    if may_be_noun and _is_row_noun(words, start, links, language):
        line = f"{word.text} was read as the rows of {PurePosixPath(links.table.path).name}."
        yield Item("rows", "noun", (line,)), 1, _WORD + _NOUN
    if example or (not start and any(part == "yesno" for part, _ in language.phrases.get(word.tokens, ()))):
        return  # a question for yes or no is none for a number
    light = word.tokens and word.tokens[0] in language.light and not word.bracketed
    if light and not (told.done and len(word.tokens[0]) >= _VERB_LETTERS_MIN):
        yield Item("light"), 1, _WORD + (_LIGHT_BESIDES if meant else 0.0)
    elif told.any and not told.known and is_participle(word.text, language.code):
        yield from _tied(word, links, language)
    elif not meant:
        yield from _tied(word, links, language)
        yield from _unknown(words, start, links, language)


def _links_at(words: Sequence[Word], start: int, links: TableLinks) -> Iterator[tuple[Link, int]]:
    """The links of the spans that begin with a word, and how many words these have."""
    for length in range(1, min(SPAN_MAX, len(words) - start) + 1):
        span = words[start : start + length]
        if length > 1 and any(one.quoted for one in span):
            break
        for link in links.links(span):
            if link.cell is not None and start and words[start - 1].tokens in _PER[links.language.code == "de" :]:
                continue  # `tickets per team`, where a tier is called `Team`; German pays `per Karte`
            if not words[start].bracketed or link.distance < PART:
                yield link, length


def _linked(link: Link, span: Sequence[Word], links: TableLinks) -> Item:
    told = (link.told,) if link.told else ()
    if link.cell is not None:
        return Item("cell", (link.column, link.cell), told)
    last = span[-1].tokens[-1]
    several = last.endswith("s") or (links.language.code == "de" and last.endswith(("n", "e", "er")))
    plural = several and last not in links.headers[link.column.name]
    return Item("glossing" if span[0].bracketed and link.distance < PART else "column", link.column, told, plural)


def _written(word: Word) -> Iterator[_Meaning]:
    """A number, a day."""
    if word.number is not None:
        yield Item("ordinal" if word.ordinal else "number", word.number), 1, _WORD
    if word.day is not None:
        yield Item("when", When(word.day.year, None, word.day.month, word.day.day)), 1, _WORD


def _phrases(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: _Links, example: bool
) -> Iterator[_Meaning]:
    """What the language means by the word and by those that follow it."""
    for length in range(1, min(PHRASE_MAX, len(words) - start) + 1):
        phrase = _phrase(words[start : start + length])
        for part, which in language.phrases.get(phrase, ()):
            is_noun = phrase == ("name",) and _phrase(words[start + 1 : start + 2]) == ("of",)
            asks_aside = (part == "wh" and (words[start].bracketed or is_noun)) or (part == "yesno" and start)
            if part in ("relative", "doing") or asks_aside or (example and part != "anyone"):
                continue
            if part == "share" and start and words[start - 1].number is not None:
                continue  # `10 percent`
            if part == "period" and which == "week" and told.exact:
                continue  # the weeks of the column
            if part == "prep" and not _value_follows(words[start + length :], links, language):
                continue
            aside = part == "wh" and phrase[0] in language.light and not _begins(words[:start], language)
            besides = TRANSLATED if part == "each" and told.translated else 0.0  # `anuales`, where a value is `annual`
            besides += _LIGHT_BESIDES if told.named and length == 1 else 0.7 if aside else 0.0
            yield _item(part, which), length, _WORD + besides


def _of_rows(words: Sequence[Word], start: int, links: TableLinks, told: _Links) -> Iterator[_Meaning]:
    """What the rows are called."""
    word = words[start]
    if len(word.tokens) == 1 and links.is_title(word.tokens[0]):
        yield Item("rows", "title"), 1, _WORD + (0.6 + told.nearest if told.exact or told.nearest >= ALIKE else 0.1)
        before = (links.language.phrases.get(_phrase(words[at:start]), ()) for at in range(max(start - 3, 0), start))
        if links.language.code == "en" or all(part != "count" for meant in before for part, _ in meant):
            yield Item("light"), 1, _WORD + 2 * _LIGHT_BESIDES + told.nearest  # what is counted is not without meaning


def _tied(word: Word, links: TableLinks, language: Vocabulary) -> Iterator[_Meaning]:
    """A verb that says again what is said of a column: `paid by card`, where that is the payment method."""
    if language.code == "en" or len(word.tokens) != 1:
        return
    if links.is_of_title(word.tokens[0]):
        yield Item("light"), 1, _WORD + PART  # `reservaron`, where the rows are `reservas`
    if columns := links.tied(word.tokens[0]):
        yield Item("tie", columns), 1, _WORD + PART


def _units(words: Sequence[Word], start: int, links: TableLinks) -> Iterator[_Meaning]:
    word = words[start]
    if start and words[start - 1].number is not None and word.tokens[:1] in _MONEY and not links.has_money:
        yield Item("light"), 1, _WORD
    if word.tokens[:1] and word.tokens[0] in links.header_units and (start and not links.links((word,))):
        yield Item("light"), 1, _WORD
    if word.tokens and word.tokens[0] in links.units:
        yield Item("unit", links.units[word.tokens[0]]), 1, _WORD


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
    if language.code != "en" and is_person(words[start].tokens[0]):
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
