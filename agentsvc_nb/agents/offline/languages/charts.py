"""Whether a question asks for a chart, and what it asks beside that: patterns of what stands before a question, and of
what stands anywhere in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from agentsvc_nb.documents.plans.charts import ChartKind

_ENGLISH: Final = r"(?:bar|column|line|scatter|pie|simple|small)?\s*(?:charts?|graphs?|plots?|diagrams?)"
_GERMAN: Final = r"(?:balken|säulen|linien|punkt|streu|kreis)?(?:diagramm|chart|grafik|graph|graphik)"
_FRENCH: Final = r"(?:graphique|diagramme|courbe|histogramme)(?:\s+(?:en|à)\s+(?:barres|lignes|courbes))?"
_SPANISH: Final = r"(?:gráfico|gráfica|grafico|diagrama)(?:\s+de\s+(?:barras|líneas|lineas|dispersión|puntos))?"

_BEFORE_WORDS: Final = (
    r"(?:plot|graph|visuali[sz]e|chart)(?!\s+(?:positions?|runs?|peaks?|entr\w+|num\w+|by|of|in|on|is|was))\s+",
    rf"(?:(?:show|give|draw|make|create|plot)\s+(?:me\s+)?)?an?\s+{_ENGLISH}\s+(?:of|for|showing|with)\s+",
    r"(?:plotte|zeichne)\s+(?:mir\s+)?",
    rf"(?:(?:zeige?|zeichne|mache?|erstelle?)\s+(?:mir\s+)?)?(?:ein\s+|eine\s+|einen\s+)?{_GERMAN}\s+(?:von|für|zu|der|des)\s+",
    r"(?:trace|tracez|dessine|dessinez)(?:-moi)?\s+",
    rf"(?:(?:montre|fais|affiche)(?:-moi)?\s+)?(?:un\s+|une\s+)?{_FRENCH}\s+(?:du|de\s+la|des|de|d')\s*",
    r"(?:grafica|grafique|dibuja|traza)\s+",
    rf"(?:(?:muestra|haz|dibuja)(?:me)?\s+)?(?:un\s+|una\s+)?{_SPANISH}\s+(?:de\s+la|del|de)\s+",
)
_WITHIN_WORDS: Final = (
    rf"as\s+an?\s+{_ENGLISH}",
    rf"(?:in|with)\s+an?\s+(?:bar|column|line|scatter|pie)\s+{_ENGLISH}",
    rf"(?:als|in\s+einem|in\s+einer)\s+(?:ein\s+|eine\s+)?{_GERMAN}",
    rf"(?:en|comme|sous\s+forme\s+d[e'])\s*(?:un\s+|une\s+)?{_FRENCH}",
    rf"(?:en|como)\s+(?:un\s+|una\s+)?{_SPANISH}",
)
_BARE_WORDS: Final = (
    rf"(?:an?\s+)?{_ENGLISH}",
    rf"(?:eine?n?\s+)?{_GERMAN}",
    rf"(?:une?\s+)?{_FRENCH}",
    rf"(?:una?\s+)?{_SPANISH}",
    "plot",
)
_BARS: Final = r"bar|column|balken|säulen|barres|histogramme|barras"
_LINES: Final = r"\bline|linien|lignes|courbe|líneas|lineas"
_POINTS: Final = r"scatter|punkt|streu|dispersión|puntos"


_POLITE: Final = r"(?:(?:please|bitte|can you|could you|kannst du|por favor|s'il te plaît|s'il vous plaît),?\s+)?"
_BEFORE: Final = re.compile(rf"^\s*{_POLITE}(?:{'|'.join(_BEFORE_WORDS)})", re.IGNORECASE)
_WITHIN: Final = re.compile(rf",?\s*\b(?:{'|'.join(_WITHIN_WORDS)})\b(?:\s+dar\b)?", re.IGNORECASE)
_BARE: Final = re.compile(rf"\b(?:{'|'.join(_BARE_WORDS)})\b", re.IGNORECASE)
_KINDS: Final[tuple[tuple[ChartKind, re.Pattern[str]], ...]] = (
    ("bar", re.compile(_BARS, re.IGNORECASE)),
    ("line", re.compile(_LINES, re.IGNORECASE)),
    ("scatter", re.compile(_POINTS, re.IGNORECASE)),
)


@dataclass(frozen=True, slots=True)
class ChartWish:
    """A chart that is wanted, of a kind if one was named."""

    kind: ChartKind | None = None


def without_chart(question: str, alone: bool = False) -> tuple[str, ChartWish | None]:
    """The question without the words that ask for a chart, and the chart; None when none is asked for, or when nothing
    else is, unless it may stand `alone`, of what was answered before.

    >>> without_chart("Plot revenue by month as a bar chart")
    ('revenue by month', ChartWish(kind='bar'))
    >>> without_chart("And as a chart?", alone=True)
    ('And?', ChartWish(kind=None))
    """
    said: list[str] = []

    def taken(found: re.Match[str]) -> str:
        said.append(found[0])
        return " "

    rest = _WITHIN.sub(taken, _BEFORE.sub(taken, question, count=1))
    if alone:
        rest = _BARE.sub(taken, rest)
    if not said or (not alone and not rest.strip(" ?!.,")):
        return question, None
    words = " ".join(said)
    kind = next((kind for kind, pattern in _KINDS if pattern.search(words)), None)
    return re.sub(r"\s+([?!.])", r"\1", " ".join(rest.split())), ChartWish(kind)
