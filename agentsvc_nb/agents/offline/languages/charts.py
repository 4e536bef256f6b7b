"""How a chart is asked for: patterns of what stands before a question, and of what stands anywhere in it."""

from __future__ import annotations

from typing import Final

_ENGLISH: Final = r"(?:bar|column|line|scatter|pie|simple|small)?\s*(?:charts?|graphs?|plots?|diagrams?)"
_GERMAN: Final = r"(?:balken|säulen|linien|punkt|streu|kreis)?(?:diagramm|chart|grafik|graph|graphik)"
_FRENCH: Final = r"(?:graphique|diagramme|courbe|histogramme)(?:\s+(?:en|à)\s+(?:barres|lignes|courbes))?"
_SPANISH: Final = r"(?:gráfico|gráfica|grafico|diagrama)(?:\s+de\s+(?:barras|líneas|lineas|dispersión|puntos))?"

BEFORE: Final = (
    r"(?:plot|graph|visuali[sz]e|chart)(?!\s+(?:positions?|runs?|peaks?|entr\w+|num\w+|by|of|in|on|is|was))\s+",
    rf"(?:(?:show|give|draw|make|create|plot)\s+(?:me\s+)?)?an?\s+{_ENGLISH}\s+(?:of|for|showing|with)\s+",
    r"(?:plotte|zeichne)\s+(?:mir\s+)?",
    rf"(?:(?:zeige?|zeichne|mache?|erstelle?)\s+(?:mir\s+)?)?(?:ein\s+|eine\s+|einen\s+)?{_GERMAN}\s+(?:von|für|zu|der|des)\s+",
    r"(?:trace|tracez|dessine|dessinez)(?:-moi)?\s+",
    rf"(?:(?:montre|fais|affiche)(?:-moi)?\s+)?(?:un\s+|une\s+)?{_FRENCH}\s+(?:du|de\s+la|des|de|d')\s*",
    r"(?:grafica|grafique|dibuja|traza)\s+",
    rf"(?:(?:muestra|haz|dibuja)(?:me)?\s+)?(?:un\s+|una\s+)?{_SPANISH}\s+(?:de\s+la|del|de)\s+",
)
WITHIN: Final = (
    rf"as\s+an?\s+{_ENGLISH}",
    rf"(?:in|with)\s+an?\s+(?:bar|column|line|scatter|pie)\s+{_ENGLISH}",
    rf"(?:als|in\s+einem|in\s+einer)\s+(?:ein\s+|eine\s+)?{_GERMAN}",
    rf"(?:en|comme|sous\s+forme\s+d[e'])\s*(?:un\s+|une\s+)?{_FRENCH}",
    rf"(?:en|como)\s+(?:un\s+|una\s+)?{_SPANISH}",
)
BARE: Final = (
    rf"(?:an?\s+)?{_ENGLISH}",
    rf"(?:eine?n?\s+)?{_GERMAN}",
    rf"(?:une?\s+)?{_FRENCH}",
    rf"(?:una?\s+)?{_SPANISH}",
    "plot",
)
BARS: Final = r"bar|column|balken|säulen|barres|histogramme|barras"
LINES: Final = r"\bline|linien|lignes|courbe|líneas|lineas"
POINTS: Final = r"scatter|punkt|streu|dispersión|puntos"
