"""What words of a question may mean in one table: its columns by their headers, and the values of its columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Final

from agentsvc_nb.agents.offline.languages import LANGUAGES
from agentsvc_nb.agents.offline.languages.language import Vocabulary
from agentsvc_nb.agents.offline.tables.columns import NAMES, UNITS
from agentsvc_nb.agents.offline.tables.links import Link, found_before
from agentsvc_nb.agents.offline.tables.question import Word, alike, edits, forms, is_form_of_any
from agentsvc_nb.agents.offline.tables.topics import done, is_plural, letter_of, says_rows, stem_of, told_again
from agentsvc_nb.agents.offline.tables.translations import NAMING_WORDS, PARTICLES, PER, is_unit, met, translated
from agentsvc_nb.agents.offline.tables.values import TableValues
from agentsvc_nb.agents.offline.words import meanings
from agentsvc_nb.documents.normalization import tokens
from agentsvc_nb.documents.plans.plan import Column, Plan
from agentsvc_nb.documents.plans.profiles import TableProfile, Tables

EXACT, FORM, NAMING, TRANSLATED, PART, ALIKE, TYPO = 0.0, 0.1, 0.3, 0.6, 0.7, 0.9, 1.5
"""How far a link is from the words themselves."""
SPAN_MAX: Final = 8
_QUANTITIES: Final = frozenset(("percent", "pct", "min", "in", "of", "the", "per"))
_SHEETS: Final = frozenset(("sheet", "data", "tabelle", "daten", "feuil", "feuille", "hoja", "datos", "table"))
_NOUN_WORDS_MAX: Final = 4
_FUNCTION_LETTERS_MAX: Final = 3
SHORT_VERBS: Final = frozenset(("won", "ran", "met", "hit"))
"""Words that may be without a meaning, but not where they are values: no articles or prepositions."""
_DONE: Final = re.compile(r"\w+ed|won|lost|sold|bought|sent|paid|held|left|kept|built|taken|given|shown|gone|written")
_DATES: Final = frozenset(("date", "dates", "day", "time"))
_TYPO_LETTERS_MIN: Final = 5
_SMALL_LETTERS_MAX: Final = 4
_NOUN_LETTERS_MIN: Final = 4
_SEVERAL: Final = frozenset(("people", "children", "men", "mice"))
_KINDS_MAX: Final = 40
_KIND_NEAR: Final = 0.58


class TableLinks(TableValues):
    """A table's headers and values, to be found by words."""

    def __init__(
        self,
        table: TableProfile,
        language: Vocabulary,
        alone: bool = True,
        elsewhere: frozenset[str] = frozenset(),
    ) -> None:
        """`alone` says that no other table could be meant; `elsewhere` are the words of the titles of others."""
        super().__init__(table, language)
        self.alone, self.elsewhere = alone, elsewhere
        self._found = found_before(table, language.code)

    @property
    def tables(self) -> Tables:
        """What a plan of these links may read."""
        return {self.table.name: self.table}

    def completed(self, plan: Plan) -> Plan | None:
        """The plan with what it takes to compute it; None if it can't be meant."""
        return plan

    def is_title(self, word: str) -> bool:
        """Whether the word is what the rows are: what the file or its sheet is called, or what an identifier is of."""
        groups = [group for group in self.language.alike if word in group]
        called = self.language.nouns.get((word,), frozenset())
        if any(self.adds_up(self.profile(link.column)) for link in self._columns((word,))):
            called = frozenset()  # `Umsatz` of `sales.csv` is rather an amount
        return any(
            alike(word, one) or (one,) in called or any(one in group for group in groups) for one in self.titles
        ) or (not self._columns((word,)) and says_rows(word, self))

    def is_of_title(self, verb: str) -> bool:
        """Whether a verb says again what the rows are, or a noun whose they are."""
        return verb in self.title_words or any(stem_of(verb, one) for one in self.titles)

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Words for what the rows are. Of titles of several words those in the plural, which are rather what there are
        several of."""
        stem, sheet = (tuple(tokens(title)) for title in (PurePosixPath(self.table.path).stem, self.table.sheet))
        # Of a workbook's sheets each is what its own name says: those of `crm_deals.xlsx` are not all deals.
        titles = [sheet] if sheet and _SHEETS.isdisjoint(sheet) else [stem, sheet]
        several = {word for title in titles for word in title if len(title) > 1 and word.isalpha() and len(word) > 3}
        named = {title[0] for title in titles if len(title) == 1} | {one for one in several if is_plural(one)}
        of = self.identifier()
        return (*named, *(one for one in (self.headers[of.name] if of else ()) if one not in NAMING_WORDS))

    def may_be_rows(self, word: str) -> bool:
        """Whether a noun that the table knows nothing of may be what its rows are: it is no kind of them, as women are
        where a column has `female`."""
        few = [one for one in self.table.columns if one.kind == "text" and one.distinct <= _KINDS_MAX]
        values = [value for one in few for value in one.values if len(tokens(value)) == 1]
        several = word in _SEVERAL or (word.endswith("s") and not word.endswith("ss"))
        if not word.isalpha() or len(word) < _NOUN_LETTERS_MIN or not several:
            return False
        if not values:
            return True
        # By word vectors: `women` is near to `female`, and then a kind of row, no name of the rows.
        near = meanings().of([word]) @ meanings().of([tokens(value)[0] for value in values]).T
        return float(near.max()) < _KIND_NEAR

    @cached_property
    def _known_forms(self) -> frozenset[str]:
        known = {*self.vocabulary, *(part for parts in self.opened_headers.values() for part in parts)}
        return frozenset(form for token in known for form in forms(token))

    def tied(self, verb: str) -> tuple[Column, ...]:
        """The columns that a verb without a meaning of its own only says again; none, if it says what the rows are."""
        nouns = self.language.ties.get(verb, ())
        found = {link.column.name for noun in nouns for link in self._columns(noun)} | set(told_again(verb, self))
        return tuple(self.column(one.name) for one in self.table.columns if one.name in found)

    def links(self, span: Sequence[Word]) -> Sequence[Link]:
        """What the words mean together."""
        key = tuple(span)
        found = self._found.of_spans.get(key)
        if found is None:
            self._found.make_room()
            found = self._found.of_spans[key] = tuple(self._links(span))
        return found

    def _links(self, span: Sequence[Word]) -> Iterator[Link]:
        asked = tuple(token for word in span for token in word.tokens)
        letter = len(span) == 1 and not span[0].quoted and len("".join(asked)) == 1
        if not asked or (letter and asked[0] not in self.vocabulary and asked not in self._said.cells):
            return
        yield from self._columns(asked)
        yield from self._around(asked)
        yield from self._values(asked, span)

    def _around(self, asked: tuple[str, ...]) -> Iterator[Link]:
        """`copies that are available` are `copies_available`, where there are `copies`, too."""
        light = [word in self.language.light and len(word) <= _SMALL_LETTERS_MAX for word in asked]
        essential = (asked[0], *(word for word, small in zip(asked[1:-1], light[1:-1], strict=True) if not small))
        if len(asked) < 3 or len(essential) + 1 == len(asked) or light[0] or light[-1]:
            return
        if len(essential) == 1:
            near = self._columns((essential[0], asked[-1]))
            yield from (replace(link, distance=NAMING) for link in near if link.distance <= FORM)

    def _columns(self, asked: tuple[str, ...]) -> Sequence[Link]:
        found = self._found.of_phrases.get(asked)
        if found is None:
            found = self._found.of_phrases[asked] = tuple(self._near_columns(asked))
        return found

    def _near_columns(self, asked: tuple[str, ...]) -> Iterator[Link]:
        dated = len(asked) == 2 and asked[1] in _DATES
        if not dated and not all(map(self._is_known, asked)):
            return
        if asked not in self.headers.values() and (
            not PARTICLES.isdisjoint((asked[0], asked[-1]))
            or (
                len(asked) == 1
                and asked[0] in self.language.light
                and asked not in self.language.nouns
                and not self._is_day_of(asked[0])
            )
        ):
            return
        as_written = len(asked) == 1 or not any(
            self._known_forms.isdisjoint(forms(one)) and not self._is_short_for(one) for one in asked
        )
        found = [
            (distance if distance is not None else self._translated(asked, name), name)
            for name, header in self.headers.items()
            for distance in [self._header_distance(self._short(asked, name), header) if as_written else None]
        ]
        if dated and all(distance is None for distance, _ in found):
            dates = {one.name for one in self.dates()}
            found = [(self._header_distance(asked[:1], self.headers[name]), name) for name in dates]
        most = PART if len(asked) == 1 and asked[0] in self.language.light else ALIKE + 1
        if len(asked) == 1 and asked[0] in self.language.light and asked[0].endswith("ed"):
            dates = {one.name for one in self.dates()}  # `closed` may be without a meaning, but not beside `closed_at`
            said = {name for name in dates if asked[0] in self.headers[name]}  # not beside `Expected close`
            most, found = ALIKE, [(max(distance, PART + 0.1), name) for distance, name in found
                                  if distance is not None and name in (said or dates)]  # fmt: skip
        near = [(distance, name) for distance, name in found if distance is not None and distance < most]
        partial = [name for distance, name in near if distance >= PART]
        for distance, name in near:
            if distance < PART or len(partial) == len(near):
                told = f"{' '.join(asked)} was read as the column {name}." if distance >= PART else ""
                yield Link(self.column(name), None, distance, told)

    def _short(self, asked: tuple[str, ...], name: str) -> tuple[str, ...]:
        """The words as a header writes them that has some of them short."""
        short = self.shortened[name]
        return tuple(next((part for part in short if one.startswith(part)), one) for one in asked) if short else asked

    def _is_day_of(self, verb: str) -> bool:
        """`received`, where a column of days is called `Received On`."""
        return any(
            self.headers[one.name][:1] == (verb,) and {"on", "at"}.issuperset(self.headers[one.name][1:])
            for one in self.dates()
        )

    def _is_known(self, word: str) -> bool:
        spelled = forms(word)
        known = not (spelled.isdisjoint(self._known_forms) and spelled.isdisjoint(_nouns(self.language.code)))
        return known or self._is_done(word) or self._is_short_for(word) or word in self._numbers

    @cached_property
    def _numbers(self) -> dict[str, str]:
        """The headers that are called `Bestell-Nr`, by what German calls them: `bestellnummer`."""
        short = {name: header for name, header in self.headers.items() if header[-1:] == ("nr",) and header[1:]}
        return {f"{''.join(header[:-1])}nummer{ending}": name for name, header in short.items() for ending in ("", "n")}

    def _is_short_for(self, word: str) -> bool:
        return any(word.startswith(short) for some in self.shortened.values() for short in some)

    def _is_done(self, verb: str) -> bool:
        """`guided`, where a column is called `Guide`."""
        return self.language.code == "en" and is_form_of_any(verb, tuple(self.vocabulary))

    def _header_distance(self, asked: tuple[str, ...], header: tuple[str, ...]) -> float | None:
        if asked == header:
            return EXACT
        if not header:
            return None
        if len(asked) == len(header) and all(map(alike, asked, header)):
            return FORM
        if not PER.isdisjoint(header) and PER.isdisjoint(asked):
            return None  # `cost` is no `Cost per click`
        if UNITS.issuperset(asked) and _QUANTITIES.isdisjoint(asked) and not UNITS.issuperset(header):
            return None  # `in mm` is no `Rain (mm)`
        if NAMES.issuperset(asked) and not (NAMING_WORDS - NAMES).isdisjoint(header):
            return None  # an id is no name
        rest = [word for word in header if not any(alike(word, one) for one in asked)]
        if all(any(alike(one, word) for word in header) for one in asked):
            if all(is_unit(word, header) for word in rest):
                return FORM
            if all(word in NAMES or is_unit(word, header) for word in rest):
                return NAMING
            if all(word in NAMING_WORDS or is_unit(word, header) for word in rest):
                return NAMING + (0.5 if self._has_name(header) else 0.0)
            return None if self._is_only_of(asked, header) else PART
        if len(asked) == 1 and is_form_of_any(asked[0], header):
            return PART + 0.1
        if len(asked) == 1 and any(asked[0] in group and not group.isdisjoint(header) for group in self.language.alike):
            others = [word for word in header if not any({word, asked[0]} <= group for group in self.language.alike)]
            return ALIKE if all(word in NAMING_WORDS or is_unit(word, header) for word in others) else ALIKE + 0.5
        return None

    def _is_only_of(self, asked: tuple[str, ...], header: tuple[str, ...]) -> bool:
        """`units` is no `Unit Price`, and `products` are no `Product Category`: several of what a header's first word
        names are not what the header names."""
        one = asked[0]
        several = self.language.code == "en" and len(asked) == 1 and one.endswith("s") and one not in header
        named = [word for word in header if word.isalpha() and not is_unit(word, header) and word not in NAMING_WORDS]
        return several and len(named) > 1 and not alike(one, named[-1]) and alike(one, named[0])

    def _translated(self, asked: tuple[str, ...], name: str) -> float | None:
        """How far the words are from a header of another language, or of one word that is made of several."""
        header, opened_header = self.headers[name], self.opened_headers[name]
        if len(asked) == 1 and asked[0] in self.language.light and not self._is_yes_or_no(asked, name):
            return None
        if len(asked) == 1 and self._numbers.get(asked[0]) == name:
            return FORM
        found = [self._header_distance(asked, opened_header)] if opened_header != header else []
        for phrase in self._called(asked):
            near = [one for header in {header, opened_header} if (one := translated(phrase, header)) is not None]
            if near:
                second = 0.5 if self._has_name(header) else 0.0
                found += [ALIKE + distance + second for distance in near]
        if len(asked) > 1 and PARTICLES.isdisjoint((asked[0], asked[-1])):
            found.append(self._translated_each(asked, opened_header))
        return min((one for one in found if one is not None), default=None)

    def _translated_each(self, asked: tuple[str, ...], header: tuple[str, ...]) -> float | None:
        """`date de commande` is `Order Date`: each part is one of the header, or means one, and none is left over."""
        if (asked[0],) in self.language.phrases and asked[-1].endswith("s") and asked[-1] not in header:
            return None  # `total de pedidos` are counted, or added up
        left, at = list(header), 0
        while at < len(asked):
            if asked[at] in PARTICLES:
                at += 1
                continue
            for length in range(min(len(asked) - at, _NOUN_WORDS_MAX), 0, -1):
                part = asked[at : at + length]
                if met_words := met((part, *self._called(part)), left):
                    break
            else:
                return None
            for word in met_words:
                left.remove(word)
            at += length
        return ALIKE if all(one in NAMING_WORDS or one in UNITS or one in PARTICLES for one in left) else None

    def _is_yes_or_no(self, asked: tuple[str, ...], name: str) -> bool:
        """Whether a word that may be without a meaning, as `paid`, is what a column says of each row."""
        kind = self.table.column(name).kind
        return kind == "boolean" and asked in self.language.nouns and asked in self.language.values

    def _called(self, phrase: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
        """What a noun in any form of it is called elsewhere."""
        nouns = self.language.nouns
        return frozenset(one for form in forms(phrase[-1]) for one in nouns.get((*phrase[:-1], form), ()))

    def _has_name(self, header: tuple[str, ...]) -> bool:
        """Whether what an identifier tells apart has a column of names, too."""
        of = frozenset(header) - NAMING_WORDS
        others = (frozenset(other) for other in self.headers.values() if other != header)
        return bool(of) and any(of <= other and other - of <= NAMES for other in others)

    def _values(self, asked: tuple[str, ...], span: Sequence[Word]) -> Iterator[Link]:
        if asked in self._said.cells:
            written = " ".join(word.text for word in span)
            if self._is_function_word(asked) and all(value != written for _, value in self._said.cells[asked]):
                return  # `de` is no `DE`
            pronoun = 1.0 if len(written) == 1 and written.casefold() in self.language.light else 0.0
            pronoun = NAMING if pronoun and written.isupper() and written != "I" else pronoun  # `A` may be either
            for name, value in self._said.cells[asked]:
                yield Link(self.column(name), value, pronoun + (EXACT if value == written else FORM / 2))
            return
        if asked in self._said.without_asides:
            places = self._said.without_asides[asked]
            if len({name for name, _ in places}) == len(places):
                for name, value in places:
                    yield Link(self.column(name), value, NAMING, f"{' '.join(asked)} was read as {value}.")
            return
        for form in forms(asked[-1]):
            for folded in self._said.by_form.get(form, ()):
                if len(folded) == len(asked) and folded[:-1] == asked[:-1]:
                    for name, value in self._said.cells[folded]:
                        yield Link(self.column(name), value, FORM, f"{' '.join(asked)} was read as {value}.")
        if len(span) == 1 and len(same := done(span[0], self._said.cells, self.language.code)) == 1:
            for name, value in self._said.cells[same[0]]:
                yield Link(self.column(name), value, PART, f"{span[0].text} was read as {value}.")
        if len(span) == 1 and len(of := self.done_in(asked[0])) == 1:
            yield Link(self.column(of[0][0]), of[0][1], PART, f"{span[0].text} was read as {of[0][1]}.")
        for name, value in letter_of(asked, self):
            yield Link(self.column(name), value, TRANSLATED, f"{' '.join(asked)} was read as {value}.")
        if len(asked) > 1 or asked[0] not in self.language.light:
            for phrase in self.language.values.get(asked, ()):
                for name, value in self._said.cells.get(phrase, ()):
                    yield Link(self.column(name), value, TRANSLATED, f"{' '.join(asked)} was read as {value}.")

    def done_in(self, verb: str) -> Sequence[tuple[str, str]]:
        """The values that say more than the verb, as `Closed Won` does for `won`."""
        if self.language.code != "en" or not _DONE.fullmatch(verb):
            return ()
        few = [one for one in self.table.columns if one.kind == "text" and one.distinct <= _KINDS_MAX]
        return [(one.name, value) for one in few for value in one.values if verb in tokens(value)]

    def _is_function_word(self, asked: tuple[str, ...]) -> bool:
        short = len(asked) == 1 and len(asked[0]) <= _FUNCTION_LETTERS_MAX
        return (
            short
            and asked[0] not in SHORT_VERBS
            and (asked[0] in self.language.light or asked in self.language.phrases)
        )

    def mistyped(self, word: Word, language: Vocabulary) -> Iterator[Link]:
        """What a word that no dictionary has is near to: one header, or one value, which stands in one column."""
        written = word.tokens[0] if len(word.tokens) == 1 else ""
        if (
            len(written) < _TYPO_LETTERS_MIN
            or not written.isalpha()
            or meanings().spells(written)
            or language.knows(written)
        ):
            return
        near: dict[tuple[str, str | None], int] = {}
        for name, header in self.headers.items():
            essential = [one for one in header if not is_unit(one, header) and one not in NAMING_WORDS]
            if len(essential) == 1 and (apart := edits(written, essential[0])) is not None:
                near[name, None] = apart
        for folded, places in self._said.cells.items():
            if len(folded) == 1 and (apart := edits(written, folded[0])) is not None:
                near |= dict.fromkeys(places, apart)
        best = [place for place, apart in near.items() if apart == min(near.values())]
        # Two candidates at the same distance are a guess: the word stays unknown.
        if len(best) == 1:
            name, value = best[0]
            told = f"{word.text} was read as {value if value is not None else f'the column {name}'}."
            yield Link(self.column(name), value, TYPO, told)


@cache
def _nouns(code: str) -> frozenset[str]:
    """The words of a language of which something else that is called a noun may be meant."""
    language = next(one for one in LANGUAGES if one.code == code)
    groups = (*language.nouns, *language.alike)
    return frozenset(word for group in groups for word in group) | PARTICLES
