"""What a column's name says of its numbers: which one they mean, a place, or a ratio; in English, German, French and
Spanish."""

from __future__ import annotations

import re
from typing import Final

from agentsvc_nb.documents.normalization import fold
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from agentsvc_nb.wire.numbers import IDENTIFIERS, names_label

_WORD: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _words(name: str) -> list[str]:
    return [fold(word) for word in _WORD.findall(_HUMP.sub(" ", name))]


_FIRST: Final = frozenset(_words("id uuid numero num n no code codigo cle clave"))
"""Those that stand first in French and Spanish, as `Numéro de commande` and `Nº visita`."""
_OF: Final = frozenset(("of", "de", "des", "del"))
_OVER: Final = re.compile(r"\w\.? ?/ ?[^\W\d_]{2,}")
_ASIDE: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_RANKS: Final = frozenset(_words("rank ranking place position pos rang platz platzierung posicion puesto"))
_RATIOS: Final = frozenset(
    _words(
        "rate rates percent percentage pct share ratio ctr cvr cpc cpm cpa cpl roas roi aov average avg mean median"
        " anteil prozent prozentsatz durchschnitt schnitt taux pourcentage moyenne tasa porcentaje proporcion promedio"
    )
)
_PERCENT_LEVELS: Final = frozenset(_words("humidity feuchtigkeit luftfeuchtigkeit humidité humedad"))
"""What is measured in percent, and a share of nothing that is counted."""
_CURRENCIES: Final = frozenset(_words("currency currencies währung waehrung devise monnaie moneda divisa"))
_CURRENCY_CODES: Final = frozenset(_words("eur euro euros usd gbp chf sek nok dkk pln czk jpy cny inr cad aud"))
_PER: Final = frozenset(_words("per pro je par por"))
_AMOUNTS: Final = frozenset(
    _words(
        "amount cost costs spend spent price prices revenue sales budget fee fees salary wage income turnover gross net"
        " value betrag kosten preis ausgaben umsatz erlös gehalt montant coût prix dépenses revenu salaire importe"
        " coste costo precio gasto ingresos sueldo mrr arr"
    )
)


def is_identifier(column: ColumnProfile, table: TableProfile) -> bool:
    """Whether the column says which row is meant, and nothing else: its name says so, and no two cells are equal."""
    words = _words(column.name)
    named = bool(words) and (words[-1] in IDENTIFIERS or words[-1].endswith("nummer") or _begins(words))
    return named and column.distinct == table.rows - column.empty and table.rows > 1


def _begins(words: list[str]) -> bool:
    # `No. of visits` counts them.
    return words[0] in _FIRST and not (words[0] == "no" and not _OF.isdisjoint(words[1:2]))


def is_rank(column: ColumnProfile) -> bool:
    return column.kind == "number" and not _RANKS.isdisjoint(_words(column.name))


def is_ratio(column: ColumnProfile) -> bool:
    words = _words(column.name)
    shares = column.unit == "%" or not _RATIOS.isdisjoint(words)
    return column.kind == "number" and shares and _PERCENT_LEVELS.isdisjoint(words)


def is_per_unit(column: ColumnProfile) -> bool:
    """Whether each number is one of something else, as `Cost per click` and `Cost / conv.` are."""
    divided = not _PER.isdisjoint(_words(column.name)) or _OVER.search(_ASIDE.sub("", column.name))
    return column.kind == "number" and bool(divided)


def names_currency(column: ColumnProfile) -> bool:
    """Whether all its amounts are in one currency, which its name says, as `Amount EUR` does."""
    return not _CURRENCY_CODES.isdisjoint(_words(column.name))


def is_currency(column: ColumnProfile) -> bool:
    """Whether the column says of each row which currency its amounts are in."""
    return column.kind == "text" and not _CURRENCIES.isdisjoint(_words(column.name))


def is_amount(column: ColumnProfile) -> bool:
    return column.kind == "number" and not _AMOUNTS.isdisjoint(_words(column.name))


def is_label(column: ColumnProfile) -> bool:
    """Whether the numbers are shown without separators of thousands, as years and codes are."""
    return names_label(column.name)
