"""What questions about a table are understood as: each word has a part in the plan, or there is none."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.agents.offline.tables.understanding import AskedBack, NotAboutTables, Understood, understand
from agentsvc_nb.agents.offline.tables.wording import question as worded
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import ORDERS, numbers, read, texts

READ = [
    ("What is the total revenue?", "sum(revenue)"),
    ("revenue per channel", "sum(revenue) by Channel"),
    ("revenue in March", "sum(revenue) where Order Date from 2025-03-01 to 2025-03-31"),
    ("units sold in Q1", "sum(Units) where Order Date from 2025-01-01 to 2025-03-31"),
    ("average unit price by product category", "mean(price) by Product Category"),
    ("median revenue", "median(revenue)"),
    ("90th percentile of revenue", "quantile(revenue, 0.9)"),
    ("Which product sold the most units?", "sum(Units) by Product Name top 1 by sum(Units)"),
    ("which channel had the lowest revenue", "sum(revenue) by Channel bottom 1 by sum(revenue)"),
    ("top 3 customers by revenue in 2025",
     "sum(revenue) by Customer where Order Date from 2025-01-01 to 2025-12-31 top 3 by sum(revenue)"),
    ("bottom 2 channels by units", "sum(Units) by Channel bottom 2 by sum(Units)"),
    ("how many orders are there", "count(rows)"),
    ("number of orders by country", "count(rows) by Country"),
    ("how many different countries", "count(distinct Country)"),
    ("how many customers", "count(distinct Customer)"),
    ("how many orders per month", "count(rows) by month(Order Date)"),
    ("monthly revenue", "sum(revenue) by month(Order Date)"),
    ("revenue by month and channel", "sum(revenue) by month(Order Date) and Channel"),
    ("share of revenue by channel", "share in % of sum(revenue) by Channel"),
    ("what share of revenue comes from Email",
     'sum(revenue where Channel = "Email") / sum(revenue) in %'),
    ("growth of revenue by month", "change in % of sum(revenue) to the period before by month(Order Date)"
     " in order of month(Order Date)"),
    ("running total of revenue by month",
     "running total of sum(revenue) by month(Order Date) in order of month(Order Date)"),
    ("correlation between units and revenue", "correlation(Units, revenue)"),
    ("ratio of revenue to units by channel", "sum(revenue) / sum(Units) by Channel"),
    ("revenue per unit", "sum(revenue) / sum(Units)"),
    ("average revenue per order", "mean(revenue)"),
    ("how many orders have no discount", "count(rows) where Discount is empty"),
    ("which month had the highest revenue", "sum(revenue) by month(Order Date) top 1 by sum(revenue)"),
    ("which weekday has the most orders", "count(rows) by weekday(Order Date) top 1 by count(rows)"),
    ("what is the price of the Trail Tent", 'values of price where Product Name = "Trail Tent"'),
    ("who bought the River Mug", 'values of Customer where Product Name = "River Mug"'),
    ("which channel had more revenue, Email or Search",
     'sum(revenue) by Channel where Channel in ("Email", "Search") top 1 by sum(revenue)'),
    ("difference in revenue between Email and Search",
     'sum(revenue where Channel = "Email") - sum(revenue where Channel = "Search")'),
    ("revenue of tents and cups in germany and france",
     'sum(revenue) where Product Category in ("Tents", "Cups") and Country in ("Germany", "France")'),
    ("cheapest product", "min(price) by Product Name bottom 1 by min(price)"),
    ("How many orders came in through Email?", 'count(rows) where Channel = "Email"'),
    ("revenue shipped to Austria", 'sum(revenue) where Country = "Austria"'),
    ("average revenue by product category, highest first",
     "mean(revenue) by Product Category in order of mean(revenue) descending"),
    ("By how many percent did revenue change from May to June?",
     "change in % from sum(revenue where Order Date from 2025-05-01 to 2025-05-31)"
     " to sum(revenue where Order Date from 2025-06-01 to 2025-06-30)"),
    ("most common status", "count(rows) by Status top 1 by count(rows)"),
    ("smallest price for each country", "min(price) by Country"),
    ("How many orders with a discount were paid?", 'count(rows) where Discount is not empty and Status = "paid"'),
    ("Among paid orders, what share is from Germany?",
     'count(rows where Country = "Germany") / count(rows) in % where Status = "paid"'),
    ("minimum and maximum revenue", "min(revenue), max(revenue)"),
    ("compare revenue of Email and Search", 'sum(revenue) by Channel where Channel in ("Email", "Search")'),
    ("difference between the highest and the lowest price", "max(price) - min(price)"),
    ("80th percentile of units", "quantile(Units, 0.8)"),
    ("which values does status take", "values of Status"),
    ("Email vs Search: which one has more revenue?",
     'sum(revenue) by Channel where Channel in ("Email", "Search") top 1 by sum(revenue)'),
    ("total revenue across all customers", "sum(revenue)"),
    ("revenue per order in March", "mean(revenue) where Order Date from 2025-03-01 to 2025-03-31"),
    ("revenue in the second half of the year", "sum(revenue) where Order Date from 2025-07-01 to 2025-12-31"),
    ("revenue of Acme GmbH customers", 'sum(revenue) where Customer = "Acme GmbH"'),
    ("When was the last order placed?", "max(Order Date)"),
    ("number of parcels from Germany", 'count(rows) where Country = "Germany"'),
]  # fmt: skip

TRAPS = [
    ("revenue of products other than Trail Tent", 'sum(revenue) where not (Product Name = "Trail Tent")'),
    ("revenue excluding Email and Social", 'sum(revenue) where not (Channel in ("Email", "Social"))'),
    ("revenue in Germany without tents",
     'sum(revenue) where Country = "Germany" and not (Product Category = "Tents")'),
    ("revenue after 30 June", "sum(revenue) where Order Date > 2025-06-30"),
    ("revenue before July", "sum(revenue) where Order Date < 2025-07-01"),
    ("revenue until July", "sum(revenue) where Order Date <= 2025-07-31"),
    ("revenue since 30 June", "sum(revenue) where Order Date >= 2025-06-30"),
    ("revenue from January to March", "sum(revenue) where Order Date from 2025-01-01 to 2025-03-31"),
    ("how many orders have more than 5 units", "count(rows) where Units > 5"),
    ("how many orders have no more than 5 units", "count(rows) where Units <= 5"),
    ("how many orders have 5 or more units", "count(rows) where Units >= 5"),
    ("how many orders have between 2 and 4 units", "count(rows) where Units from 2 to 4"),
    ("units by Product Name", "sum(Units) by Product Name"),
    ("how many orders were returned", ""),
    ("total by Product Name", ""),
    ("revenue in 2024 and 2025 of blorps", ""),
    ("how many tents were sold", ""),
    ("revenue of product", ""),
    ("average discount by channel", ""),
    ("sum of unit prices", ""),
    ("revenue by order id", ""),
    ("neither Email nor Search revenue", 'sum(revenue) where not (Channel in ("Email", "Search"))'),
    ("how many customers spent more than 2000", ""),
    ("revenue where units is larger than discount", ""),
    ("how many parcels", "count(rows)"),
    ("the number of parcels", ""),
    ("name a customer in Spain", ""),
    ("parcels by channel", ""),
    ("which Discount month had the highest revenue", ""),
    ("lowest revenue, Acme GmbH or Beta SA", 'min(revenue) where Customer in ("Acme GmbH", "Beta SA")'),
    ("revenue more than Email", ""),
    ("revenue last month", ""),
    ("not revenue", ""),
    ("revenue per", ""),
    ("revenue of Email or Germany in April not", ""),
    ("highest order id", ""),
    ("revenue in Germany in France", ""),
    ("Does Email have the highest revenue", ""),
    ("Is the total revenue over 5000", ""),
    ("Which product other than River Mug has the highest revenue",
     'sum(revenue) by Product Name where not (Product Name = "River Mug") top 1 by sum(revenue)'),
    ("how many orders in 2025 or later", "count(rows) where Order Date >= 2025-01-01"),
    ("Which customer is the oldest", ""),
    ("units of Email before the merger", ""),
    ("total revenue, i.e. (revenue - units) / revenue", ""),
]  # fmt: skip


@pytest.mark.parametrize(("question", "expected"), READ + TRAPS)
def test_a_question_is_understood_whole_or_not_at_all(question: str, expected: str) -> None:
    assert read(question) == expected


@given(
    st.sampled_from([question for question, expected in READ + TRAPS if expected]),
    st.integers(0, 12),
    st.text("bcdfghjklmnpqrstvwxz", min_size=4, max_size=12),
)
def test_an_unknown_word_never_yields_a_plan(question: str, place: int, unknown: str) -> None:
    """Mistyped words are matched; these have no vowels, as no header has."""
    words = question.split()
    words.insert(min(place, len(words)), f"{unknown}q")
    found = understand(" ".join(words), [ORDERS])
    assert isinstance(found, AskedBack | NotAboutTables)


@given(
    st.sampled_from([(question, expected) for question, expected in READ + TRAPS if expected]),
    st.integers(0, 12),
    st.sampled_from(["price", "status", "Spain", "open", "units below 3", "not", "more than 7", "second", "last"]),
)
def test_nothing_is_dropped(asked: tuple[str, str], place: int, besides: str) -> None:
    question, expected = asked
    words = question.split()
    words.insert(min(place, len(words)), besides)
    said_twice = besides in f"{question} {expected}".casefold()
    assert said_twice or read(" ".join(words)) != expected


def test_rows_alone_are_counted_unless_they_are_to_be_listed() -> None:
    assert read("orders with more than 5 units") == "count(rows) where Units > 5"
    assert read("list orders with more than 5 units") == "Order ID where Units > 5"


def test_a_long_unknown_word_is_cut() -> None:
    found = understand(f"total revenue of {'q' * 5000}", [ORDERS])
    assert isinstance(found, AskedBack)
    assert len(found.reason) < 120


@given(
    st.sampled_from([(question, expected) for question, expected in READ + TRAPS if expected]),
    st.sampled_from([str.upper, str.lower, str.title]),
    st.sampled_from(["", "?", "!", " ??", "."]),
    st.sampled_from(["", "please, ", "can you tell me ", "So "]),
)
def test_case_signs_and_stop_words_change_nothing(asked: tuple[str, str], case: object, end: str, begin: str) -> None:
    question, expected = asked
    assert callable(case)
    assert read(f"{begin}{case(question)}{end}") == expected


def test_a_mistyped_word_is_told() -> None:
    found = understand("revnue by chanel in Germny", [ORDERS])
    assert isinstance(found, Understood)
    assert found.told == (
        "revnue was read as the column Revenue (EUR).",
        "chanel was read as the column Channel.",
        "Germny was read as Germany.",
    )


def test_lost_words_are_named_and_a_reading_is_offered() -> None:
    found = understand("total revenue of blorp by channel", [ORDERS])
    assert isinstance(found, AskedBack)
    assert found.lost == ("blorp",)
    assert [worded(one.plan) for one in found.readings] == ['Total "Revenue (EUR)" by "Channel"?']


@pytest.mark.parametrize("question", [question for question, expected in READ + TRAPS if expected])
def test_a_plan_that_is_worded_is_understood_again(question: str) -> None:
    found = understand(question, [ORDERS])
    assert isinstance(found, Understood)
    if said := worded(found.reading.plan):
        again = understand(said, [ORDERS])
        assert isinstance(again, Understood), said
        assert again.reading.plan == found.reading.plan, said


def test_an_exact_header_wins_over_similar_ones() -> None:
    net = numbers("Net Sales", "1", "9")
    table = TableProfile("t", "t.csv", 9, (texts("Name", "A", "B"), numbers("Sales", "1", "9"), net))
    assert read("total sales", table) == "sum(Sales) over the rows of t.csv"
    table = TableProfile("t", "t.csv", 9, (numbers("Gross Sales", "1", "9"), net))
    assert read("total sales", table) == ""


def test_a_question_about_something_else_is_not_about_tables() -> None:
    assert isinstance(understand("what does the brief say about families", [ORDERS]), NotAboutTables)


STAFF: Final = TableProfile(
    "staff",
    "staff.csv",
    22,
    (
        texts("Name", *(f"Person {number}" for number in range(22))),
        ColumnProfile("Hired on", "date", distinct=22, smallest="2019-01-02", largest="2025-03-04"),
        texts("Tier", "Free", "Team"),
        texts("Cost centre", "100 Sales", "200 Support"),
        texts("Currency", "EUR", "USD"),
        numbers("Amount spent (USD)", "1", "900"),
        numbers("Cost per result", "1", "9"),
    ),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was hired last?", "Name, Hired on top 1 by Hired on over the rows of staff.csv"),
        ("total spend", "sum([Amount spent (USD)]) over the rows of staff.csv"),
        ("spend by week day", "sum([Amount spent (USD)]) by weekday(Hired on) over the rows of staff.csv"),
        ("total cost per result", ""),  # each is a ratio
        ("rows per team", ""),  # the tier is no group
        ("how many people were born in the 1980s?", ""),
        ("How many in EUR?", ""),  # amounts, or rows of that currency
    ],
)
def test_a_part_of_a_header_is_not_taken_for_all_of_it(question: str, expected: str) -> None:
    assert read(question, STAFF) == expected


TICKETS: Final = TableProfile(
    "tickets",
    "tickets.csv",
    300,
    (
        numbers("Ticket ID", "1", "900", 300),
        ColumnProfile("opened_at", "date", distinct=200, smallest="2025-01-02", largest="2025-12-30"),
        ColumnProfile("closed_at", "date", empty=40, distinct=200, smallest="2025-01-03", largest="2025-12-31"),
        texts("customer_id", *(f"C{number}" for number in range(40))),
        numbers("net amount", "1", "900"),
    ),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("how many tickets were closed in April 2025?", "closed_at from 2025-04-01 to 2025-04-30"),
        ("how many tickets were opened in April 2025?", "opened_at from 2025-04-01 to 2025-04-30"),
        ("how many tickets in April 2025?", "opened_at from 2025-04-01 to 2025-04-30"),
    ],
)
def test_a_verb_says_which_date_is_meant(question: str, expected: str) -> None:
    assert read(question, TICKETS) == f"count(rows) where {expected} over the rows of tickets.csv"


def test_who_asks_for_a_name_that_is_there() -> None:
    assert read("customer with the highest net amount", TICKETS).startswith("sum(net amount) by customer_id top 1")
    assert read("name of the customer with the highest net amount", TICKETS) == ""


WEATHER = TableProfile(
    "weather",
    "weather.csv",
    366,
    (
        ColumnProfile("date", "date", distinct=366, smallest="2024-01-01", largest="2024-12-31"),
        numbers("wind", "0", "9.5"),
        texts("sky", "rain", "sun", "fog"),
    ),
)
MEDALS = TableProfile(
    "medals",
    "medals.csv",
    30,
    (numbers("year", "1896", "2024", 30), numbers("medals", "3", "31"), numbers("gold", "0", "9")),
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the lowest wind of days with fog?", 'min(wind) where sky = "fog"'),
        ("What was the highest wind of the days whose sky is not rain?", 'max(wind) where not (sky = "rain")'),
        ("What day had the highest wind?", "max(wind) by day(date) top 1 by max(wind)"),
        ("Name the day with the highest wind", "max(wind) by day(date) top 1 by max(wind)"),
        ("Which name has the highest wind?", ""),
    ],
)
def test_the_highest_of_several_is_a_value_and_none_of_them(question: str, expected: str) -> None:
    assert read(question, WEATHER) == (f"{expected} over the rows of weather.csv" if expected else "")


def test_a_word_that_is_exactly_a_header_is_never_left_out() -> None:
    asked = "What is the standard deviation of the gold of years with a medals more than 10?"
    assert "year >" not in read(asked, MEDALS)
    assert read("How many years have medals above 10?", MEDALS).startswith("count(rows) where medals > 10")


def test_what_only_has_a_name_is_not_people() -> None:
    cars = TableProfile("cars", "cars.csv", 90, (texts("Name", "Beetle", "Panda"), numbers("Weight", "600", "3000")))
    assert read("How many cars have a weight above 900?", cars).startswith("count(rows) where Weight > 900")
    assert read("How many people have a weight above 900?", cars) == ""
