"""The card of a run in the background: what it says, what it costs, and what stays of it."""

from __future__ import annotations

import pytest

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.cards import PREVIEW_CHARS, CardScreen, last_lines
from tests.notebook.allowlist import offences
from tests.notebook.clicking import buttons as names
from tests.notebook.clicking import one, press, text
from tests.notebook.screens import Cell, Clock, Script
from tests.notebook.test_hostile import HOSTILE
from tests.notebook.widgets import buttons, hostile, html, inside
from tests.waiting import until


class Card:
    """A card that is drawn whenever the clock has moved."""

    def __init__(self) -> None:
        self.cell, self.clock, self.run = Cell(), Clock(), Script()
        self.decided: list[tuple[str, bool, str]] = []
        self.screen = CardScreen(self.cell, self._decide, self.clock)

    def _decide(self, call: WaitingCall, approved: bool, reason: str) -> None:
        self.decided.append((call.call_id, approved, reason))
        if len(self.decided) == 1:
            raise AskError("The service was away.", "Try again.")

    def look(self, seconds: float = 1.0) -> str:
        self.clock.now += seconds
        self.run.view.elapsed += seconds
        self.screen.draw(self.run.view)
        return "\n".join(html(self.cell.outputs[1]))


def test_it_says_what_the_run_does_and_shows_the_end_of_the_answer() -> None:
    card = Card()
    card.run.event("tool.call", call_id="1", tool="web_search")
    card.run.say("one\n\ntwo <b>")
    shown = card.look()
    assert '<div role="status">● running · calling web_search</div>' in shown
    assert '<div class="asvc-muted">1.0 s</div>' in shown
    assert "one\n\ntwo &lt;b&gt;</pre>" in shown
    line = card.cell.outputs[0]["text/plain"]
    assert line.endswith(f"`%runs show {card.run.view.run_id}` shows the answer.")
    assert f"<code>%runs show {card.run.view.run_id}</code> shows" in card.cell.outputs[0]["text/html"]


def test_only_its_state_is_told_to_a_screen_reader_and_only_when_it_changes() -> None:
    card = Card()
    card.look()
    (status,) = [part for part in html(card.cell.outputs[1]) if "role=" in part]
    for _ in range(30):
        card.run.say("word ")
        card.look(0.3)
    assert [part for part in html(card.cell.outputs[1]) if "role=" in part] == [status]


def test_the_preview_is_bounded_whatever_the_answer_is() -> None:
    run = Script()
    for number in range(3000):
        run.say(f"{number} {'x' * 90}\n")
    assert len(last_lines(run.view)) <= PREVIEW_CHARS + 2
    assert last_lines(run.view).startswith("… 2994 ")
    run.say("y" * 100_000)
    assert last_lines(run.view) == "… " + "y" * PREVIEW_CHARS


def test_cancel_is_pressed_once_and_keeps_the_focus() -> None:
    card, pressed = Card(), []
    card.screen.cancels(lambda: pressed.append(1))
    (button,) = buttons(card.cell.outputs[1])
    button.click()
    button.click()
    assert (pressed, button.description, button.disabled) == ([1], "Cancelling", False)


def test_a_call_that_waits_is_answered_in_the_card() -> None:
    card = Card()
    card.run.event("approval.requested", call_id="call_1", tool="send_email", input={"to": "<b>"})
    shown = card.look()
    assert "send_email waits for your approval" in shown
    assert "&lt;b&gt;" in shown
    box = inside(card.cell.outputs[1])[0]
    one(box, "Text").value = "Not before Monday"
    press(box, "Refuse")
    until(lambda: "The service was away. Try again." in text(box))
    press(box, "Refuse")
    until(lambda: len(card.decided) == 2)
    assert card.decided[1] == ("call_1", False, "Not before Monday")
    card.run.event("approval.decided", call_id="call_1", approved=False, reason="")
    card.look()
    assert names(box) == ["Cancel"]


def test_one_static_output_stays_and_a_reloaded_page_sees_the_answer_in_the_widget() -> None:
    card = Card()
    card.run.say("the answer")
    card.look()
    box = dict(card.cell.outputs[1])
    card.run.end()
    bundle = answer_bundle(card.run.view)
    card.screen.finish(bundle)
    assert card.cell.outputs == [bundle, {"text/plain": "", "text/html": ""}]
    assert bundle["text/html"] in html(box)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_nothing_hostile_gets_into_a_card(text: str) -> None:
    card = Card()
    card.run.view.run_id = card.run.view.status = text
    card.run.say(text)
    card.run.event("tool.call", call_id="1", tool=text)
    card.run.event("approval.requested", call_id=text, tool=text, input={text: text})
    card.look()
    assert offences(card.cell.outputs[0]["text/html"]) == hostile(card.cell.outputs[1]) == []
    card.run.view.waiting = text
    card.look()
    assert hostile(card.cell.outputs[1]) == []
