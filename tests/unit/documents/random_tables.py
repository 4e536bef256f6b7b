"""Make random tables whose rows are known: plain ones, and pivot tables with totals on several levels."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import dataclass
from decimal import Decimal

LABELS = {
    "en": ("{} Total", "Grand Total"),
    "de": ("{} Ergebnis", "Gesamtergebnis"),
    "de2": ("Zwischensumme {}", "Gesamtsumme"),
    "fr": ("Total {}", "Total général"),
    "es": ("Subtotal {}", "Total general"),
    "pl": ("{} suma", "Razem"),
    "short": ("Total", "Total"),
}
_NAMES = (
    "North South East West Kiel Ulm Bonn Hof Berlin Lyon Nice Madrid Alpha Beta Gamma Delta Red Blue Green Black Search"
    " Social Mail Display Video Shop Brand Generic Summer Winter Total-Care Sumo Overalls Allgemein Gesamtschule"
)
_WORDS = _NAMES.split()


@dataclass(frozen=True, slots=True)
class RandomTable:
    """A table as CSV, the cells of its rows of data, and the sum of each column of numbers."""

    text: str
    data: list[list[str]]
    sums: dict[str, Decimal]
    about: str


class _Maker:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.places = self.random.choice((0, 0, 2))
        self.metrics = self.random.choice((1, 2, 3))
        self.top = self.random.choice((9, 99, 9_999))

    def numbers(self) -> list[Decimal]:
        low = self.random.choice((0, 1, -self.top // 4)) if self.top > 9 else 1
        scale = 10**self.places
        return [
            Decimal(self.random.randint(low * scale, self.top * scale)).scaleb(-self.places)
            for _ in range(self.metrics)
        ]

    def names(self, count: int) -> list[str]:
        return self.random.sample(_WORDS, count)

    def table(self, names: list[str], rows: list[list[str]], data: list[list[str]], about: str) -> RandomTable:
        out = io.StringIO()
        csv.writer(out, delimiter=self.random.choice(",;\t")).writerows([names, *rows])
        metrics = names[-self.metrics :]
        sums = {
            name: sum((Decimal(row[at - self.metrics]) for row in data), Decimal(0)) for at, name in enumerate(metrics)
        }
        return RandomTable(out.getvalue(), data, sums, about)


def _metric_names(count: int) -> list[str]:
    return ["Units", "Revenue", "Orders"][:count]


def _sum(rows: list[list[Decimal]]) -> list[str]:
    return [str(sum(column, Decimal(0))) for column in zip(*rows, strict=True)]


def plain_table(seed: int) -> RandomTable:
    """Make a table without totals: nothing may be left out of it."""
    make = _Maker(seed)
    shape = make.random.choice(("one label", "two labels", "dates", "ids", "sparse", "growing"))
    count = make.random.randint(3, 14)
    names = make.names(min(count, len(_WORDS)))
    rows: list[list[str]] = []
    head = ["Shop"]
    for at in range(count):
        cells = list(map(str, make.numbers()))
        match shape:
            case "two labels":
                head, labels = ["Region", "Shop"], [names[at // 3 % len(names)], names[at % len(names)]]
            case "dates":
                head, labels = ["Day"], [f"2026-03-{at + 1:02}"]
            case "ids":
                head, labels = ["ID", "Shop"], [str(1000 + at), names[at % len(names)]]
            case "sparse":
                head, labels = ["Shop", "Note"], [names[at % len(names)], make.random.choice(("", "", "new", "old"))]
            case "growing":  # each number may be the sum of the two before
                labels = [names[at % len(names)]]
                before = [list(map(Decimal, row[1:])) for row in rows[-2:]]
                cells = _sum(before) if len(before) == 2 and make.metrics == 1 else cells
            case _:
                labels = [names[at % len(names)]]
        rows.append([*labels, *cells])
    return make.table(head + _metric_names(make.metrics), rows, rows, f"plain {shape} {seed}")


def pivot_table(seed: int) -> RandomTable:
    """Make a pivot table with totals of groups on one or two levels: only its other rows are data."""
    make = _Maker(seed)
    shape = make.random.choice(("tabular", "outline", "filled", "grand only"))
    on_top = make.random.random() < 0.3
    sub, grand = LABELS[make.random.choice(list(LABELS))]
    worded = make.random.random() < 0.85 or shape in ("filled", "grand only")
    levels = 2 if shape != "grand only" and make.random.random() < 0.4 else 1
    names = make.names(24)
    rows: list[list[str]] = []
    data: list[list[str]] = []
    everything: list[list[Decimal]] = []
    labels = 1 if shape == "grand only" else levels + 1

    def leaf(path: list[str]) -> list[Decimal]:
        numbers = make.numbers()
        shown = path
        if shape == "tabular" and rows and data and data[-1][: len(path) - 1] == path[:-1]:
            shown = [""] * (len(path) - 1) + path[-1:]
        row = [*(path if shape != "tabular" else shown), *map(str, numbers)]
        rows.append(row)
        data.append([*path, *map(str, numbers)])
        everything.append(numbers)
        return numbers

    def total(path: list[str], parts: list[list[Decimal]]) -> list[str]:
        name = sub.format(path[-1]) if worded else path[-1]
        before = path[:-1] if shape == "filled" else [""] * (len(path) - 1)
        return [*before, name, *[""] * (labels - len(path)), *_sum(parts)]

    def group(path: list[str], depth: int) -> list[list[Decimal]]:
        at, parts = len(rows), []
        for name in make.random.sample(names, make.random.randint(2, 4)):
            parts += group([*path, name], depth - 1) if depth else [leaf([*path, name])]
        if path:
            rows.insert(at if on_top else len(rows), total(path, parts))
        return parts

    group([], labels - 1)
    name = grand if worded else ""
    whole = [name, *[""] * (labels - 1), *_sum(everything)]
    rows.insert(0 if on_top else len(rows), whole)
    head = ["Country", "City", "Shop"][:labels] + _metric_names(make.metrics)
    about = f"pivot {shape} {levels} {'top' if on_top else 'bottom'} {'words' if worded else 'no words'} {seed}"
    return make.table(head, rows, data, about)
