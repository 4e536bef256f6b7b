"""Assemble one calculation from a cover, which is one way to read a question as a sequence of fragments (see `parser`).
If the cover has no calculation, say why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NoReturn

from agentsvc_nb.agents.offline.calculation import Calculation, Conditions, Group, Measure, Rank
from agentsvc_nb.agents.offline.grammar import Composer, Target
from agentsvc_nb.agents.offline.lexicon import AUXILIARY, FLOWS, FUNCTION_WORDS, QUANTITIES
from agentsvc_nb.agents.offline.linking import Fragment


class Rejected(Exception):
    """Raised if a cover has no calculation. Another cover of the question may have one."""


class Undecided(Exception):
    """Raised if a cover has two meanings. The parser must not use a cover with a higher price instead."""


COMPARISONS = ("<", ">", "<=", ">=")
_UNCLEAR = "It is not clear what to compute."


def _reject(reason: str) -> NoReturn:
    raise Rejected(reason)


class Assembler:
    """Assembles calculations from covers of one question. Each fragment of a cover must have a role in the calculation,
    or the cover is rejected.
    """

    def __init__(self, composer: Composer, tokens: Sequence[str]) -> None:
        self._composer, self._tokens = composer, tokens
        self._table, self._column = composer.table, composer.column

    def assemble(self, cover: Sequence[Fragment]) -> Calculation:
        """Return the calculation of a cover. Raise `Rejected` or `Undecided` if there is none.

        The result must fit the question word. Example: `who` does not ask for a number.
        """
        calculation = self._calculation(
            [fragment for fragment in cover if fragment.kind != "Who"], self._asks_for_a_row(cover)
        )
        first = self._table.first_date if self._table.default_date is None else None
        keys = [*calculation.groups, *([calculation.mean_per] if calculation.mean_per else ())]
        if first and calculation.conditions and any(group.column == first.name and group.part for group in keys):
            _reject(f"It is not clear whether to use the date `{first.name}`.")  # for example `deals won per month`
        key = calculation.select or (
            calculation.groups[0].column if calculation.groups else calculation.measures[0].column
        )
        scalar = calculation.measures and not calculation.groups and calculation.measures[0].agg not in ("min", "max")
        for who in (fragment for fragment in cover if fragment.kind == "Who"):
            if key is None or scalar or self._column(key).kind not in who.meaning:
                _reject(f"`{self._tokens[who.start]}` does not fit the values that the question asks for.")
        return calculation

    def _asks_for_a_row(self, cover: Sequence[Fragment]) -> bool:
        """Return True if the question asks for the name of a row, such as `who is the oldest`, and the rows have
        names.
        """
        asked = any(fragment.kind == "Who" and fragment.meaning == ("text",) for fragment in cover)
        named = any(fragment.kind in ("Target", "Ranked") for fragment in cover)
        return asked and not named and self._table.key is not None and self._table.key.kind == "text"

    def _calculation(self, cover: Sequence[Fragment], of_rows: bool) -> Calculation:
        cover = self._join_aggregates(cover)
        meanings: dict[str, list[Any]] = defaultdict(list)
        for fragment in cover:
            meanings[fragment.kind].append(fragment.meaning)
        orders = len(meanings["Rank"]) + len(meanings["Ranked"])
        if orders > 1 or any(len(meanings[kind]) > 1 for kind in ("Share", "Having", "count", "MeanOf")):
            _reject("The question asks for two things at once. Ask for each one separately.")
        if meanings["List"] and cover[0].kind != "List":
            _reject("`list` must be the first word of the question.")
        self._check_reach_of_not(cover)
        groups = tuple(group for _, several in meanings["Group"] for group in several)
        if len(set(groups)) < len(groups):
            _reject("The question names the same group twice.")
        having = meanings["Having"][0] if meanings["Having"] else None
        calculation = Calculation(conditions=_join_conditions(meanings["Cond"]), groups=groups, having=having)
        measures, targets = self._measures(cover), list(meanings["Target"])
        counts = meanings["count"] or meanings["distinct"] or meanings["MeanOf"]
        if orders:
            if measures or counts or meanings["Share"] or having:
                _reject("The question asks for a ranking and for something else. Ask for each one separately.")
            target, rank = meanings["Ranked"][0] if meanings["Ranked"] else (None, meanings["Rank"][0])
            target = Target() if of_rows else target
            return self._ranked(calculation, [*targets, target] if target else targets, rank)
        if meanings["Share"]:
            if counts or having:
                _reject("It is not clear which total the share refers to.")
            return self._share(calculation, cover, measures or (Measure("count"),), targets)
        if meanings["MeanOf"]:
            if not groups or measures or targets or having:
                _reject("An average of counts needs a period or group, for example `per day`.")
            return replace(calculation, measures=tuple(meanings["MeanOf"]), groups=groups[:-1], mean_per=groups[-1])
        if meanings["count"]:
            measures, targets = self._counted_measure(measures, targets, bool(meanings["distinct"])), []
        elif meanings["distinct"] and not any(target.column for target in targets):
            _reject("It is not clear which column `different` refers to.")
        rows = Target() in targets
        if measures or groups:
            targets = [target for target in targets if target != Target()]
        if having:
            return self._having(calculation, measures, targets)
        if not measures and (targets or not groups or not rows):
            return self._value_list(calculation, targets)
        if targets:
            _reject(f"The question names `{targets[0].column or targets[0].part}`, but not what to compute from it.")
        calculation = replace(calculation, measures=measures or (Measure("count"),))  # `orders per week`
        self._check_per_row(calculation, [one.column for one in measures if one.agg == "distinct"])
        return self._mean_per_period(calculation, [key for each, keys in meanings["Group"] if each for key in keys])

    def _join_aggregates(self, cover: Sequence[Fragment]) -> list[Fragment]:
        """Join each aggregate to the next column without an aggregate. Example: `average German revenue` is the average
        of `revenue`.
        """
        joined: list[Fragment] = []
        waiting: Fragment | None = None
        for fragment in cover:
            if fragment.kind == "Agg":
                if waiting:
                    _reject("Two aggregates, such as `total` and `average`, follow each other.")
                waiting = fragment
            elif waiting and fragment.kind == "Measure" and fragment.meaning.bare:
                measure = self._composer.measure(waiting.meaning, fragment.meaning.column)
                joined.append(replace(fragment, meaning=measure))
                waiting = None
            else:
                joined.append(fragment)
        if waiting:
            named = [one.meaning.column for one in cover if one.kind == "Target" and one.meaning.column]
            texts = [name for name in named if self._column(name).kind == "text"]
            if texts:
                _reject(f"`{texts[0]}` is a column of text, not of numbers.")
            _reject(f"`{self._tokens[waiting.start]}` needs a column of numbers.")
        return joined

    def _measures(self, cover: Sequence[Fragment]) -> tuple[Measure, ...]:
        """Return the measures in order. A column without an aggregate gets that of the previous measure. Example:
        `average cost and revenue`.
        """
        found: list[Measure] = []
        for at, fragment in enumerate(cover):
            if fragment.kind != "Measure":
                continue
            one: Measure = fragment.meaning
            if found and cover[at - 1].kind != "and":
                _reject(f"`{one.column}` follows another column. Connect them with `and`.")
            if found and one.bare and not found[-1].bare:
                if found[-1].agg in ("count", "distinct", "ratio"):
                    _reject(f"It is not clear what to compute from `{one.column}`, for example its total or average.")
                one = replace(one, agg=found[-1].agg, bare=False)
            found.append(one)
        if len(set(found)) < len(found):
            _reject("The question asks for the same number twice.")
        return tuple(found)

    def _counted_measure(
        self, measures: tuple[Measure, ...], targets: Sequence[Target], distinct: bool
    ) -> tuple[Measure, ...]:
        """Return the measure of a question whose `how many` is not followed immediately by its noun."""
        if len(measures) == 1 and measures[0].bare and not targets and not distinct:
            return (replace(measures[0], bare=False),)
        if measures or len(targets) > 1 or any(target.part or target.count for target in targets):
            _reject("It is not clear what to count.")
        if targets and (name := targets[0].column):
            measure = self._composer.counted(name)
            return (measure,) if measure else _reject(f"`{name}` cannot be counted.")
        if distinct:
            _reject("It is not clear which column `different` refers to.")
        amounts = [one.name for one in self._table.columns if one.additive and set(one.words) & QUANTITIES]
        if not targets and amounts:
            _reject(f"It is not clear whether to count rows or to use `{amounts[0]}`.")
        return (Measure("count"),)

    def _ranked(self, calculation: Calculation, targets: Sequence[Target], rank: Rank) -> Calculation:
        if len(targets) > 1 or (targets and calculation.groups):
            _reject("The question names two things to rank.")
        column, bare = rank.measure.column, rank.measure.bare
        if targets:
            key, count = self._key(targets[0]), targets[0].count
            if count and rank.limit > 1:
                _reject("The question has two numbers for the length of the ranking.")
            if key.column == column and not key.part:
                _reject(f"`{column}` cannot be ranked by itself.")
            self._check_per_row(calculation, [key.column])
            measure = replace(rank.measure, bare=False)
            if measure.agg == "count" and not key.part and self._column(key.column).unique:
                _reject(f"Each `{key.column}` has one row, so counting rows gives no ranking.")
            ranked = self._column(str(column)) if column else None
            repeated = ranked and ranked.additive and not self._column(key.column).unique
            if ranked and (
                (measure.agg in ("max", "min") and ranked.additive)
                or (measure.agg == "sum" and bare and repeated and not set(ranked.words) & FLOWS)
            ):
                _reject(f"It is not clear whether to rank by each value of `{column}` or by its total.")
            return replace(calculation, groups=(key,), rank=replace(rank, limit=count or rank.limit, measure=measure))
        extreme = Measure("max" if rank.descending else "min", column)
        if rank.nth or rank.limit > 1:
            if not column or not bare or calculation.groups:
                _reject("It is not clear what to rank.")
            return replace(calculation, select=column, rank=replace(rank, measure=extreme))
        if column and bare:
            return replace(calculation, measures=(extreme,))
        return (
            replace(calculation, rank=rank)
            if len(calculation.groups) == 1
            else _reject("It is not clear what to rank.")
        )

    def _key(self, target: Target) -> Group:
        """Return the group whose names are the answer: a part of a date, a column, or the column that identifies rows.

        Example: the column `Campaign` for `Which campaign has the highest cost?`.
        """
        if target.part:
            return self._composer.part_key(target.part) or _reject(_UNCLEAR)
        column = self._column(target.column) if target.column else self._table.key
        if column is None:
            _reject("No column of the table identifies its rows.")
        return Group(column.name, "day" if column.kind == "date" else None)

    def _share(
        self,
        calculation: Calculation,
        cover: Sequence[Fragment],
        measures: tuple[Measure, ...],
        targets: Sequence[Target],
    ) -> Calculation:
        """Return a calculation of a percentage: of each group, or of the rows that match one of the conditions.

        This condition is the one after the verb, or the question's only condition. Example: `What share of the orders
        in May is paid?` asks for the share of paid orders.
        """
        if len(measures) > 1 or measures[0].agg not in ("count", "sum") or set(targets) - {Target()}:
            _reject("It is not clear which total the share refers to.")
        if measures[0].agg == "sum" and not self._column(str(measures[0].column)).additive:
            _reject(f"Values of `{measures[0].column}` cannot be added up, so they have no shares.")
        if calculation.groups:
            if calculation.conditions:
                raise Undecided("It is not clear whether the shares refer to each group or to all groups together.")
            return replace(calculation, measures=measures, share=frozenset())
        begin = next(fragment.end for fragment in cover if fragment.kind == "Share")
        parts = [fragment for fragment in cover if fragment.kind == "Cond"]
        within = {at for part in parts for at in range(part.start + 1, self._last_word(part))}
        verbs = [at for at in range(begin, len(self._tokens)) if self._tokens[at].lower() in AUXILIARY]
        verb = next((at for at in verbs if at not in within), len(self._tokens))
        chosen = [part for part in parts if part.start > verb] or (parts if len(parts) == 1 else [])
        if not chosen:
            _reject("It is not clear which condition defines the share.")
        share: Conditions = frozenset().union(*(fragment.meaning for fragment in chosen))
        return replace(calculation, measures=measures, share=share, conditions=calculation.conditions - share)

    def _last_word(self, fragment: Fragment) -> int:
        """Return the position of a fragment's last word that is not a function word such as `the`."""
        places = range(fragment.start, fragment.end)
        return max((at for at in places if self._tokens[at].lower() not in FUNCTION_WORDS), default=fragment.start)

    def _having(
        self, calculation: Calculation, measures: tuple[Measure, ...], targets: Sequence[Target]
    ) -> Calculation:
        if calculation.groups:
            _reject("A condition on groups needs exactly one column to group by.")
        if len(measures) == 1 and measures[0].agg == "distinct" and not targets:
            return replace(calculation, measures=measures)
        name = targets[0].column if len(targets) == 1 and not measures and not targets[0].count else None
        if name is None or self._column(name).kind != "text":
            _reject("A condition on groups needs exactly one column to group by.")
        return replace(calculation, select=name)

    def _value_list(self, calculation: Calculation, targets: Sequence[Target]) -> Calculation:
        if calculation.groups or len(targets) != 1 or targets[0].part or targets[0].count:
            _reject(_UNCLEAR)
        if not (calculation.conditions or targets[0].column):
            _reject(_UNCLEAR)
        column = self._column(self._key(targets[0]).column)
        self._check_per_row(calculation, [column.name])
        if column.is_amount and (not calculation.conditions or column.additive):
            _reject(f"It is not clear whether to show the total of `{column.name}`, its average, or each value.")
        return replace(calculation, select=column.name, single=column.is_amount)

    def _mean_per_period(self, calculation: Calculation, periods: Sequence[Group]) -> Calculation:
        """Change an average per period, such as `average cost per day`, to the mean of the sums of all periods."""
        (first, *others) = calculation.measures
        if not periods or others or first.agg != "mean" or not self._column(str(first.column)).additive:
            return calculation
        groups = tuple(group for group in calculation.groups if group != periods[-1])
        return replace(calculation, measures=(replace(first, agg="sum"),), groups=groups, mean_per=periods[-1])

    def _check_per_row(self, calculation: Calculation, keys: Sequence[str | None]) -> None:
        """Raise `Undecided` if a condition may apply to each row or to a total. Example: `campaigns with cost above
        500`.
        """
        if all(self._column(key).unique for key in keys if key):
            return
        for one in calculation.conditions:
            if self._column(one.column).additive and one.op in COMPARISONS:
                raise Undecided(
                    f"It is not clear whether the condition on `{one.column}` applies to each row or to the total."
                )

    def _check_reach_of_not(self, cover: Sequence[Fragment]) -> None:
        """Raise `Undecided` if it is not clear which words a `not` negates. Example: `not shipped to Paris`."""
        for one, after in pairwise(cover):
            event = one.kind == "Cond" and any(
                condition.op == "empty" and self._column(condition.column).kind == "date" for condition in one.meaning
            )
            if event and after.kind == "Cond" and self._tokens[one.start].lower() not in ("without", "no"):
                raise Undecided(f"It is not clear which conditions `{self._tokens[one.start]}` applies to.")


def _join_conditions(several: Sequence[Conditions]) -> Conditions:
    conditions: Conditions = frozenset().union(*several)
    sides = [
        (one.column, one.op[0] if one.op[0] in "<>" else "=")
        for one in conditions
        if one.op in (*COMPARISONS, "=", "in")
    ]
    if len(set(sides)) < len(sides) or len(conditions) < sum(map(len, several)):
        _reject("Two conditions on the same column conflict.")
    return conditions
