"""Numbers that the rows of a table do not give together: the agent refuses them, or warns before the number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.offline.test_answers import ask, basis, suggestions

PAY = """name,team,salary,units,ccy
Ada,Blue,100,1,EUR
Ben,Blue,200,2,EUR
Cleo,Red,5000,4,JPY
Dan,Red,300,8,USD
"""
BANK = """Date;Text;Amount;Units;{header}
2026-01-02;Rent;1250.00;1;{debit}
2026-01-03;Salary;3480.55;2;{credit}
2026-01-04;Food;84.30;4;{debit}
"""
RATES = """campaign,month,impressions,clicks,CTR,success,humidity,share
A,2026-01,1000,50,5%,5%,70%,40%
B,2026-01,9000,90,1%,1%,80%,25%
A,2026-02,1000,30,3%,3%,82%,35%
"""
SURVEY = """id,rating (1-5),mood,income,change,cold
1,5,1,40000,-99,-1
2,4,2,-999,99,-9999
3,99,3,52000,-4,1
4,3,99,-999,5,-6
"""
ITEMS = """Name,Email,Item,Price
#1001,a@x.com,Tee,20
#1001,a@x.com,Cap,10
#1002,b@x.com,Tee,20
"""
EVENTS = """event,device,time
view,mobile,2026-01-02 10:00:01
buy,mobile,2026-01-02 10:00:02
view,desktop,2026-01-02 10:00:03
"""


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("average salary", None),
        ("total salary by team", None),
        ("highest salary", None),
        ("which ccy has the highest total salary?", None),
        ("share of salary by ccy", None),
        ("total salary by ccy", ["EUR", "300", "JPY", "5000", "USD", "300"]),
        ("total salary with ccy is EUR", ["300"]),
        ("total salary for team Blue", ["300"]),  # these rows have one currency
        ("total units", ["15"]),
        ("how many rows with ccy is EUR?", ["2"]),
    ],
)
def test_amounts_of_several_currencies_are_not_combined(
    question: str, values: list[str] | None, tmp_path: Path
) -> None:
    turn = ask(question, {"pay.csv": PAY}, tmp_path)
    assert basis(turn).values == (values or [])
    if values is None:
        assert "several currencies in `ccy` (`EUR`, `JPY`, `USD`)" in turn.said
        assert basis(ask(suggestions(turn)[0], {"pay.csv": PAY}, tmp_path / "offered")).basis == "computed"


@pytest.mark.parametrize(
    "content",
    [
        PAY.replace("JPY", "EUR").replace("USD", "EUR"),
        PAY.replace("salary", "salary EUR"),  # the header says that the amounts are converted
        PAY.replace("EUR", "AAA").replace("JPY", "BBB"),
    ],
)
def test_a_table_with_one_currency_is_computed(content: str, tmp_path: Path) -> None:
    assert basis(ask("total salary", {"pay.csv": content}, tmp_path)).values == ["5600"]


@pytest.mark.parametrize(
    ("debit", "credit"),
    [("S", "H"), ("Soll", "Haben"), ("Debit", "Credit"), ("DR", "CR"), ("Expenses", "Income"), ("Ausgang", "Eingang")],
)
def test_debits_and_credits_without_a_sign_are_not_added_up(debit: str, credit: str, tmp_path: Path) -> None:
    files = {"bank.csv": BANK.format(header="", debit=debit, credit=credit)}
    turn = ask("total amount", files, tmp_path)
    assert basis(turn).basis == "asked_back"
    assert "tells incoming from outgoing rows" in turn.said
    by_kind, one_kind = suggestions(turn)
    rows = sorted([debit, "1334.30", credit, "3480.55"])
    assert sorted(basis(ask(by_kind, files, tmp_path / "kind")).values) == rows
    assert basis(ask(one_kind, files, tmp_path / "one")).values in (["1334.30"], ["3480.55"])
    assert basis(ask("total amount with text is Rent", files, tmp_path / "rent")).values == ["1250.00"]
    assert basis(ask("maximum amount", files, tmp_path / "most")).values == ["3480.55"]


@pytest.mark.parametrize(
    "content",
    [
        BANK.replace(";1250", ";-1250").replace(";84", ";-84").format(header="Type", debit="Debit", credit="Credit"),
        BANK.format(header="Payment method", debit="Debit", credit="Credit"),
        BANK.format(header="Size", debit="S", credit="M"),
    ],
)
def test_amounts_with_a_sign_and_other_pairs_are_added_up(content: str, tmp_path: Path) -> None:
    right = "2146.25" if "-1250" in content else "4814.85"
    assert basis(ask("total amount", {"bank.csv": content}, tmp_path)).values == [right]


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("overall CTR", None),
        ("total CTR by campaign", None),
        ("total success", None),  # no word says that it is a rate, but it is clicks per impressions in all rows
        ("total CTR for campaign B", ["1"]),
        ("total humidity", ["232"]),
        ("total share", ["100"]),
        ("total share by campaign", ["A", "75", "B", "25"]),
    ],
)
def test_rates_are_not_added_up_but_shares_of_one_whole_are(
    question: str, values: list[str] | None, tmp_path: Path
) -> None:
    turn = ask(question, {"rates.csv": RATES}, tmp_path)
    assert basis(turn).values == (values or [])
    if values is None:
        assert "contains rates, which cannot be added up." in turn.said
        assert suggestions(turn)[0].startswith("Ratio of clicks to impressions")
        assert basis(ask(suggestions(turn)[0], {"rates.csv": RATES}, tmp_path / "offered")).basis == "computed"


@pytest.mark.parametrize(
    ("question", "odd", "right"),
    [
        ("average income", "-999", ["46000"]),
        ("minimum income", "-999", ["40000"]),
        ("average cold", "-9999", ["-2"]),
        ("average rating", "99", ["4"]),
        ("average mood", "99", ["2"]),
        ("how many rows with income under 50000?", "-999", ["1"]),
    ],
)
def test_a_number_that_means_no_answer_is_named_before_the_result(
    question: str, odd: str, right: list[str], tmp_path: Path
) -> None:
    turn = ask(question, {"survey.csv": SURVEY}, tmp_path)
    assert basis(turn).basis == "asked_back"
    assert f": `{odd}`. Such a value often means that there is no answer." in turn.said.split("\n")[0]
    (offered,) = suggestions(turn)
    assert basis(ask(offered, {"survey.csv": SURVEY}, tmp_path / "offered")).values == right


@pytest.mark.parametrize(
    ("content", "question", "right"),
    [
        (SURVEY, "average change", "0.25"),  # 99 and other negative numbers occur
        ("item,price\na,9\nb,12.50\nc,999\n", "maximum price", "999.00"),
        ("who,age\na,34\nb,51\nc,99\n", "maximum age", "99"),
        ("shop,overdue (1-30)\na,500\nb,700\n", "total overdue", "1200"),  # a header with days, not with a scale
    ],
)
def test_a_number_that_may_be_right_is_not_doubted(content: str, question: str, right: str, tmp_path: Path) -> None:
    assert basis(ask(question, {"table.csv": content}, tmp_path)).values == [right]


def test_rows_of_a_table_and_its_repeated_ids_are_both_offered(tmp_path: Path) -> None:
    files = {"shop_orders.csv": ITEMS}
    turn = ask("How many orders are by a@x.com?", files, tmp_path)
    assert basis(turn).basis == "asked_back"
    answers = [basis(ask(one, files, tmp_path / str(at))).values for at, one in enumerate(suggestions(turn))]
    assert answers == [["2"], ["1"]]
    assert basis(ask("How many orders are by b@x.com?", files, tmp_path / "b")).values == ["1"], "both meanings agree"
    assert basis(ask("How many rows are there?", files, tmp_path / "rows")).values == ["3"]
    numbers = {"orders.csv": "order_id,item\n7,Tee\n7,Cap\n8,Tee\n"}
    assert basis(ask("How many orders are there?", numbers, tmp_path / "ids")).basis == "asked_back"
    single = {"orders.csv": "order_id,customer_id\n7,1\n8,1\n9,2\n"}
    assert basis(ask("How many orders are there?", single, tmp_path / "single")).values == ["3"]


def test_events_are_the_rows_of_a_log_or_its_types(tmp_path: Path) -> None:
    for name in ("events.csv", "export.csv"):
        files = {name: EVENTS}
        turn = ask("How many events on mobile?", files, tmp_path / name)
        assert len(suggestions(turn)) == 2
        assert "Number of rows with device is" in turn.said
    assert basis(ask("How many different events?", files, tmp_path / "types")).values == ["2"]
    assert basis(ask("How many devices are there?", files, tmp_path / "devices")).values == ["2"]


PLACES = "country,currency,population\nNorway,NOK,5550000\nJapan,JPY,123300000\n"
SHIFTS = "worker,currency,amount,hours,total units,tax rate\nAda,EUR,10.50,7.50,3,0.19\nBo,USD,20.50,8.25,4,0.25\n"
CALLS = "id,direction,duration\n1,Incoming,30\n2,Outgoing,45\n3,Incoming,10\n"
GROUPS = "id,group,amount\n1,C,10.50\n2,D,20.25\n3,C,5.25\n"
TOPS = "product,shelf,price\nTee,Top,10.50\nCap,All,5.25\n"


@pytest.mark.parametrize(
    ("content", "question", "value"),
    [
        (PLACES, "total population", "128850000"),
        (SHIFTS, "total hours", "15.75"),
        (SHIFTS, "total units", "7"),
        (SHIFTS, "average tax rate", "0.22"),
        (CALLS, "total duration", "85"),
        (GROUPS, "total amount", "36.00"),
        (TOPS, "total price", "15.75"),
    ],
)
def test_numbers_that_are_no_money_and_other_labels_are_added_up(
    content: str, question: str, value: str, tmp_path: Path
) -> None:
    assert basis(ask(question, {"a.csv": content}, tmp_path)).values == [value]


def test_an_amount_that_was_taken_back_is_no_missing_answer(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n}.50\n" for n in range(300))
    content = f"id,amount\n{rows}300,99\n301,-99\n"
    assert basis(ask("total amount", {"a.csv": content}, tmp_path)).values == ["45000.00"]


STOCKS = "date,ticker,close,clicks\n2026-01-02,AAA,110.5,10\n2026-01-02,BBB,109.5,30\n2026-01-03,AAA,111.0,15\n"


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("which ticker has the highest close?", None),
        ("what is the highest close, and on what date?", None),
        ("which ticker has the highest total close?", ["AAA"]),
        ("which ticker has the highest clicks?", ["BBB"]),
        ("what is the highest close?", ["111.0"]),
        ("which date has the highest close for BBB?", None),
    ],
)
def test_the_highest_of_repeated_values_is_no_total_unless_it_must_be(
    question: str, values: list[str] | None, tmp_path: Path
) -> None:
    turn = ask(question, {"stocks.csv": STOCKS}, tmp_path)
    assert basis(turn).values == (values or [])
    assert (values is None) == ("each value of `close` or by its total" in turn.said)


def test_a_cell_of_many_signs_does_not_keep_the_reader_busy(tmp_path: Path) -> None:
    content = f"a,n\nx,1\n{'-' * 400_000}x,2\n"
    assert basis(ask("total n", {"a.csv": content}, tmp_path)).values == ["3"]
