"""Made-up material for the tasks: names, columns and numbers are new with each seed."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from typing import Any, Final

import matplotlib
import pandas as pd
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

SYLLABLES: Final = (
    *("ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "nä", "pe"),
    *("ri", "so", "tü", "va", "wö", "xi", "ze", "quo", "bra", "sté", "tru", "kle"),
)
COLOURS: Final = {
    "red": (220, 20, 20),
    "green": (20, 160, 20),
    "blue": (20, 20, 220),
    "yellow": (230, 220, 20),
    "magenta": (210, 20, 210),
    "cyan": (20, 210, 210),
}
PLACES: Final = ("upper left", "upper right", "lower left", "lower right")


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


def scan(made: Made) -> tuple[tuple[str, bytes], list[dict[str, str]]]:
    """A PDF of pictures alone; what is on its pages: where which colour is."""
    pages, said = [], []
    for _ in range(made.lot.randint(2, 3)):
        page = Image.new("RGB", (620, 877), "white")
        there = dict(
            zip(made.lot.sample(PLACES, made.lot.randint(2, 4)), made.lot.sample(list(COLOURS), 4), strict=False)
        )
        for place, colour in there.items():
            left = 60 if place.endswith("left") else 350
            top = 80 if place.startswith("upper") else 500
            box = (left, top, left + made.lot.randint(120, 200), top + made.lot.randint(120, 280))
            ImageDraw.Draw(page).rectangle(box, fill=COLOURS[colour])
        pages.append(page)
        said.append(there)
    held = io.BytesIO()
    pages[0].save(held, "PDF", save_all=True, append_images=pages[1:])
    return (f"{made.word()}.pdf", held.getvalue()), said


def price_list(made: Made) -> tuple[tuple[str, bytes], list[list[str]]]:
    """A PDF with a table on its pages, in text; its rows, the head first."""
    head = made.words(3)
    rows = [[made.word(), str(made.lot.randint(1, 400)), f"{made.number():.2f}"] for _ in range(24)]
    held = io.BytesIO()
    with matplotlib.rc_context({"pdf.fonttype": 42}), PdfPages(held) as book:
        for start in (0, 12):
            page = Figure(figsize=(6, 8))
            page.text(0.1, 0.95, " ".join(made.words(4)))
            for place, row in enumerate([head, *rows[start : start + 12]]):
                line = "{:<20} {:>10} {:>12}".format(*row)
                page.text(0.1, 0.88 - place * 0.05, line, family="monospace", fontsize=9)
            book.savefig(page)
    return (f"{made.word()}.pdf", held.getvalue()), [head, *rows]


@dataclass(frozen=True)
class Brand:
    """A brand's rules and a copy, and the copy as the rules want it."""

    rules: tuple[str, bytes]
    copy: tuple[str, bytes]
    wanted: list[str]


def brand(made: Made) -> Brand:
    instead = dict(zip(made.words(3), made.words(3), strict=True))
    end, most = f"{made.word()} {made.word()}!", made.lot.randint(3, 5)
    rules = [f'- Never write "{wrong}": write "{right}".' for wrong, right in instead.items()]
    rules += [f"- A headline has at most {most} words.", f'- A text ends with "{end}"']
    lines = [" ".join(made.words(most + 3))]
    lines += [f"{made.sentence()} {made.lot.choice(list(instead))} is {made.word()}." for _ in range(4)]
    wanted = [" ".join(lines[0].split()[:most]), *lines[1:], end]
    for wrong, right in instead.items():
        wanted = [line.replace(wrong, right) for line in wanted]
    text = "\n\n".join([f"# {lines[0]}", *lines[1:]])
    return Brand(("BRAND.md", "\n".join(rules).encode()), (f"{made.word()}.md", text.encode()), wanted)


@dataclass(frozen=True)
class Survey:
    """Answers in free text, themes with their words, and how many answers have each theme."""

    file: tuple[str, bytes]
    column: str
    themes: dict[str, list[str]]
    counts: dict[str, int]


def survey(made: Made) -> Survey:
    themes = {made.word(): made.words(2) for _ in range(4)}
    texts = []
    for _ in range(120):
        said = made.lot.sample([word for words in themes.values() for word in words], made.lot.randint(0, 3))
        said = [made.lot.choice([word, word.upper(), word.lower()]) for word in said]
        texts.append(
            made.lot.choice([", ", "; ", '.\n"Also" ']).join(
                [made.sentence() if made.lot.random() < 0.1 else "It was", *said]
            )
        )
    column = made.column()
    frame = pd.DataFrame({made.column(): range(120), column: texts})
    folded = [text.casefold() for text in texts]
    counts = {
        theme: sum(any(word.casefold() in text for word in words) for text in folded) for theme, words in themes.items()
    }
    return Survey(csv(made).of(frame), column, themes, counts)


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
