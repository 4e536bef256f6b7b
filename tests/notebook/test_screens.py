"""What is on the screen while a run speaks, what remains of it, and what that costs on the kernel's channel."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.display.screens import PAUSE_SECONDS, LiveScreen, StaticScreen, TerminalScreen
from tests.notebook.screens import Cell, Clock, Script

PARAGRAPHS = "\n\n".join(f"## Part {n}\n\n" + "Words of **some** length, and `code`. " * 8 for n in range(70))[:20_000]
ENDLESS = ("word " * 4_000)[:20_000]
FENCE = "```\n" + "print('a line of code')\n" * 860
CODE = ("Some words on it:\n\n```python\n" + "print('a line of code', len([2, 3]))  # said\n" * 40 + "```\n\n") * 11
TABLE = "| a | b |\n|---|---|\n" + "| 1 | <two> |\n" * 1_400
LONG = {"blocks": PARAGRAPHS, "paragraph": ENDLESS, "fence": FENCE, "code": CODE, "table": TABLE}


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


@pytest.mark.parametrize("speed", [100, 250, 2_000])
@pytest.mark.parametrize("text", list(LONG.values()), ids=list(LONG))
def test_a_long_answer_costs_under_80_bytes_a_character(text: str, speed: int) -> None:
    cell, script = _play(text, speed)
    assert text == script.view.text
    print(f"{cell.bytes / len(text):.0f} bytes a character")
    assert cell.bytes < 80 * len(text)


def test_code_is_coloured_once_it_has_settled() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    for text in ("```python\nimport", " os\n", "```\n\nand\n"):
        script.say(text)
        clock.now += 10
        screen.draw(script.view)
        coloured = "keyword-color" in cell.outputs[1]["text/html"]
        assert coloured == text.endswith("and\n")
    script.end()
    assert "keyword-color" in answer_bundle(script.view)["text/html"]


def test_one_output_remains_and_it_is_the_whole_answer() -> None:
    cell, script = _play(PARAGRAPHS, 500)
    assert [answer_bundle(script.view)] == cell.outputs
    assert cell.metadata == {"agentsvc_nb": {}}


def test_finished_blocks_are_not_sent_again() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    for text in ("# one\n\nfirst\n\n", "second\n\n", "third\n"):
        script.say(text)
        clock.now += 10
        screen.draw(script.view)
    assert [output["text/plain"] for output in cell.outputs[1:]] == ["# one\n\n", "first\n\n", "second\n\n", "third\n"]


@example([("say", 0), ("rewind", 0)], 0)
@given(st.lists(st.tuples(st.sampled_from(["say", "rewind"]), st.integers(0, 40)), max_size=30), st.integers(0, 99))
@example([("say", 1), *[("say", 0)] * 17, ("rewind", 1), *[("say", 0)] * 5], 0)
def test_the_screen_shows_what_was_said_less_what_was_taken_back(steps: list[tuple[str, int]], seed: int) -> None:
    cell, clock, script, dice = Cell(), Clock(), Script(), random.Random(seed)
    screen = LiveScreen(cell, clock)
    for kind, amount in steps:
        if kind == "say":
            script.say(dice.choice(["words ", "more\n\n", "- item\n", "```\n"]) * (amount % 4 + 1))
        else:
            script.event("run.resumed", attempt=2, discard_after=min(amount, script.view.last))
        clock.now += 5
        screen.draw(script.view)
    clock.now += PAUSE_SECONDS  # what the byte budget held back is shown in a pause
    screen.draw(script.view)
    assert script.view.said.strip() == cell.text.strip()


def test_a_resumed_run_is_not_doubled_not_even_in_settled_blocks() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    kept = script.say("kept\n\n")
    for text in ("one\n\n", "two\n\n", "three\n"):
        script.say(text)
        clock.now += 1
        screen.draw(script.view)
    script.event("tool.call", call_id="a", tool="web_search")
    script.event("run.resumed", attempt=2, discard_after=kept)
    assert script.view.calls == []
    script.say("one, again\n")
    clock.now += 1
    screen.draw(script.view)
    assert cell.text == "kept\n\none, again\n"


def test_the_status_line_ticks_once_a_second_while_nothing_is_said() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    for tenth in range(100):
        script.view.elapsed = tenth / 10
        screen.draw(script.view)
        clock.now += 0.1
    assert cell.messages == 10
    assert "9.0 s" in cell.outputs[0]["text/plain"]


def test_a_pause_shows_all_that_was_said_whatever_it_costs() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    for _ in range(60):
        script.say("x" * 500)
        clock.now += 0.1
        screen.draw(script.view)
    clock.now += 1
    screen.draw(script.view)
    assert script.view.said == cell.text


def test_nothing_remains_of_a_start_that_was_refused() -> None:
    cell, clock, script = Cell(), Clock(), Script()
    screen = LiveScreen(cell, clock)
    screen.draw(script.view)
    screen.clear()
    cell.show({"text/plain": "the error"})
    assert cell.outputs == [{"text/plain": "the error"}]


def test_static_shows_one_output_at_the_end_and_the_same_each_time() -> None:
    shown = []
    for _ in range(2):
        cell, script = Cell(), Script()
        screen = StaticScreen(cell)
        script.say("the answer")
        screen.draw(script.view)
        assert cell.outputs == []
        script.end(started_at="2026-11-21T06:00:00.000Z", ended_at="2026-11-21T06:00:01.500Z")
        screen.finish(answer_bundle(script.view))
        shown.append(cell.outputs)
    assert shown[0] == shown[1]
    assert "1.5 s" in shown[0][0]["text/plain"]


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


def test_a_terminal_says_that_a_resumed_run_begins_again() -> None:
    out, script = io.StringIO(), Script()
    screen = TerminalScreen(out)
    script.say("first try\n")
    screen.draw(script.view)
    script.event("run.resumed", attempt=2, discard_after=0)
    script.say("second try\n")
    screen.draw(script.view)
    assert (out.getvalue().splitlines()) == [
        "first try",
        "",
        "[the run was resumed; this replaces the text above]",
        "second try",
    ]
