"""What is on the screen while a run speaks, what remains of it, and what that costs on the kernel's channel."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.display.screens import PAUSE_SECONDS, LiveScreen, TerminalScreen
from tests.notebook.screens import Cell, Clock, Script

PARAGRAPHS = "\n\n".join(f"## Part {n}\n\n" + "Words of **some** length, and `code`. " * 8 for n in range(70))[:20_000]
ENDLESS = ("word " * 4_000)[:20_000]
FENCE = "```\n" + "print('a line of code')\n" * 860
TABLE = "| a | b |\n|---|---|\n" + "| 1 | <two> |\n" * 1_400
LONG = {"paragraph": ENDLESS, "fence": FENCE, "table": TABLE}


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


@pytest.mark.parametrize("text", list(LONG.values()), ids=list(LONG))
def test_a_long_answer_costs_under_80_bytes_a_character(text: str) -> None:
    cell, script = _play(text, 500)
    assert text == script.view.text
    assert cell.bytes < 80 * len(text)


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
