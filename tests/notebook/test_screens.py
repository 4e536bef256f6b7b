"""What is on the screen while a run speaks, what remains of it, and how it reads."""

from __future__ import annotations

import io
import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentsvc_nb.client import cards
from agentsvc_nb.notebook.display.markdown import CODE_CHARS, settled_length, to_html
from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.display.results import grid
from agentsvc_nb.notebook.display.screens import PAUSE_SECONDS, LiveScreen, StaticScreen, TerminalScreen
from agentsvc_nb.notebook.widgets.interactive_screen import InteractiveScreen
from agentsvc_nb.wire.runs import AnswerBasis
from tests.notebook.allowlist import offences
from tests.notebook.fronts import front_of, say
from tests.notebook.screens import Cell, Clock, Script
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

PARTS = ("word " * 1_400, "```\n" + "print('a line of code')\n" * 300 + "```", "| a |\n|---|\n" + "| <two> |\n" * 500)
LONG = "\n\n".join(PARTS)


def _play(text: str, chars_per_second: int) -> tuple[Cell, Script]:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    began, tick = clock.now, 0.1
    step = max(1, round(chars_per_second * tick))
    for start in range(0, len(text), step):
        script.say(text[start : start + step])
        clock.now += tick
        script.view.elapsed = clock.now - began
        screen.draw(script.view)
    script.end()
    screen.finish(answer_bundle(script.view), {"agentsvc_nb": {}})
    return cell, script


def test_a_long_answer_costs_under_80_bytes_a_character() -> None:
    cell, script = _play(LONG, 500)
    assert script.view.text == LONG
    assert cell.bytes < 80 * len(LONG)


@example([("say", 0), ("rewind", 0)], 0)
@given(st.lists(st.tuples(st.sampled_from(["say", "rewind"]), st.integers(0, 40)), max_size=30), st.integers(0, 99))
@example([("say", 1), *[("say", 0)] * 17, ("rewind", 1), *[("say", 0)] * 5], 0)
@settings(max_examples=50)
def test_the_screen_shows_what_was_said_less_what_was_taken_back(steps: list[tuple[str, int]], seed: int) -> None:
    cell, clock, script, dice = Cell(), Clock(), Script(), random.Random(seed)
    screen = LiveScreen(cell, clock)
    for kind, amount in steps:
        if kind == "say":
            script.say(dice.choice(["words ", "more\n\n", "- item\n", "```\n"]) * (amount % 4 + 1))
        else:
            script.event("run.resumed", attempt=2, discard_after=min(amount, script.view.last_event_id))
        clock.now += 5
        screen.draw(script.view)
    clock.now += PAUSE_SECONDS  # what the byte budget held back is shown in a pause
    screen.draw(script.view)
    assert script.view.streamed_text.strip() == cell.text.strip()


def test_a_resumed_run_is_not_doubled_not_even_in_settled_blocks() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    kept = script.say("kept\n\n")
    for text in ("one\n\n", "two\n\n", "three\n"):
        script.say(text)
        clock.now += 1
        screen.draw(script.view)
    script.event("run.resumed", attempt=2, discard_after=kept)
    script.say("one, again\n")
    clock.now += 1
    screen.draw(script.view)
    assert cell.text == "kept\n\none, again\n"


def test_a_plan_is_one_list_that_is_ticked_off() -> None:
    cell, script, out = Cell(), Script(), io.StringIO()
    live, terminal = LiveScreen(cell), TerminalScreen(out)

    def show(*states: str) -> int:
        steps = [{"text": f"Part {number}", "state": state} for number, state in enumerate(states, 1)]
        last = script.event("plan.changed", steps=steps)
        live.draw(script.view)
        terminal.draw(script.view)
        return last

    kept = show("doing", "open")
    show("done", "doing")
    assert cell.text == "✓ Part 1\n▸ Part 2"
    assert out.getvalue().split("\n") == ["", "▸ Part 1", "○ Part 2", "", "✓ Part 1", "▸ Part 2", ""]
    script.event("run.resumed", attempt=2, discard_after=kept)
    live.draw(script.view)
    assert cell.text == "▸ Part 1\n○ Part 2"
    show("done", "done")
    script.end()
    shown = answer_bundle(script.view)["text/html"]
    assert "2 of 2 planned steps done" in shown
    assert offences(shown) == []


def test_a_run_near_its_limit_warns_once_with_a_button_where_it_is_heard_else_the_command() -> None:
    cell, script, out, raised = Cell(), Script(), io.StringIO(), [("", 0.0)]
    script.view.run_id = "0b9c1d2e-77d2-4c1b-9c3a-5d9a1f6f2b11"
    heard = InteractiveScreen(cell, lambda run_id, cents: raised.append((run_id, cents)))
    live, static, terminal = LiveScreen(second := Cell()), StaticScreen(third := Cell()), TerminalScreen(out)
    script.event("limit.near", max_cents=5, spent_cents=4.1, suggested_cents=10)
    for screen in (heard, live, static, terminal):
        screen.draw(script.view)
    command = "`agentsvc runs raise 0b9c1d2e 10`."
    assert all(said.endswith(command) for said in (second.text, third.outputs[0]["text/plain"], out.getvalue().strip()))
    card = front_of(cell.outputs[-1])
    assert (cell.text, "has spent 4.10 of its 5.00 cents" in card.part("near")["shown"]) == ("", True)
    say(card, "raise")
    until(lambda: raised[-1] == (script.view.run_id, 10))
    script.event("limit.raised", max_cents=10)
    for screen in (heard, live, terminal):
        screen.draw(script.view)
    assert all("limit is now 10.00 cents" in said for said in (cell.text, second.text, out.getvalue()))
    assert command not in second.text


def test_the_cell_says_that_a_model_has_no_tools_before_and_above_its_answer() -> None:
    cell, script = Cell(), Script()
    script.event("warning", code="tools_not_used", message="It reads and quotes.")
    LiveScreen(cell, Clock()).draw(script.view)
    assert "It reads and quotes." in cell.outputs[0]["text/html"]
    script.end(basis=AnswerBasis(basis="not_computed"))
    assert "This model has no tools." in answer_bundle(script.view)["text/html"]


def test_a_terminal_gets_the_text_once_as_it_comes_without_its_escapes() -> None:
    out, script = io.StringIO(), Script()
    screen = TerminalScreen(out)
    for text in ("Hel", "lo \x1b", "[31", "mred\x1b[0m", "\u202e.\n"):
        script.say(text)
        screen.draw(script.view)
    assert out.getvalue() == "Hello red.\n"
    script.end()
    screen.finish(answer_bundle(script.view))
    assert out.getvalue().count("Hello red.") == 1
    assert "✓ completed" in out.getvalue().splitlines()[-1]


LINES = [
    *("", "plain *words* and `code`", "# heading", "===", "---", "- item", "  continued", "    indented", "1. one"),
    *("> quoted", "```", "```python", "~~~", "| a | b |", "|---|---|", "| 1 | 2 |", "#hashtag", "\tx", "<div>", "***"),
    *("$$", "$$ x = 1", "x_1 + 2 $$", "  \\[", "\\] ", "> $$", r"of \(a*b*c\) and $5"),
]
TEXTS = st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)


def _stream(text: str, cuts: list[int]) -> list[str]:
    """Feed the text in pieces and freeze what settles, as the live screen does."""
    pieces, start = [], 0
    for end in [*sorted(cut % (len(text) + 1) for cut in cuts), len(text)]:
        if done := settled_length(text[start : max(end, start)]):
            pieces.append(text[start : start + done])
            start += done
    return [*pieces, text[start:]]


@settings(max_examples=60)
@given(TEXTS, st.lists(st.integers(0, 2000), max_size=12))
def test_nothing_is_lost_or_doubled_and_pieces_read_like_the_whole(text: str, cuts: list[int]) -> None:
    pieces = _stream(text, cuts)
    assert text == "".join(pieces)
    whole, joined = to_html(text), "\n".join(to_html(piece) for piece in pieces)
    assert re.sub(r"\s+", " ", whole).strip() == re.sub(r"\s+", " ", joined).strip()


@pytest.mark.parametrize(
    ("text", "frozen"),
    [
        ("one\n\ntwo\n", "one\n\n"),
        ("```\ncode\n\nmore\n", ""),
        ("```\ncode\n```\nafter\n", "```\ncode\n```\n"),
        ("- a\n\n- b\n\npara\n", "- a\n\n- b\n\n"),
        ("$$\na = b\n# c\n", ""),
        ("| a |\n|---|\n| 1 |\n\nx\n", "| a |\n|---|\n| 1 |\n\n"),
    ],
)
def test_a_block_settles_when_the_next_one_has_begun_on_a_whole_line(text: str, frozen: str) -> None:
    assert frozen == text[: settled_length(text)]


@pytest.mark.parametrize("language", ["python", "html"])
def test_hostile_code_stays_text_in_every_language(language: str) -> None:
    for text in (
        *HOSTILE,
        "".join(HOSTILE),
        *(part * (CODE_CHARS // len(part)) for part in ("(", '"', "'''", "<", "${", "/*")),
    ):
        shown = to_html(f"~~~~~~ {language}\n{text}\n~~~~~~")
        assert offences(shown) == []
        assert re.fullmatch(
            r"(?s)(?:<pre[^>]*><code>[^<]*(?:<span [^<>]*>[^<]*</span>[^<]*)*</code></pre>\s*|<p>.*)+", shown
        )


def test_numbers_have_separators_and_years_and_ids_have_none() -> None:
    names = ["views", "share", "orderId", "since", "year of birth", "paid"]
    rows: list[list[object]] = [
        [1234567, 1234.5, 1234567, 2019, 1890, True],
        [None, 0.1 + 0.2, 7654321, 2024, 1910, False],
    ]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    for bundle in (grid("t", names, rows), cards.table("t", names, records, 2)):
        head, first, second = (re.split(r"\s{2,}", line.strip()) for line in bundle["text/plain"].splitlines()[1:])
        assert head == names
        assert first == ["1,234,567", "1,234.5", "1234567", "2019", "1890", "True"]
        assert second == ["0.3", "7654321", "2024", "1910", "False"]
        cells = bundle["text/html"].rpartition("<thead>")[2].split("text-align:")[1:]
        sides = [cell.partition(";")[0] for cell in cells]
        assert sides == ["right", "right", "right", "right", "right", "left"] * 3
