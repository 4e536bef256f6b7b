"""A question that goes on from the one before it in the chat: its plan is that one, changed.

Nothing is kept for it: the question before is understood anew, with today's files, and so on back to one that stands
alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentsvc_nb.agents.offline.languages import FOLLOWING, LANGUAGES, languages_of
from agentsvc_nb.agents.offline.languages.charts import ChartWish, without_chart
from agentsvc_nb.agents.offline.languages.language import FollowingWords, Vocabulary
from agentsvc_nb.agents.offline.questions import mentions, readable, split
from agentsvc_nb.agents.offline.tables.following.changing import ENDS, Change, changed
from agentsvc_nb.agents.offline.tables.following.narrowing import narrowed, parts
from agentsvc_nb.agents.offline.tables.grammar.items import Path
from agentsvc_nb.agents.offline.tables.grammar.items import paths as ways_to_read
from agentsvc_nb.agents.offline.tables.grammar.limits import joined
from agentsvc_nb.agents.offline.tables.grammar.readings import QuestionReading
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, values
from agentsvc_nb.agents.offline.tables.joining import (
    JoinedLinks,
    joined_links,
    multiplied,
    understood_joined,
    without_title,
)
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import Word, parted, words
from agentsvc_nb.agents.offline.tables.understanding import (
    READINGS_MAX,
    AskedBack,
    Understanding,
    Understood,
    objected,
)
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.documents.normalization import tokens
from agentsvc_nb.documents.plans.plan import Aggregate, columns_of
from agentsvc_nb.documents.plans.profiles import TableProfile

TURNS_MAX: Final = 6
"""Questions that one may go on from, one after the other."""
_OF_TABLES: Final = ("computed", "looked_up", "nothing")
"""What the answers rest on that a question may go on from; of those that found nothing, the calculation may be clear
all the same."""
_WORDS_MAX: Final = 14
_MARGIN: Final = 0.45
_FEW_WORDS: Final = 3
_PART_WORDS: Final = 7
_PHRASE_WORDS: Final = 4
_ASKING: Final = ("wh", "count", "much", "yesno")


async def questions_before(turn: RunContext, here: Sequence[str]) -> list[str]:
    """The questions that this one may go on from, the latest first: those before it in the message, and back to the
    first turn that was answered otherwise than of tables."""
    found = list(reversed(here))
    for earlier in await turn.earlier(TURNS_MAX) if len(found) < TURNS_MAX else ():
        if earlier.basis not in _OF_TABLES:
            break
        found += reversed(split(readable(earlier.message)))
    return found[:TURNS_MAX]


@dataclass(frozen=True, slots=True)
class InContext:
    """What a question asks for; `before` are the questions that it goes on from, the first of them first."""

    found: Understanding
    before: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Fragment:
    """What is said beside the words that go on from the question before; `marked` if there are such. `charted`: a chart
    is all that is asked for."""

    text: str
    language: Vocabulary
    marked: bool
    instead: bool = False
    charted: bool = False
    theirs: bool = False

    @property
    def asks(self) -> bool:
        """Whether it begins as a question that stands for itself; `how many orders?` is one of a few words."""
        first = words(self.text)
        if len(first) <= _FEW_WORDS and _ways(first, self.language) & {"count", "much"}:
            return False
        return not _ways(first, self.language).isdisjoint(_ASKING)


def _ways(said: Sequence[Word], language: Vocabulary) -> set[str]:
    """The parts that the first words may have in a question."""
    spans = (said[:length] for length in range(1, _PHRASE_WORDS + 1))
    phrases = (tuple(token for word in span for token in word.tokens) for span in spans)
    return {part for phrase in phrases for part, _ in language.phrases.get(phrase, ())}


def in_context(
    question: str,
    before: Sequence[str],
    tables: Sequence[TableProfile],
    paths: Sequence[str],
    own: Understanding | None = None,
) -> InContext:
    """What the question asks for, by itself (`own`, if that is known) or going on from those `before` it in the chat,
    of which the latest is the first. `paths` are those of all files."""
    own = own or alone(without_chart(question)[0], tables, paths)
    if not before or not may_go_on(question, own):
        return InContext(own)
    # The question before may go on from another: understood anew, as nothing is kept of it.
    base = in_context(before[0], before[1:TURNS_MAX], tables, paths)
    named = {table.name: table for table in tables}
    asked = mentions(question, paths)
    if not isinstance(base.found, Understood) or not _same_file(asked.files, base.found, named) or asked.unknown:
        return InContext(own)
    for fragment in _fragments(asked.text):
        if isinstance(own, Understood):
            found = _both_ways(fragment, own, base.found, named)
        else:
            found = _gone_on(fragment, base.found, named)
        if found is not None:
            # The answer tells on which question it rests, as the reader may have meant another.
            last = " ".join(before[0].split()).rstrip(" ?!.,")
            return InContext(found, (*base.before, last)) if found is not own else InContext(own)
    return InContext(own)


def _both_ways(
    fragment: _Fragment, own: Understood, base: Understood, tables: Mapping[str, TableProfile]
) -> Understanding | None:
    """What may stand for itself: `without returned orders` names rows, and does not ask how many they are."""
    if _counts_rows(own) and not fragment.asks:
        found = _gone_on(fragment, base, tables)
        if not _names_rows(own, fragment, list(tables.values())):
            return found or own  # `by month`, with no word for what is counted
        if isinstance(found, Understood) and fragment.marked:
            return found
        if not fragment.marked:
            return own
    return _inherited(own, base, tables, fragment.theirs) or _gone_on(fragment, base, tables)


def _counts_rows(own: Understood) -> bool:
    return own.reading.plan.measures == (Aggregate("count"),)


def may_go_on(question: str, own: Understanding) -> bool:
    """Whether a question may go on from the one before: one that says by itself what it asks for (`own`) does when it
    begins like that, and is no whole question."""
    if len(words(question)) > _WORDS_MAX:
        return False
    if any(said.without(said.compares, question)[1] for said in FOLLOWING.values()):
        return False
    fragments = _fragments(question)
    if isinstance(own, Understood):
        return any(one.theirs or ((one.marked or _counts_rows(own)) and not one.asks) for one in fragments)
    return any(one.marked or len(words(one.text)) <= _PART_WORDS for one in fragments)


def told(context: InContext) -> tuple[str, ...]:
    """A sentence that says which questions an answer goes on from."""
    said = "; ".join(context.before)
    return (f"With the question before: {said}.",) if said else ()


def alone(question: str, tables: Sequence[TableProfile], paths: Sequence[str]) -> Understanding:
    """What the question asks for by itself, also without an `and` before it."""
    asked = mentions(question, paths)
    chosen = [table for table in tables if not asked.files or table.path in asked.files]
    found = understood_joined(asked.text, chosen)
    marked = [one for one in _fragments(asked.text) if one.marked]
    read = [found] if isinstance(found, Understood) else [understood_joined(one.text, chosen) for one in marked]
    if not isinstance(found, Understood) and _SAME.match(asked.text):
        # `same e-mail` rather asks which rows have one in common than for a list of them.
        read = [one for one in read if not isinstance(one, Understood) or one.reading.plan.measures]
    clear = [one for one in read if isinstance(one, Understood) and not _goes_on_only(one, marked, chosen)]
    if clear:
        return clear[0]
    return AskedBack((), _UNSAID, (found.reading,), 1.0, unclear=True) if isinstance(found, Understood) else found


_SAME: Final = re.compile(r"(?i)\W*(?:the )?same\b")
_UNSAID: Final = "It is not said what is to be counted."


def _goes_on_only(own: Understood, fragments: Sequence[_Fragment], tables: Sequence[TableProfile]) -> bool:
    """`and by month?` does not say what is counted."""
    asks = any(one.asks for one in fragments)
    return bool(fragments) and not asks and _counts_rows(own) and not _names_rows(own, fragments[0], tables)


def _names_rows(own: Understood, fragment: _Fragment, tables: Sequence[TableProfile]) -> bool:
    table = next(table for table in tables if table.name == own.reading.plan.table)
    links = TableLinks(table, fragment.language)
    return any(links.is_title(token) for word in words(fragment.text) for token in word.tokens)


def _same_file(files: frozenset[str], base: Understood, tables: Mapping[str, TableProfile]) -> bool:
    return not files or tables[base.reading.plan.table].path in files


def _fragments(question: str) -> list[_Fragment]:
    """The question without the words that go on from the one before, in each language that it may be in."""
    found = [_fragment(question, language) for language in LANGUAGES]
    marked = [one for one in found if one.marked]
    likely = languages_of(words(question))
    return marked or [one for one in found if one.language in likely]


def _fragment(question: str, language: Vocabulary) -> _Fragment:
    said = FOLLOWING[language.code]
    text = without_chart(question)[0]
    charted = _chart_in(question, said) is not None
    text, begun = said.without_lead(text)
    text, of_them = said.without(said.of_them, text)
    text, instead = said.without(said.instead, text)
    narrows = not _ways(words(text)[:1], language).isdisjoint(("only", "not"))
    marked = begun or of_them or instead or charted or narrows
    return _Fragment(text, language, marked, instead, charted, of_them or said.without(said.theirs, text)[1])


def chart_of_before(question: str) -> ChartWish | None:
    """The chart, if the question asks for one of what was answered before, and for nothing else: `as a chart?`"""
    return next((chart for said in FOLLOWING.values() if (chart := _chart_in(question, said))), None)


def _chart_in(question: str, said: FollowingWords) -> ChartWish | None:
    rest, chart = without_chart(question, alone=True)
    return chart if said.only_refers(rest) else None


def _gone_on(fragment: _Fragment, base: Understood, tables: Mapping[str, TableProfile]) -> Understanding | None:
    """The question before with what is said now. None when that is nothing that goes on from it."""
    if fragment.charted:
        return base
    made: Understanding | None = None
    for links in joined_links(base.reading.plan, tables, fragment.language):
        found = _in_links(fragment, base, links)
        if isinstance(found, Understood):
            return found
        made = made or found
    return made


def _in_links(fragment: _Fragment, base: Understood, links: TableLinks) -> Understanding | None:
    text, judged = _judged(fragment, links)
    said = words(text, local=fragment.language.code != "en")
    said = parted(without_title(said, links) if isinstance(links, JoinedLinks) else said, links.language, links.stands)
    ways = ways_to_read(said, links, fragment.language)
    change = Change(fragment.instead, bool(judged), marked=fragment.marked)
    known = [Path((*way.items, *judged), way.cost) for way in ways if not way.unknown and (way.items or judged)]
    known = [way for way in known if _is_part(way.items, fragment, links)]
    readings, lines, cost = _readings(known, base.reading, links, change)
    if readings and fragment.theirs:  # of the rows before, and of no others
        readings = [one for one in readings if set(parts(base.reading.plan.where)) <= set(parts(one.plan.where))]
    if readings is None or not (readings or fragment.marked):
        return _unknown(ways, fragment, links)
    if len(readings) == 1:
        reason = objected(readings[0], links.tables)
        if isinstance(links, JoinedLinks):
            reason = reason or multiplied(readings[0].plan, links)
        return AskedBack((), reason, (), 1.0) if reason else Understood(readings[0], (*base.told, *lines), cost)
    reason = "With the question before, this can be read in more than one way." if readings else _UNCLEAR
    return AskedBack((), reason, tuple(readings[:READINGS_MAX]), 1.0)


def _is_part(items: Sequence[Item], fragment: _Fragment, links: TableLinks) -> bool:
    """Whether the words may be a part of a question: not what a whole one says that is not understood by itself, with a
    question word, or with an amount and no word that goes on."""
    said = words(fragment.text)
    if not _ways(said, fragment.language).isdisjoint(_ASKING):
        if items[0].tag not in _ASKING and items[0].tag not in ENDS:
            return False
        return len(said) <= _FEW_WORDS or fragment.theirs or bool(values(items, *ENDS))
    if items[0].tag == "and" or ("to" in _ways(said[:1], fragment.language) and values(items, "when", "number")):
        return False  # `plus April`, `to June`
    amounts = bool(values(items, "rows")) or any(
        links.is_measure(links.profile(column)) for column in values(items, "column")
    )
    return fragment.marked or (len(said) <= _PART_WORDS and not (amounts and items[0].tag != "by"))


def _judged(fragment: _Fragment, links: TableLinks) -> tuple[str, list[Item]]:
    """The words without `the best` and `the worst`, unless a header has them; and what these are."""
    said = FOLLOWING[fragment.language.code]
    for tag, phrases in (("top", said.best), ("bottom", said.worst)):
        text, found = said.without(phrases, fragment.text)
        if found and links.vocabulary.isdisjoint(tokens(phrases)):
            return text, [Item(tag)]
    return fragment.text, []


_UNCLEAR: Final = "With the question before, it is not clear what is asked: say it in one question."


def _unknown(ways: Sequence[Path], fragment: _Fragment, links: TableLinks) -> AskedBack | None:
    lost = ways[0].unknown if ways and fragment.marked else ()
    if not lost:
        return None
    reason = f"The question before was about {links.table.path}, where these words have no meaning: {', '.join(lost)}."
    return AskedBack(lost, reason, (), 1.0)


def _readings(
    ways: Sequence[Path], base: QuestionReading, links: TableLinks, change: Change
) -> tuple[list[QuestionReading] | None, tuple[str, ...], float]:
    """All readings of the nearest ways, those first that take the place of something; and what is told of the words."""
    found: dict[object, QuestionReading] = {}
    lines: tuple[str, ...] = ()
    nearest, read = 0.0, False
    for way in ways:
        if read and way.cost > nearest + _MARGIN:
            break
        made = changed(way.items, base, links, change)
        if made is None:
            continue
        if not read:
            read, nearest = True, way.cost
            lines = tuple(dict.fromkeys(line for item in way.items for line in item.told))
        for one in made:
            if (plan := links.completed(one.plan)) is not None:
                found.setdefault(plan, replace(one, plan=plan))
    readings = list(found.values())
    columns = set(columns_of(base.plan.where))
    same = [one for one in readings if set(columns_of(one.plan.where)) == columns]  # `Wien`: of the column said before
    return ((same or readings) if read else None), lines, nearest


def _inherited(
    own: Understood, base: Understood, tables: Mapping[str, TableProfile], theirs: bool
) -> Understanding | None:
    """`and units?`: computed as the question before, with its conditions and groups. With conditions of its own, it
    may also stand for itself. None when it is about another table."""
    mine, given = own.reading.plan, base.reading.plan
    if mine.table != given.table:
        return None
    ways = [parts(given.where)]
    for condition in parts(mine.where):
        ways = [made for way in ways for made in narrowed(way, condition, only=False, instead=False)]
    groups = mine.groups if mine.groups or mine.limit is not None or not mine.measures else given.groups
    readings = [
        replace(own.reading, plan=replace(mine, where=joined(way), groups=groups, join=given.join or mine.join))
        for way in ways
    ]
    if readings == [own.reading]:
        return own
    whole = mine.where is not None or (mine.groups and mine.measures) or bool(given.measures) != bool(mine.measures)
    if (whole and not theirs) or len(readings) != 1 or (given.limit is not None and mine.limit is None):
        return AskedBack((), _EITHER, tuple(dict.fromkeys((*readings, own.reading)))[:READINGS_MAX], 1.0)
    reason = objected(readings[0], tables)
    return AskedBack((), reason, (), 1.0) if reason else replace(own, reading=readings[0])


_EITHER: Final = "This may go on from the question before, or stand for itself."
