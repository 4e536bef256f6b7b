"""The offline agent: what an analyst asks of a brief and a table gets a useful answer, and anything gets some."""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline import tool_calls
from agentsvc_nb.agents.offline.questions import MESSAGE_CHARS, readable
from agentsvc_nb.agents.port import EarlierTurn
from agentsvc_nb.documents.safe_text import escape
from agentsvc_nb.notebook.magics import changing
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.ads.wording import Wording, wordings
from agentsvc_nb.tools.catalog import tools
from agentsvc_nb.tools.port import Tool
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

PICTURES = tools(Settings(Path("data")))["create_images"]

BRIEF = """# Campaign brief: Summer Trail 2026

Northpeak sells lightweight tents to families.

## Audience

Parents aged 30 to 45 who hike with **young children** on weekends.

## Budget

Total budget is 40,000 EUR from June to August.
"""
PRODUCTS = """name,category,price_eur,cost_eur,units_sold
Trail Tent 2,Tents,249.00,120.50,140
Trail Tent 4,Tents,349.00,190.00,90
Ridge Pack,Bags,129.90,55.10,310
Family Stove,Kitchen,79.95,31.00,220
Camp Mug,Kitchen,14.50,3.20,1200
"""
NOTES = "Interviews\n\nThe audience loved the word weekend. Families care about weight.\n"
FILES = {"brief.md": BRIEF, "data/products.csv": PRODUCTS, "notes.txt": NOTES}


def ask(
    message: str, folder: Path, files: Mapping[str, str | bytes] = FILES, tools: Sequence[Tool] = ()
) -> MemoryRunContext:
    turn = MemoryRunContext(message, MemoryWorkspace(folder, files), tools)
    assert asyncio.run(choose("offline").run(turn)) is None
    return turn


def quotes(answer: str) -> list[str]:
    return [line for line in answer.splitlines() if line.startswith("— `")]


def test_the_analysts_question(tmp_path: Path) -> None:
    turn = ask("Which product has the highest price, and what does the brief say about the audience?", tmp_path)
    assert "**Trail Tent 4 (price_eur: 349.00)**" in turn.said
    assert "name, price_eur top 1 by price_eur over 5 of 5 rows of data/products.csv" in turn.said
    assert "Parents aged 30 to 45" in turn.said
    assert "— `brief.md`, line 7, under “Audience”" in turn.said
    assert "offline agent" in turn.said.lower()
    assert turn.steps == 2


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the total units sold?", "sum(units_sold) over 5 of 5 rows of data/products.csv = 1,960"),
        (
            "average price in category Kitchen",
            'where category = "Kitchen" over 2 of 5 rows of data/products.csv = 47.225',
        ),
        ("What is the median price of tents?", "= 299.00"),
        ("What is the cheapest product?", "**Camp Mug (price_eur: 14.50)**"),
        ("Was ist das teuerste Produkt?", "**Trail Tent 4 (price_eur: 349.00)**"),
        ("How many products are there?", "count(rows) over 5 of 5 rows of data/products.csv = 5"),
        (
            "How many products have a price over 100?",
            "count(rows) where price_eur > 100 over 3 of 5 rows of data/products.csv = 3",
        ),
        (
            "How many units were sold of tents?",
            'sum(units_sold) where category = "Tents" over 2 of 5 rows of data/products.csv = 230',
        ),
        ("How many categories are there?", "count(distinct category) over 5 of 5 rows of data/products.csv = 3"),
        ("Which category has the most units sold?", "**Kitchen (total units_sold: 1,420)**"),
        ("units sold per category, total", "| Tents | 230 |"),
        ("Top 2 products by price", "**Trail Tent 4, Trail Tent 2 (by price_eur)**"),
    ],
)
def test_a_number_asked_of_a_table_is_computed_and_shown(question: str, expected: str, tmp_path: Path) -> None:
    assert expected in ask(question, tmp_path).said


def test_numbers_are_exact_as_europeans_write_them(tmp_path: Path) -> None:
    table = "Monat;Umsatz\nJan;1.200,10 €\nFeb;0,20 €\nMrz;\n"
    assert (
        "sum(Umsatz) over 2 of 3 rows of umsatz.csv = 1,200.30 €"
        in ask("Summe Umsatz?", tmp_path, {"umsatz.csv": table}).said
    )


def test_at_most_five_passages_from_two_files_when_two_match(tmp_path: Path) -> None:
    long = "\n\n".join(f"The zebra number {number} grazes here." for number in range(20))
    said = ask(
        "Where does the zebra graze?", tmp_path, {"a.md": long, "b.md": "Long ago\n\nA zebra was seen.", "c.md": "No."}
    ).said
    assert len(quotes(said)) == 5
    assert {line.split("`")[1] for line in quotes(said)} == {"a.md", "b.md"}


def test_several_questions_share_the_five_passages(tmp_path: Path) -> None:
    files = {f"{name}.md": "\n\n".join(f"{name} zebra yak ibex {n}" for n in range(9)) for name in "ab"}
    said = ask("Where is the zebra? Where is the yak? Where is the ibex?", tmp_path, files).said
    assert len(quotes(said)) == 5


def test_phrases_and_other_scripts_are_found(tmp_path: Path) -> None:
    files = {
        "a.txt": "slow roasted coffee\n\nroasted slow",
        "ja.txt": "家族向けの軽いテント",
        "de.txt": "Die Zielgruppen sind Familien.",
    }
    assert "slow roasted coffee" in ask('Where is "slow roasted"?', tmp_path, files).said.split("— `")[0]
    assert "> 家族向けの軽いテント" in ask("軽いテント", tmp_path, files).said
    assert "Zielgruppen sind Familien" in ask("Welche Zielgruppe?", tmp_path, files).said


def test_nothing_found_names_the_words(tmp_path: Path) -> None:
    assert "nothing found for: zebra, unicorn" in ask("Is there a zebra or a unicorn?", tmp_path).said


def test_a_chat_without_files_says_how_to_add_them(tmp_path: Path) -> None:
    said = ask("What does the brief say?", tmp_path, {}).said
    assert "%files put" in said
    assert "nothing found for: brief" in said


def test_files_are_listed_and_read_by_name(tmp_path: Path) -> None:
    assert "**3 files in this chat**" in ask("What files are there?", tmp_path).said
    assert "Northpeak sells" in ask("Summarise brief.md", tmp_path).said


def test_quoted_text_stays_text(tmp_path: Path) -> None:
    text = (
        "zebra <img src=x onerror=alert(1)> [link](http://x) ![i](y) `code` # no *star* _under_ &amp; a_b ~~no~~ | \\"
    )
    said = ask("zebra", tmp_path, {"a.txt": text}).said
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(said)
    quoted = next(
        token for token in tokens if token.type == "inline" and "zebra" in token.content and "src" in token.content
    )
    children = quoted.children or []
    assert {child.type for child in children} == {"text"}
    assert "".join(child.content for child in children) == text


@given(st.text(min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_escaped_line_is_one_paragraph_of_that_text(line: str) -> None:
    plain = " ".join(line.replace("\0", "").split())
    tokens = (
        MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .parse(escape(line.replace("\0", "")))
    )
    inline = [token for token in tokens if token.type == "inline"]
    shown = "".join(child.content for token in inline for child in token.children or [])
    assert shown == plain
    assert [token.type for token in tokens if token.nesting == 1] == (["paragraph_open"] if plain else [])


def test_pictures_in_clear_words(tmp_path: Path) -> None:
    turn = ask(
        "Create three banner ads for our summer sale, and what does the brief say about the audience?",
        tmp_path,
        tools=[PICTURES],
    )
    [(tool, given_)] = turn.of("call")
    assert tool == "create_images"
    assert given_["request"]["outputs"] == {"mode": "count", "count": 3}
    assert "Northpeak" in given_["request"]["brief"]
    assert "3 pictures made" in turn.said
    assert "Parents aged 30 to 45" in turn.said
    assert sum(path.endswith(".png") for path in turn.files.outputs) == 3


def test_questions_beside_an_order_are_answered_and_no_part_of_the_brief(tmp_path: Path) -> None:
    message = "Which product has the highest price, and what is the audience? Create an ad. Headline: Go light"
    turn = ask(message, tmp_path, tools=[PICTURES])
    assert "Trail Tent 4" in turn.said
    assert "Parents aged 30 to 45" in turn.said
    [(_, given_)] = turn.of("call")
    assert "price" not in given_["request"]["brief"]
    assert given_["request"]["brief"].startswith("Headline: Go light")
    assert any(path.startswith("images/go-light-") for path in turn.files.outputs)


LABELLED = "# Brief\n\nHeadline: Made for the long way\n\n- Subline: Dry on day three\n- CTA: Find your size\n"


@pytest.mark.parametrize(
    ("message", "wording"),
    [
        ("Make 1 ad. Headline: Only this. CTA: Go", Wording("Only this", "Dry on day three", "Go")),
        ("Read the brief and make 1 ad. Headline: Only this. CTA: Go", Wording("Only this", "Dry on day three", "Go")),
        (
            "Lies brief.md und mach 1 Anzeige: Headline: Nur das, CTA: Los",
            Wording("Nur das", "Dry on day three", "Los"),
        ),
        ("Make 1 ad.\n**Headline:** Only this. CTA: Go", Wording("Only this", "Dry on day three", "Go")),
        ("Make 1 ad. Headline: Rain, and what now? CTA: Go", Wording("Rain, and what now?", "Dry on day three", "Go")),
        (
            "Make 1 ad. Brand: Northpeak",
            Wording("Made for the long way", "Dry on day three", "Find your size", "Northpeak"),
        ),
        ("Make 2 ads. Headline: Only this", Wording("Only this", "Dry on day three", "Find your size")),
    ],
)
def test_labels_of_a_message_win_over_those_of_the_brief(tmp_path: Path, message: str, wording: Wording) -> None:
    turn = ask(message, tmp_path, {"brief.md": LABELLED}, [PICTURES])
    [(_, given_)] = turn.of("call")
    made = wordings(given_["request"]["brief"], 2)
    assert made[0] == wording
    assert made[1].headline == wording.headline
    assert "nothing found" not in turn.said


def test_labels_in_one_line_are_read_alike_by_the_tool() -> None:
    line = "Make 1 ad. Headline: Only this. CTA: Go"
    assert wordings(line, 1) == wordings(f"{line}\n\nRed.", 1) == [Wording("Only this", "", "Go")]


def test_a_question_behind_a_label_is_answered(tmp_path: Path) -> None:
    said = ask("Make 1 ad. Headline: Only this. What is the audience?", tmp_path, tools=[PICTURES]).said
    assert "Parents aged 30 to 45" in said


def test_two_pictures_by_default_and_none_when_only_mentioned(tmp_path: Path) -> None:
    assert ask("make ads", tmp_path, tools=[PICTURES]).of("call")[0][1]["request"]["outputs"]["count"] == 2
    assert not ask("Which images does the brief want?", tmp_path, tools=[PICTURES]).of("call")


def test_after_a_crash_the_next_part_goes_on(tmp_path: Path) -> None:
    whole = ask("What files are there? What is the total units sold?", tmp_path / "whole")
    turn = MemoryRunContext(whole.message, MemoryWorkspace(tmp_path / "crashed", FILES))
    turn.state = whole.checkpoints[1]
    asyncio.run(choose("offline").run(turn))
    assert whole.said.endswith(turn.said)
    assert turn.said.startswith("**Total units_sold")


def test_after_a_crash_in_the_first_part_the_plan_is_not_told_again(tmp_path: Path) -> None:
    whole = ask("What files are there?", tmp_path / "whole")
    turn = MemoryRunContext(whole.message, MemoryWorkspace(tmp_path / "crashed", FILES))
    turn.state = whole.checkpoints[0]
    asyncio.run(choose("offline").run(turn))
    assert turn.said == whole.said
    assert whole.of("think")
    assert not turn.of("think")
    assert turn.tokens[0] == 0, "the input was counted before the checkpoint"


def test_tokens_are_counted_and_the_answer_streams(tmp_path: Path) -> None:
    turn = ask("audience?", tmp_path)
    assert turn.tokens[1] == len(turn.said.split())
    assert turn.tokens[0] > 0
    assert len(turn.of("say")) > 1  # each part as soon as it is there
    assert turn.of("think")


QUARTER = "Monat,Umsatz,Ausgaben\nJuli,100,50\nAugust,200,20\nSeptember,,5\nOktober,50,0\n"
SHOP = "channel,revenue,spend,cost_per_click\nMail,100,50,2\nSocial,90,10,9\nRadio,80,0,4\nPress,,7,5\n"


@pytest.mark.parametrize(
    "mention", ["Umsätze Q3.csv", "daten/Umsätze Q3.csv", '"Umsätze Q3.csv"', "`umsätze q3.CSV`", "Umsätze Q3"]
)
def test_the_name_of_a_file_names_no_column(mention: str, tmp_path: Path) -> None:
    said = ask(f"What is the total Ausgaben in {mention}?", tmp_path, {"daten/Umsätze Q3.csv": QUARTER}).said
    assert "**Total Ausgaben: 75**" in said


@pytest.mark.parametrize(
    ("path", "question", "expected"),
    [
        ("top sums.csv", "Average spend in top sums.csv?", "**Average spend: 16.75**"),
        ("mail.csv", "Total spend in mail.csv?", "**Total spend: 67**"),
        ("revenue.csv", "Total spend in revenue?", "**Total spend: 67**"),
        ("spend.csv", "Total revenue per spend in spend.csv?", "**Total revenue per total spend: 4.03**"),
    ],
)
def test_nor_an_operation_or_a_value(path: str, question: str, expected: str, tmp_path: Path) -> None:
    assert expected in ask(question, tmp_path, {path: SHOP}).said


def test_a_file_that_is_named_is_the_one_that_is_computed_with(tmp_path: Path) -> None:
    files = {"a.csv": SHOP, "b.csv": QUARTER, "brief.md": BRIEF}
    assert "**Total Ausgaben: 75**" in ask("What is the total spend in b.csv?", tmp_path, files).said
    assert "**" not in ask("What is the total cost per click in b.csv?", tmp_path, files).said
    assert "Total spend" not in ask("What is the total spend in brief.md?", tmp_path, files).said
    said = ask("What is the total spend in lost.csv?", tmp_path, files).said
    assert "There is no file `lost.csv` in this chat." in said
    assert "**Total" not in said


def test_one_column_per_another(tmp_path: Path) -> None:
    """A ratio is that of the sums."""
    said = ask("What is the ratio of revenue to spend?", tmp_path, {"shop.csv": SHOP}).said
    assert "sum(revenue) / sum(spend) over 4 of 4 rows of shop.csv = 4.03" in said
    assert "**" not in ask("Highest revenue per spend?", tmp_path, {"shop.csv": SHOP}).said


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("What is the total revenue by spend?", "The words are known, but not what they ask together."),
        ("What is the total visitors in shop.csv?", "nothing found for: total, visitors"),
        ("Highest revenue per visitor?", "These words have no meaning in the table: visitor."),
        ("What is the total spend by country?", "These words have no meaning in the table: country."),
    ],
)
def test_a_question_that_is_not_clear_is_not_computed(question: str, sentence: str, tmp_path: Path) -> None:
    said = ask(question, tmp_path, {"shop.csv": SHOP}).said
    assert sentence in said
    assert "**" not in said


def test_a_column_of_which_half_is_named_is_not_guessed(tmp_path: Path) -> None:
    table = "year,revenue_north,revenue_south\nA,1,10\nB,2,20\n"
    said = ask("Total revenue?", tmp_path, {"t.csv": table}).said
    assert 'Total "revenue_north"?' in said
    assert 'Total "revenue_south"?' in said
    assert "**" not in said
    assert "**Total revenue_south: 30**" in ask("Total revenue south?", tmp_path, {"t.csv": table}).said


def test_a_condition_is_no_measure(tmp_path: Path) -> None:
    said = ask("What is the total revenue of rows with spend over 9?", tmp_path, {"shop.csv": SHOP}).said
    assert "**Total revenue: 190**" in said


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the total revenue in January?", "The words are known, but not what they ask together."),
        ("What is the total revnue?", "revnue was read as the column revenue."),
        ("Top 2 channels by revenue", "**Mail, Social (by total revenue)**"),
    ],
)
def test_what_a_result_leaves_aside_is_said(question: str, expected: str, tmp_path: Path) -> None:
    assert expected in ask(question, tmp_path, {"s.csv": SHOP + "Mail,10,1,1\n"}).said


def test_rates_do_not_add_up(tmp_path: Path) -> None:
    said = ask("Total rate?", tmp_path, {"r.csv": "channel,rate\nMail,10%\nSocial,20%\n"}).said
    assert "ratios have no sum" in said or "know" in said
    assert "**" not in said


def test_rows_without_a_number_are_counted(tmp_path: Path) -> None:
    said = ask("Total Umsatz?", tmp_path, {"q.csv": QUARTER}).said
    assert "over 3 of 4 rows of q.csv = 350" in said
    assert "Left out: 1 row without a value in Umsatz." in said
    assert "Left out" not in ask("Total Ausgaben?", tmp_path, {"q.csv": QUARTER}).said


def test_a_sentence_of_the_named_file_beats_titles_and_rows(tmp_path: Path) -> None:
    files = {
        "notizen.txt": "Risiko laut Team\n\nWir starten im Juni.\n\nDas Risiko ist, dass der Lieferant ausfällt.\n",
        "a.csv": "Risiko,Stufe\nRisiko A,hoch\nRisiko B,niedrig\n",
    }
    said = ask("Was ist das Risiko laut den Notizen?", tmp_path, files).said
    first = next(line for line in said.splitlines() if line.startswith("> "))
    assert first == "> Das Risiko ist, dass der Lieferant ausfällt."


def test_words_are_shown_as_they_were_written(tmp_path: Path) -> None:
    assert "nothing found for: Größe" in ask("Wie ist die Größe?", tmp_path).said


@pytest.mark.parametrize("message", ["hello", "Hallo!", "Good morning", "What can you do?", "thanks", "?"])
def test_a_greeting_is_answered_with_what_it_can_do(message: str, tmp_path: Path) -> None:
    said = ask(message, tmp_path).said
    assert "I can quote" in said
    assert "nothing found" not in said
    assert not quotes(said)


def test_a_remark_that_finds_nothing_is_told_what_can_be_asked(tmp_path: Path) -> None:
    said = ask("lovely weather", tmp_path).said
    assert "nothing found for: lovely, weather" in said
    assert "I can quote" in said
    assert "I can quote" not in ask("Is there a zebra?", tmp_path).said


def test_a_chat_without_files_names_all_three_ways(tmp_path: Path) -> None:
    said = ask("hello", tmp_path, {}).said
    assert "%files put" in said
    assert "files=[" in said
    assert "agentsvc ask --file" in said


ODD = st.text(max_size=80) | st.sampled_from(
    [
        "?",
        " and ",
        "sum of",
        "how many",
        "create_images {",
        "-",
        '"',
        "max max max by by",
        "top 99 x",
        "more than 5%",
        "files?",
        "`",
        "brief.md?",
    ]
)


@given(message=st.lists(ODD, max_size=4).map(" ".join), text=st.text(max_size=120), table=st.text(max_size=120))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_message_and_any_files_get_an_answer(message: str, text: str, table: str, tmp_path: Path) -> None:
    files = {"brief.md": text, "t.csv": "a,b\n" + table, "products.csv": PRODUCTS}
    assert "Offline agent" in ask(message, tmp_path, files).said


def test_an_amount_is_one_word_and_a_light_verb_hides_no_sentence(tmp_path: Path) -> None:
    brief = "# Fall\n\nThe budget is $240,000 net; production has $55,000.\n\nParents buy in bulk.\n\nNo claims.\n"
    said = ask("Where does $55,000 go?", tmp_path, {"brief.md": brief}).said
    assert "production has $55,000" in said
    assert "nothing found" not in said
    assert said.startswith("55,000, go: 1 passage")
    assert "nothing found for: 77,000" in ask("Is $77,000 there?", tmp_path, {"brief.md": brief}).said


def test_a_long_message_is_read_at_its_beginning_and_end(tmp_path: Path) -> None:
    turn = ask("word and more. " * 100_000 + "\nWhat is the total budget?", tmp_path)
    assert "40,000 EUR" in turn.said
    assert ("warn", "message_shortened") in [(kind, of[0]) for kind, of in turn.events if kind == "warn"]
    assert "look up: What is the total budget?" in str(turn.events)


@given(st.text("a {\n\t\xa0!中", max_size=30), st.integers(1, 1_000))
def test_what_is_read_of_a_message_is_bounded(part: str, times: int) -> None:
    read = readable(part * times)
    assert len(read) <= MESSAGE_CHARS + 1
    assert not re.search(r"\W{17}", read)
    assert len(part * times) > MESSAGE_CHARS or re.sub(r"\W", "", read) == re.sub(r"\W", "", part * times)


def test_the_rules_see_only_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[str]()
    wanted = tool_calls.wanted

    def spied(message: str, tools: Sequence[Tool]) -> list[tool_calls.Call]:
        seen.append(message)
        return wanted(message, tools)

    monkeypatch.setattr(tool_calls, "wanted", spied)
    ask(" " * 20_000 + "create_images", tmp_path, tools=[PICTURES])
    assert [len(message) for message in seen] == [16 + len("create_images")]


TWICE = {"uploads/products.csv": PRODUCTS, "uploads/autumn.csv": PRODUCTS.replace("140", "150")}


def test_of_several_tables_with_an_answer_the_one_that_came_with_the_question_is_meant(tmp_path: Path) -> None:
    turn = MemoryRunContext("Total units_sold by category", MemoryWorkspace(tmp_path, TWICE))
    turn.attached = ("uploads/autumn.csv",)
    asyncio.run(choose("offline").run(turn))
    assert "over 5 of 5 rows of uploads/autumn.csv" in turn.said
    assert "Read in uploads/autumn.csv, which came with the question; others could answer, too." in turn.said


def test_what_is_offered_of_several_tables_names_their_files_and_is_understood(tmp_path: Path) -> None:
    said = ask("Total units_sold by category", tmp_path, TWICE).said
    offered = re.findall(r"^- `(.+)`$", said, re.M)
    assert offered == [f'Total "units_sold" by "category" in "{path}"?' for path in sorted(TWICE)]
    for question, path in zip(offered, sorted(TWICE), strict=True):
        assert f"rows of {path}" in ask(question, tmp_path / Path(path).stem, TWICE).said


def test_what_the_agent_is_stands_below_the_first_of_its_answers_in_a_row(tmp_path: Path) -> None:
    turn = MemoryRunContext("Total units_sold by category", MemoryWorkspace(tmp_path, FILES))
    turn.before = [EarlierTurn("Hello", "Hello", "completed", "asked_back")]
    asyncio.run(choose("offline").run(turn))
    assert "Offline agent" not in turn.said
    turn = MemoryRunContext("Total units_sold by category", MemoryWorkspace(tmp_path, FILES))
    turn.before = [EarlierTurn("Hello", "of a language model", "completed")]
    asyncio.run(choose("offline").run(turn))
    assert "Offline agent" in turn.said


AMOUNTS = "shop,amount,fee,pieces\nGraz,$5,n/a,1\nLinz,7 €,2,3\nWels,$8,3,4\n"


def test_why_a_column_of_amounts_is_not_computed_is_said(tmp_path: Path) -> None:
    said = ask("Which shop has the highest amount?", tmp_path, {"shops.csv": AMOUNTS}).said
    assert said.startswith(r"Column amount: It holds several currencies ($, €), so it is read as text.")


def test_how_a_column_was_read_is_said_where_it_is_used(tmp_path: Path) -> None:
    pieces = ask("Total pieces by shop", tmp_path / "pieces", {"shops.csv": AMOUNTS}).said
    assert "Total pieces by shop" in pieces
    assert "Column " not in pieces
    fees = ask("Total fee by shop", tmp_path / "fees", {"shops.csv": AMOUNTS}).said
    assert "Column fee: Read as empty: n/a." in fees
    assert "Column amount" not in fees


@pytest.mark.parametrize("typed", ["", "Use pandas instead"])
@pytest.mark.parametrize("option", [{"fix": True, "edit": ""}, {"fix": False, "edit": "3"}], ids=["fix", "edit"])
def test_a_change_of_a_cell_needs_a_language_model(typed: str, option: dict[str, object], tmp_path: Path) -> None:
    """The cell is a file of the chat, in which nothing is to be looked for."""
    said = ask(changing.message(argparse.Namespace(**option), typed), tmp_path, FILES).said
    assert said.count("that needs a language model") == 1
    assert "nothing found" not in said.lower()


def test_a_quotient_of_one_currency_written_in_two_ways_has_no_unit(tmp_path: Path) -> None:
    files = {"ads.csv": "Kampagne,Umsatz,Werbekosten\nA,EUR 100,20 €\nB,EUR 50,10 €\n"}
    said = ask("Umsatz geteilt durch Werbekosten", tmp_path, files).said
    assert said.startswith("**Total Umsatz per total Werbekosten: 5**")
