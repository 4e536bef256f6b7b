"""A plan as one statement of DuckDB's SQL, which is shown and run.

Sums, means, medians, quantiles, ratios and changes of decimal columns are exact; standard deviation and correlation are
floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from agentsvc_nb.documents.plans.dialect import Scope, Term, common_unit, divided, literal, quoted, subtracted
from agentsvc_nb.documents.plans.expressions import column_titles
from agentsvc_nb.documents.plans.plan import (
    Aggregate,
    Along,
    Column,
    Compared,
    Condition,
    Correlation,
    Formula,
    Group,
    Kept,
    Measure,
    Operand,
    Order,
    Plan,
)
from agentsvc_nb.documents.plans.profiles import Kind, PlanError, Tables
from agentsvc_nb.documents.plans.results import ResultColumn
from agentsvc_nb.documents.plans.roles import is_label

GROUPS_MAX: Final = 2
_STEPS: Final = {
    "day": "INTERVAL 1 DAY",
    "week": "INTERVAL 7 DAY",
    "month": "INTERVAL 1 MONTH",
    "quarter": "INTERVAL 3 MONTH",
    "year": "INTERVAL 1 YEAR",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """What to run, and what the columns of its answer are."""

    sql: str
    columns: tuple[ResultColumn, ...]


def sql(plan: Plan, tables: Tables) -> str:
    """Raises `PlanError`."""
    return statement(plan, tables).sql


def statement(plan: Plan, tables: Tables) -> Statement:
    """Raises `PlanError` for a plan that has nothing to compute, or names what is not there."""
    scope = Scope(plan, tables)
    if (plan.select and (plan.groups or plan.measures)) or not (plan.select or plan.groups or plan.measures):
        raise PlanError("invalid_plan", "A plan has columns to look up, or groups and measures.")
    titles = column_titles(plan, tables)
    if len(plan.groups) > GROUPS_MAX and not plan.keep:  # rows that stand there twice are groups by all columns
        raise PlanError("invalid_plan", f"A plan groups by at most {GROUPS_MAX} columns.")
    if any(not 0 <= one.place < len(titles) for one in plan.order) or (plan.limit is not None and plan.limit < 1):
        raise PlanError("invalid_plan", "A plan is ordered by columns of its result, and limited to at least one row.")
    if plan.select:
        return _looked_up(plan, scope, titles)
    return _computed(plan, scope, titles)


def _column(title: str, term: Term, by: str = "", label: bool = False) -> ResultColumn:
    return ResultColumn(title, term.kind, term.unit, term.decimals, term.quotient, by, label)


def _is_label(measure: Measure, scope: Scope) -> bool:
    operation = measure.operation if isinstance(measure, Aggregate) else ""
    column = measure.operand if isinstance(measure, Aggregate) else None
    return operation in ("min", "max") and isinstance(column, Column) and is_label(scope.profile(column))


def _titled(terms: Sequence[Term], titles: Sequence[str]) -> str:
    return ", ".join(f"{term.sql} AS {quoted(title)}" for term, title in zip(terms, titles, strict=True))


def _where(plan: Plan, scope: Scope) -> str:
    return f"\nWHERE {scope.condition(plan.where)}" if plan.where is not None else ""


def _looked_up(plan: Plan, scope: Scope, titles: Sequence[str]) -> Statement:
    terms = [scope.term(column) for column in plan.select]
    first = _first(plan, [term.sql for term in terms])
    # Rows that are equal in order stand as they do in the file, so that the same plan gives the same rows.
    ordered = _ordered(plan.order, [term.sql for term in terms], ["t.rowid"])
    limit = f"\nLIMIT {plan.limit}" if plan.limit is not None and not plan.order else ""
    text = f"SELECT {_titled(terms, titles)}\n{scope.source()}{_where(plan, scope)}{first}{ordered}{limit}"
    labels = [is_label(scope.profile(column)) for column in plan.select]
    columns = (_column(title, term, "", label) for title, term, label in zip(titles, terms, labels, strict=True))
    return Statement(text, tuple(columns))


def _first(plan: Plan, terms: Sequence[str]) -> str:
    """The clause that keeps the first by the plan's order, and all that are equal to the last of them."""
    if plan.limit is None or not plan.order:
        return ""
    known = " AND ".join(f"{terms[one.place]} IS NOT NULL" for one in plan.order)
    by = ", ".join(_direction(one, terms[one.place]) for one in plan.order)
    return f"\nQUALIFY rank() OVER (ORDER BY {by}) <= {plan.limit} AND {known}"


def _ordered(order: Sequence[Order], terms: Sequence[str], then: Sequence[str]) -> str:
    by = [_direction(one, terms[one.place]) for one in order]
    named = {terms[one.place] for one in order}
    by += [f"{term} NULLS LAST" for term in then if term not in named]
    return f"\nORDER BY {', '.join(by)}" if by else ""


def _direction(order: Order, term: str) -> str:
    return f"{term} {'DESC' if order.descending else 'ASC'} NULLS LAST"


def _computed(plan: Plan, scope: Scope, titles: Sequence[str]) -> Statement:
    groups = [_grouped(group, scope) for group in plan.groups]
    by = f"\nGROUP BY {', '.join(str(place) for place in range(1, len(groups) + 1))}" if groups else ""
    rows = f"{scope.source()}{_where(plan, scope)}{by}"
    if any(isinstance(one, Along) for one in plan.measures):
        terms, rows = _nested(plan, scope, groups, rows)
    else:
        terms = groups + [_measured(one, scope) for one in plan.measures if not isinstance(one, Along)]
    labels = [True] * len(groups) + [_is_label(one, scope) for one in plan.measures]
    periods = [group.by for group in plan.groups] + [""] * len(plan.measures)
    columns = tuple(map(_column, titles, terms, periods, labels))
    return Statement(_framed(plan, f"SELECT {_titled(terms, titles)}\n{rows}", titles), columns)


def _nested(plan: Plan, scope: Scope, groups: Sequence[Term], rows: str) -> tuple[list[Term], str]:
    """Aggregates of groups (`g1`, `m1`) within, and around them what stands along the groups."""
    inner = {f"g{place}": term for place, term in enumerate(groups, 1)}
    outer = [replace(term, sql=name) for name, term in inner.items()]
    for place, measure in enumerate(plan.measures, 1):
        name = f"m{place}"
        inner[name] = _measured(measure.of if isinstance(measure, Along) else measure, scope)
        term = replace(inner[name], sql=name)
        outer.append(_along(measure, plan, term, groups) if isinstance(measure, Along) else term)
    columns = ", ".join(f"{term.sql} AS {name}" for name, term in inner.items())
    return outer, f"FROM (\nSELECT {columns}\n{rows}\n) AS r"


def _framed(plan: Plan, text: str, titles: Sequence[str]) -> str:
    """The statement with its order, and its first rows alone."""
    places = [str(place) for place in range(1, len(titles) + 1)]
    first = _first(plan, [f"s.{quoted(title)}" for title in titles])
    kept = " AND ".join(f"s.{quoted(titles[one.place])} {_kept(one)}" for one in plan.keep)
    if first or kept:
        text = f"SELECT *\nFROM (\n{text}\n) AS s{f'{chr(10)}WHERE {kept}' if kept else ''}{first}"
    limit = f"\nLIMIT {plan.limit}" if plan.limit is not None and not plan.order else ""
    return text + _ordered(plan.order, places, places[: len(plan.groups)]) + limit


def _kept(kept: Kept) -> str:
    return f"{'<>' if kept.operator == '!=' else kept.operator} {kept.number}"


def _grouped(group: Group, scope: Scope) -> Term:
    term = scope.term(group.column)
    match group.by:
        case "":
            return term
        case "weekday" if term.kind in ("date", "datetime"):
            return Term(f"isodow({term.sql})", "number")
        case period if term.kind in ("date", "datetime"):
            return Term(f"CAST(date_trunc('{period}', {term.sql}) AS DATE)", "date")
        case period:
            name = group.column.name
            raise PlanError("wrong_kind", f"{name!r} is a column of {term.kind}: it makes no groups by {period}.")


def _along(measure: Along, plan: Plan, base: Term, groups: Sequence[Term]) -> Term:
    """A window over the groups; `base` is the aggregate's column."""
    if measure.operation == "share":
        return divided(base, replace(base, sql=f"sum({base.sql}) OVER ()"), percent=True)
    place, step = _period(plan, groups)
    name = f"g{place + 1}"
    others = ", ".join(f"g{other + 1}" for other in range(len(groups)) if other != place)
    window = f"{f'PARTITION BY {others} ' if others else ''}ORDER BY {name} NULLS LAST"
    if measure.operation == "running":
        total = f"sum({base.sql}) OVER ({window} ROWS UNBOUNDED PRECEDING)"
        return replace(base, sql=f"CASE WHEN {name} IS NOT NULL THEN {total} END")
    is_next = f"lag({name}) OVER ({window}) = {name} - {step}"
    before = replace(base, sql=f"CASE WHEN {is_next} THEN lag({base.sql}) OVER ({window}) END")
    changed = subtracted(base, before)
    return divided(changed, before, percent=True) if measure.operation == "change" else changed


def _period(plan: Plan, groups: Sequence[Term]) -> tuple[int, str]:
    """The group that is a series of periods, and the step from one to the next: 1 for days, and years as numbers."""
    for place, group in enumerate(plan.groups):
        if group.by in _STEPS:
            return place, _STEPS[group.by]
    for place, (group, term) in enumerate(zip(plan.groups, groups, strict=True)):
        if not group.by and (term.kind == "date" or (term.kind == "number" and term.scale == 0)):
            return place, "1"
    raise PlanError("no_period", "A change or a running total needs groups by day, week, month, quarter or year.")


QUANTILE_DECIMALS_MAX: Final = 4
_ORDERED: Final[tuple[Kind, ...]] = ("number", "date", "datetime", "time")


def _measured(measure: Aggregate | Correlation | Compared, scope: Scope) -> Term:
    """Raises `PlanError` for columns that can't be computed with."""
    match measure:
        case Aggregate():
            return _aggregated(measure, scope)
        case Correlation():
            left, right = (_number(scope.term(column), column) for column in (measure.left, measure.right))
            finite = f"corr(CAST({left.sql} AS DOUBLE), CAST({right.sql} AS DOUBLE))"
            return Term(f"(CASE WHEN isfinite({finite}) THEN {finite} END)", "number", "", None, 2, True)
        case Compared():
            return _compared(measure, scope)


def _compared(measure: Compared, scope: Scope) -> Term:
    left, right = _aggregated(measure.left, scope), _aggregated(measure.right, scope)
    if {left.kind, right.kind} != {"number"}:
        raise PlanError("wrong_kind", "Only numbers can be compared as difference, ratio or change.")
    match measure.operation:
        case "difference":
            return subtracted(left, right)
        case "change":
            return divided(subtracted(left, right), right, percent=True)
        case operation:
            return divided(left, right, percent=operation == "percent")


def _operand_term(operand: Operand, scope: Scope) -> Term:
    """Raises `PlanError` for a formula of columns that are no numbers."""
    if not isinstance(operand, Formula):
        return scope.term(operand)
    left, right = (_number(scope.term(column), column) for column in (operand.left, operand.right))
    scales = None if left.scale is None or right.scale is None else (left.scale, right.scale)
    decimals = max(left.decimals, right.decimals)
    match operand.operator:
        case "/":
            return divided(left, right)
        case "*":
            unit = left.unit or right.unit
            scale = sum(scales) if scales else None
            return Term(f"({left.sql} * {right.sql})", "number", unit, scale, decimals, True)
        case sign:
            unit = common_unit(left, right)
            scale = max(scales) if scales else None
            return Term(f"({left.sql} {sign} {right.sql})", "number", unit, scale, decimals)


def _number(term: Term, column: Column) -> Term:
    if term.kind != "number":
        raise PlanError("wrong_kind", f"{column.name!r} is a column of {term.kind}, not of numbers.")
    return term


def _aggregated(one: Aggregate, scope: Scope) -> Term:
    narrowed = _filter(one.where, scope)
    if one.operand is None and one.operation == "count":
        return Term(f"count(*){narrowed}", "number")
    if one.operand is None:
        raise PlanError("invalid_plan", f"There is nothing to take the {one.operation} of.")
    term = _operand_term(one.operand, scope)
    if one.operation in ("count", "distinct"):
        distinct = "DISTINCT " if one.operation == "distinct" else ""
        return Term(f"count({distinct}{term.sql}){narrowed}", "number")
    if term.kind not in (_ORDERED if one.operation in ("min", "max") else ("number",)):
        raise PlanError("wrong_kind", f"A column of {term.kind} has no {one.operation}.")
    if one.operation == "quantile":
        return _quantile(term, one, scope)
    if one.operation in _DERIVED:
        made = _DERIVED[one.operation](term, narrowed)
        return replace(made, currency=term.currency, amount=term.amount)
    return replace(term, sql=f"{one.operation}({term.sql}){narrowed}")


def _filter(where: Condition | None, scope: Scope) -> str:
    return f" FILTER (WHERE {scope.condition(where)})" if where is not None else ""


def _mean(term: Term, narrowed: str) -> Term:
    return divided(replace(term, sql=f"sum({term.sql}){narrowed}"), Term(f"count({term.sql}){narrowed}", "number"))


def _median(term: Term, narrowed: str) -> Term:
    if term.scale is None:
        return Term(f"median({term.sql}){narrowed}", "number", term.unit, None, term.decimals, True)
    # The engine's own median goes through floating point.
    lower, upper = (f"quantile_disc({sign}{term.sql}, 0.5){narrowed}" for sign in ("", "-"))
    return Term(f"(({lower} - {upper}) * 0.5)", "number", term.unit, term.scale + 1, term.decimals, True)


def _deviation(term: Term, narrowed: str) -> Term:
    return Term(f"stddev_samp(CAST({term.sql} AS DOUBLE)){narrowed}", "number", term.unit, None, term.decimals, True)


_DERIVED: Final[dict[str, Callable[[Term, str], Term]]] = {"mean": _mean, "median": _median, "stddev": _deviation}


def _quantile(term: Term, one: Aggregate, scope: Scope) -> Term:
    """Between the two nearest values, in proportion: of a sorted list, for the engine's own function goes through
    floating point."""
    share = one.quantile
    if share is None or not 0 <= share <= 1 or share != round(share, QUANTILE_DECIMALS_MAX):
        raise PlanError("invalid_plan", f"A quantile is from 0 to 1, with at most {QUANTILE_DECIMALS_MAX} decimals.")
    share = Decimal(f"{share.normalize():f}")
    if term.scale is None:
        sql = f"quantile_cont({term.sql}, {literal(share)}){_filter(one.where, scope)}"
        return Term(sql, "number", term.unit, None, term.decimals, True)
    known = f"{term.sql} IS NOT NULL"
    where = known if one.where is None else f"{known} AND {scope.condition(one.where)}"
    at = f"(len(l) - 1) * {literal(share)}"
    low = f"CAST(floor({at}) AS BIGINT)"
    between = f"l[{low} + 1] + (l[least({low} + 2, len(l))] - l[{low} + 1]) * ({at} - {low})"
    listed = f"list_sort(list({term.sql}) FILTER (WHERE {where}))"
    sql = f"list_transform([{listed}], lambda l: {between})[1]"
    scale = term.scale + max(0, -int(share.as_tuple().exponent))
    return Term(sql, "number", term.unit, scale, term.decimals, True)
