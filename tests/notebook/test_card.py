"""The card of a run in the background: what it says, what it costs, and what stays of it."""

from __future__ import annotations

import pytest

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.display.render import answer_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.card import CardScreen
from agentsvc_nb.notebook.widgets.front import Front
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import decide, front_of, markup, text, words
from tests.notebook.screens import Cell, Clock, Script
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until


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

    def look(self, seconds: float = 1.0) -> Front:
        self.clock.now += seconds
        self.run.view.elapsed += seconds
        self.screen.draw(self.run.view)
        return front_of(self.cell.outputs[1])


def test_it_says_what_the_run_does_and_shows_the_end_of_the_answer() -> None:
    card = Card()
    card.run.event("tool.call", call_id="1", tool="web_search")
    card.run.say("one **two**\n\nthree <b>")
    front = card.look()
    run = front.part("run")
    assert (run["state"], run["amounts"], run["cancelling"]) == ("● running · calling web_search", "1.0 s", False)
    assert "one <strong>two</strong>" in front.part("text")
    assert "three &lt;b&gt;" in front.part("text")
    line = card.cell.outputs[0]["text/plain"]
    assert line.endswith(f"`%runs show {card.run.view.run_id}` shows the answer.")
    assert f"<code>%runs show {card.run.view.run_id}</code> shows" in card.cell.outputs[0]["text/html"]


def test_a_call_that_waits_is_answered_in_the_card() -> None:
    card = Card()
    card.run.event("approval.requested", call_id="call_1", tool="send_email", input={"to": "<b>"})
    front = card.look()
    assert "send_email waits for your approval" in text(front)
    assert "&lt;b&gt;" in markup(front)
    decide(front, False, reason="Not before Monday")
    until(lambda: "The service was away. Try again." in text(front))
    decide(front, False, reason="Not before Monday")
    until(lambda: len(card.decided) == 2)
    assert card.decided[1] == ("call_1", False, "Not before Monday")
    card.run.event("approval.decided", call_id="call_1", approved=False, reason="")
    card.look()
    assert not front.parts("asked/")


def test_one_static_output_stays_and_a_reloaded_page_sees_the_answer_in_the_widget() -> None:
    card = Card()
    card.run.say("the answer")
    front = card.look()
    card.run.end()
    bundle = answer_bundle(card.run.view)
    card.screen.finish(bundle)
    assert card.cell.outputs == [bundle, {"text/plain": "", "text/html": ""}]
    assert front.parts() == {"closed": bundle["text/html"]}


@pytest.mark.parametrize("evil", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_nothing_hostile_gets_into_a_card(evil: str) -> None:
    card = Card()
    card.run.view.run_id = card.run.view.status = evil
    card.run.say(evil)
    card.run.event("tool.call", call_id="1", tool=evil)
    card.run.event("approval.requested", call_id=evil, tool=evil, input={evil: evil})
    front = card.look()
    assert offences(card.cell.outputs[0]["text/html"]) == offences(markup(front)) == []
    assert not [word for word in words(front) if FORBIDDEN.search(word)]
    card.run.view.waiting = evil
    card.look()
    assert not [word for word in words(front) if FORBIDDEN.search(word)]
