"""Passages: cut at sentences, items and rows, ranked by how much of a question they cover, found in large tables; and
what is said when none answers."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentsvc_nb.agents import choose
from agentsvc_nb.agents.offline.library import Library
from agentsvc_nb.agents.offline.passages.corpus import LARGE_BYTES, READ_FILES_MAX, Corpus, find_rows
from agentsvc_nb.agents.offline.passages.expecting import holds
from agentsvc_nb.agents.offline.passages.search import passages_for
from agentsvc_nb.agents.offline.passages.splitting import PASSAGE_CHARS, passages, sentences
from agentsvc_nb.documents.queries import tokens
from agentsvc_nb.tools.port import WorkFailure
from tests.service.agents_harness import MemoryRunContext, MemoryWorkspace

GUIDE = """# Guide for tenants

## Heating

The boiler is serviced in October by Kessler & Sons. Between May and September it stays off.

Not allowed in the cellar:

- petrol and gas bottles
- bicycles that block the door

## Fees

| Item | Amount (EUR) | Due |
|---|---|---|
| Deposit | 2,400 | at the signing |
| Spare key | 35 | on request |
"""
FILES = {"guide.md": GUIDE, "people.csv": "name,role,phone\nOlga Brandt,caretaker,555-0142\nPaul Ng,manager,555-0117\n"}


def ask(message: str, folder: Path, files: Mapping[str, str] = FILES) -> MemoryRunContext:
    turn = MemoryRunContext(message, MemoryWorkspace(folder, files))
    asyncio.run(choose("offline").run(turn))
    return turn


def basis(turn: MemoryRunContext) -> str:
    [said] = turn.of("basis")
    return str(said.basis)


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("Who services the boiler in October?", "> The boiler is serviced in October by Kessler & Sons. Between May"),
        ("What is not allowed in the cellar?", "- petrol and gas bottles\\\n> - bicycles that block the door"),
        ("Is the deposit due at the signing?", "> Item: Deposit · Amount (EUR): 2,400 · Due: at the signing"),
    ],
)
def test_sentences_lists_and_rows_are_quoted_whole(question: str, quoted: str, tmp_path: Path) -> None:
    turn = ask(question, tmp_path)
    assert quoted in turn.said.replace("\\-", "-")
    assert basis(turn) == "quoted"


@pytest.mark.parametrize(
    ("question", "headline"),
    [
        ("What is the amount of the deposit?", "Amount (EUR): 2,400"),
        ("Which phone has the caretaker?", "phone: 555-0142"),
    ],
)
def test_a_value_of_a_row_is_looked_up(question: str, headline: str, tmp_path: Path) -> None:
    turn = ask(question, tmp_path)
    assert f"**{headline}**" in turn.said
    assert basis(turn) == "looked_up"


def test_a_word_in_another_form_is_the_same_word(tmp_path: Path) -> None:
    files = {"notes.txt": "Marta sold the green van in spring. Nobody bought the trailer.\n"}
    assert "Marta sold" in ask("Who sells the van?", tmp_path, files).said


def test_what_no_passage_covers_is_no_quotation(tmp_path: Path) -> None:
    turn = ask("Who services the lift in December?", tmp_path)
    assert "nothing found for: lift, December" in turn.said
    assert "The files have services." in turn.said
    assert basis(turn) in ("nothing", "near")


def test_nothing_is_said_to_be_nowhere_that_is_somewhere(tmp_path: Path) -> None:
    turn = ask("Does the caretaker pay the deposit for petrol?", tmp_path)
    assert basis(turn) in ("nothing", "near")
    assert "caretaker" not in turn.said.partition("No passage answers this")[0]
    assert "deposit" not in turn.said.partition("No passage answers this")[0]


@pytest.mark.parametrize(
    "question",
    [
        "How many people live in the building?",
        "When was the boiler installed?",
        "What is the name of the landlord?",
        "Wer repariert den Aufzug?",
        "Quel est le prix du parking ?",
        "¿Cuánto cuesta la limpieza?",
    ],
)
def test_what_the_files_do_not_answer_gets_no_claim(question: str, tmp_path: Path) -> None:
    assert basis(ask(question, tmp_path)) in ("nothing", "near", "asked_back")


@pytest.mark.parametrize(
    ("text", "question", "claimed"),
    [
        ("The trailer costs too much for most of us.", "How much does the trailer cost?", False),
        ("The trailer costs too much for most of us.", "Why does the trailer cost too much?", True),
        ("4.2  Stewards\nStewards wear a yellow sash.", "How many stewards are there?", False),
        ("2.5 Million guests met the stewards.", "How many guests met the stewards?", True),
        (
            "Clips go live if the first ones reach a completion rate of 32 percent.\n\nThe teaser comes later.",
            "What was the completion rate of the teaser clips?",
            False,
        ),
        (
            "The warranty is for frames. We mend zips and tent poles; it takes longer in May.\n\nRented boats sink.",
            "How long is the warranty on rented tents?",
            False,
        ),
        ("Rules of the house. Version 4.2, in force from 1 May 2025.", "When did version 4.1 come into force?", False),
        ("Rules of the house. Version 4.2, in force from 1 May 2025.", "When did version 4.2 come into force?", True),
    ],
)
def test_a_passage_is_quoted_when_most_words_and_what_is_asked_for_stand_together(
    text: str, question: str, claimed: bool, tmp_path: Path
) -> None:
    assert (basis(ask(question, tmp_path, {"a.txt": text})) == "quoted") == claimed


def test_of_a_file_that_is_named_alone_near_passages_are_shown(tmp_path: Path) -> None:
    files = {"house_rules.txt": "Dogs stay outside.\n", "notes.txt": "The physician recommends sleep.\n"}
    assert "physician" in ask("What does the doctor advise?", tmp_path, files).said
    assert "physician" not in ask("What does the doctor advise in house_rules.txt?", tmp_path, files).said


def test_names_and_texts_are_shown_without_direction_marks(tmp_path: Path) -> None:
    said = ask("What is the fee?", tmp_path, {"a\u202egnp\x07.md": "# Pri\u202ece\n\nThe fee is \u202e5 euros.\n"}).said
    assert "> The fee is 5 euros.\n\n— `agnp.md`, line 3, under “Price”" in said
    assert said.isprintable() or not {"\u202e", "\x07"} & set(said)


def test_what_was_read_in_part_is_told(tmp_path: Path) -> None:
    long = "Nothing here but rain.\n\n" * 45_000 + "The fee is 5 euros.\n"
    said = ask("What is the fee?", tmp_path, {"long.txt": long}).said
    assert said.startswith("nothing found for: fee\n\nRead was only the first 1 MB of text of `long.txt`.")


def test_a_name_that_a_passage_lacks_is_not_overlooked(tmp_path: Path) -> None:
    files = {"a.txt": "Our shop in Lyon opens at nine on weekdays.\n\nBasel is far.\n"}
    assert basis(ask("When does our shop in Lyon open on weekdays?", tmp_path, files)) == "quoted"
    assert basis(ask("When does our shop in Basel open on weekdays?", tmp_path, files)) == "nothing"


def test_no_sentence_is_cut_in_a_long_paragraph() -> None:
    text = " ".join(f"Sentence number {number} says something about the harbour and the tide." for number in range(60))
    found = passages("long.txt", "text/plain", text)
    assert len(found) > 1
    assert all(one.text.endswith("tide.") and one.text.startswith("Sentence") for one in found)
    assert all(len(one.text) <= PASSAGE_CHARS for one in found)
    assert sentences(found[0].text)[1].startswith("Sentence number 1 ")


def test_rows_of_a_sheet_and_records_of_json_have_their_columns() -> None:
    sheet = passages("book.xlsx", "application/x", "Stock\nItem\tShelf\nLamp\tB4\nRope\tC1\n")
    assert [one.text for one in sheet] == ["Item: Lamp · Shelf: B4", "Item: Rope · Shelf: C1"]
    assert sheet[0].headings == ("Stock",)
    records = passages(
        "t.json", "application/json", '{"tickets": [{"id": 7, "state": "open"}, {"id": 8, "state": null}]}'
    )
    assert [(one.place, one.text) for one in records] == [("record 1", "id: 7 · state: open"), ("record 2", "id: 8")]


LINE = st.sampled_from(
    [
        *(
            "# Head",
            "Short title",
            "A sentence stands here.",
            "- an item",
            "1. first",
            "a | b",
            "| x | y |",
            "|---|---|",
        ),
        *("one\ttwo", "", "   ", "---", "===", "intro:", "  indented more words", "plain words without an end"),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(LINE | st.text(max_size=40).map(lambda text: text.replace("\f", " ")), max_size=20))
@example(["# Head", "|", "|"])
def test_no_word_of_a_text_is_lost(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = passages("a.md", "text/markdown", text)
    held = {token for one in found for part in (one.text, *one.headings) for token in tokens(part)}
    assert set(tokens(text)) <= held | set(
        tokens(" ".join(line for line in text.splitlines() if "|" in line or "\t" in line))
    )


def large(rows: int) -> str:
    lines = ["order_id,channel,note"]
    lines += [
        f"{number},Email,{'left with the neighbour Ödön' if number == rows - 7 else 'ok'}" for number in range(rows)
    ]
    return "\n".join(lines)


def test_rows_of_a_large_table_are_found_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    file.write_text(large(200_000), encoding="utf-8")
    tracemalloc.start()
    found = find_rows("orders.csv", file, ["neighbour", "email", "zebra"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12_000_000
    assert found.rows == 200_000
    assert found.holding["neighbour"] == 1
    assert found.holding["email"] == 200_000
    assert not found.holding["zebra"]
    best = next(one for one in found.passages if "neighbour" in one.text)
    assert (best.place, best.text) == (
        "row 199994",
        "order_id: 199993 · channel: Email · note: left with the neighbour Ödön",
    )
    assert len(found.passages) <= 50


def test_a_row_with_line_breaks_in_its_cells_is_one_row(tmp_path: Path) -> None:
    file = tmp_path / "orders.csv"
    rows = [f'{at},"a line\nand another{" of a walrus" if at == 15_000 else ""}",Town{at}\n' for at in range(20_000)]
    file.write_text("id,note,town\n" + "".join(rows))
    found = find_rows("orders.csv", file, ["walrus"])
    assert [(one.place, one.text) for one in found.passages] == [
        ("row 15001", "id: 15000 · note: a line and another of a walrus · town: Town15000")
    ]
    assert found.rows == 20_000


def test_others_go_on_while_a_large_table_is_searched(tmp_path: Path) -> None:
    workspace = MemoryWorkspace(tmp_path, {"orders.csv": large(100_000), "brief.md": "We sell tents.\n"})

    async def run() -> tuple[int, list[str]]:
        library = Library(workspace, await workspace.list())
        work = asyncio.create_task(passages_for("Is there a zebra?", library, Corpus(workspace), 5, ()))
        turns = 0
        while not work.done():
            await asyncio.sleep(0)
            turns += 1
        return turns, list((await work).absent)

    turns, absent = asyncio.run(run())
    assert absent == ["zebra"]
    assert turns >= 20


def test_a_large_table_is_quoted_by_its_row(tmp_path: Path) -> None:
    text = large(30_000)
    assert len(text) > LARGE_BYTES
    workspace = MemoryWorkspace(tmp_path, {"orders.csv": text})

    async def run() -> list[str]:
        library = Library(workspace, await workspace.list())
        found = await passages_for("Which order was left with the neighbour?", library, Corpus(workspace), 5, ())
        assert not found.guessed
        return [passage.place for passage in found.passages]

    assert asyncio.run(run()) == ["row 29994"]


def test_in_a_chat_of_many_files_a_word_is_nowhere_only_when_search_says_so(tmp_path: Path) -> None:
    files = {f"{number:03}.txt": "Nothing of note." for number in range(READ_FILES_MAX + 20)}
    files["zz.txt"] = "The walrus sleeps."
    said = ask("Does the walrus sing?", tmp_path, files).said
    assert "nothing found for: sing" in said


def test_a_search_that_is_too_much_work_ends_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def search(self: MemoryWorkspace, query: str) -> list[tuple[str, float]]:
        raise WorkFailure("too_much_work", "The search takes too long.")

    monkeypatch.setattr(MemoryWorkspace, "search", search)
    files = {f"{number:03}.txt": "The walrus sleeps." for number in range(READ_FILES_MAX + 20)}
    said = ask("Does the walrus sing?", tmp_path, files).said
    assert "The files have walrus" in said
    assert "sing" not in said, "nobody looked into the other files"


FARM = """# Farm log

The red tractor of 1987 was bought in May from the Ulmer estate.

To repair the old press cost 14,200 euros in 1998.

Two apprentices were hired on 3 April; both live near by. The old barn was sold for timber.

The blue harvester was rented on 12 June 2023 by our neighbours. The weather stayed dry.

Coffee in the yard is free for visitors of the market.

The guard dog is called Rollo. Two geese guard the gate.

The names of the fields are on a map in the kitchen. Paying guests sleep above the stable, and rent is due on Fridays.
"""


@pytest.mark.parametrize(
    ("question", "claimed"),
    [
        ("How much did it cost to repair the old press?", True),
        ("When were the two apprentices hired?", True),
        ("When was the blue harvester rented?", True),
        ("How much was paid for the red tractor?", False),
        ("What did the blue harvester cost?", False),
        ("How much rent was paid for the blue harvester by our neighbours?", False),
        ("What are the names of the two apprentices who were hired?", False),
    ],
)
def test_a_passage_without_what_is_asked_for_is_no_quotation(question: str, claimed: bool, tmp_path: Path) -> None:
    assert (basis(ask(question, tmp_path, {"log.md": FARM})) == "quoted") is claimed


def test_one_row_of_many_does_not_tell_the_most(tmp_path: Path) -> None:
    rows = "".join(f"{at},Bid {at},lost,Rival {at % 3},price\n" for at in range(20))
    files = {"bids.csv": f"no,bid,stage,beaten by,reason\n{rows}"}
    assert basis(ask("Which rival lost us the most bids by reason of price?", tmp_path, files)) != "quoted"


@pytest.mark.parametrize(
    ("expected", "text", "held"),
    [
        ("money", "The sextant of 1789 is on show since 4 May.", False),
        ("money", "The sextant of 1789 was bought for 2000 euros.", True),
        ("money", "Le billet coûte 12 € depuis le 3 mai.", True),
        ("money", "Der Eintritt ist kostenlos.", True),
        ("money", "Doors open at 10:30 on 12.06.2024.", False),
        ("money", "They ask for two dollars.", True),
        ("money", "It weighs 2.5 million grams, and is kept at 21 degrees.", False),
        ("money", "It was bought for 2,500.", True),
        ("name", "Two engineers begin on Monday in December.", False),
        ("name", "Her successor is Casimir Penhale.", True),
        ("number", "It was long.", False),
    ],
)
def test_what_is_held_of_what_is_expected(expected: str, text: str, held: bool) -> None:
    assert holds(expected, text, {"two", "sextant"} if expected != "money" else {"sextant"}) is held


EXPORT = "Clicks of May\n\nAd;Place;Clicks\n" + "".join(f"Ad {at};Hall {at % 7};{at},5\n" for at in range(40))


def test_a_table_below_a_title_has_the_headers_of_its_columns() -> None:
    first, row, *_ = passages("clicks.csv", "text/csv", EXPORT)
    assert (first.text, first.place) == ("Clicks of May", "line 1")
    assert (row.text, row.place) == ("Ad: Ad 0 · Place: Hall 0 · Clicks: 0,5", "row 1")


def test_a_large_table_below_a_title_has_them_too(tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text(EXPORT + "Zeppelin;Roof;3\n")
    found = find_rows("clicks.csv", tmp_path / "clicks.csv", ["zeppelin"])
    assert [one.text for one in found.passages] == ["Ad: Zeppelin · Place: Roof · Clicks: 3"]
    assert (found.passages[0].place, found.rows) == ("row 41", 41)


def test_a_content_is_read_once_and_what_replaces_it_anew(tmp_path: Path) -> None:
    read: list[str] = []

    class Counting(MemoryWorkspace):
        async def text(self, path: str) -> str:
            read.append(path)
            return await super().text(path)

    def said(folder: str, sentence: str) -> str:
        turn = MemoryRunContext("Where does the walrus sleep?", Counting(tmp_path / folder, {"sea.md": sentence}))
        asyncio.run(choose("offline").run(turn))
        return turn.said

    assert "on an ice floe" in said("one", f"The walrus sleeps on an ice floe. {tmp_path}")
    assert "on an ice floe" in said("another", f"The walrus sleeps on an ice floe. {tmp_path}")
    assert read == ["sea.md"]
    assert "below the pier" in said("another", f"The walrus sleeps below the pier. {tmp_path}")
    assert read == ["sea.md"] * 2
