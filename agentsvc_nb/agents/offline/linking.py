"""Link words of a question to what they may mean: an entry of the lexicon, a number, a date, or a column or value of
the table. The results are the shortest fragments (see `parser`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from agentsvc_nb.agents.offline.calculation import Measure
from agentsvc_nb.agents.offline.dates import WORDS_MAX as DATE_WORDS_MAX
from agentsvc_nb.agents.offline.dates import may_hold_date, read_dates
from agentsvc_nb.agents.offline.lexicon import (
    FILLERS,
    FUNCTION_WORDS,
    HEADER_NOISE,
    LEXICON,
    NUMBER_WORDS,
    PEOPLE,
    RATIOS,
    SYNONYMS,
    root,
    split_header,
    stem,
    tokens_of,
)
from agentsvc_nb.agents.offline.profile import ProfiledColumn, ProfiledTable

SPAN_WORDS_MAX: Final = 12
EXACT: Final = 0.2
"""A fragment with a lower cost names a column or value exactly."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Consecutive words of a question with one of their possible meanings.

    Attributes:
        kind: the kind of the fragment, such as `Col` for a column, as in `grammar.RULES`.
        meaning: the meaning of the words. Its type depends on `kind`.
        start: the position of the first word.
        end: the position after the last word.
        cost: higher for a less likely meaning.
    """

    kind: str
    meaning: Any
    start: int
    end: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, if the question names one. The number can only refer to a column whose header contains
    the unit.
    """

    value: Decimal
    unit: str = ""


def read_number(token: str) -> Quantity | None:
    """Return the number that the word means, such as `1,500`, `$20` or `ten`, or None."""
    if token.lower() in NUMBER_WORDS:
        return Quantity(Decimal(NUMBER_WORDS.index(token.lower())))
    text = re.sub(r"[$€£,]", "", token)
    return Quantity(Decimal(text)) if re.fullmatch(r"-?\d+(\.\d+)?", text) else None


class Linker:
    """Links words of questions for one table. Create only one linker for each table, because it indexes the table's
    values.
    """

    def __init__(self, table: ProfiledTable) -> None:
        self._table = table
        self._phrases: dict[tuple[str, ...], list[tuple[str, Any]]] = defaultdict(list)
        for kind, meanings in LEXICON.items():
            for meaning, phrases in meanings.items():
                for phrase in phrases.split("|"):
                    self._phrases[tuple(stem(word) for word in phrase.split())].append((kind, meaning))
        for ratio in RATIOS:
            self._phrases[tuple(stem(word) for word in tokens_of(ratio[0]))].append(("Ratio", ratio))
        self._values: dict[tuple[str, ...], list[tuple[str, str]]] = defaultdict(list)
        self._parts: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for column in table.columns:
            for value in column.values if column.kind == "text" else ():
                words = tuple(stem(word) for word in tokens_of(value))
                if 0 < len(words) <= SPAN_WORDS_MAX:
                    self._values[words].append((column.name, value))
                for word in set(words) if 1 < len(words) <= 4 else ():
                    self._parts[word].add((column.name, value))

    def link(self, tokens: Sequence[str]) -> list[Fragment]:
        """Return all fragments of a question that need no grammar rule. Exact names of columns and values cost nothing.
        Inflected or partial names have a cost.
        """
        stems = [stem(token) for token in tokens]
        dated = [may_hold_date(token) for token in tokens]
        found: list[Fragment] = []
        for start in range(len(tokens)):
            for end in range(start + 1, min(len(tokens), start + SPAN_WORDS_MAX) + 1):
                words = tuple(stems[start:end])
                found += (Fragment(kind, meaning, start, end) for kind, meaning in self._phrases.get(words, ()))
                found += self._link_values(tokens, words, start, end)
                found += self._link_columns(tokens, words, start, end)
                if end - start <= DATE_WORDS_MAX and any(dated[start:end]):
                    spans = read_dates(tokens[start:end], self._table.default_date)
                    found += (Fragment("Date", span, start, end) for span in spans)
            if number := read_number(tokens[start]):
                found.append(Fragment("Num", number, start, start + 1))
            found += self._link_row_noun(stems[start], start)
            found += self._link_counted_noun(stems[start], start)
        return found

    def skip_costs(self, tokens: Sequence[str], lexical: Sequence[Fragment]) -> list[float | None]:
        """Return, for each word, the cost of skipping it, or None if it must not be skipped.

        Function words may be skipped, unless the table has a value with exactly this spelling, such as `IN` for India.
        Fillers may be skipped, unless the table has a similar header or value.
        """
        single = [one for one in lexical if one.end == one.start + 1 and one.kind in ("Col", "Val", "Event")]
        named = {one.start for one in single}
        written = {one.start for one in single if one.kind == "Val" and one.meaning[1] == tokens[one.start]}
        costs: list[float | None] = []
        for at, token in enumerate(tokens):
            word = token.lower().replace("’", "'")
            if word in FUNCTION_WORDS:
                costs.append(None if at in written and not (token.islower() and len(token) < 4) else 0.0)
            elif (word in FILLERS or stem(word) in FILLERS) and at not in named:
                costs.append(0.0)
            else:
                costs.append(None)
        return costs

    def _link_row_noun(self, word: str, at: int) -> Iterator[Fragment]:
        if word in self._table.row_nouns and not any(column.words == (word,) for column in self._table.columns):
            yield Fragment("row", "", at, at + 1)
            if word in PEOPLE:
                yield Fragment("Person", "age", at, at + 1)

    def _link_counted_noun(self, word: str, at: int) -> Iterator[Fragment]:
        """Yield the other meaning of a noun after `how many`, if rows and distinct values may both be meant.

        Example: `events` are the rows of a log, or the different values of its column `event`. `orders` are the rows of
        a table, or its different order numbers.
        """
        if self._table.has_type_column(word):
            yield Fragment("Counted", Measure("count"), at, at + 1)
        if column := self._table.repeated_id(word):
            yield Fragment("Counted", Measure("distinct", column.name), at, at + 1)

    def _link_values(self, tokens: Sequence[str], words: tuple[str, ...], start: int, end: int) -> Iterator[Fragment]:
        quoted = end == start + 1 and tokens[start][0] in '"“'
        if quoted:
            words = tuple(stem(word) for word in tokens_of(tokens[start][1:-1]))
        found = self._values.get(words, [])
        if quoted:  # prefer values with the same spelling
            found = [one for one in found if one[1] == tokens[start][1:-1]] or found
        # A word that usually means something else, or is a number, is less likely to be a value, so this reading has a
        # cost.
        usual = len(words) == 1 and not quoted and (words in self._phrases or words[0] in FUNCTION_WORDS | FILLERS)
        usual = usual or (len(words) == 1 and not quoted and read_number(words[0]) is not None)
        for meaning in found:
            yield Fragment("Val", meaning, start, end, 0.6 if usual else 0.0)
        if found or usual or len(words) != 1 or len(words[0]) < 3:
            return
        if len(self._parts.get(words[0], ())) == 1:
            yield Fragment("Val", next(iter(self._parts[words[0]])), start, end, 1.2)

    def _link_columns(self, tokens: Sequence[str], words: tuple[str, ...], start: int, end: int) -> Iterator[Fragment]:
        """Yield fragments for the columns that the words name in full, in another inflection or in part."""
        if end == start + 1 and tokens[start][0] in '`"“':
            header = tokens[start][1:-1]
            named = [one for one in self._table.columns if one.name == header]
            words = tuple(stem(word) for word in split_header(header))
            yield from (
                Fragment("Col", one.name, start, end)
                for one in named or self._table.columns
                if named or one.words == words
            )
            return
        signs = [word for word in words if not split_header(word)]
        # Split words such as `unitPrice`, as headers are split.
        words = tuple(stem(part) for word in tokens[start:end] for part in split_header(word))
        roots = tuple(map(root, words))
        for column in self._table.columns:
            if signs and not (words == column.words and all(sign in column.name for sign in signs)):
                continue  # `revenue - cost` does not name the column `revenue`
            kind, cost = self._named_by(column, words, roots)
            if kind:
                yield Fragment(kind, column.name, start, end, cost)

    def _named_by(self, column: ProfiledColumn, words: tuple[str, ...], roots: tuple[str, ...]) -> tuple[str, float]:
        """Return the kind and cost of a fragment in which the words name the column, or the kind "" if they do not name
        it.

        A verb may name a date column. Example: `shipped` is the event of the column `Ship date`.
        """
        header = column.words
        core = tuple(word for word in header if word not in HEADER_NOISE) or header
        if not words:
            return "", 0
        if words == header or words == ("".join(header),):
            return "Col", 0.0
        # `orders` means the rows of a table of orders, not the column `order_id` or `order_date`.
        if set(words) <= self._table.row_nouns or (len(words) == 1 and words[0] in FUNCTION_WORDS):
            return "", 0
        if column.kind == "date" and "date" not in words:
            # `signed up` is the event of the column `signup_date`.
            said = "".join(roots) if len(words) == 2 else roots[0] if len(words) == 1 else ""
            event = said in set(map(root, set(header) - HEADER_NOISE))
            return ("Event", 0.3) if event else ("", 0)
        if words == core:
            return "Col", 0.1
        if roots in (tuple(map(root, header)), tuple(map(root, core))):
            return "Col", 0.3
        if not set(words) - HEADER_NOISE:
            return "", 0
        if len(words) > 1 and sorted(roots) == sorted(map(root, core)):
            return "Col", 0.4  # `allow pets` names the column `Pets allowed`
        if len(words) == 1 and len(core) == 1 and column.additive and self._is_synonym(words[0], core[0]):
            return "Col", 0.8
        within = any(words == header[at : at + len(words)] for at in range(len(header) - len(words) + 1))
        starts = column.kind == "text" and len(words) == 1 and bool(header) and roots[0] == root(header[0])
        return ("Col", 1.0) if within or starts else ("", 0)

    def _is_synonym(self, word: str, header: str) -> bool:
        """Return True if the word is a synonym of this header, and not of any other header."""
        for words in SYNONYMS:
            if word in words and header in words:
                return sum(bool(words & set(column.words)) for column in self._table.columns if column.additive) == 1
        return False
