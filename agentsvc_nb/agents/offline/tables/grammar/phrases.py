"""From items to groups and measures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal, cast

from agentsvc_nb.agents.offline.tables.grammar.rules import Item, Made, Rule, rule, values
from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import alike
from agentsvc_nb.documents.plans.plan import Aggregate, Column, Compared, Correlation, Formula, Group, Operation, Period
from agentsvc_nb.documents.plans.roles import is_identifier

GROUPS_LIKELY_MAX: Final = 24
"""A column of amounts with more different values makes no groups."""
_QUANTILES: Final = {"quartile1": "0.25", "quartile3": "0.75"}


def makes_groups(column: Column, links: TableLinks) -> bool:
    profile = links.profile(column)
    few = profile.distinct <= min(GROUPS_LIKELY_MAX, links.table.rows // 2)
    return profile.kind != "number" or not links.adds_up(profile) or few


def grouped(column: Column, links: TableLinks) -> Group:
    return Group(column, "day" if links.profile(column).kind == "datetime" else "")


def period(by: str | tuple[str, Column], links: TableLinks, column: Column | None = None) -> Group | None:
    """Groups by a period of the dates; None if several columns have some."""
    if isinstance(by, tuple):
        by, column = by
    dates = [column] if column else [links.column(one.name) for one in links.main_dates()]
    if len(dates) == 1 and links.profile(dates[0]).kind in ("date", "datetime"):
        return Group(dates[0], cast(Period | Literal["weekday"], by))
    return None


def _per_column(items: Sequence[Item], links: TableLinks) -> Made:
    column = values(items, "column")[0]
    profile = links.profile(column)
    apart = links.adds_up(profile) or is_identifier(profile, links.table)
    return None if apart else Item("group", grouped(column, links))


def _by_columns(items: Sequence[Item], links: TableLinks) -> Made:
    found = values(items, "column")
    if not all(makes_groups(column, links) for column in found):
        return Item("ordered_by", found[0]) if len(found) == 1 and items[0].tag == "by" else None
    return [Item("group", grouped(column, links)) for column in found]


def _by_period(items: Sequence[Item], links: TableLinks) -> Made:
    columns = values(items, "column")
    made = period(values(items, "period", "each", "before_period")[0], links, columns[0] if columns else None)
    return Item("group", made) if made else None


def _by_mixed(items: Sequence[Item], links: TableLinks) -> Made:
    first = period(values(items, "period")[0], links)
    column = values(items, "column")[0]
    if first is None or not makes_groups(column, links):
        return None
    pair = [Item("group", first), Item("group", grouped(column, links))]
    # In the order in which they were said.
    return pair if items[1].tag == "period" else pair[::-1]


def _period_of(items: Sequence[Item], links: TableLinks) -> Made:
    """`month of order date`."""
    column = values(items, "column")[0]
    return Item("period", (items[0].value, column)) if links.profile(column).kind in ("date", "datetime") else None


def _of_period(items: Sequence[Item], links: TableLinks) -> Made:
    """`Stunden pro Woche`, where the column is `Wochenstunden`."""
    language, by = links.language, items[-1].value
    header = links.opened_headers[items[0].value.name]
    words = [(one,) for word in header for one in (word, *language.compounds.get(word, "").split())]
    meant = {(part, which) for word in words for part, which in language.phrases.get(word, ())}
    return items[0] if not meant.isdisjoint({("period", by), ("each", by)}) else None


def _before(items: Sequence[Item], links: TableLinks) -> Made:
    by = items[0].value
    made = period(by, links) if by else None
    return [Item("to_before"), Item("group", made)] if made else (None if by else Item("to_before"))


def _ratio(items: Sequence[Item], links: TableLinks) -> Made:
    left, right = values(items, "column")
    if left == right or not all(links.adds_up(links.profile(one)) for one in (left, right)):
        return None
    return Item("measure", (Compared("ratio", Aggregate("sum", left), Aggregate("sum", right)),))


def _cost_of_one(items: Sequence[Item], links: TableLinks) -> Made:
    """`what does one lead cost`."""
    of, cost = values(items, "column")
    money = links.profile(cost).unit in ("€", "$", "£") or cost == links.amount_of("spending")
    return _ratio([Item("column", cost), Item("column", of)], links) if items[0].value == 1 and money else None


def _all(items: Sequence[Item], links: TableLinks) -> Made:
    """`all campaigns` limits nothing."""
    return [] if items[1].tag == "rows" or links.profile(items[1].value).kind == "text" else None


def _per_row(items: Sequence[Item], links: TableLinks) -> Made:
    """`revenue per order`: the mean of the rows."""
    if items[-1].value != "title":
        return None
    if items[0].tag == "op":
        return items[:2]
    made = aggregate("mean", items[0].value, links)
    return Item("measure", (made,)) if made and links.adds_up(links.profile(items[0].value)) else None


def _per_each(items: Sequence[Item], links: TableLinks) -> Made:
    """`revenue per customer on average`: the sum by how many there are."""
    amount, each = values(items, "column")
    if items[-1].value != "mean" or not links.adds_up(links.profile(amount)) or links.profile(each).kind != "text":
        return None
    return Item("measure", (Compared("ratio", Aggregate("sum", amount), Aggregate("distinct", each)),))


def _rows_of_periods(items: Sequence[Item], links: TableLinks) -> Made:
    """`how many weekly rows`, where each row is of another week or a column says of which, makes no groups."""
    by = items[1].value
    said = by == links.row_period() or any(by in header for header in links.headers.values())
    return [items[0]] if said else [items[0], Item("apart")]


def _rate_bound(items: Sequence[Item], links: TableLinks) -> Made:
    """`less than 38 hours per week`: what is compared is by the week, no group, if its column says so."""
    columns = values(items, "column")
    if not columns:
        return [*items[:2], Item("apart")]
    meant = links.meant[columns[0].name]
    return items[:2] if items[-1].value in meant else [*items[:2], Item("apart")]


GROUPS: Final[tuple[Rule, ...]] = (
    rule("count each", _rows_of_periods, ahead="column? rows|column"),
    rule("ratio column and|to column", _ratio),
    rule("column per|ratio column", _ratio),
    rule("ratio column per column", _ratio),
    rule("number column column", _cost_of_one),
    rule("period column", _period_of),
    rule("column per column op", _per_each),
    rule("op column per rows", _per_row),
    rule("column per rows", _per_row),
    rule("bound column|unit per period", _rate_bound),
    rule("column bound per period", _rate_bound),
    rule("column per|by period", _of_period),
    rule("per column", _per_column),
    rule("per period", _by_period),
    rule("by period and? column", _by_mixed),
    rule("by column and period", _by_mixed),
    rule("by column and column", _by_columns),
    rule("by period", _by_period),
    rule("by column", _by_columns),
    rule("each", _by_period),
    rule("before_period", _before),
    rule("all column|rows", _all),
)


_OTHER_END: Final = {"min": frozenset(("max", "maximum", "highest")), "max": frozenset(("min", "minimum", "lowest"))}


def aggregate(operation: str, column: Column, links: TableLinks) -> Aggregate | None:
    """None where the column has no such value."""
    profile = links.profile(column)
    if operation in _OTHER_END and not _OTHER_END[operation].isdisjoint(links.headers[column.name]):
        return None  # of `Min temp` and `Max temp`
    if operation == "sum" and links.has_no_sum(profile):
        return None
    if operation in _QUANTILES or operation[:1] == "p":
        if profile.kind != "number":
            return None
        part = _QUANTILES.get(operation) or str(Decimal(operation[1:]) / 100)
        return Aggregate("quantile", column, quantile=Decimal(part))
    if profile.kind != "number" and not (operation in ("min", "max") and profile.kind in ("date", "datetime", "time")):
        return None
    return Aggregate(cast(Operation, operation), column)


def _measured(items: Sequence[Item], links: TableLinks) -> Made:
    operation = values(items, "op")[0]
    made = [aggregate(operation, column, links) for column in values(items, "column")]
    return Item("measure", tuple(one for one in made if one)) if all(made) else None


def _measured_rows(items: Sequence[Item], links: TableLinks) -> Made:
    """`chiffre d'affaires total des commandes`: the operation stands behind its column."""
    row = items[2].value
    made = _measured(items[:2], links) if is_identifier(links.profile(row), links.table) else None
    return [made, items[2]] if isinstance(made, Item) else None


def _around(items: Sequence[Item], _: TableLinks) -> Made:
    """`montant moyen facturé`: the operation stands within its column's name."""
    return [items[1], items[0]] if items[0].value == items[2].value else None


def _mean_number(items: Sequence[Item], links: TableLinks) -> Made:
    """`nombre moyen de séances`: the mean of the numbers that there are of them."""
    if items[1].value == "sum" or not links.adds_up(links.profile(items[2].value)):
        return None
    return _measured(items[1:], links)


def _both_ends(items: Sequence[Item], links: TableLinks) -> Made:
    """`minimum and maximum price`."""
    made = [aggregate(operation, items[-1].value, links) for operation in values(items, "op")]
    return Item("measure", tuple(one for one in made if one)) if all(made) else None


def _product(items: Sequence[Item], links: TableLinks) -> Made:
    """`sum of price times units`."""
    left, right = values(items, "column")
    operation = next(iter(values(items, "op")), "sum")
    if not all(links.is_measure(links.profile(one)) for one in (left, right)) or operation not in _OF_PRODUCTS:
        return None
    return Item("measure", (Aggregate(cast(Operation, operation), Formula(left, "*", right)),))


_OF_PRODUCTS: Final = ("sum", "mean", "median", "min", "max")


def _counted(items: Sequence[Item], links: TableLinks) -> Made:
    """`how many units`, `total number of units`: their sum."""
    column = values(items, "column")[0]
    profile = links.profile(column)
    if not set(values(items, "op")) <= {"sum"}:
        return None
    told = [line.split()[0] for item in items for line in item.told]
    header = links.headers[column.name]
    if any(one.endswith("s") and one not in header and any(alike(one, word) for word in header) for one in told):
        return None  # `how many bills`, where each has a `total_bill`
    if not links.adds_up(profile) or profile.unit == "%":
        return None
    return Item("measure", (Aggregate("sum", column),))


def _quantile(items: Sequence[Item], _: TableLinks) -> Made:
    """`90th percentile of X`, `90% quantile of X`."""
    given = items[0].value[0] if items[0].tag == "measured" else items[0].value
    return Item("op", f"p{given}") if 0 < given < 100 else None


def _of_sums(items: Sequence[Item], _: TableLinks) -> Made:
    """`total revenue per unit`: a ratio is of totals."""
    ratios = all(isinstance(one, Compared) and one.operation == "ratio" for one in items[1].value)
    return items[1] if items[0].value == "sum" and ratios else None


def _divided(items: Sequence[Item], _: TableLinks) -> Made:
    left, right = values(items, "measure")
    single = len(left) == len(right) == 1 and left != right
    if {one.operation for one in (*left, *right) if isinstance(one, Aggregate)} & {"mean", "median"} and any(
        isinstance(one, Aggregate) and one.operation in ("count", "distinct") for one in right
    ):
        return None  # `average revenue (revenue divided by orders)` is divided once
    if not single or not all(isinstance(one, Aggregate) for one in (*left, *right)):
        return None
    return Item("measure", (Compared("ratio", left[0], right[0]),))


def _different(items: Sequence[Item], _: TableLinks) -> Made:
    return Item("measure", (Aggregate("distinct", values(items, "column")[0]),))


def _rows(items: Sequence[Item], _: TableLinks) -> Made:
    return Item("measure", (Aggregate("count"),)) if set(values(items, "rows")) != {"noun"} else None


def _correlated(items: Sequence[Item], links: TableLinks) -> Made:
    left, right = values(items, "column")
    if left == right or any(links.profile(one).kind != "number" for one in (left, right)):
        return None
    return Item("measure", (Correlation(left, right),))


def _both(items: Sequence[Item], _: TableLinks) -> Made:
    return Item("measure", tuple(one for item in items if item.tag == "measure" for one in item.value))


def _coefficient(items: Sequence[Item], _: TableLinks) -> Made:
    """`is there a correlation of A and B? Give me the coefficient.`"""
    return items[1] if all(isinstance(one, Correlation) for one in items[1].value) else None


MEASURES: Final[tuple[Rule, ...]] = (
    rule("number|ordinal|measured share? quantile", _quantile),
    rule("correlation column (and|to|versus)? column", _correlated),
    rule("column correlation column", _correlated),
    rule("column and column correlation", _correlated),
    rule("op column and column", _measured, ahead="(cond|group|ordered_by|to_before)*"),
    rule("column op column", _around),
    rule("count op column", _mean_number),
    rule("column op column", _measured_rows),
    rule("rows rows", lambda items, _: items[0]),
    rule("op? column times_sign column", _product),
    rule("op and op column", _both_ends),
    rule("column op and op", lambda items, links: _both_ends([*items[1:], items[0]], links)),
    rule("op count? column", _measured),
    rule("count op? distinct column", _different),
    rule("count op? column distinct", _different),
    rule("distinct count column", _different),
    rule("count op? column op?", _counted),
    rule("much op? column", _counted),
    rule("count op? rows", _rows),
    rule("column op", _measured),
    rule("measure ratio measure", _divided),
    rule("op measure", _of_sums),
    rule("measure and measure", _both),
    rule("yesno measure wh", _coefficient),
)
