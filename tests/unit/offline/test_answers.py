"""Answers of the offline agent: what they say, what they rest on, and what they leave."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pytest

from agentsvc_nb.agents import choose
from agentsvc_nb.wire.runs import AnswerBasis
from tests.reports.cases import CASES, Case
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace

ADS = """date,campaign,country,cost,clicks,note
2026-01-02,Spring,Germany,1234567.495,3,
2026-01-03,Summer,,20.255,5,x
2026-02-03,Summer,France,7,,y
"""
BRIEF = """# Autumn brief

## Audience

Parents of toddlers who live in towns.

## Budget

The launch budget is 42,000 euros. It is paid in three parts:
- a third in May
- the rest in June

## Tone

Warm, never childish. No slang.
"""
FILES = {"ads.csv": ADS}
TELLING = (
    *("N03", "N04", "N09", "N12", "N15", "N17", "N20", "N27", "N28", "N39", "N45", "N53", "N58", "S04", "S11", "S14"),
    *("A05", "T05", "T07", "T13", "T16", "T36", "C01", "C10", "W03", "W09"),
)
"""Of the reports those whose faults were the worst: totals, headers, marks in numbers, dates, hidden text."""


def ask(question: str, files: Mapping[str, str | bytes], folder: Path) -> MemoryRunContext:
    """Return the turn after the answer. Tables are read in this process."""
    turn = MemoryRunContext(question, MemoryWorkspace(folder / "chat", files))
    asyncio.run(choose("offline").run(turn))
    return turn


def basis(turn: MemoryRunContext) -> AnswerBasis:
    (told,) = turn.of("basis")
    assert isinstance(told, AnswerBasis)
    return told


def sql_of(turn: MemoryRunContext) -> str:
    found = re.search(r"```sql computed\n(.*?)\n```", turn.said, re.DOTALL)
    assert found
    return found[1]


def suggestions(turn: MemoryRunContext) -> list[str]:
    return re.findall(r"^- `(.*)`$", turn.said, re.MULTILINE)


@pytest.mark.parametrize("case", [case for case in CASES if case.id in TELLING], ids=str)
def test_a_report_is_answered_right_or_not_at_all(case: Case, tmp_path: Path) -> None:
    told = basis(ask(case.question, {case.file: case.content}, tmp_path))
    assert (told.basis in ("computed", "looked_up")) == (case.right is not None)
    if case.right:
        assert [float(value) for value in told.values] == [float(right) for right in case.right]


def test_a_number_is_bold_and_rounded_for_people(tmp_path: Path) -> None:
    turn = ask("What is the average cost?", FILES, tmp_path)
    assert turn.said.startswith("**Average cost: 411,531.58**\n")
    told = basis(turn)
    assert (told.basis, told.headline, told.values) == ("computed", "Average cost: 411,531.58", ["411531.58"])
    assert "Read as `average cost` in `ads.csv`." in turn.said


@pytest.mark.parametrize(
    "question",
    ["cost by month", "top 2 campaigns by cost", "average cost per day", "share of cost by campaign"],
)
def test_the_sql_that_is_shown_runs_in_any_duckdb(question: str, tmp_path: Path) -> None:
    sql = sql_of(ask(question, FILES, tmp_path))
    (tmp_path / "plain.csv").write_text(ADS)
    with duckdb.connect(":memory:") as engine:
        engine.execute(f"CREATE TABLE ads AS SELECT * FROM read_csv('{tmp_path / 'plain.csv'}')")
        assert engine.execute(sql).fetchall()


def test_a_negation_keeps_empty_cells_and_says_so(tmp_path: Path) -> None:
    turn = ask("How many rows are not from Germany?", FILES, tmp_path)
    assert basis(turn).values == ["2"]
    assert "1 row without a value in `country`" in turn.said


def test_a_result_of_several_rows_is_left_as_a_table(tmp_path: Path) -> None:
    turn = ask("Total cost by campaign", FILES, tmp_path)
    assert basis(turn).values == ["Spring", "1234567.495", "Summer", "27.255"]
    assert turn.of("write") == ["results/Total cost by campaign.csv", "results/Total cost by campaign.schema.json"]
    assert turn.files.bytes("results/Total cost by campaign.csv").decode().splitlines() == [
        "campaign,Total cost",
        "Spring,1234567.495",
        "Summer,27.255",
    ]
    schema = json.loads(turn.files.bytes("results/Total cost by campaign.schema.json"))
    assert [(field["name"], field["type"]) for field in schema["fields"]] == [
        ("campaign", "string"),
        ("Total cost", "number"),
    ]


def test_a_question_in_another_language_gets_a_note(tmp_path: Path) -> None:
    turn = ask("Wie hoch sind die Kosten pro Kanal?", {"export.csv": "Kanal,Kosten\nSuche,1\n"}, tmp_path)
    assert "in English only" in turn.said


def test_periods_are_dates_and_are_shown_as_periods(tmp_path: Path) -> None:
    turn = ask("Total cost by quarter", FILES, tmp_path)
    assert basis(turn).values == ["2026 Q1", "1234594.750"]
    turn = ask("Total cost by month", FILES, tmp_path / "month")
    assert basis(turn).values[::2] == ["2026-01", "2026-02"]
    schema = json.loads(turn.files.bytes("results/Total cost by month.schema.json"))
    assert (schema["fields"][0]["type"], schema["fields"][0]["by"]) == ("date", "month")


def test_a_refusal_names_the_words_and_offers_questions_that_work(tmp_path: Path) -> None:
    turn = ask("What is the zebra cost of Germany?", FILES, tmp_path)
    assert basis(turn).basis == "asked_back"
    assert "I do not understand `zebra`." in turn.said
    assert "agentsvc model" in turn.said
    offered = suggestions(turn)
    assert len(offered) == 3
    for number, question in enumerate(offered):
        assert basis(ask(question, FILES, tmp_path / str(number))).basis == "computed"


def test_a_tie_between_tables_is_asked_back_and_a_name_decides(tmp_path: Path) -> None:
    files = {"may.csv": "shop,cost\na,1\n", "june.csv": "shop,cost\na,2\n"}
    turn = ask("total cost", files, tmp_path)
    assert basis(turn).basis == "asked_back"
    assert suggestions(turn) == ["Total cost in june.csv", "Total cost in may.csv"]
    assert basis(ask("Total cost in may.csv", files, tmp_path / "named")).values == ["1"]


def test_several_questions_are_answered_one_by_one(tmp_path: Path) -> None:
    turn = ask("What is the total clicks? And how many campaigns are there? Who is Ada?", FILES, tmp_path)
    assert basis(turn).values == ["8", "2"]
    assert "Not answered: `Who is Ada?`" in turn.said


def test_typed_sql_is_run(tmp_path: Path) -> None:
    turn = ask("select campaign, count(*) as n from ads group by 1 order by 2 desc;", FILES, tmp_path)
    assert (basis(turn).basis, basis(turn).values) == ("computed", ["Summer", "2", "Spring", "1"])
    assert len(turn.of("write")) == 2
    assert basis(ask("WITH a AS (SELECT 1 AS x) SELECT x FROM a", FILES, tmp_path / "b")).values == ["1"]
    failed = ask("select nope from ads", FILES, tmp_path / "c")
    assert basis(failed).basis == "nothing"
    assert "Binder Error" in failed.said
    assert "```\nLINE 1: select nope from ads\n               ^^^^\n```\n" in failed.said, "the mark is below its place"
    written = ask("with a as (select 1) insert into ads select * from a", FILES, tmp_path / "d")
    assert basis(written).basis != "computed"


def test_a_passage_is_quoted_whole_with_its_place(tmp_path: Path) -> None:
    turn = ask("What is the launch budget?", {"brief.md": BRIEF}, tmp_path)
    assert basis(turn).basis == "quoted"
    assert "> The launch budget is 42,000 euros. It is paid in three parts:" in turn.said
    assert "the rest in June" in turn.said
    assert "— `brief.md`, line 9, under “Budget”" in turn.said
    assert "**" not in turn.said


def test_a_document_and_a_table_are_outlined(tmp_path: Path) -> None:
    turn = ask("Summarise brief.md", {"brief.md": BRIEF}, tmp_path)
    assert basis(turn).basis == "outline"
    assert "- Autumn brief\n  - Audience\n  - Budget" in turn.said
    turn = ask("Give me an outline of ads.csv", FILES, tmp_path / "table")
    assert basis(turn).basis == "outline"
    assert "`ads.csv`: 3 rows" in turn.said
    assert "| date | date | 2026-01-02 to 2026-02-03 |" in turn.said
    columns = ask("How many columns are there?", FILES, tmp_path / "columns")
    assert (basis(columns).basis, basis(columns).values) == ("looked_up", ["6"])


@pytest.mark.parametrize("message", ["Write a slogan", "Why did sales drop?"])
def test_what_needs_a_model_says_so_with_the_switch(message: str, tmp_path: Path) -> None:
    turn = ask(message, {"brief.md": BRIEF}, tmp_path)
    assert basis(turn).basis == "cannot"
    assert "agentsvc model anthropic:" in turn.said


def test_text_of_files_is_never_markup(tmp_path: Path) -> None:
    text = "The *launch* is <script>alert(1)</script> [x](http://a)"
    turn = ask("What is the launch?", {"brief.md": text}, tmp_path)
    assert "\\<script>" in turn.said
    assert "\\[x\\](http" in turn.said


def test_a_resumed_run_does_not_repeat_what_is_done(tmp_path: Path) -> None:
    turn = ask("total clicks? total cost?", FILES, tmp_path)
    assert [state["done"] for state in turn.checkpoints] == [0, 1]
    assert turn.checkpoints[1]["bases"][0]["headline"] == "Total clicks: 8"


def test_a_question_that_refers_to_the_one_before_is_not_answered_alone(tmp_path: Path) -> None:
    turn = ask("How many rows from Germany, and how much did they cost?", FILES, tmp_path)
    assert "Not answered: `how much did they cost?`" in turn.said
    turn = ask("What is the total cost? And what is its median?", FILES, tmp_path)
    assert "This question may refer to the previous one." in turn.said
    turn = ask("Rows from Germany - how many and what total cost?", FILES, tmp_path)
    assert basis(turn).basis == "asked_back"


@pytest.mark.parametrize(
    ("amounts", "median"),
    [
        ((9007199254740993, 9007199254740995, 9007199254740997), "9,007,199,254,740,995"),
        ((-3, -1), "-2"),
        ((4, "", 6), "5"),
    ],
)
def test_a_median_is_exact(amounts: Sequence[object], median: str, tmp_path: Path) -> None:
    rows = "".join(f"name {number},{amount}\n" for number, amount in enumerate(amounts))
    turn = ask("What is the median amount?", {"amounts.csv": f"who,amount\n{rows}".encode()}, tmp_path)
    assert f"**Median amount: {median}**" in turn.said


def test_a_file_that_can_not_be_read_says_why(tmp_path: Path) -> None:
    turn = ask("What is the total cost?", {"book.xlsx": b"no workbook"}, tmp_path)
    assert basis(turn).basis == "nothing"
    assert "`book.xlsx` can't be read: " in turn.said


def test_a_doubt_about_a_total_is_said_before_the_number(tmp_path: Path) -> None:
    turn = ask("total cost", {"costs.csv": "item,cost\nA,100\nB,50\nTotal,155\n"}, tmp_path)
    assert basis(turn).basis == "asked_back"
    assert turn.said.startswith("Row 4 left out as a total, although the other rows do not add up to it.")
    assert "\n\nTotal cost: 150\n" in turn.said


def test_a_number_that_differs_from_the_grand_total_begins_with_a_warning(tmp_path: Path) -> None:
    costs = "item,cost\nA,100\nB,200\nGrand total,301\n"
    turn = ask("total cost", {"costs.csv": costs}, tmp_path)
    assert basis(turn).values == ["300"]
    assert turn.said.startswith(
        "Row 4 left out: it is called a total, but the rows do not add up to it.\n\n**Total cost"
    )
    turn = ask("total cost", {"costs.csv": costs.replace("301", "300")}, tmp_path / "right")
    assert turn.said.startswith("**Total cost: 300**")


def test_a_negated_day_keeps_rows_without_a_date(tmp_path: Path) -> None:
    files = {"t.csv": "date,cost\n2026-01-02,1\n2026-01-03,2\n,4\n"}
    turn = ask("Total cost not on weekends", files, tmp_path)
    assert "Total cost: 5," in turn.said
    assert "1 row without a value" in turn.said
