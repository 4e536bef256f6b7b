"""Ways of asking for one value, one row or one number, over tables of several kinds: read whole, or not at all."""

from __future__ import annotations

from typing import Final

import pytest

from agentsvc_nb.agents.offline.tables.understanding import AskedBack, Understood, understand
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import numbers, read, texts

RACES: Final = TableProfile(
    "races",
    "races.csv",
    60,
    (
        numbers("Season", "1990", "2009", 20),
        texts("Circuit", "Monza", "Spa", "Imola"),
        texts("Winning driver", "Ana Roth", "Ben Oduya", "Cleo Marsh"),
        texts("Winning team", "Azeta", "Targa", "Bertram"),
        numbers("Wins", "0", "9", 9),
        numbers("Laps", "30", "80", 30),
        numbers("Prize ($)", "100", "9000", 50, "$"),
        ColumnProfile("Held On", "date", distinct=60, smallest="2008-01-05", largest="2009-11-28"),
    ),
)
CAREER: Final = TableProfile(
    "career",
    "career.csv",
    12,
    (numbers("Year", "1990", "2001", 12), numbers("Starts", "1", "30", 10), numbers("Wins", "0", "9", 5)),
)
SIDE_BY_SIDE: Final = TableProfile(
    "sites",
    "sites.csv",
    20,
    (texts("City", "Graz", "Linz"), numbers("Visitors", "1", "90"), texts("City (2)", "Bern"),
     numbers("Visitors (2)", "3", "80")),
)  # fmt: skip


def _read(question: str, table: TableProfile) -> str:
    return read(question, table).replace(f" over the rows of {table.path}", "")


MOST_IN_ONE: Final = [
    (CAREER, "what was his greatest number of wins in a year", "max(Wins)"),
    (CAREER, "the most wins in a single year", "max(Wins)"),
    (CAREER, "which year had the most wins", "Year, Wins top 1 by Wins"),
    (RACES, "what is the highest number of laps in a month", "sum(Laps) by month(Held On) top 1 by sum(Laps)"),
    (RACES, "the fewest laps in one month", "sum(Laps) by month(Held On) bottom 1 by sum(Laps)"),
    (RACES, "the highest prize in a single race", "max([Prize ($)])"),
    (RACES, "what was the highest prize in a month", ""),
    (RACES, "what is the most that any team won us in one month", ""),
    (RACES, "which team had the most wins in a month", ""),
]


@pytest.mark.parametrize(("table", "question", "expected"), MOST_IN_ONE)
def test_the_most_in_one_year_is_a_number_and_no_year(table: TableProfile, question: str, expected: str) -> None:
    assert _read(question, table) == expected


ANY: Final = [
    ("name a circuit with more than 50 laps", ""),
    ("tell me a winning team that raced in Monza", ""),
    ("show me one winning driver with 3 wins", ""),
    ("find an order of the circuit Spa", ""),
    ("give me a list of the circuits", "values of Circuit"),
    ("list the circuits won by Azeta", 'values of Circuit where Winning team = "Azeta"'),
]


@pytest.mark.parametrize(("question", "expected"), ANY)
def test_one_of_several_is_none_of_them_all(question: str, expected: str) -> None:
    assert _read(question, RACES) == expected


@pytest.mark.parametrize(
    "question",
    [
        "which winning team won the least",
        "which driver of which team won the most",
        "in what month did the highest number of wins occur on the circuit",
        "in which month did most laps occur",
    ],
)
def test_what_is_the_most_is_said_or_asked_back(question: str) -> None:
    assert "distinct" not in _read(question, RACES)
    assert "by Wins" not in _read(question, RACES)
    assert "by Laps" not in _read(question, RACES)


@pytest.mark.parametrize(
    "question", ["which circuit had the fewest races", "which circuit had the most races in March"]
)
def test_counted_groups_have_rows(question: str) -> None:
    assert "count(rows) by Circuit" in _read(question, RACES)


def test_the_fewest_of_some_rows_may_be_none_and_no_group() -> None:
    assert _read("which circuit had the fewest races in March", RACES) == ""
    assert _read("which winning team has the fewest races at Monza", RACES) == ""


DEALS: Final = TableProfile(
    "deals",
    "deals.csv",
    90,
    (
        texts("Stage", "Closed Won", "Closed Lost", "Open"),
        texts("Owner", "Ana Roth", "Ben Oduya"),
        texts("Region", "North", "South"),
        numbers("Amount", "100", "9000", 80, "€"),
    ),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("total amount of won deals in the North", 'sum(Amount) where Stage = "Closed Won" and Region = "North"'),
        ("what are the deals that we won worth in total", 'sum(Amount) where Stage = "Closed Won"'),
        ("total amount of closed deals", ""),
        ("how many deals are open, closed won and closed lost",
         'count(rows) by Stage where Stage in ("Open", "Closed Won", "Closed Lost")'),
        ("do deals in the North have a higher average amount than deals in the South",
         'mean(Amount where Region = "North") - mean(Amount where Region = "South")'),
    ],
)  # fmt: skip
def test_a_verb_that_a_value_has_is_a_condition(question: str, expected: str) -> None:
    assert _read(question, DEALS) == expected


@pytest.mark.parametrize("question", ["which north sold it", "which north won the most"])
def test_a_value_in_place_of_what_is_asked_for_is_no_condition(question: str) -> None:
    assert _read(question, DEALS) == ""


def test_prices_of_one_each_are_not_added_up_as_costs() -> None:
    stock = TableProfile(
        "stock", "stock.csv", 90,
        (texts("Item", "Bolt", "Hinge"), numbers("Unit cost", "1", "9"), numbers("Units left", "1", "9")),
    )  # fmt: skip
    assert _read("total cost", stock) == ""
    assert _read("cost by item", stock) == ""
    assert _read("total unit cost", stock) == ""


def test_a_verb_without_a_column_is_not_overlooked() -> None:
    orders = TableProfile(
        "orders", "orders.csv", 90,
        (texts("Customer", "Ana", "Ben"), ColumnProfile("Order Date", "date", distinct=60, smallest="2023-01-05")),
    )  # fmt: skip
    members = TableProfile(
        "members", "members.csv", 90,
        (texts("Member", "Ana", "Ben"), ColumnProfile("Signup Date", "date", distinct=60, smallest="2023-01-05")),
    )  # fmt: skip
    assert _read("which customer has the most orders", orders) == "count(rows) by Customer top 1 by count(rows)"
    assert _read("which customer spent the most on orders", orders) == ""
    assert _read("how many members bought something in 2023", members) == ""


def test_numbers_of_rows_and_quotients_are_not_added_up() -> None:
    visits = TableProfile(
        "visits", "visitas.csv", 60,
        (numbers("Nº visita", "3001", "3060", 60), texts("Servicio", "A", "B"), numbers("Cost / conv.", "1", "9")),
    )  # fmt: skip
    assert "sum" not in _read("¿Cuántas visitas hubo por servicio?", visits)
    assert "sum" not in _read("cost / conv. of Servicio A", visits)


def test_who_is_told_a_name_and_no_id() -> None:
    stock = TableProfile("stock", "stock.csv", 9, (texts("Item", "Bolt", "Hinge"), texts("Supplier ID", "S1", "S2")))
    assert _read("who supplies the Bolt", stock) == ""
    assert _read("which supplier id has the Bolt", stock) == 'values of Supplier ID where Item = "Bolt"'


def test_a_loose_reading_gives_way_to_a_table_that_has_the_words() -> None:
    sales = TableProfile("sales", "sales.csv", 60, (texts("Item Name", "Bolt", "Hinge"), numbers("Pieces", "1", "9")))
    stock = TableProfile(
        "items", "items.csv", 9, (texts("Item Name", "Bolt", "Hinge"), numbers("Units left", "1", "9"))
    )
    found = understand("which item sold the most pieces", [sales, stock])
    assert isinstance(found, Understood)
    assert found.reading.plan.table == "sales"
    spent = TableProfile("paid", "paid.csv", 60, (texts("Ad group", "A1", "B2"), numbers("Spend", "1", "9")))
    shops = TableProfile("shops", "shops.csv", 60, (texts("Shop", "A1", "B2"), numbers("Advertising Cost", "1", "9")))
    assert isinstance(understand("total ad spend of B2", [spent, shops]), AskedBack)


def test_two_columns_of_one_header_are_asked_back() -> None:
    found = understand("which city had the most visitors", [SIDE_BY_SIDE])
    assert isinstance(found, AskedBack)
    assert found.reason.startswith("Several columns are called")
    assert _read("total visitors (2)", SIDE_BY_SIDE) == "sum([Visitors (2)])"


STOCK: Final = TableProfile(
    "stock",
    "stock.csv",
    40,
    (
        texts("Item Name", "Silver Bolt 250g", "Brass Hinge 40g", "Silver Bolt 500g"),
        texts("Shelf Group", "Bolts", "Hinges", "Locks"),
        numbers("Stock", "0", "90", 30),
        numbers("Sold Last Month", "1", "60", 30),
        numbers("list_price_eur", "1", "80", 35),
        numbers("Level", "0", "6", 7),
        ColumnProfile("Ordered On", "date", distinct=30, smallest="2024-01-02", largest="2024-12-20"),
        ColumnProfile("Received On", "date", empty=6, distinct=25, smallest="2024-01-09", largest="2024-12-28"),
        numbers("Check Score", "1", "10", 9, empty=4),
    ),
)
WAYS: Final = [
    ("list price of the Silver Bolt 250g", 'values of list_price_eur where Item Name = "Silver Bolt 250g"'),
    ("list price of the Silver Bolt 300g", ""),
    ("stock of the Brass Hinge 40g", 'sum(Stock) where Item Name = "Brass Hinge 40g"'),
    ("stock of the Brass Hinge 41g", ""),
    ("how many rows are out of stock", "count(rows) where Stock = 0"),
    ("how many bolts are out of stock", 'count(rows) where Shelf Group = "Bolts" and Stock = 0'),
    ("stock of the fifth level", "sum(Stock) where Level = 5"),
    ("stock of the ninth level", ""),
    ("lowest hinge in a month", ""),
    ("how many rows with more than one in stock", "count(rows) where Stock > 1"),
    ("how many rows have a stock of more than one", "count(rows) where Stock > 1"),
    ("how many rows have a stock between 5 and 10, both included", "count(rows) where Stock from 5 to 10"),
    ("how many rows have a stock between 5 and 10, locks included", ""),
    ("how many rows are still waiting for a check score", "count(rows) where Check Score is empty"),
    ("how many rows are still waiting for a stock over 5", ""),
    ("how many rows have a stock of 20 or more", "count(rows) where Stock >= 20"),
    ("how many rows were ordered in May 2024", "count(rows) where Ordered On from 2024-05-01 to 2024-05-31"),
    ("how many rows were not ordered in May 2024", "count(rows) where not (Ordered On from 2024-05-01 to 2024-05-31)"),
    ("how many rows were not received in May 2024", ""),
]


@pytest.mark.parametrize(("question", "expected"), WAYS)
def test_ways_of_saying_it_are_read_whole_or_not_at_all(question: str, expected: str) -> None:
    assert _read(question, STOCK) == expected
