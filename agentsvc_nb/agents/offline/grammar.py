"""The grammar of questions. `RULES` says which kinds of neighbouring fragments combine into a longer fragment, and
`Composer` computes the meaning of the longer fragment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, Final

from agentsvc_nb.agents.offline.calculation import (
    Aggregate,
    Condition,
    Conditions,
    Constant,
    Group,
    Measure,
    Part,
    Rank,
)
from agentsvc_nb.agents.offline.dates import DateSpan
from agentsvc_nb.agents.offline.lexicon import split_header, stem
from agentsvc_nb.agents.offline.linking import Quantity
from agentsvc_nb.agents.offline.profile import ProfiledColumn, ProfiledTable

NEGATED: Final = {
    "=": "!=",
    "!=": "=",
    "in": "not in",
    ">": "<=",
    "<": ">=",
    ">=": "<",
    "<=": ">",
    "empty": "not empty",
    "not empty": "empty",
    "weekday": "not weekday",
}
COUNTS: Final = range(1, 1000)

Limits = tuple[tuple[str, Quantity], ...]
Period = tuple[tuple[str, date], ...]
Values = tuple[str, tuple[str, ...]]
"""The name of a column, and some of its values."""
Groups = tuple[bool, tuple[Group, ...]]
"""Groups of a question. The first item is True if an average means the average per group (`per day`, `daily`)."""


@dataclass(frozen=True, slots=True)
class Target:
    """The kind of answer that a question wants.

    Attributes:
        column: the column whose values the question asks for, if any.
        part: the part of a date that the question asks for, if any. Without `column` and `part`, it asks for rows.
        count: the number of results, if the question says it.
    """

    column: str | None = None
    part: Part | None = None
    count: int | None = None


class Composer:
    """Computes the meanings of fragments for one table. A method returns None if the fragments do not fit together."""

    def __init__(self, table: ProfiledTable) -> None:
        self.table = table
        self.column = table.column

    # Conditions

    def one(self, column: str, op: str, *values: Constant) -> Conditions:
        return frozenset({Condition(column, op, values)})

    def among(self, values: Values, column: str | None = None) -> Conditions | None:
        if column not in (None, values[0]):
            return None
        return self.one(values[0], "=" if len(values[1]) == 1 else "in", *values[1])

    def named_row(self, values: Values) -> Conditions | None:
        return self.among(values, self.table.key.name) if self.table.key else None

    def true(self, column: str) -> Conditions | None:
        truths = self.column(column).truths
        return self.one(column, "=", truths[0]) if truths else None

    def negate(self, conditions: Conditions | None) -> Conditions | None:
        if not conditions or len(conditions) > 1:
            return None
        (only,) = conditions
        if only.op not in NEGATED or (only.values and isinstance(only.values[0], date)):
            return None
        column = self.column(only.column)
        if only.op[0] in "<>" and column.nullable:
            return None  # a row without a cost matches neither `cost above 1` nor its negation
        if column.kind == "bool" and only.op == "=":
            return self.one(only.column, "=", not only.values[0])
        if column.truths and only.op == "=" and only.values[0] in column.truths:
            if column.profile.distinct > 2:
                return None  # `would not recommend` may or may not include the answer maybe
            return self.one(only.column, "=", column.truths[only.values[0] == column.truths[0]])
        return frozenset({replace(only, op=NEGATED[only.op])})

    def empty(self, name: str, op: str = "empty") -> Conditions | None:
        column = self.column(name)
        # `no clicks` may mean that the number is unknown or 0, so allow only texts and dates
        fits = column.nullable and not column.truths and column.kind in ("text", "date")
        return self.one(name, op) if fits else None

    def limited(self, name: str, *limits: tuple[str, Quantity]) -> Conditions | None:
        column = self.column(name)
        units = {number.unit for _, number in limits} - {""}
        if column.kind != "number" or (column.is_id and limits[0][0] != "=") or not units <= set(column.words):
            return None
        return frozenset(Condition(name, op, (number.value,)) for op, number in limits)

    def hinted(self, words: str) -> ProfiledColumn | None:
        """Return the only column of amounts whose header contains one of these words, or None. Example: `older` has the
        hint `age`.

        Of several such columns, return the only one whose values add up. Example: the most expensive day is the day
        with the highest cost, not with the highest price.
        """
        if words == "DATE":
            return self.table.default_date
        stems = {stem(word) for word in words.split()}
        found = [column for column in self.table.columns if column.is_amount and stems & set(column.words)]
        found = found if len(found) == 1 else [column for column in found if column.additive]
        return found[0] if len(found) == 1 else None

    def limited_hint(self, words: str, *limits: tuple[str, Quantity]) -> Conditions | None:
        column = self.hinted(words)
        return self.limited(column.name, *limits) if column else None

    def compared(self, name: str, op: str, other: str) -> Conditions | None:
        kinds = {self.column(name).kind, self.column(other).kind}
        return self.one(name, "column" + op, other) if kinds in ({"number"}, {"date"}) and name != other else None

    def dated(self, period: Period, name: str | None = None) -> Conditions | None:
        column = self.column(name) if name else self.table.default_date or self.hinted("year")
        if name and split_header(name)[-1:] in (["from"], ["since"], ["until"], ["before"], ["after"]):
            return None  # in `available from March`, `from` may belong to the header `Available from` or to the date
        if column is None:
            return None
        if column.kind == "date":
            return frozenset(Condition(column.name, op, (day,)) for op, day in period)
        whole_years = all(day.month == day.day == 1 for _, day in period)
        if column.kind == "number" and "year" in column.words and whole_years:
            return frozenset(Condition(column.name, op, (Decimal(day.year),)) for op, day in period)
        return None

    def on_weekday(self, days: tuple[int, ...], name: str | None = None) -> Conditions | None:
        column = self.column(name) if name else self.table.default_date
        return self.one(column.name, "weekday", *days) if column and column.kind == "date" else None

    # Measures

    def measure(self, agg: Aggregate, name: str) -> Measure | None:
        """Return this aggregate of a column, or None if the column's values do not allow it.

        Dates and times allow only `min` and `max`. The sum of prices is allowed, because the question says `sum`.
        """
        column = self.column(name)
        ordered = column.kind in ("date", "time") and agg in ("min", "max")
        return Measure(agg, name) if column.is_amount or ordered else None

    def bare(self, name: str) -> Measure | None:
        return Measure("sum", name, bare=True) if self.column(name).additive else None

    def counted(self, name: str) -> Measure | None:
        """Return what `how many` followed by the column means, or None if its meaning is unclear.

        For an amount such as `clicks`, it is the sum. For a column such as `campaign`, it is the number of distinct
        values.
        """
        column = self.column(name)
        if column.is_amount:
            return Measure("sum", name) if column.additive else None
        return None if column.truths or column.kind in ("date", "time") else Measure("distinct", name)

    def counted_in_all(self, name: str) -> Measure | None:
        """Return what `total number of` followed by the column means, or None if it may mean rows or distinct
        values.
        """
        column = self.column(name)
        return self.counted(name) if column.additive or column.unique else None

    def ratio(self, name: str, over: str) -> Measure | None:
        both = self.column(name).additive and self.column(over).additive and name != over
        return Measure("ratio", name, over) if both else None

    def known_ratio(self, ratio: tuple[str, str, str, int]) -> Measure | None:
        name, numerator, denominator, factor = ratio
        column, over = self._only_additive(numerator), self._only_additive(denominator)
        if column is None or over is None:
            return None
        return Measure("ratio", column, over, name=name.upper() if len(name) <= 4 else name, factor=factor)

    def _only_additive(self, words: str) -> str | None:
        stems = {stem(word) for word in words.split()}
        found = [column.name for column in self.table.columns if column.additive and stems & set(column.words)]
        return found[0] if len(found) == 1 else None

    # Groups and orders

    def key(self, name: str) -> Group | None:
        column = self.column(name)
        if column.additive or column.kind == "time" or (column.unique and column.kind != "text"):
            return None
        return Group(name, "day" if column.kind == "date" else None)

    def is_counted(self, key: Group) -> bool:
        """Return True for a group such as `per day` or `per order`. An average per such a group is the mean of the
        groups' sums.
        """
        return key.part is not None or self.column(key.column).is_id

    def part_key(self, part: Part, name: str | None = None) -> Group | None:
        column = self.column(name) if name else self.table.default_date or self.table.first_date
        return Group(column.name, part) if column and column.kind == "date" else None

    def numbered(self, number: Quantity, target: Target) -> Target | None:
        fits = target.count is None and number.value in COUNTS and not number.unit
        return replace(target, count=int(number.value)) if fits else None

    def rank_column(self, descending: bool, name: str) -> Rank | None:
        column = self.column(name)
        if column == self.table.key and column.kind == "text":
            return Rank(Measure("count"), descending)
        if column.additive or column.is_id or column.kind not in ("number", "date", "time"):
            return None
        return Rank(Measure("max" if descending else "min", name, bare=True), descending)

    def rank_hint(self, hint: tuple[bool, str]) -> Rank | None:
        descending, words = hint
        if words == "COUNT":
            return Rank(Measure("count"), descending)
        column = self.hinted(words)
        if column is None:
            return None
        bare = self.bare(column.name)
        return Rank(bare, descending) if bare else self.rank_column(descending, column.name)

    def numbered_rank(self, number: Quantity, rank: Rank) -> Rank | None:
        fits = rank.limit == 1 and not rank.nth and number.value in COUNTS[1:] and not number.unit
        return replace(rank, limit=int(number.value)) if fits else None

    def ranked(
        self, descending: bool, number: Quantity | None, target: Target, measure: Measure
    ) -> tuple[Target, Rank] | None:
        if target.count is not None or (number and number.value not in COUNTS):
            return None
        return target, Rank(measure, descending, int(number.value) if number else 1)

    def ranked_by_column(
        self, descending: bool, number: Quantity | None, target: Target, name: str
    ) -> tuple[Target, Rank] | None:
        if self.column(name).kind == "date":
            return None  # `first by date` may mean the earliest or the highest date
        rank = self.rank_column(descending, name)
        return self.ranked(descending, number, target, rank.measure) if rank else None


def _opposite(first: Limits, second: Limits) -> Limits | None:
    """Return both limits if one is a lower limit and the other an upper limit, else None."""
    return (*first, *second) if {first[0][0][0], second[0][0][0]} == {"<", ">"} else None


def _between(low: Quantity, high: Quantity) -> Limits | None:
    return ((">=", low), ("<=", high)) if low.value <= high.value else None


def _more_values(values: Values, value: tuple[str, str]) -> Values | None:
    same = values[0] == value[0] and value[1] not in values[1]
    return (values[0], (*values[1], value[1])) if same else None


def _since(op: str, span: DateSpan) -> Period:
    """Return a period that has only a beginning or only an end.

    `after 2025` begins when 2025 ends, and `until 2025` ends when 2025 ends.
    """
    return (((">=" if op == ">" else "<" if op == "<=" else op), span.start if op in ("<", ">=") else span.end),)


def _between_dates(first: DateSpan, last: DateSpan) -> Period | None:
    return ((">=", first.start), ("<", last.end)) if first.start <= last.start else None


def _having(measure: Measure, limits: Limits) -> tuple[Measure, str, Decimal] | None:
    if measure.bare or len(limits) > 1 or limits[0][1].unit:
        return None
    return (measure, limits[0][0], limits[0][1].value)


Function = Callable[..., Any]

# Each rule has the form `kind = parts price`, and a function that computes the meaning from the meanings of the parts.
# The price is optional. Parts in lower case have no meaning. Bars separate alternatives.
GRAMMAR: Final[dict[str, Function]] = {
    # Conditions on values
    "Vals = Val": lambda c, value: (value[0], (value[1],)),
    "Vals = Vals and Val | Vals or Val | Vals and or Val | Vals and and Val": lambda c, values, value: _more_values(
        values, value
    ),
    "Cond = Vals | by Vals .3": lambda c, values: c.among(values),
    "Cond = Col Vals | Col is Vals | Col by Vals": lambda c, column, values: c.among(values, column),
    "Cond = Vals Col": lambda c, values, column: c.among(values, column),
    "Cond = Col not Vals | Col is not Vals": lambda c, column, values: c.negate(c.among(values, column)),
    "Cond = row Vals": lambda c, values: c.named_row(values),
    "Cond = Col .2": lambda c, column: c.true(column),
    "Cond = not Cond": lambda c, conditions: c.negate(conditions),
    "Cond = where Cond": lambda c, conditions: conditions,
    "Cond = without Col | not Col .2 | not Event": lambda c, column: c.empty(column),
    "Cond = with Col .2": lambda c, column: c.empty(column, "not empty"),
    "Cond = Col empty | Col is empty": lambda c, column: c.one(column, "empty"),
    "Cond = Col not empty | Col is not empty": lambda c, column: c.one(column, "not empty"),
    # Conditions on numbers
    "Num = Num Measured": lambda c, number, unit: None if number.unit else replace(number, unit=unit),
    "Limits = Cmp Num": lambda c, op, number: ((op, number),),
    "Limits = Num After": lambda c, number, op: ((op, number),),
    "Limits = Limits and Limits": lambda c, first, second: _opposite(first, second),
    "Limits = between Num and Num | between Num to Num": lambda c, low, high: _between(low, high),
    "Cond = Col Limits | Col is Limits": lambda c, column, limits: c.limited(column, *limits),
    "Cond = Limits Col": lambda c, limits, column: c.limited(column, *limits),
    "Cond = Limits Unit": lambda c, limits, hint: c.limited_hint(hint, *limits),
    "Cond = Person Limits .3": lambda c, hint, limits: c.limited_hint(hint, *limits),
    "Cond = CmpHint Num | CmpHint Num Unit": lambda c, hint, number, _=None: c.limited_hint(hint[1], (hint[0], number)),
    "Cond = Col Num .1 | Col is Num .1": lambda c, column, number: c.limited(column, ("=", number)),
    "Cond = Col Cmp Col | Col is Cmp Col": lambda c, column, op, other: c.compared(column, op, other),
    # Conditions on dates
    "Period = Date": lambda c, span: ((">=", span.start), ("<", span.end)),
    "Period = When Date": lambda c, op, span: _since(op, span),
    "Period = between Date and Date | between Date to Date | between Date When Date": lambda c, *parts: (
        _between_dates(parts[0], parts[-1]) if len(parts) == 2 or parts[1] == "<=" else None
    ),
    "Cond = Period": lambda c, period: c.dated(period),
    "Cond = Col Period | Col is Period | Event Period": lambda c, column, period: c.dated(period, column),
    "Cond = Weekday": lambda c, days: c.on_weekday(days),
    "Cond = Col Weekday | Event Weekday": lambda c, column, days: c.on_weekday(days, column),
    # Measures
    "Measure = Agg Col": lambda c, agg, column: c.measure(agg, column),
    "Measure = Col Agg .3": lambda c, column, agg: c.measure(agg, column),
    "Measure = Col .2": lambda c, column: c.bare(column),
    "Measure = Agg row 1.0": lambda c, agg: Measure("count") if agg == "sum" else None,
    "Measure = count row | total row": lambda c: Measure("count"),
    "Measure = count Col": lambda c, column: c.counted(column),
    "Measure = count Counted | total Counted": lambda c, measure: measure,
    "Measure = total Col": lambda c, column: c.counted_in_all(column),
    "Measure = count distinct Col | total distinct Col": lambda c, column: Measure("distinct", column),
    "Measure = ratio Col to Col | ratio Col and Col | Col per Col": lambda c, column, over: c.ratio(column, over),
    "Measure = Ratio .1": lambda c, ratio: c.known_ratio(ratio),
    "Measure = Agg Ratio .2": lambda c, agg, ratio: c.known_ratio(ratio) if agg == "mean" else None,
    "Measure = Agg Col per Col": lambda c, agg, column, over: c.ratio(column, over) if agg == "mean" else None,
    "Measure = Agg Col per row": lambda c, agg, column: c.measure(agg, column) if agg == "mean" else None,
    "MeanOf = Agg Measure": lambda c, agg, measure: measure if agg == "mean" and measure.agg == "count" else None,
    "MeanOf = Agg row": lambda c, agg: Measure("count") if agg == "mean" else None,
    "Having = Measure Limits": lambda c, measure, limits: _having(measure, limits),
    "Having = Limits row": lambda c, limits: _having(Measure("count"), limits),
    # Groups and targets
    "Key = Col": lambda c, column: c.key(column),
    "Key = Part | Part Col": lambda c, part, column=None: c.part_key(part, column),
    "Group = by Key": lambda c, key: (False, (key,)),
    "Group = per Key": lambda c, key: (c.is_counted(key), (key,)),
    "Group = PartAdj": lambda c, part: (key := c.part_key(part)) and (True, (key,)),
    "Group = Group and Key": lambda c, groups, key: (groups[0], (*groups[1], key)),
    "Target = Col": lambda c, column: Target(column),
    "Target = Part": lambda c, part: Target(part=part) if c.table.default_date else None,
    "Target = row": lambda c: Target(),
    "Target = Target Who": lambda c, target, _: target,  # `who` in `respondents who` is not a question word
    "row = row Who": lambda c, _: "",
    "Person = Person Who": lambda c, hint, _: hint,
    "Target = Num Target .2": lambda c, number, target: c.numbered(number, target),
    # Orders
    "Rank = Sup Measure": lambda c, descending, measure: Rank(measure, descending),
    "Rank = Sup row": lambda c, descending: Rank(Measure("count"), descending),
    "Rank = Sup Col": lambda c, descending, column: c.rank_column(descending, column),
    "Rank = SupHint": lambda c, hint: c.rank_hint(hint),
    "Rank = SupHint Col": lambda c, hint, column: (
        c.rank_column(hint[0], column) if hint[1] == "DATE" and c.column(column).kind == "date" else None
    ),
    "Rank = Nth Rank": lambda c, nth, rank: replace(rank, limit=nth, nth=True) if rank.limit == 1 else None,
    "Rank = Num Rank": lambda c, number, rank: c.numbered_rank(number, rank),
    "Ranked = Top Num Target by Measure": lambda c, *parts: c.ranked(*parts),
    "Ranked = Num Top Target by Measure": lambda c, number, top, *parts: c.ranked(top, number, *parts),
    "Ranked = Num Top Target by Col": lambda c, number, top, *parts: c.ranked_by_column(top, number, *parts),
    "Ranked = Top Target by Measure": lambda c, top, target, measure: c.ranked(top, None, target, measure),
    "Ranked = Top Num Target by Col": lambda c, *parts: c.ranked_by_column(*parts),
    "Ranked = Top Target by Col": lambda c, top, target, column: c.ranked_by_column(top, None, target, column),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the grammar: fragments of the kinds `parts` form a fragment of the kind `kind`. Its price is added to
    theirs.
    """

    kind: str
    parts: tuple[str, ...]
    function: Function
    price: float


def _read_grammar() -> Iterator[Rule]:
    for text, function in GRAMMAR.items():
        kind, alternatives = text.split(" = ")
        for alternative in alternatives.split(" | "):
            *parts, last = alternative.split()
            price = float(last) if last[-1].isdigit() else 0.0
            yield Rule(kind, tuple(parts if price else [*parts, last]), function, price)


RULES: Final = tuple(_read_grammar())
