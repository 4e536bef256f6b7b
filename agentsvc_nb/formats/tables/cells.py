"""What numbers and dates in tables have in common: cells that are empty, names of months, how many cells decide."""

from __future__ import annotations

from typing import Final

SHARE: Final = 0.75
"""At least so many of a column's filled cells are of its kind; with fewer it is a column of text."""
SAMPLE: Final = 500
"""Cells by which a column is taken for what it may be, before all are looked at."""
EMPTY: Final = frozenset(
    {
        *("", "-", "--", "---", "–", "—", "n/a", "na", "n.a.", "n. a.", "#n/a", "nan", "null", "none", "nil", "#null!"),
        *("k.a.", "k. a.", "keine angabe", "tbd", "tba", "?", ".", "...", "…", "unknown", "(not set)", "(null)"),
    }
)
"""What stands in columns of numbers and dates where there is none."""

MONTHS: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar jänner janvier janv enero ene gennaio gen januari janeiro",
            "feb february februar février fevrier févr fevr fév febrero febbraio februari fevereiro fev",
            "mar march märz maerz mär mrz mars marzo maart mrt março",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mag mei maio",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august août aout agosto ago augustus",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october okt oktober octobre octubre ottobre ott outubro out",
            "nov november novembre noviembre novembro",
            "dec december dez dezember décembre déc diciembre dic dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
"""The months by name, in the languages of exports."""


def is_empty(text: str) -> bool:
    """Whether a cell of a column of numbers or dates says that there is none."""
    return not text or text.strip().casefold() in EMPTY
