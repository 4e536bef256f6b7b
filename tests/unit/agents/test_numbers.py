"""Where the numbers of an answer are from (docs/api/events.md "The numbers of an answer")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.agents.numbers import sources
from agentsvc_nb.agents.numbers.check import check
from agentsvc_nb.agents.numbers.tables import SourceTable
from agentsvc_nb.agents.numbers.texts import Quote
from agentsvc_nb.agents.port import MadeCall
from tests.bench import numbers as bench
from tests.unit.service.agents_harness import MemoryRunContext, MemoryWorkspace

CHANNELS = SourceTable(
    "by_channel",
    ["channel", "spend_eur", "orders", "conv_rate"],
    [["Email", 1203.6, 311, 0.041], ["Paid search", 18440.0, 902, 0.022], ["Display", 6020.0, 41, 0.007]],
    {"orders": "orders placed"},
    call_id="call_1",
)
REGIONS = SourceTable("by_region", ["region", "revenue_usd"], [["North", 4_821_300], ["Europe", 3_104_000]])


def statuses(
    answer: str, *tables: SourceTable, question: str = "", quotes: Sequence[Quote] = ()
) -> list[tuple[str, str]]:
    found = check(answer, question, tables or (CHANNELS,), quotes)
    assert all(answer[one.start : one.end] == one.text for one in found)
    return [(one.text, one.status) for one in found]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ("Email brought 311 orders.", "traced"),
        ("Email cost about €1,200.", "traced"),
        ("Email converted 4.1 % of its visitors.", "traced"),
        ("In total there were 1,254 orders.", "traced"),
        ("| Channel | Orders |\n|---|---|\n| Display | 41 |", "traced"),
        ("Paid search brought 591 orders more than Email.", "computed"),
        ("Paid search makes up 72 % of all orders.", "computed"),
        ("Display costs €147 per order.", "computed"),
        ("Email brought 902 orders.", "not_found"),  # another row's
        ("Email cost €311.", "not_found"),  # another column's
        ("Email cost $1,204.", "not_found"),  # another currency
        ("Email brought 311k orders.", "not_found"),  # another scale
        ("Email brought 347 orders.", "not_found"),
    ],
)
def test_a_value_counts_with_its_row_and_column_only(answer: str, status: str) -> None:
    assert [one for _, one in statuses(answer)] == [status]


def test_one_formula_explains_a_column_of_short_numbers() -> None:
    answer = "| Channel | Per order |\n|---|---|\n| Email | 3.87 |\n| Paid search | 20.4 |\n| Display | {} |"
    assert [one for _, one in statuses(answer.format("146.8"))] == ["computed"] * 3
    assert [one for _, one in statuses(answer.format("152.3"))] == ["computed", "computed", "not_found"]


def test_numbers_with_a_decimal_comma_are_read() -> None:
    found = statuses("Email kostete 1.203,60 € und Display 6.020,00 €.")
    assert found == [("1.203,60 €", "traced"), ("6.020,00 €", "traced")]


def test_a_replaced_result_is_a_source_only_of_what_was_earlier() -> None:
    before = SourceTable("by_channel", CHANNELS.columns, [["Email", 1000.0, 280, 0.04]], CHANNELS.labels, replaced=True)
    assert statuses("Email brought 280 orders.", before, CHANNELS) == [("280", "not_found")]
    assert statuses("Earlier, Email brought 280 orders.", before, CHANNELS) == [("280", "traced")]


def test_the_value_of_another_region_is_not_found() -> None:
    assert statuses("North made $4.82M and Europe $3.1M.", REGIONS) == [("$4.82M", "traced"), ("$3.1M", "traced")]
    assert statuses("Europe made $4.82M.", REGIONS) == [("$4.82M", "not_found")]


def test_a_source_names_row_column_and_call() -> None:
    [found] = check("Email brought 311 orders.", "", [CHANNELS], [])
    assert (found.strength, found.row, found.column, found.call_id) == ("row_and_column", "Email", "orders", "call_1")
    assert found.source == "From `by_channel`: Email, orders = 311"
    [found] = check("Email is at 311.", "", [CHANNELS], [])
    assert found.strength == "row"


def test_numbers_are_quoted_with_their_page_or_given_in_the_question() -> None:
    contract = Quote("contract.pdf", "Terms.\fThe fee is 12 % of the net price.\f", "contract.pdf")
    [given, fee] = check("Of the 250 units, the fee is 12 %.", "What is the fee of 250 units?", [], [contract])
    assert (given.status, fee.status) == ("given", "quoted")
    assert (fee.source, fee.path) == ("contract.pdf, page 2: The fee is 12 % of the net price.", "contract.pdf")


def test_dates_ordinals_code_and_names_of_rows_are_no_numbers() -> None:
    weeks = SourceTable("weekly", ["week", "calls"], [[31, 120], [32, 140]])
    answer = "On July 3, 2024 (2024-07-03, the 2nd run of `v1.2`), week 32 had 140 calls.\n\n```\n7 * 6\n```"
    assert statuses(answer, weeks) == [("140", "traced")]


@pytest.mark.parametrize(
    "text",
    [
        "1" * 500_000,
        "1,234 " * 100_000,
        "](x" * 100_000,
        "| 1 " * 100_000,
        "٣ 1e308 -0 NaN ∞ 9" * 10_000,
        "**" * 100_000,
    ],
)
def test_huge_and_odd_texts_are_bounded(text: str) -> None:
    odd = SourceTable("odd", ["k", "v", "v"], [["a", float("nan"), 10**400], ["b", float("inf"), 1e308], [None], []])
    assert len(check(text, text, [odd], [Quote("q", text)])) <= 1_000


def call(tool: str, result: str, call_id: str = "c", **given: Any) -> MadeCall:
    return MadeCall(tool, json.dumps(given), result, call_id)


@pytest.mark.parametrize(
    ("tool", "result"),
    [
        ("query_tables", "| city | n |\n| --- | --- |\n| Bonn | 1234 |\n| Köln | 99 |\n\nHow the tables were read:"),
        ("run_python", "   city     n\n0  Bonn  1234\n1  Köln    99"),
        ("run_python", "city\nBonn    1234\nKöln      99\nName: n, dtype: int64"),
        ("run_python", "Bonn: 1,234 readmitted"),
        ("look_up", '[{"city": "Bonn", "n": 1234}, {"city": "Köln", "n": 99}]'),
    ],
)
def test_results_are_read_as_they_are_printed(tool: str, result: str) -> None:
    tables, rest = sources.read_result(call(tool, result, labels=["n: readmitted"]))
    [found] = check("In Bonn 1,234 were readmitted.", "", tables, [rest])
    assert (found.status, found.call_id) == ("traced", "c")


def test_a_result_is_no_source_once_a_later_one_replaces_it() -> None:
    june = call("query_tables", "| c | n |\n|---|---|\n| A1 | 5 |", "1", sql="SELECT c, n FROM t WHERE m = 'june'")
    july = call("query_tables", "| c | n |\n|---|---|\n| A1 | 6 |", "2", sql="SELECT c, n FROM t WHERE m = 'july'")
    again = call("query_tables", "| c | n |\n|---|---|\n| A1 | 7 |", "3", sql="SELECT c, n FROM u WHERE m = 'july'")
    kept = sources.current_calls([june, july, again])
    assert [one.call_id for one in kept] == ["1", "3"]


def test_a_fault_of_the_check_leaves_the_numbers_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryRunContext):
        async def calls(self) -> Sequence[MadeCall]:
            raise ValueError("broken")

    basis = asyncio.run(
        sources.build_basis(Broken("q", MemoryWorkspace(tmp_path / "chat")), "There are 12.", "written")
    )
    assert (basis.basis, basis.numbers) == ("written", [])
    assert "could not be checked" in caplog.text


def test_the_reached_figures_hold() -> None:
    """A floor for the third set: how many planted errors are not found, and how many true numbers."""
    result = bench.score(json.loads((bench.DATA / "numbers_c.json").read_text(encoding="utf-8")))
    assert result.caught_share >= 0.89
    assert result.not_found_share <= 0.08
