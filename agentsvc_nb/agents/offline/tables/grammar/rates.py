"""Rates that have a name, as the click-through rate: of the sums of two columns, never the mean of what rows say."""

from __future__ import annotations

from typing import Final, Literal

from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.formats.plans.plan import Aggregate, Compared

_COSTS: Final = ("cost", "spend", "spent", "spending")
_CONVERSIONS: Final = ("conversion", "conversions", "purchases", "leads")
_Nouns = tuple[str, ...]
_RATES: Final[dict[str, tuple[_Nouns, _Nouns, Literal["percent", "ratio"]]]] = {
    "ctr": (("clicks",), ("impressions",), "percent"),
    "cvr": (_CONVERSIONS, ("clicks",), "percent"),
    "cpc": (_COSTS, ("clicks",), "ratio"),
    "cpa": (_COSTS, _CONVERSIONS, "ratio"),
    "roas": (("value", "revenue"), _COSTS, "ratio"),
}


def rate(which: str, links: TableLinks) -> Compared | None:
    """None where the table has not both columns."""
    over, under, how = _RATES[which]
    left, right = links.amount(over), links.amount(under)
    if left is None or right is None or left == right:
        return None
    return Compared(how, Aggregate("sum", left), Aggregate("sum", right))
