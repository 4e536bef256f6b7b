"""Made-up material for the tasks: names, columns and numbers are new with each seed."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

SYLLABLES: Final = (
    *("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "nä", "pe"),
    *("ri", "so", "tü", "va", "wö", "xi", "ze", "quo", "bra", "sté", "tru", "kle"),
)


class Made:
    """What is drawn by lot with a seed. No word is drawn twice."""

    def __init__(self, seed: object) -> None:
        self.lot = random.Random(f"tasks {seed}")
        self.drawn: set[str] = set()
        """All words, casefolded."""

    def word(self) -> str:
        while True:
            found = "".join(self.lot.choices(SYLLABLES, k=self.lot.randint(3, 4))).capitalize()
            if not any(found.casefold() in one or one in found.casefold() for one in self.drawn):
                self.drawn.add(found.casefold())
                return found

    def words(self, number: int) -> list[str]:
        return [self.word() for _ in range(number)]

    def column(self) -> str:
        """The name of a column: a word, two, or one with a sign in it."""
        return self.lot.choice(["{} {}", "{}_{}", "{} ({})", "{}-{}"]).format(*self.words(2))

    def path(self, suffix: str) -> str:
        """Where a file is to be written: with a blank in its name, or in a folder."""
        return self.lot.choice(["{} {}.{}", "{}/{}.{}"]).format(*self.words(2), suffix)

    def number(self, most: int = 900) -> float:
        return self.lot.randint(100, most * 100) / 100

    def sentence(self) -> str:
        one, two, three = self.words(3)
        return f"The {one} has {self.lot.randint(11, 9_999)} {two} for each {three}."


@dataclass(frozen=True)
class Csv:
    """How a file of a table is written."""

    name: str
    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"

    def of(self, frame: pd.DataFrame) -> tuple[str, bytes]:
        text = frame.to_csv(index=False, sep=self.separator, decimal=self.decimal)
        return self.name, text.encode(self.encoding)


def csv(made: Made) -> Csv:
    name = f"{made.word()} {made.word()}.csv"
    usual, german = Csv(name), Csv(name, ";", ",", "cp1252")
    return made.lot.choice([usual, german, Csv(name, "\t")])


def sales(made: Made, rows: int = 240, groups: int = 9) -> pd.DataFrame:
    """A table: a text with some different values, a second one with three, a whole number, an amount."""
    labels, kinds = made.words(groups), made.words(3)
    return pd.DataFrame(
        {
            made.column(): [made.lot.choice(labels) for _ in range(rows)],
            made.column(): [made.lot.choice(kinds) for _ in range(rows)],
            made.column(): [made.lot.randint(1, 99) for _ in range(rows)],
            made.column(): [made.number() for _ in range(rows)],
        }
    )


@dataclass(frozen=True)
class Workbook:
    """A workbook whose sheets belong together by keys that have another name in each."""

    file: tuple[str, bytes]
    sheets: list[pd.DataFrame]
    """Orders: customer, product, number of pieces. Customers: key, region. Products: key, price."""


def workbook(made: Made) -> Workbook:
    buyers = [f"{mark}-{number}" for mark in [made.word()[:2].upper()] for number in range(100, 112)]
    goods = [f"{mark}{number}" for mark in [made.word()[:3].upper()] for number in range(10, 18)]
    regions = made.words(4)
    orders = pd.DataFrame(
        {
            made.column(): [made.lot.choice(buyers) for _ in range(150)],
            made.column(): [made.lot.choice(goods) for _ in range(150)],
            made.column(): [made.lot.randint(1, 40) for _ in range(150)],
        }
    )
    customers = pd.DataFrame({made.column(): buyers, made.column(): [made.lot.choice(regions) for _ in buyers]})
    products = pd.DataFrame({made.column(): goods, made.column(): [made.number() for _ in goods]})
    sheets = [orders, customers, products]
    made.lot.shuffle(names := made.words(3))
    held = io.BytesIO()
    with pd.ExcelWriter(held) as book:
        for name, sheet in made.lot.sample(list(zip(names, sheets, strict=True)), 3):
            sheet.to_excel(book, sheet_name=name, index=False)
    return Workbook((f"{made.word()} {made.word()}.xlsx", held.getvalue()), sheets)


def untidy(made: Made, instead: int) -> tuple[Csv, pd.DataFrame, pd.DataFrame]:
    """A table with rows that are there twice, blanks around texts and empty amounts; and as it should be, with a number
    instead of those."""
    tidy = pd.DataFrame(
        {
            made.column(): [f"{made.word()} {number}" for number in range(40)],
            made.column(): [made.lot.choice(made.words(2)) for _ in range(40)],
            made.column(): [made.number() for _ in range(40)],
        }
    )
    name, _, amount = tidy.columns
    empty = made.lot.sample(range(40), 6)
    tidy.loc[empty, amount] = float(instead)
    dirty: pd.DataFrame = tidy.copy()
    dirty.loc[empty, amount] = None
    dirty[name] = [made.lot.choice(["{}", " {}", "{}  "]).format(text) for text in dirty[name]]
    twice = dirty.iloc[made.lot.sample(range(40), 9)]
    return csv(made), pd.concat([dirty, twice], ignore_index=True), tidy


def first_of(frame: pd.DataFrame, by: Any, measure: Any) -> pd.Series[Any]:
    """The totals of a measure by a column, the greatest first."""
    totals: pd.Series[Any] = frame.groupby(by)[measure].sum().round(2).sort_values(ascending=False)
    return totals
