"""Questions about tables themselves: which columns a table has, and which of its rows stand there more than once. Every
word has a part in it, or the question is not read here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentsvc_nb.agents.offline.languages import LANGUAGES
from agentsvc_nb.agents.offline.languages.language import PHRASE_MAX, Vocabulary
from agentsvc_nb.agents.offline.languages.structure import STRUCTURE, Phrases, StructureWords, is_structural
from agentsvc_nb.agents.offline.tables.columns import title_words
from agentsvc_nb.agents.offline.tables.grammar.meanings import phrase_of
from agentsvc_nb.agents.offline.tables.linking import PART, SPAN_MAX, TableLinks
from agentsvc_nb.agents.offline.tables.links import Link
from agentsvc_nb.agents.offline.tables.mending import mended
from agentsvc_nb.agents.offline.tables.question import Word, alike, edits, parted, words
from agentsvc_nb.agents.offline.words import meanings
from agentsvc_nb.documents.normalization import tokens
from agentsvc_nb.documents.plans.profiles import TableProfile

_TYPO_LETTERS_MIN: Final = 6


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
    if is_structural(written):
        return word
    single = sorted(phrase[0] for phrase in known.columns | known.duplicates if len(phrase) == 1)
    near = next((one for one in single if edits(written, one) is not None), None)
    return replace(word, tokens=(near,)) if near else word


def _split(
    asked: Sequence[Word], tables: Sequence[TableProfile], named: Phrases, *others: Phrases
) -> tuple[list[Word], list[int]]:
    """The words without the phrases, the longest first, and how often each of these sets was met. A word of a header
    (`name`, `value`) rather is one, unless it says what is asked for (`named`)."""
    headers = {token for table in tables for column in table.columns for token in tokens(column.name)}
    phrases = (named, *others)
    left, met, at = list[Word](), [0] * len(phrases), 0
    while at < len(asked):
        for length in range(min(PHRASE_MAX, len(asked) - at), 0, -1):
            phrase = phrase_of(asked[at : at + length])
            place = next((place for place, some in enumerate(phrases) if phrase in some), None)
            if place is not None and not asked[at].quoted and (not place or not _has_any(headers, phrase)):
                met[place] += 1
                at += length
                break
        else:
            left.append(asked[at])
            at += 1
    return left, met


def _has_any(headers: Collection[str], phrase: Sequence[str]) -> bool:
    return any(alike(one, word) for one in headers for word in phrase)


def _is_said(phrases: Phrases, tables: Sequence[TableProfile]) -> bool:
    """Whether headers or values have such a word, which then means these."""
    single = {phrase[0] for phrase in phrases if len(phrase) == 1}
    cells = (cell for table in tables for one in table.columns for cell in (one.name, *one.values))
    return any(not single.isdisjoint(tokens(cell)) for cell in cells)


def _columns(asked: Sequence[Word], known: StructureWords, tables: Sequence[TableProfile]) -> Columns | NotRead | None:
    left, [named, counted, *_] = _split(asked, tables, known.columns, known.count, known.asking, known.tables)
    if named != 1 or counted > 1 or _is_said(known.columns, tables):
        return None
    said = {token for word in left for token in word.tokens}
    chosen = tuple(table for table in tables if said <= title_words(table))
    return Columns(chosen, bool(counted)) if chosen else NotRead(tuple(word.text for word in left))


def _duplicates(
    asked: Sequence[Word], known: StructureWords, tables: Sequence[TableProfile], language: Vocabulary
) -> tuple[Duplicates, ...] | NotRead | None:
    parts = (known.duplicates, known.count, known.asking, known.tables, known.by)
    left, [named, *_] = _split(asked, tables, *parts)
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
    found: list[Link] = []
    at = 0
    while at < len(said):
        if said[at].tokens == (",",):
            at += 1
            continue
        spans = (said[at : at + length] for length in range(min(SPAN_MAX, len(said) - at), 0, -1))
        link, length = next(((one, len(span)) for span in spans if (one := _header(span, links))), (None, 1))
        is_rows = all(map(links.is_title, said[at].tokens)) and (link is None or link.distance >= PART)
        if not is_rows and link is None:
            return None
        found += [link] if link and not is_rows else []
        at += length
    by = tuple(dict.fromkeys(link.column.name for link in found))
    told = tuple(dict.fromkeys(link.told for link in found if link.told))
    # A part of a header is one of several columns only by chance.
    return None if len(by) > 1 and told else Duplicates(table, by, (*mendings, *told))


def _header(span: Sequence[Word], links: TableLinks) -> Link | None:
    """The one column that the words name."""
    near = sorted((link for link in links.links(span) if link.cell is None), key=lambda link: link.distance)
    if not near and len(span) == 1:
        near = [link for link in links.mistyped(span[0], links.language) if link.cell is None]
    rivals = {link.column for link in near if link.distance == near[0].distance}
    return near[0] if len(rivals) == 1 else None
