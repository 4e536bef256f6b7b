"""Measures in SQL. Sums, means, medians, quantiles, ratios and changes of decimal columns are exact; standard deviation
and correlation are floating point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Final

from agentsvc_nb.formats.plans.conditions import Column, Condition
from agentsvc_nb.formats.plans.dialect import Term, divided, literal, subtracted
from agentsvc_nb.formats.plans.plan import Aggregate, Compared, Correlation, Formula, Operand
from agentsvc_nb.formats.plans.profiles import Kind, PlanError
from agentsvc_nb.formats.plans.scope import Scope

QUANTILE_DECIMALS_MAX: Final = 4
_ORDERED: Final[tuple[Kind, ...]] = ("number", "date", "datetime", "time")


def measured(measure: Aggregate | Correlation | Compared, scope: Scope) -> Term:
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


def operand_term(operand: Operand, scope: Scope) -> Term:
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
            unit = left.unit if left.unit == right.unit else ""
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
    term = operand_term(one.operand, scope)
    if one.operation in ("count", "distinct"):
        distinct = "DISTINCT " if one.operation == "distinct" else ""
        return Term(f"count({distinct}{term.sql}){narrowed}", "number")
    if term.kind not in (_ORDERED if one.operation in ("min", "max") else ("number",)):
        raise PlanError("wrong_kind", f"A column of {term.kind} has no {one.operation}.")
    if one.operation == "quantile":
        return _quantile(term, one, scope)
    if one.operation in _DERIVED:
        return _DERIVED[one.operation](term, narrowed)
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
