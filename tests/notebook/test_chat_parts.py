"""The parts of a chat: what streaming costs on the channel, how many turns are held, and what hostile text does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comm.base_comm import BaseComm

from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.render import answer_bundle, error_bundle, text_bundle
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.approvals import ApprovalCards
from agentsvc_nb.notebook.widgets.chat.controller import ChatController
from agentsvc_nb.notebook.widgets.chat.screen import PartsOutput, TurnScreen
from agentsvc_nb.notebook.widgets.chat.turns import Conversation, as_cell, summary, transcript
from agentsvc_nb.notebook.widgets.front import Front
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import attach, decide, markup, say, send, words
from tests.notebook.screens import HEADER_BYTES, Clock, Script
from tests.notebook.test_hostile import HOSTILE
from tests.notebook.test_screens import FENCE, PARAGRAPHS
from tests.support.waiting import until


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The bytes that widgets have sent so far, but for the module and its style sheet."""
    seen: list[int] = []

    class Counted(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            if msg_type != "comm_open":
                seen.append(HEADER_BYTES + len(json.dumps(data)))

    monkeypatch.setattr("comm.create_comm", Counted)
    return lambda: sum(seen)


def controlled(talk: Conversation | None = None) -> ChatController:
    """The controller of a chat that nothing is asked in."""
    return ChatController(Session(journal=Journal(None)), talk or Conversation(), AskRequest("-"), lambda: None)


def played(text: str, front: Front) -> Script:
    clock, script = Clock(), Script()
    screen = LiveScreen(PartsOutput(front), clock)
    began, step = clock.now, 25
    for start in range(0, len(text), step):
        script.say(text[start : start + step])
        clock.now += 0.1
        script.view.elapsed = clock.now - began
        screen.draw(script.view)
    script.end()
    screen.finish(answer_bundle(script.view))
    return script


@pytest.mark.parametrize("text", [PARAGRAPHS, FENCE], ids=["blocks", "fence"])
def test_a_long_answer_costs_under_80_bytes_a_character(text: str, sent: Callable[[], int]) -> None:
    front = Front("live", "writing", "chat")
    script = played(text, front)
    cost = sent() / len(text)
    assert markup(front).strip() == answer_bundle(script.view)["text/html"], "it is all in one part"
    assert 0 < cost < 80


def test_what_is_shown_on_the_way_is_the_answer_in_settled_parts() -> None:
    front, clock, script = Front("live", "writing", "chat"), Clock(), Script()
    screen = LiveScreen(PartsOutput(front), clock)
    blocks = [f"Paragraph {number} {'word ' * 40}\n\n" for number in range(9)]
    for block in blocks:
        script.say(block)
        clock.now += 5
        screen.draw(script.view)
    shown = markup(front).partition("</div>")[2]
    assert shown.replace("\n", "") == "".join(text_bundle(block)["text/html"] for block in blocks).replace("\n", "")
    script.event("run.resumed", attempt=2, discard_after=0)
    script.say("anew")
    clock.now += 5
    screen.draw(script.view)
    assert "Paragraph" not in markup(front)
    assert "anew" in markup(front)


def test_a_message_that_no_page_of_ours_sends_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    front = controlled().front
    before = front.parts()
    odd: tuple[Any, ...] = (None, "x", [], {}, {"do": None}, {"do": "steal"}, {"do": "again", "turn": []})
    for content in odd:
        send(front, content)
    for do in ("file", "choose", "unattach", "decide", "again"):
        say(front, do)
    assert front.parts("asked/") == {}
    assert {**front.parts(), "note": None, "chips": None} == {**before, "note": None, "chips": None}


def _judged(front: Front) -> Iterator[str]:
    """What is wrong with what is shown: markup, and words that are put in as they are."""
    yield from offences(markup(front))
    yield from (found for said in words(front) for found in FORBIDDEN.findall(said))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_text_is_harmless_in_every_part(text: str) -> None:
    talk = Conversation(text)
    turn = talk.ask(text, (text,))
    turn.run_id = text

    def refused(*_: object) -> None:
        raise AskError(text, text)

    chat = controlled(talk)
    watched = TurnScreen(chat.front, ApprovalCards(chat.front, refused), turn)
    waiting = Script()
    waiting.event("approval.requested", call_id=text, tool=text, input={text: [text]})
    watched.draw(waiting.view)
    decide(chat.front, True, reason=text)
    unfinished = transcript(talk)
    until(lambda: chat.front.part(f"asked/{text}")["failed"])
    assert list(_judged(chat.front)) == []
    waiting.view.kernel = [KernelCall(text, text, text, text), KernelCall("b", text, text, state="failed", reason=text)]
    watched.draw(waiting.view)
    assert len(chat.front.parts("asked/")) in (1, 2)
    assert list(_judged(chat.front)) == []
    watched.finish(answer_bundle(Script().view) if len(text) % 2 else error_bundle(text, text))
    chat.show()
    watched.end()
    attachments = chat.attachments
    say(chat.front, "choose", path=text)
    attachments.offer([text])
    attach(chat.front, text, b"")
    attachments.say(text)
    for bundle in (unfinished, transcript(talk), summary(talk)):
        assert offences(bundle["text/html"]) == []
        assert FORBIDDEN.findall(bundle["text/plain"]) == []
    assert list(_judged(chat.front)) == []
    assert as_cell(turn, None).endswith(turn.typed), "to be copied as it was typed"
    chat.show_closed()
    assert list(_judged(chat.front)) == []


def test_a_call_of_a_tool_and_code_are_decided_each_in_its_way() -> None:
    told: list[object] = []
    front, script = Front("live", "writing", "chat"), Script()
    screen = TurnScreen(front, ApprovalCards(front, lambda *given: told.append(given)), Conversation().ask("x"))
    call = KernelCall("k", "run", "x = 1")
    script.view.kernel = [call]
    screen.draw(script.view)
    assert front.part("asked/k")["code"] == "x = 1"
    decide(front, True, code="x = 2", reason="")
    assert (call.state, call.code, call.edited) == ("approved", "x = 2", True)
    script.view.kernel = []
    script.view.asked = {"t": WaitingCall("run", "t", "send_email", {"to": "a"}, "")}
    screen.draw(script.view)
    assert [*front.parts("asked/")] == ["asked/t"]
    decide(front, False, reason="no")
    until(lambda: told)
    assert told == [(script.view.asked["t"], False, "no")]
