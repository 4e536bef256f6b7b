"""What the words of a question may mean, each way to read them all: a path through the meanings of its spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary
from agentsvc_nb.agents.offline.languages.structure import is_structural
from agentsvc_nb.agents.offline.tables.grammar.amounts import When
from agentsvc_nb.agents.offline.tables.grammar.beside import (
    asks_for_any,
    asks_for_rows,
    begins,
    divides_share,
    in_one,
    is_compared,
    is_out_of,
    is_verb_next,
    value_follows,
)
from agentsvc_nb.agents.offline.tables.grammar.meanings import (
    LIGHT_BESIDES,
    WORD,
    Meaning,
    Told,
    amounts,
    is_count,
    is_owner,
    is_row_noun,
    may_be_noun,
    named_rate,
    of_rows,
    phrase_of,
    told_by,
    units,
)
from agentsvc_nb.agents.offline.tables.grammar.naming import all_of_period, asks_for_value, named_value, names_table
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
from agentsvc_nb.agents.offline.tables.linking import (
    FORM,
    PART,
    SHORT_VERBS,
    SPAN_MAX,
    TRANSLATED,
    TYPO,
    TableLinks,
)
from agentsvc_nb.agents.offline.tables.links import Link
from agentsvc_nb.agents.offline.tables.question import Word
from agentsvc_nb.agents.offline.tables.topics import is_participle

PATHS_MAX: Final = 30
_UNKNOWN: Final = 8.0
_OWNERS: Final = ("column", "rows", "period")
_WHICH: Final = (("which",), ("what",), ("the",))
_PER: Final = (("per",), ("pro",), ("je",))
_NOUN: Final = 1.2
_NOT: Final = frozenset(("not", "nicht", "pas", "non", "no"))
_PEOPLE: Final = frozenset(("people", "persons"))
_OF_PEOPLE: Final = (
    "surname",
    "firstname",
    "email",
    "salary",
    "person",
    "player",
    "employee",
    "customer",
    "member",
    "age",
    "gender",
    "sex",
    "birth",
    "respondent",
    "patient",
    "student",
    "candidate",
    "driver",
    "rep",
)
"""What tables of people have; a name have cars, too."""
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
        theirs = is_owner(words[:start])
        for meant, length, cost in _meanings(words, start, links, language):
            item = replace(meant, of=True) if theirs and meant.tag in _OWNERS else meant
            for (items, unknown), before in here:
                # Ways that differ in light words alone are one way, and the nearest counts.
                after = items if item.tag in ("light", "unknown") else (*items, item)
                lost = (*unknown, words[start].text) if item.tag == "unknown" else unknown
                there = reached[start + length]
                there[after, lost] = min(there.get((after, lost), 1e9), before + cost)
    found = [Path(items, cost, unknown) for (items, unknown), cost in reached[-1].items()]
    return sorted(found, key=lambda path: path.cost)[:PATHS_MAX]


def _meanings(words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary) -> Iterator[Meaning]:
    """Items that begin with a word."""
    word = words[start]
    linked = list(_links_at(words, start, links))
    if length := in_one(words, start, links, language):
        yield Item("in_one"), length, WORD
        return
    example = asks_for_any(words, start, language)
    for link, length in linked if not example else ():  # `name an experiment` is no `Experiment Name`
        span = words[start : start + length]
        yield _linked(link, span, links), length, WORD + link.distance + _rivalry(link, span, links, language)
    if word.quoted:
        yield Item("text", word.text), 1, WORD + 0.5
        return
    told = told_by([link for link, length in linked if length == 1], links)
    others = list(_of_language(words, start, links, language, told, example))
    yield from others
    if named := names_table(words, start, links) or all_of_period(words, start, links):
        # With the noun behind it, it is as near as a header of two words elsewhere.
        yield Item("light"), named, WORD if named > 1 else 0.0
    meant = told.any or any(length == 1 for _, length, _ in others)
    yield from _of_noun(words, start, links, language, told, meant)
    if start and divides_share(words, start, language):
        yield Item("copula"), 1, WORD
    elif not example and (start or not any(part == "yesno" for part, _ in language.phrases.get(word.tokens, ()))):
        # A question for yes or no is none for a number.
        yield from _of_little(words, start, links, language, told, meant)


def _of_language(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told, example: bool
) -> Iterator[Meaning]:
    """What is said without a header or a value."""
    yield from _written(words[start])
    yield from _phrases(words, start, links, language, told, example)
    yield from of_rows(words, start, links, language, told)
    yield from units(words, start, links)
    yield from named_value(words, start, links)
    yield from amounts(words, start, links, language, told)


def _of_noun(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told, meant: bool
) -> Iterator[Meaning]:
    """A noun that nothing in the table backs may be what its rows are; the answer tells so (decision 0043)."""
    word = words[start]
    is_title = len(word.tokens) == 1 and links.is_title(word.tokens[0])
    is_noun = word.tokens and not (told.known or is_title) and may_be_noun(word, meant, language)
    if is_noun and is_row_noun(words, start, links, language):
        line = f"{word.text} was read as the rows of {PurePosixPath(links.table.path).name}."
        yield Item("rows", "noun", (line,)), 1, WORD + _NOUN


def _of_little(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told, meant: bool
) -> Iterator[Meaning]:
    """A word that says nothing by itself, or of which nothing is known."""
    word = words[start]
    light = bool(word.tokens) and word.tokens[0] in language.light and not word.bracketed
    if light and is_count(words[:start], language) and (word.tokens[0] in _PEOPLE or is_structural(word.tokens[0])):
        yield _counted(word, links)
        return
    is_verb = light and (len(word.tokens[0]) >= _VERB_LETTERS_MIN or word.tokens[0] in SHORT_VERBS)
    if light and asks_for_value(words, start, links):
        return
    if light and (is_compared(words, start, language) or is_out_of(words, start, language)):
        return  # `more than one` is a number, and `out of stock` are no pieces in stock
    # `who` of `customers who` says nothing, and that which begins a question asks for somebody.
    light = light and not (not start and ("wh", "person") in language.phrases.get(word.tokens, ()))
    says_nothing = light and not (told.done and is_verb) and not told.amount and not links.done_in(word.tokens[0])
    if says_nothing and not asks_for_rows(words, start, links, language):
        yield Item("light"), 1, WORD + (LIGHT_BESIDES if meant else 0.0)
    elif told.any and not told.known and is_participle(word.text, language.code):
        yield from _tied(word, links, language)
    elif not meant:
        yield from _tied(word, links, language)
        yield from _unknown(words, start, links, language)


def _counted(word: Word, links: TableLinks) -> Meaning:
    """`how many people` counts rows if these are people's; else, and of `how many columns`, nothing is known."""
    if word.tokens[0] in _PEOPLE and links.named(*_OF_PEOPLE):
        return Item("rows", "noun"), 1, WORD
    return Item("unknown"), 1, _UNKNOWN


def _links_at(words: Sequence[Word], start: int, links: TableLinks) -> Iterator[tuple[Link, int]]:
    """The links of the spans that begin with a word, and how many words these have."""
    for length in range(1, min(SPAN_MAX, len(words) - start) + 1):
        span = words[start : start + length]
        if length > 1 and any(one.quoted for one in span):
            break
        for link in links.links(span):
            if link.cell is not None and start and words[start - 1].tokens in _PER[links.language.code == "de" :]:
                continue  # `tickets per team`, where a tier is called `Team`; German pays `per Karte`
            if (
                link.cell is not None
                and start
                and words[start - 1].tokens == ("which",)
                and is_verb_next(words[start + length :], links.language)
            ):
                continue  # `which speaker led it` asks for a name, and not for what tickets of speakers have
            if words[start].tokens == ("total",) and start and words[start - 1].tokens == ("in",) and link.distance:
                continue  # `in total` is no `Order Total`
            if length == 1 and _is_part_of_period(link, words[start], links):
                continue
            if not words[start].bracketed or link.distance < PART:
                yield link, length


def _is_part_of_period(link: Link, word: Word, links: TableLinks) -> bool:
    """`in a month` is no `Sold Last Month`."""
    is_period = any(part == "period" for part, _ in links.language.phrases.get(word.tokens, ()))
    profile = links.profile(link.column)
    amount = profile.kind == "number" and profile not in links.years()
    return is_period and amount and link.cell is None and link.distance >= PART and not word.tokens[0].endswith("s")


def _linked(link: Link, span: Sequence[Word], links: TableLinks) -> Item:
    told = (link.told,) if link.told else ()
    if link.cell is not None:
        return Item("cell", (link.column, link.cell), told)
    last = span[-1].tokens[-1]
    several = last.endswith("s") or (links.language.code == "de" and last.endswith(("n", "e", "er")))
    plural = several and last not in links.headers[link.column.name]
    return Item("glossing" if span[0].bracketed and link.distance < PART else "column", link.column, told, plural)


def _written(word: Word) -> Iterator[Meaning]:
    """A number, a day."""
    if word.number is not None:
        yield Item("ordinal" if word.ordinal else "number", word.number), 1, WORD
    if word.day is not None:
        yield Item("when", When(word.day.year, None, word.day.month, word.day.day)), 1, WORD


def _phrases(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told, example: bool
) -> Iterator[Meaning]:
    """What the language means by the word and by those that follow it."""
    for length in range(1, min(PHRASE_MAX, len(words) - start) + 1):
        phrase = phrase_of(words[start : start + length])
        for part, which in language.phrases.get(phrase, ()):
            before, after = phrase_of(words[max(start - 1, 0) : start]), phrase_of(words[start + 1 : start + 2])
            is_noun = phrase == ("name",) and (before in _WHICH or after == ("of",))
            asks_aside = (part == "wh" and (words[start].bracketed or is_noun)) or (part == "yesno" and start)
            if part in ("relative", "doing", "copula", "in_one") or asks_aside or (example and part != "anyone"):
                continue
            if part == "share" and start and words[start - 1].number is not None:
                continue  # `10 percent`
            if which == "number" and length > 1 and _is_amount(words[start : start + length], links):
                continue  # `the amount of won deals`, where a column is called so
            if part == "period" and which == "week" and (told.exact or _is_header(words[start], links)):
                continue  # the weeks of the column
            if part == "prep" and not value_follows(words[start + length :], links, language):
                continue
            if part == "here":
                # `in the company`, where no column says in which.
                if not links.links(words[start + length - 1 : start + length]):
                    yield Item("light"), length, WORD
                continue
            if part == "rate":
                # Before a column that is called so: of several rows, its mean or its list is not the rate.
                yield from named_rate(
                    which, " ".join(word.text for word in words[start : start + length]), links, length
                )
                continue
            aside = part == "wh" and phrase[0] in language.light and not begins(words[:start], language)
            besides = TRANSLATED if part == "each" and told.translated else 0.0  # `anuales`, where a value is `annual`
            besides += LIGHT_BESIDES if told.named and length == 1 else 0.7 if aside else 0.0
            if part == "not" and words[start].bracketed and phrase[-1] in _NOT:
                which = "aside"  # `(without shipping)` is more than `(not the list price)`
            yield _item(part, which), length, WORD + besides


def _is_header(word: Word, links: TableLinks) -> bool:
    """In the plural, too."""
    return any(link.cell is None and link.distance <= FORM for link in links.links([word]))


def _is_amount(phrase: Sequence[Word], links: TableLinks) -> bool:
    """Whether a phrase for a count has the word for an amount, and a column is called that."""
    amounts = [word for word in phrase if word.tokens == ("amount",)]
    return any(link.cell is None and link.distance <= FORM for word in amounts for link in links.links([word]))


def _tied(word: Word, links: TableLinks, language: Vocabulary) -> Iterator[Meaning]:
    """A verb that says again what is said of a column: `paid by card`, where that is the payment method."""
    if language.code == "en" or len(word.tokens) != 1:
        return
    if links.is_of_title(word.tokens[0]):
        yield Item("light"), 1, WORD + PART  # `reservaron`, where the rows are `reservas`
    if columns := links.tied(word.tokens[0]):
        yield Item("tie", columns), 1, WORD + PART


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
        yield Item("glossed", None, (f"{words[start].text} was read as {glossed}.",)), 1, WORD + TYPO
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
        case "number" | "ordinal":
            return Item(part, Decimal(which))
        case "month":
            return Item("when", When(month=int(which)))
        case "weekday":
            return Item("when", When(weekday=int(which)))
        case "quarter":
            return Item("when", When(quarter=int(which)))
        case _:
            return Item(part, which)
