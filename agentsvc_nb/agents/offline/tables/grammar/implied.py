"""The columns that superlatives of daily life are about: `cheapest` of prices, `hottest` of temperatures."""

from __future__ import annotations

from typing import Final

from agentsvc_nb.agents.offline.tables.linking import TableLinks
from agentsvc_nb.agents.offline.tables.question import alike
from agentsvc_nb.documents.plans.plan import Column
from agentsvc_nb.documents.plans.roles import is_identifier

_IMPLIED: Final = {
    "cost": ("price", "cost", "preis", "prix", "precio"),
    "length": (
        "length",
        "duration",
        "distance",
        "time",
        "runtime",
        "days",
        "hours",
        "minutes",
        "pages",
        "lange",
        "dauer",
        "duree",
        "longueur",
    ),
    "height": ("height", "tall", "elevation", "grosse", "hohe", "hauteur", "altura"),
    "weight": ("weight", "gewicht", "poids", "peso"),
    "depth": ("depth", "tiefe", "profondeur"),
    "population": ("population", "inhabitants", "einwohner", "habitants"),
    "age": ("age", "alter", "edad"),
    "quantity": ("quantity", "qty", "units", "menge", "cantidad"),
    "pay": ("salary", "wage", "pay", "earnings"),
    "heat": ("temperature", "temp"),
    "rain": ("rain", "rainfall", "precipitation", "niederschlag", "pluie", "lluvia"),
    "wind": ("wind",),
    "sun": ("sunshine", "sun"),
    "snow": ("snow", "snowfall"),
    "satisfaction": ("satisfaction", "happiness"),
    "rating": ("rating", "stars"),
    "spent": ("revenue", "sales", "total", "amount", "spend", "cost"),
}


_GOODS: Final = ("product", "item", "article", "dish", "title", "sku")
_GOODS_ASIDE: Final = frozenset(("category", "type", "group", "id", "code", "line"))
SCORES: Final = frozenset(("satisfaction", "happiness", "rating", "ratings", "stars"))
"""Of a group rather their mean is meant: almost each has somebody who is satisfied."""
OF_PERIODS: Final = ("heat", "rain", "wind", "sun", "snow", "quantity")
SUMMED: Final = ("quantity", "spent", "rain", "sun", "snow")
"""What of a group is rather its sum than the most of one row."""
_HIGHEST: Final = frozenset(("max", "maximum", "high", "highest"))
_LOWEST: Final = frozenset(("min", "minimum", "low", "lowest"))


def implied_columns(which: str, links: TableLinks, descending: bool) -> list[Column]:
    """The columns of the nearest noun that some header has."""
    found = links.dates() or links.years() if which == "time" else []
    for noun in _IMPLIED.get(which, ()):
        found = found or [one for one in links.named(noun) if one.kind in ("number", "time")]
    if which in SUMMED:
        found = [one for one in found if links.adds_up(one)]
    if which == "heat" and len(found) > 1:
        # The hottest day is that of the highest maximum, the coldest that of the lowest minimum.
        ends = _HIGHEST if descending else _LOWEST
        found = [one for one in found if not ends.isdisjoint(links.headers[one.name])]
    return [links.column(one.name) for one in found]


_CHARGED: Final = ("order", "purchase", "transaction", "invoice", "bill", "booking", "reservation", "sale", "rental")


def charged(links: TableLinks) -> Column | None:
    """What each row comes to, where rows are orders or the like; products have a price instead."""
    is_charged = any(alike(one, title) for one in _CHARGED for title in links.titles)
    return links.amount(("total", "amount", "revenue")) if is_charged else None


def goods(links: TableLinks) -> Column | None:
    """What is sold: the one column that names products."""
    found = [one for one in links.named(*_GOODS) if one.kind == "text" and not is_identifier(one, links.table)]
    found = [one for one in found if _GOODS_ASIDE.isdisjoint(links.headers[one.name])]
    return links.column(found[0].name) if len(found) == 1 else None
