"""Questions of a marketing analyst about an export of campaigns, whose headers are German and English mixed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline.writing import RESULTS
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

CAMPAIGNS = """Kampagne;Kanal;Datum;Impressions;Klicks;Kosten (EUR);Conversions;Revenue EUR
Sale;Google Ads;01.03.2026;100.000;2.000;1.000,00;50;4.000,00
Sale;Meta;02.03.2026;50.000;1.000;500,00;25;1.000,00
Launch;Google Ads;10.04.2026;200.000;5.000;2.500,00;100;10.000,00
Launch;Meta;11.04.2026;150.000;2.000;;35;2.000,00
"""


def asked(question: str, folder: Path, text: str = CAMPAIGNS, name: str = "campaigns.csv") -> MemoryRunContext:
    turn = MemoryRunContext(question, MemoryWorkspace(folder / "chat", {name: text}))
    asyncio.run(choose("offline").run(turn))
    return turn


@pytest.mark.parametrize(
    ("lead", "unanswered"),
    [
        ("Average cost per row: what is the mean of Kosten (EUR)", True),
        ("Mean of Kosten (EUR)", False),
        ("What is the flavour of Kosten (EUR)", True),
    ],
)
def test_each_half_of_a_question_is_answered_or_named(lead: str, unanswered: bool, tmp_path: Path) -> None:
    said = asked(f"{lead}, and how many rows have no cost?", tmp_path).said
    assert "**Number of rows: 1**" in said
    assert (f"Not answered: `{lead}`" in said) == unanswered
    assert ("Average Kosten (EUR): 1,333.3333" in said) != unanswered


def test_what_tells_of_the_asker_is_no_question(tmp_path: Path) -> None:
    assert "Not answered" not in asked("We sell tents, and how many rows have no cost?", tmp_path).said


def test_it_is_said_truly_what_rows_without_a_divisor_count_in(tmp_path: Path) -> None:
    said = asked("sum of Revenue EUR divided by sum of Kosten (EUR) by Kampagne", tmp_path).said
    assert "| Launch | 4.80 |" in said  # 12,000 / 2,500: both rows in the numerator
    assert "Left out" not in said
    assert "1 row has no value in Kosten (EUR): it still counts in the rest of the calculation." in said
    assert "Left out: 1 row without a value in Kosten (EUR)." in asked("Average Kosten (EUR)", tmp_path / "b").said


def test_rows_that_count_nowhere_are_left_out(tmp_path: Path) -> None:
    text = CAMPAIGNS + "Launch;Mail;12.04.2026;1.000;10;;1;\n"
    said = asked("sum of Revenue EUR divided by sum of Kosten (EUR) by Kampagne", tmp_path, text).said
    assert "Left out: 1 row without a value in Revenue EUR, 1 row without a value in Kosten (EUR). 1 row has no" in said


@pytest.mark.parametrize(
    ("question", "headline"),
    [
        ("ROAS by Kampagne", "Total Revenue EUR per total Kosten (EUR) by Kampagne: Launch 4.80; Sale 3.3333"),
        ("CTR by Kampagne", "Share of total Impressions by Kampagne: Launch 2%; Sale 2%"),
        ("CPA for Google Ads", "Total Kosten (EUR) per total Conversions: 23.3333"),
        ("CPC nach Kanal", "Total Kosten (EUR) per total Klicks by Kanal: Google Ads 0.50; Meta 0.1667"),
        ("Klickrate für Meta", "Share of total Impressions: 1.5%"),
        ("Welche Kampagne hat den höchsten ROAS?", "Launch (total Revenue EUR per total Kosten (EUR): 4.80)"),
        ("ROAS par Kampagne", "Total Revenue EUR per total Kosten (EUR) by Kampagne: Launch 4.80; Sale 3.3333"),
        ("CTR para Meta", "Share of total Impressions: 1.5%"),
        ("Revenue EUR / Kosten (EUR) nach Kampagne",
         "Total Revenue EUR per total Kosten (EUR) by Kampagne: Launch 4.80; Sale 3.3333"),
        ("Revenue EUR/Kosten (EUR)", "Total Revenue EUR per total Kosten (EUR): 4.25"),
        ("Klicks/Impressions by Kampagne", "Total Klicks per total Impressions by Kampagne: Launch 0.02; Sale 0.02"),
    ],
)  # fmt: skip
def test_rates_are_computed_of_headers_in_two_languages(question: str, headline: str, tmp_path: Path) -> None:
    [said] = asked(question, tmp_path).of("basis")
    assert said.headline == headline


STOCK = """Artikel;Kategorie;Stock;Active
Alpina;Flaschen;340;ja
Trail;Becher;122;ja
City;Becher;58;nein
Thermo;Flaschen;27;nein
"""


@pytest.mark.parametrize(
    ("question", "total"),
    [
        ("Summe Stock (Active = ja)", 462),
        ("Summe Stock Active = nein", 85),
        ("Sum of Stock where Active = yes", 462),
        ("Sum of Stock where Active = no", 85),
        ("Sum of Stock where Active = ja", 462),
        ("Somme Stock (Active = oui)", 462),
        ("Somme Stock Active = non", 85),
        ("Suma de Stock Active = sí", 462),
        ("Suma de Stock Active = no", 85),
        ("Sum of Stock where Active != ja", 85),
        ("Summe Stock Active ≠ nein", 462),
        ("Sum of Stock where Kategorie != Becher", 367),
        ("Sum of Stock where Stock <> 340", 207),
    ],
)
def test_yes_and_no_are_values_of_a_column_in_any_language(question: str, total: int, tmp_path: Path) -> None:
    [said] = asked(question, tmp_path, STOCK, "stock.csv").of("basis")
    assert (said.headline, said.values) == (f"Total Stock: {total}", [str(total)])


@pytest.mark.parametrize(
    "question",
    [
        "Ratio of Revenue EUR to Kosten (EUR) by Kanal please xyzzy",
        "xyzzy ratio of Revenue EUR to Kosten (EUR) by Kampagne in campaigns.csv",
        "average Klicks xyzzy for Meta",
        "share of total Klicks by Kanal xyzzy",
        "average Klicks xyzzy for Meta in campaigns.csv",
        "how many rows xyzzy where Klicks over 1500",
        "total Klicks xyzzy by month",
        "average Klicks xyzzy before 1 April 2026",
    ],
)
def test_each_question_that_is_suggested_is_answered_and_names_the_file(question: str, tmp_path: Path) -> None:
    suggested = re.findall(r"^- `(.*\?)`$", asked(question, tmp_path).said, re.MULTILINE)
    for place, one in enumerate(suggested):
        assert ("campaigns.csv" in one) == ("campaigns.csv" in question)
        [said] = asked(one, tmp_path / str(place)).of("basis")
        assert said.basis in RESULTS, one
    assert suggested


@pytest.mark.parametrize("question", ["same Kanal", "the same Kanal", "Same Kampagne?"])
def test_what_rows_have_in_common_is_not_answered_with_a_list(question: str, tmp_path: Path) -> None:
    [said] = asked(question, tmp_path).of("basis")
    assert said.basis not in RESULTS
