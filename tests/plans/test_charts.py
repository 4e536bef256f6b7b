"""Charts: what is drawn, how it is labelled, and that hostile results draw something or say why not."""

from __future__ import annotations

import io
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from agentsvc_nb.documents.engine.child import plotted
from agentsvc_nb.documents.engine.drawing import axis_title, chart, day_ticks, lines, numbers, spread
from agentsvc_nb.documents.engine.messages import Plot
from agentsvc_nb.documents.plans.charts import BARS_MAX, SERIES_MAX, ChartError, choose
from agentsvc_nb.documents.plans.results import Result, ResultColumn
from tests.plans.drawn import HOSTILE, cells

EUROS = ResultColumn("sum(revenue)", "number", "€", 2)
CLICKS = ResultColumn("sum(clicks)", "number")
RATE = ResultColumn("rate", "number", "%", 1, quotient=True)
CHANNEL = ResultColumn("channel", "text")
MONTH = ResultColumn("month", "date", by="month", label=True)
DAY = ResultColumn("day", "date")
YEAR = ResultColumn("year", "number", label=True)
WEEKDAY = ResultColumn("weekday", "number", by="weekday", label=True)
ONE = Decimal(1)


def result(columns: tuple[ResultColumn, ...], *rows: tuple[Any, ...]) -> Result:
    return Result(columns, rows, len(rows), len(rows))


def months(count: int) -> list[date]:
    return [date(2025 + at // 12, at % 12 + 1, 1) for at in range(count)]


BY_MONTH = result((MONTH, EUROS), *((day, Decimal(at)) for at, day in enumerate(months(12))))


@pytest.mark.parametrize(
    ("given", "asked", "kind"),
    [
        (BY_MONTH, None, "line"),
        (BY_MONTH, "bar", "bar"),
        (result((MONTH, EUROS), *((day, ONE) for day in months(2))), None, "bar"),
        (result((YEAR, EUROS), *((Decimal(year), ONE) for year in range(2019, 2025))), None, "line"),
        (result((YEAR, EUROS), *((Decimal(place), ONE) for place in range(1, 9))), None, "bar"),
        (result((CHANNEL, EUROS), ("Email", ONE), ("Search", ONE), ("Social", ONE)), None, "bar"),
        (result((CHANNEL, EUROS), ("Email", ONE), ("Search", ONE), ("Social", ONE)), "line", "bar"),
        (result((WEEKDAY, EUROS), *((Decimal(day), ONE) for day in range(1, 8))), None, "bar"),
        (result((EUROS, CLICKS), (ONE, ONE), (ONE, None)), None, "scatter"),
        (result((CHANNEL, EUROS, CLICKS), ("Email", ONE, ONE)), "scatter", "scatter"),
    ],
)
def test_a_kind_suits_the_result(given: Result, asked: Any, kind: str) -> None:
    assert choose(given, asked).kind == kind


@pytest.mark.parametrize(
    "given", [result((EUROS,), (ONE,)), result((CHANNEL,), ("Email",)), result((CHANNEL, EUROS)),
              result((CHANNEL, EUROS), ("Email", None)), result((EUROS, CLICKS), (ONE, None))]
)  # fmt: skip
def test_what_compares_nothing_is_no_chart(given: Result) -> None:
    with pytest.raises(ChartError, match=r"\.$"):
        chart(given, "x")


def test_two_groups_are_a_series_each() -> None:
    rows = [(day, name, Decimal(len(name))) for day in months(3) for name in ("Email", "Search")]
    found = choose(result((MONTH, CHANNEL, EUROS), *rows[:-1]))
    assert (found.kind, found.places, found.legend) == ("line", tuple(months(3)), CHANNEL)
    assert [(one.name, one.values) for one in found.series] == [("Email", (5, 5, 5)), ("Search", (6, 6, None))]


def test_columns_of_one_unit_stand_side_by_side_and_others_are_named() -> None:
    spent = ResultColumn("sum(cost)", "number", "€", 2)
    found = choose(result((CHANNEL, EUROS, spent, RATE), ("Email", ONE, ONE, ONE)))
    assert [one.name for one in found.series] == ["sum(revenue)", "sum(cost)"]
    assert found.note == "In another unit, and not drawn: rate."


def test_too_many_bars_and_series_are_cut_and_it_is_said() -> None:
    found = choose(result((CHANNEL, EUROS), *((f"c{at}", ONE) for at in range(100))))
    assert (len(found.places), found.note) == (BARS_MAX, "The first 40 of 100.")
    many = [(day, f"c{at}", Decimal(at)) for day in months(3) for at in range(20)]
    found = choose(result((MONTH, CHANNEL, EUROS), *many))
    assert [one.name for one in found.series] == [f"c{at}" for at in range(20 - SERIES_MAX, 20)]
    assert found.note == "The 8 largest of 20."


def test_periods_are_in_their_order_and_a_gap_is_a_gap() -> None:
    days = [*months(4)[::-1], None]
    found = choose(result((MONTH, EUROS), *((day, None if at == 1 else ONE) for at, day in enumerate(days))))
    assert found.places == tuple(months(4))
    assert found.series[0].values == (1, 1, None, 1)
    assert found.note == "What has no date is not drawn."


@pytest.mark.parametrize(
    ("values", "column", "said"),
    [
        ([0, 20_000, 40_000], EUROS, ["0", "20,000", "40,000"]),
        ([0, 0.5, 1], EUROS, ["0", "0.5", "1.0"]),
        ([0, 2.5e6, 5e6], EUROS, ["0", "2.5 M", "5.0 M"]),
        ([-1e9, 0, 1e9], CLICKS, ["-1 bn", "0", "1 bn"]),
        ([0, 25, 50], RATE, ["0%", "25%", "50%"]),
        ([2019, 2020], YEAR, ["2019", "2020"]),
        ([0, 5e199], CLICKS, ["0", "5e+199"]),
        ([0, 1e-9], CLICKS, ["0", "1e-09"]),
        ([0], CLICKS, ["0"]),
    ],
)
def test_the_numbers_of_an_axis(values: list[float], column: ResultColumn, said: list[str]) -> None:
    assert numbers(values, column) == said


def test_an_axis_has_its_unit() -> None:
    assert [axis_title(column) for column in (EUROS, RATE, CLICKS)] == ["sum(revenue) (€)", "rate", "sum(clicks)"]


@pytest.mark.parametrize(
    ("first", "days", "said"),
    [
        (date(2025, 1, 30), 3, ["30 Jan\n2025", "31 Jan", "1 Feb"]),
        (date(2024, 12, 30), 40, ["30 Dec\n2024", "4 Jan\n2025", "9 Jan"]),
        (date(2024, 11, 2), 120, ["Dec\n2024", "Jan\n2025", "Feb", "Mar"]),
        (date(2022, 3, 5), 1000, ["Jul\n2022", "Jan\n2023", "Jul", "Jan\n2024", "Jul"]),
        (date(2015, 6, 1), 3650, ["2016", "2018", "2020", "2022", "2024"]),
        (date.min, (date.max - date.min).days + 1, ["2000", "4000", "6000"]),
    ],
)
def test_the_days_of_an_axis(first: date, days: int, said: list[str]) -> None:
    ticks = day_ticks(first, first + timedelta(days - 1))
    assert [text for _, text in ticks][: len(said)] == said
    assert len(ticks) <= 10


def test_names_have_few_lines_and_no_controls() -> None:
    assert lines("Rindfleischetikettierungsgesetz", 20, 2) == "Rindfleischetiketti-\nerungsgesetz"
    assert all(len(line) <= 20 for line in lines("Rindfleischetikettierungsüberwachungsgesetz " * 9, 20, 2).split("\n"))
    assert lines("a\x1b[31m\u202eb\x00\nc", 20, 2) == "ab c"
    assert lines("", 20, 2) == " "


@given(st.lists(st.text(max_size=12), max_size=40))
def test_ticks_leave_room_for_their_words(names: list[str]) -> None:
    chosen = spread(names)
    assert len(chosen) <= 13
    assert not names or chosen[0] == 0


def picture(made: bytes) -> Image.Image:
    found = Image.open(io.BytesIO(made))
    found.load()
    assert found.format == "PNG"
    return found


@pytest.mark.parametrize("count", [2, 40])
def test_long_german_names_are_all_there(count: int) -> None:
    rows = [(f"Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz {at}", ONE) for at in range(count)]
    made = picture(chart(result((CHANNEL, EUROS), *rows), "Umsatz nach Kanal, ohne Rücksendungen " * 5))
    assert made.width == 960
    assert made.height >= count * 36


def test_a_thousand_days_are_a_line() -> None:
    rows = [(date(2022, 3, 5) + timedelta(day), Decimal(day)) for day in range(1000)]
    assert picture(chart(result((DAY, CLICKS), *rows), "Clicks by day")).size == (960, 552)


def test_dollars_and_controls_draw_as_they_are() -> None:
    rows = [*((name, ONE) for name in HOSTILE), ("$\\frac{x", ONE), ("_hidden", -ONE), ("\x00\x1b[2J" * 500, None)]
    hostile = ResultColumn("$\\unknown{", "text"), ResultColumn("^_{$", "number", "$\\alpha$", 2)
    picture(chart(result(hostile, *rows), "$\\sum_{i$ \x07" * 100))
    split = [(day, name, ONE) for day in months(3) for name in ("_a", "$\\frac", None)]
    picture(chart(result((MONTH, hostile[0], hostile[1]), *split), "$x"))


NUMBERS = st.one_of(st.none(), st.decimals(allow_nan=False, allow_infinity=False), cells("number", 2))


@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.dates(), st.datetimes()), NUMBERS, NUMBERS), min_size=1, max_size=6),
    st.sampled_from([None, "bar", "line", "scatter"]),
)
def test_any_numbers_and_dates_draw_or_say_why_not(rows: list[tuple[Any, ...]], kind: Any) -> None:
    kind_of: Any = "datetime" if any(isinstance(row[0], datetime) for row in rows) else "date"
    columns = (ResultColumn("x", kind_of), ResultColumn("a", "number", "€", 2), ResultColumn("b", "number"))
    line = kind != "bar" and len({row[0] for row in rows}) > 2  # of the first column of numbers: `b` has another unit
    drawn = [
        row
        for row in rows
        if (can_be_drawn(row[1]) and can_be_drawn(row[2]) if kind == "scatter" else can_be_drawn(row[1]))
        and (kind == "scatter" or not line or row[0] is not None)
    ]
    if not drawn:
        with pytest.raises(
            ChartError, match=r"^There is no (chart of a result without numbers|row with both numbers)\.$"
        ):
            chart(result(columns, *rows), "any", kind)
        return
    assert picture(chart(result(columns, *rows), "any", kind)).width == 960
    data = choose(result(columns, *rows), kind)
    assert data.kind == ("scatter" if kind == "scatter" else "line" if line else "bar")
    at = 2 if kind == "scatter" else 1
    exact: list[Any] = [value for value in data.series[0].exact if can_be_drawn(value)]
    assert sorted(exact) == sorted(row[at] for row in drawn)


def can_be_drawn(value: Any) -> bool:
    return value is not None and abs(value) < Decimal("1e300")


@pytest.mark.parametrize(
    ("row", "kind", "drawn", "up"),
    [
        (lambda at: (at, at * 1.5), "line", "line", 1.5),
        (lambda at: (at, Decimal(at)), "bar", "bar", 1),
        (lambda at: (at, at * 2), "scatter", "scatter", 2),
        (lambda at: (f"w{at}", at), "line", "bar", 1),
        (lambda at: (date(2025, 1, 1 + at), at), "line", "line", 1),
        (lambda at: (timedelta(at), at), "bar", "bar", 1),
    ],
)
def test_what_a_query_gives_is_drawn_as_a_result_is(row: Any, kind: Any, drawn: str, up: float) -> None:
    made = plotted(["across", "up"], [row(at) for at in range(12)], Plot(kind))
    data = choose(made, kind)
    assert (data.kind, data.across.title, data.up.title) == (drawn, "across", "up")
    assert data.series[0].values[1] == up
    assert picture(chart(made, "", kind)).width == 960
