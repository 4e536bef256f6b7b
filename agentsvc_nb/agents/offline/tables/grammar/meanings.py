"""What a span of words may mean that is no header and no value: nouns that are what the rows of a table are, verbs that
ask for an amount, rates that have a name, and units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from agentsvc_nb.agents.offline.languages.english import ENGLISH
from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary, in_english
from agentsvc_nb.agents.offline.languages.structure import is_structural
from agentsvc_nb.agents.offline.tables.grammar.rules import Item
from agentsvc_nb.agents.offline.tables.linking import ALIKE, EXACT, FORM, PART, TRANSLATED, TableLinks
from agentsvc_nb.agents.offline.tables.links import Link
from agentsvc_nb.agents.offline.tables.question import Word, alike, forms
from agentsvc_nb.agents.offline.tables.topics import is_participle, is_person
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Compared

WORD: Final = 1.0
LIGHT_BESIDES: Final = 0.5
"""A word that may have a meaning is rather read as one that has."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the links of a single word tell of it."""

    any: bool
    known: bool
    """It is a value, or a header by more than its sense."""
    done: bool
    named: bool
    exact: bool
    """It is a header as it stands."""
    amount: bool
    """It is the header of an amount as it stands, so that it is never without a meaning."""
    translated: bool
    nearest: float
    """How far the nearest header of texts is; 0 without one."""


def told_by(found: Sequence[Link], links: TableLinks) -> Told:
    texts = [one for one in found if one.cell is None and links.profile(one.column).kind == "text"]
    return Told(
        any=bool(found),
        known=any(not PART <= one.distance < ALIKE or one.cell is not None for one in found),
        done=any(one.cell is not None or PART < one.distance < ALIKE for one in found),
        named=any(one.distance < FORM for one in found),
        exact=any(one.distance == EXACT and one.cell is None for one in found),
        amount=any(
            one.distance == EXACT and one.cell is None and links.adds_up(links.profile(one.column)) for one in found
        ),
        translated=any(one.cell is not None and one.distance == TRANSLATED for one in found),
        nearest=min((one.distance for one in texts), default=0.0),
    )


Meaning = tuple[Item, int, float]
"""An item, how many words it has, and how far it is from them."""


def is_count(before: Sequence[Word], language: Vocabulary) -> bool:
    """Whether the words end with those that count: `how many`."""
    ends = (phrase_of(before[-length:]) for length in range(1, PHRASE_MAX + 1))
    return any(part == "count" for phrase in ends for part, _ in language.phrases.get(phrase, ()))


def is_counting(words: Sequence[Word], language: Vocabulary) -> bool:
    spans = ((words[at : at + length], words[at + length :]) for at in range(len(words)) for length in (1, 2))
    counts = (after for span, after in spans
              if any(part == "count" for part, _ in language.phrases.get(phrase_of(span), ())))  # fmt: skip
    return any(not after or after[0].tokens[:1] not in _PERCENT for after in counts)


_PERCENT: Final = (("percent",), ("%",), ("percentage",), ("prozent",), ("pour",), ("por",))
"""`by how many percent` counts nothing."""


def phrase_of(words: Sequence[Word]) -> tuple[str, ...]:
    return tuple(token for one in words for token in one.tokens)


_SIGNS_MIN: Final = 2
_ROOT_LETTERS: Final = 6


def is_topic(word: str, links: TableLinks) -> bool:
    """Whether the word is one of the title's, so that it only says again what the table is about."""
    return any(alike(word, one) or word + "s" == one or word == one + "s" for one in links.title_words)


def may_be_called(word: str, links: TableLinks) -> bool:
    """Whether the rows may be called by a noun: the title or the identifier has its root, or headers have two of the
    words that go with it; and neither a column nor another table is called so."""
    signs = _signs(word, links.language)
    rooted = _has_root(word, links)
    if (not signs and not rooted) or any(alike(word, one) for one in links.elsewhere):
        return False
    # Forms of one word are one sign.
    said = links.vocabulary if links.language.code == "en" else frozenset().union(*links.meant.values())
    met = {min(forms(sign), key=len) for sign in signs if any(alike(one, sign) for one in said)}
    return (len(met) >= _SIGNS_MIN or rooted) and not links.links((Word(word, (word,)),))


def _signs(noun: str, language: Vocabulary) -> frozenset[str]:
    """What headers tell of rows that are called so, in any language."""
    called = {noun} if language.code == "en" else in_english(noun)
    found = {ENGLISH.rows.get(one, frozenset()) for one in called}
    return found.pop() if len(found) == 1 else frozenset()  # a noun of several things may be any of them


def _has_root(word: str, links: TableLinks) -> bool:
    """Whether title or identifier have a word of the same root, as `responses` is of `respondents`."""
    titles = {*links.title_words, *links.titles}
    return len(word) >= _ROOT_LETTERS and any(one[:_ROOT_LETTERS] == word[:_ROOT_LETTERS] for one in titles)


def of_rows(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told
) -> Iterator[Meaning]:
    """What the rows are called."""
    word = words[start]
    if len(word.tokens) == 1 and links.is_title(word.tokens[0]):
        counted = is_count(words[:start], language)
        within = bool(start) and words[start - 1].tokens in _WITHIN
        if counted or within or not told.amount:  # `the wheat of years`, of `wheat.csv` with a column called so
            yield Item("rows", "title"), 1, WORD + (0.6 + told.nearest if told.exact or told.nearest >= ALIKE else 0.1)
        if not told.exact and not counted:  # `in how many orders was a coupon used` counts orders
            yield Item("light"), 1, WORD + 2 * LIGHT_BESIDES + told.nearest
    elif len(word.tokens) == 1 and not word.quoted and not told.any:
        noun = word.tokens[0]
        # Of other languages than English a verb that only says again what the rows are is none.
        if may_be_called(noun, links) and not is_participle(word.text, language.code):
            line = f"{word.text} was read as the rows of {PurePosixPath(links.table.path).name}."
            yield Item("rows", "called", (line,)), 1, WORD + 0.2
        elif is_topic(noun, links) and (noun,) not in language.phrases:
            yield Item("light"), 1, WORD + LIGHT_BESIDES


_WITHIN: Final = (("in",), ("from",), ("aus",), ("dans",), ("en",))
_OF: Final = frozenset(("of", "among", "von", "unter", "de", "des", "du", "del", "entre"))
_ALL: Final = frozenset(("the", "all", "these", "our", "den", "allen", "los", "las", "les", "todos", "todas", "tous"))


def is_owner(before: Sequence[Word]) -> bool:
    """Whether what follows these words is what something is of: `of`, `among all the`."""
    left = [word.tokens[0] for word in before[-3:] if len(word.tokens) == 1]
    while left and left[-1] in _ALL:
        left.pop()
    return bool(left) and left[-1] in _OF


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
    if not links.alone or len(words[start].tokens) != 1 or is_structural(words[start].tokens[0]):
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


_COSTS: Final = ("cost", "spend", "spent", "spending")
_CONVERSIONS: Final = ("conversion", "conversions", "purchases", "leads")
_Nouns = tuple[str, ...]
_RATES: Final[dict[str, tuple[_Nouns, _Nouns, Literal["percent", "ratio"]]]] = {
    "ctr": (("clicks",), ("impressions",), "percent"),
    "cvr": (_CONVERSIONS, ("clicks",), "percent"),
    "cpc": (_COSTS, ("clicks",), "ratio"),
    "cpa": (_COSTS, _CONVERSIONS, "ratio"),
    "roas": (("value", "revenue"), _COSTS, "ratio"),
}


def rate(which: str, links: TableLinks) -> Compared | None:
    """None where the table has not both columns."""
    over, under, how = _RATES[which]
    left, right = links.amount(over), links.amount(under)
    if left is None or right is None or left == right:
        return None
    return Compared(how, Aggregate("sum", left), Aggregate("sum", right))


_MONEY: Final = frozenset((word,) for word in ("€", "eur", "euro", "euros", "$", "dollar", "dollars", "£"))
"""Behind a number they limit nothing where no column says which money it is in."""
_ASKED_MUCH: Final = frozenset(("much", "most", "least", "more", "less"))


def units(words: Sequence[Word], start: int, links: TableLinks) -> Iterator[Meaning]:
    word = words[start]
    if start and words[start - 1].number is not None and word.tokens[:1] in _MONEY and not links.has_money:
        yield Item("light"), 1, WORD
    if not word.tokens:
        return
    # A unit that no number has is that of the column: `in mm` is no `Wind`.
    counted = start > 0 and words[start - 1].number is not None
    beside = counted or word.tokens[0] not in links.units
    if start and beside and word.tokens[0] in links.header_units and not links.links((word,)):
        yield Item("light"), 1, WORD
    if word.tokens[0] in links.units:
        yield Item("unit", links.units[word.tokens[0]]), 1, WORD


def amounts(
    words: Sequence[Word], start: int, links: TableLinks, language: Vocabulary, told: Told
) -> Iterator[Meaning]:
    """`how much did we take in`: verbs that ask for an amount where none is named."""
    said = {token for word in words for token in word.tokens}
    if language.verbs.get(phrase_of(words[start : start + 2])) == "coming":
        if _names_amount(words, links, language):
            yield Item("light"), 2, WORD  # `what did shipping come to`
        elif found := links.amount_of("coming"):  # `what did A-117 come to`
            line = f"{' '.join(word.text for word in words[start : start + 2])} was read as the column {found.name}."
            yield Item("column", found, (line,)), 2, WORD + ALIKE
        return
    if language.verbs.get(words[start].tokens) == "income":
        found = None if told.any or is_counting(words[:start], language) else links.amount_of("income")
        if found:
            line = f"{words[start].text} was read as the column {found.name}."
            yield Item("column", found, (line,)), 1, WORD + ALIKE
        return
    if not language.verbs or said.isdisjoint(_ASKED_MUCH):
        return
    spans = ((at, length) for length in (2, 1) for at in range(len(words) + 1 - length))
    verbs = [(*span, what) for span in spans if (what := language.verbs.get(phrase_of(words[span[0] : sum(span)])))]
    if "much" not in said and not _ends_with_most(words, language):
        return  # `which source brings in the most deals`
    if words[start].tokens == ("money",) and verbs:
        yield Item("light"), 1, WORD
    for at, length, what in verbs:
        if at == start:
            yield Item("light"), length, WORD + LIGHT_BESIDES  # `how much did we spend on shipping`
        if at == start and (found := links.amount_of(what)):
            line = f"{' '.join(word.text for word in words[at : at + length])} was read as the column {found.name}."
            yield Item("column", found, (line,)), length, WORD + ALIKE + 0.1 * (2 - length)


def _names_amount(words: Sequence[Word], links: TableLinks, language: Vocabulary) -> bool:
    nouns = [word for word in words if not any(part == "op" for part, _ in language.phrases.get(word.tokens, ()))]
    found = (link.column for word in nouns for link in links.links((word,)) if link.cell is None)
    return any(links.is_measure(links.profile(one)) for one in found)


def _ends_with_most(words: Sequence[Word], language: Vocabulary) -> bool:
    """Whether `the most` is all that is said: no noun follows it."""
    at = next(at for at, word in enumerate(words) if not _ASKED_MUCH.isdisjoint(word.tokens))
    behind = words[at + 1 : at + 2]
    return not behind or behind[0].tokens == ("money",) or behind[0].tokens[:1] in [(one,) for one in language.light]


def named_rate(which: str, said: str, links: TableLinks, length: int) -> Iterator[Meaning]:
    if made := rate(which, links):
        over, under = (one.operand for one in (made.left, made.right))
        names = [of.name for of in (over, under) if isinstance(of, Column)]
        line = f"{said} was computed as {' / '.join(names)}."
        yield Item("measure", (made,), (line,)), length, WORD - LIGHT_BESIDES
