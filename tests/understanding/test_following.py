"""Questions that go on from the one before: its plan with what is said now, or the question is asked back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.agents.offline.languages.charts import ChartWish
from agentsvc_nb.agents.offline.tables.following.context import chart_of_before, in_context, told
from agentsvc_nb.agents.offline.tables.understanding import AskedBack, Understood
from agentsvc_nb.agents.offline.tables.wording import question as worded
from agentsvc_nb.documents.plans.expressions import expression
from agentsvc_nb.documents.plans.profiles import ColumnProfile, TableProfile
from tests.understanding.orders import ORDERS, SHORT, numbers, texts

TWO_YEARS = replace(
    ORDERS,
    columns=tuple(
        replace(column, smallest="2024-01-02", largest="2025-12-30") if column.name == "Order Date" else column
        for column in ORDERS.columns
    ),
)
ADDRESSES = TableProfile(
    "t", "t.csv", 9, (texts("Home", "Wien"), texts("Office", "Wien", "Graz"), numbers("Fee", "1", "9"))
)

CHANGED = [
    # A condition takes the place of the one of the same column, or is added.
    ("revenue in Germany | and for Austria?", 'sum(revenue) where Country = "Austria"'),
    ("revenue in Germany | and for Email?", 'sum(revenue) where Country = "Germany" and Channel = "Email"'),
    ("revenue in Germany and France | in Spain?", 'sum(revenue) where Country = "Spain"'),
    ("revenue without Germany | and for Austria?", 'sum(revenue) where Country = "Austria"'),
    ("revenue by country | without Austria", 'sum(revenue) by Country where not (Country = "Austria")'),
    ("revenue in Germany and Austria | without Austria",
     'sum(revenue) where Country in ("Germany", "Austria") and not (Country = "Austria")'),
    ("revenue in Germany | What about March?",
     'sum(revenue) where Country = "Germany" and Order Date from 2025-03-01 to 2025-03-31'),
    ("revenue in March | and in April?", "sum(revenue) where Order Date from 2025-04-01 to 2025-04-30"),
    ("revenue of tents | only 2025",
     'sum(revenue) where Product Category = "Tents" and Order Date from 2025-01-01 to 2025-12-31'),
    ("revenue in 2025 | only after June",
     "sum(revenue) where Order Date from 2025-01-01 to 2025-12-31 and Order Date > 2025-06-30"),
    ("what share of revenue comes from Email | and from Search?",
     'sum(revenue where Channel = "Search") / sum(revenue) in %'),
    ("what is the price of the Trail Tent | and of the River Mug?", 'values of price where Product Name = "River Mug"'),
    ("which product sold the most units? | and in Germany?",
     'sum(Units) by Product Name where Country = "Germany" top 1 by sum(Units)'),
    # Numbers are of the column that was compared.
    ("how many orders have more than 5 units | and above 100?", "count(rows) where Units > 100"),
    ("how many orders have more than 5 units | and 10?", "count(rows) where Units > 10"),
    ("how many orders have more than 5 units | in Germany?", 'count(rows) where Units > 5 and Country = "Germany"'),
    # Groups, operations, measures.
    ("revenue in Germany | and by month?", 'sum(revenue) by month(Order Date) where Country = "Germany"'),
    ("revenue by country | and by month?", "sum(revenue) by Country and month(Order Date)"),
    ("revenue by month | by quarter", "sum(revenue) by quarter(Order Date)"),
    ("revenue by country | by channel instead", "sum(revenue) by Channel"),
    ("revenue in Germany | and the average?", 'mean(revenue) where Country = "Germany"'),
    ("revenue by country | and the average per country?", "mean(revenue) by Country"),
    ("average price by product category | the median?", "median(price) by Product Category"),
    ("revenue by country | and the total?", "sum(revenue)"),
    ("revenue by country | and units?", "sum(Units) by Country"),
    ("revenue in Germany | and how many orders?", 'count(rows) where Country = "Germany"'),
    ("revenue by country | as a share", "share in % of sum(revenue) by Country"),
    ("what is the price of the Trail Tent | and the category?",
     'values of Product Category where Product Name = "Trail Tent"'),
    # The top of the list.
    ("revenue by country | which of them was the best?", "sum(revenue) by Country top 1 by sum(revenue)"),
    ("revenue by country | and the worst?", "sum(revenue) by Country bottom 1 by sum(revenue)"),
    ("revenue by country | the top 3", "sum(revenue) by Country top 3 by sum(revenue)"),
    ("revenue in Germany | which month was the best?",
     'sum(revenue) by month(Order Date) where Country = "Germany" top 1 by sum(revenue)'),
    ("which product sold the most units? | and the least?", "sum(Units) by Product Name bottom 1 by sum(Units)"),
    ("which product sold the most units? | and by revenue?", "sum(revenue) by Product Name top 1 by sum(revenue)"),
    ("revenue by month | and the growth?",
     "change in % of sum(revenue) to the period before by month(Order Date) in order of month(Order Date)"),
    ("revenue by country | break it down by month", "sum(revenue) by Country and month(Order Date)"),
    # What would be understood by itself, too, but goes on.
    ("how many orders came from Germany? | what was their total revenue?", 'sum(revenue) where Country = "Germany"'),
    ("how many orders came from Germany? | and how many of them in March?",
     'count(rows) where Country = "Germany" and Order Date from 2025-03-01 to 2025-03-31'),
    ("revenue in Germany | and excluding open orders?",
     'sum(revenue) where Country = "Germany" and not (Status = "open")'),
    # One after the other, and in other languages.
    ("revenue in Germany | and for Austria? | and by month? | which of them was the best?",
     'sum(revenue) by month(Order Date) where Country = "Austria" top 1 by sum(revenue)'),
    ("revenue by month | as a chart?", "sum(revenue) by month(Order Date)"),
    ("revenue by month | and for tents as a chart?",
     'sum(revenue) by month(Order Date) where Product Category = "Tents"'),
    ("revenue in Germany | und für Austria?", 'sum(revenue) where Country = "Austria"'),
    ("revenue in Germany | und der Durchschnitt?", 'mean(revenue) where Country = "Germany"'),
    ("revenue by country | welches davon war das beste?", "sum(revenue) by Country top 1 by sum(revenue)"),
    ("revenue in Germany | et pour Austria ?", 'sum(revenue) where Country = "Austria"'),
    ("revenue by country | lequel d'entre eux est le meilleur ?", "sum(revenue) by Country top 1 by sum(revenue)"),
    ("revenue in Germany | ¿y por mes?", 'sum(revenue) by month(Order Date) where Country = "Germany"'),
    ("revenue by country | ¿cuál de ellos fue el mejor?", "sum(revenue) by Country top 1 by sum(revenue)"),
]  # fmt: skip

ALONE = [
    ("revenue in Germany | and what is the total revenue?", "sum(revenue)"),
    ("revenue in Germany | And how many orders are there?", "count(rows)"),
    ("revenue in Germany | units in France", 'sum(Units) where Country = "France"'),
    ("revenue in Germany | who bought the River Mug", 'values of Customer where Product Name = "River Mug"'),
    ("and what is the total revenue?", "sum(revenue)"),
]

ASKED_BACK = [
    "revenue in Germany | without Austria",  # of all others, or of Germany
    "revenue without Spain | and without Austria?",  # instead, or also
    "revenue in March | how about 2025?",  # March, or the year
    "how many orders have more than 5 units | and below 10?",  # instead, or between
    "revenue by country | and the average?",  # of rows, or of countries
    "revenue in Germany by month | and revenue in Austria?",  # by month, or not
    "revenue of tents in Germany | and units of cups?",  # in Germany, or everywhere
    "which product sold the most units? | and by month?",
    "which product sold the most units? | and revenue?",  # of that product, or another first
    "average price by product category | which was the best?",  # cheap, or dear
    "difference in revenue between Email and Search | and Social?",
    "revenue in Germany | and for Atlantis?",
    "revenue by country | and where is Austria?",
    "revenue by country | How many orders had a discount of more than 10 euros?",  # whole, and not understood
    "revenue by country | Revenue before discount for tents",
    "revenue by country | was Austria the best?",
    "revenue in Germany | and above 100?",
    "revenue in Germany | compare with Austria",  # both
    "revenue in Germany | which channel is the biggest?",  # a question of its own
    "revenue in March | plus April",
    "revenue in Germany | and for Austria in Spain?",
    "revenue in March | to June",
    "how many orders came from Germany? | and how many of them from Austria?",  # none
    "blorp in Germany | and for Austria?",  # no answer before
    "what does the brief say | and for Austria?",
    "and for Austria?",
]


def read(chain: str, *tables: TableProfile) -> str:
    """The expression of the last of several questions; empty if it is asked back."""
    *before, question = chain.split(" | ")
    chosen = tables or (ORDERS,)
    found = in_context(question, before[::-1], chosen, [table.path for table in chosen]).found
    if not isinstance(found, Understood):
        return ""
    line = expression(found.reading.plan, {table.name: table for table in chosen})
    for long, short in SHORT.items():
        line = line.replace(long, short)
    return line


@pytest.mark.parametrize(("chain", "expected"), CHANGED + ALONE)
def test_a_question_goes_on_from_the_one_before_or_stands_alone(chain: str, expected: str) -> None:
    assert read(chain) == expected


@pytest.mark.parametrize("chain", ASKED_BACK)
def test_what_is_not_clear_with_the_question_before_is_asked_back(chain: str) -> None:
    assert read(chain) == ""


@given(
    st.sampled_from([chain for chain, _ in CHANGED]),
    st.integers(0, 8),
    st.text("bcdfghjklmnpqrstvwxz", min_size=4, max_size=9),
)
def test_an_unknown_word_never_goes_on(chain: str, place: int, unknown: str) -> None:
    *before, question = chain.split(" | ")
    said = question.split()
    said.insert(min(place, len(said)), f"{unknown}q")
    assert read(" | ".join([*before, " ".join(said)])) == ""


def test_a_month_is_of_the_year_that_was_asked_for() -> None:
    assert read("revenue in 2024 | and in April?", TWO_YEARS).startswith(
        "sum(revenue) where Order Date from 2024-04-01"
    )
    assert read("revenue in March 2024 | and April?", TWO_YEARS).startswith(
        "sum(revenue) where Order Date from 2024-04"
    )
    assert read("revenue in March | only 2025", TWO_YEARS).startswith(
        "sum(revenue) where month(Order Date) = 3 and Order"
    )
    assert read("revenue in March 2024 | and 2025?", TWO_YEARS) == ""


def test_a_value_of_two_columns_is_of_the_one_that_was_asked_for() -> None:
    assert read("total fee of office Graz | and Wien?", ADDRESSES).startswith('sum(Fee) where Office = "Wien"')
    assert read("total fee | and Wien?", ADDRESSES) == ""


def test_a_file_that_was_replaced_is_read_anew() -> None:
    """Nothing of the question before is kept but its words."""
    fewer = replace(ORDERS, columns=tuple(column for column in ORDERS.columns if column.name != "Country"))
    assert read("revenue by country | and by month?", fewer) == ""
    other = replace(ORDERS, columns=(*fewer.columns, ColumnProfile("Country", "text", distinct=1, values=("Peru",))))
    assert read("revenue by country | and for Peru?", other) == 'sum(revenue) by Country where Country = "Peru"'


def test_the_questions_before_are_told() -> None:
    context = in_context(
        "and by month?", ["and for Austria?", "What was the revenue in Germny?"], [ORDERS], ["orders.csv"]
    )
    assert told(context) == ("With the question before: What was the revenue in Germny; and for Austria.",)
    assert told(in_context("revenue by month", ["revenue in Germany"], [ORDERS], ["orders.csv"])) == ()


def test_readings_are_offered() -> None:
    found = in_context("without Austria", ["revenue in Germany"], [ORDERS], ["orders.csv"]).found
    assert isinstance(found, AskedBack)
    assert worded(found.readings[0].plan) == 'Total "Revenue (EUR)" where "Country" not "Austria"?'


@pytest.mark.parametrize(
    ("question", "expected"),
    [("as a chart", ChartWish()), ("and as a bar chart?", ChartWish("bar")), ("plot it", ChartWish()),
     ("und als Liniendiagramm?", ChartWish("line")), ("en graphique ?", ChartWish()), ("¿y como gráfico?", ChartWish()),
     ("plot revenue", None), ("what is in the chart", None), ("show it", None)],
)  # fmt: skip
def test_a_chart_alone_is_of_the_answer_before(question: str, expected: ChartWish | None) -> None:
    assert chart_of_before(question) == expected
