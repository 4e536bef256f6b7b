"""Questions about tables themselves: which columns a table has, and which of its rows stand there more than once. Every
word has a part in it, or the question is not read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentsvc_nb.agents.offline.languages import LANGUAGES
from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary
from agentsvc_nb.agents.offline.languages.structure import STRUCTURE, Phrases, StructureWords
from agentsvc_nb.agents.offline.tables.columns import title_words
from agentsvc_nb.agents.offline.tables.grammar.items import paths
from agentsvc_nb.agents.offline.tables.grammar.meanings import phrase_of
from agentsvc_nb.agents.offline.tables.grammar.rules import Item, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.mending import mended
from agentsvc_nb.agents.offline.tables.question import Word, edits, parted, words
from agentsvc_nb.agents.offline.words import meanings
from agentsvc_nb.formats.normalization import tokens
from agentsvc_nb.formats.plans.profiles import TableProfile

_MARGIN: Final = 0.45
"""Readings that are so much further from the words than the nearest are no rivals to it."""
_TYPO_LETTERS_MIN: Final = 6
_JOINING: Final = frozenset({"column", "and", "comma", "by", "per", "rows"})


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of tables are asked for, or how many they are."""

    tables: tuple[TableProfile, ...]
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Rows are asked for that have the same values in the columns `by` as another one; in all columns without any.
    `told` are sentences on words that were not read as they stand."""

    table: TableProfile
    by: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NotRead:
    """Words of a question for columns or duplicates that have no part in it."""

    lost: tuple[str, ...]


Structural = Columns | tuple[Duplicates, ...] | NotRead | None
"""Several tables may have duplicates; None for another question."""


def structural(question: str, tables: Sequence[TableProfile]) -> Structural:
    """What is asked of the tables themselves. `question` is without the names of files, `tables` are those meant."""
    lost: NotRead | None = None
    for language in LANGUAGES if tables else ():
        known = STRUCTURE[language.code]
        asked = [_spelled(word, known, tables) for word in words(question, local=language.code != "en")]
        found = _columns(asked, known, tables) or _duplicates(asked, known, tables, language)
        if isinstance(found, NotRead):
            lost = lost or found
        elif found:
            return found
    return lost


def _spelled(word: Word, known: StructureWords, tables: Sequence[TableProfile]) -> Word:
    """A mistyped word for columns or duplicates, which neither a dictionary nor a table has."""
    written = word.tokens[0] if len(word.tokens) == 1 and not word.quoted else ""
    if len(written) < _TYPO_LETTERS_MIN or meanings().spells(written) or _is_said(frozenset({(written,)}), tables):
        return word
    single = {phrase[0] for phrase in known.columns | known.duplicates if len(phrase) == 1}
    near = [one for one in single if edits(written, one) is not None]
    return word if written in single or not near else replace(word, tokens=(sorted(near)[0],))


def _split(asked: Sequence[Word], *phrases: Phrases) -> tuple[list[Word], list[int]]:
    """The words without the phrases, the longest first, and how often each of these sets was met."""
    left, met, at = list[Word](), [0] * len(phrases), 0
    while at < len(asked):
        for length in range(min(PHRASE_MAX, len(asked) - at), 0, -1):
            phrase = phrase_of(asked[at : at + length])
            place = next((place for place, some in enumerate(phrases) if phrase in some), None)
            if place is not None and not asked[at].quoted:
                met[place] += 1
                at += length
                break
        else:
            left.append(asked[at])
            at += 1
    return left, met


def _is_said(phrases: Phrases, tables: Sequence[TableProfile]) -> bool:
    """Whether headers or values have such a word, which then means these."""
    single = {phrase[0] for phrase in phrases if len(phrase) == 1}
    cells = (cell for table in tables for one in table.columns for cell in (one.name, *one.values))
    return any(not single.isdisjoint(tokens(cell)) for cell in cells)


def _columns(asked: Sequence[Word], known: StructureWords, tables: Sequence[TableProfile]) -> Columns | NotRead | None:
    left, [named, counted, *_] = _split(asked, known.columns, known.count, known.asking, known.tables)
    if named != 1 or counted > 1 or _is_said(known.columns, tables):
        return None
    said = {token for word in left for token in word.tokens}
    chosen = tuple(table for table in tables if said <= title_words(table))
    return Columns(chosen, bool(counted)) if chosen else NotRead(tuple(word.text for word in left))


def _duplicates(
    asked: Sequence[Word], known: StructureWords, tables: Sequence[TableProfile], language: Vocabulary
) -> tuple[Duplicates, ...] | NotRead | None:
    parts = (known.duplicates, known.count, known.asking, known.tables, known.by)
    left, [named, *_] = _split(asked, *parts)
    if not named or _is_said(known.duplicates, tables):
        return None
    if not left:
        return tuple(map(Duplicates, tables))
    found = [one for table in tables if (one := _compared(left, table, tables, language))]
    by = [one for one in found if one.by]
    return tuple(by or found) or NotRead(tuple(word.text for word in left))


def _compared(
    left: Sequence[Word], table: TableProfile, tables: Sequence[TableProfile], language: Vocabulary
) -> Duplicates | None:
    """Duplicates by the columns that the words name; None where they say something else, or may be two things."""
    links = TableLinks(table, language, len(tables) == 1)
    said, mendings = mended(parted(left, language, links.stands), links)
    ways = [way for way in paths(said, links, language) if not way.unknown and all(map(_joins, way.items))]
    near = [way for way in ways if way.cost <= ways[0].cost + _MARGIN]
    named = {tuple(dict.fromkeys(column.name for column in values(way.items, "column"))) for way in near}
    if len(named) != 1:
        return None
    told = dict.fromkeys(line for item in near[0].items if item.tag == "column" for line in item.told)
    return Duplicates(table, named.pop(), (*mendings, *told))


def _joins(item: Item) -> bool:
    return item.tag in _JOINING and (item.tag != "rows" or item.value in ("", "title"))
