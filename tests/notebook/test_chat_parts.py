"""The parts of a chat: what streaming costs in widgets, how many turns are held, and what hostile text does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comm.base_comm import BaseComm
from ipywidgets.widgets.widget import _instances

from agentsvc_nb.notebook.display.render import answer_bundle, error_bundle, text_bundle
from agentsvc_nb.notebook.display.screens import LiveScreen
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.chat import state as chat_state
from agentsvc_nb.notebook.widgets.chat.attach import Attaching
from agentsvc_nb.notebook.widgets.chat.state import ChatTurn, Conversation, as_cell, summary, transcript
from agentsvc_nb.notebook.widgets.chat.view import ChatView, TurnScreen, WidgetOutput
from agentsvc_nb.notebook.widgets.design import discard
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.clicking import button, buttons, markup, one, parts, press
from tests.notebook.screens import HEADER_BYTES, Clock, Script
from tests.notebook.test_hostile import HOSTILE
from tests.notebook.test_screens import ENDLESS, FENCE, PARAGRAPHS, TABLE
from tests.waiting import until


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The bytes that widgets have sent so far."""
    seen: list[int] = []

    class Counted(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
            seen.append(HEADER_BYTES + len(json.dumps(data)))

    monkeypatch.setattr("comm.create_comm", Counted)
    return lambda: sum(seen)


def played(text: str, chars_per_second: int, page: WidgetOutput) -> Script:
    clock, script = Clock(), Script()
    screen = LiveScreen(page, clock)
    began, step = clock.now, max(1, chars_per_second // 10)
    for start in range(0, len(text), step):
        script.say(text[start : start + step])
        clock.now += 0.1
        script.view.elapsed = clock.now - began
        screen.draw(script.view)
    script.end()
    screen.finish(answer_bundle(script.view))
    return script


@pytest.mark.parametrize("speed", [250])
@pytest.mark.parametrize("text", [PARAGRAPHS, ENDLESS, FENCE, TABLE], ids=["blocks", "paragraph", "fence", "table"])
def test_a_long_answer_costs_under_80_bytes_a_character(text: str, speed: int, sent: Callable[[], int]) -> None:
    page = WidgetOutput()
    script = played(text, speed, page)
    cost = sent() / len(text)
    print(f"{len(text):,} characters at {speed} a second: {cost:.0f} bytes each")
    assert markup(page.box).strip() == answer_bundle(script.view)["text/html"], "it is all in one widget"
    assert 0 < cost < 80


def test_what_is_shown_on_the_way_is_the_answer_in_settled_parts() -> None:
    page, clock, script = WidgetOutput(), Clock(), Script()
    screen = LiveScreen(page, clock)
    blocks = [f"Paragraph {number} {'word ' * 40}\n\n" for number in range(9)]
    for block in blocks:
        script.say(block)
        clock.now += 5
        screen.draw(script.view)
    shown = markup(page.box).partition("</div>")[2]
    assert shown.replace("\n", "") == "".join(text_bundle(block)["text/html"] for block in blocks).replace("\n", "")
    assert 2 < (widgets := len(page.box.children)) < len(blocks)
    script.event("run.resumed", attempt=2, discard_after=0)
    script.say("anew")
    clock.now += 5
    screen.draw(script.view)
    assert "Paragraph" not in markup(page.box)
    assert "anew" in markup(page.box)
    assert len(page.box.children) == widgets, "they are used again"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_state, "SHOWN", 4)
    monkeypatch.setattr(chat_state, "KEPT", 2)


@pytest.mark.usefixtures("few")
def test_only_the_newest_turns_are_held_and_the_others_are_called_back() -> None:
    talk = Conversation("chat_1")
    for number in range(10):
        turn = talk.ask(f"question {number}")
        turn.run_id, turn.bundle = f"run-{number}", error_bundle("x", "")
        talk.surplus()
    assert [turn.number for turn in talk.turns] == [7, 8, 9, 10]
    assert all(turn.bundle is None for turn in talk.earlier)
    assert [turn.number for turn in talk.call_back(3)] == [4, 5, 6]
    assert [turn.number for turn in talk.turns] == [4, 5, 6, 7, 8, 9, 10]
    assert "10 turns" in summary(talk)["text/plain"]
    assert "3 earlier turns not shown here" in transcript(talk)["text/plain"]


def answered(talk: Conversation, count: int) -> list[ChatTurn]:
    """So many turns more, each with an answer."""
    for _ in range(count):
        turn = talk.ask("x")
        turn.bundle = error_bundle(f"answer {turn.number}.", "")
    return talk.turns


def test_what_is_discarded_leaves_no_widget_behind() -> None:
    before = set(_instances)
    view = ChatView(lambda *_: None)
    view.show(answered(Conversation(), 3), lambda turn: [("As a cell", "x", lambda: "text")])
    press(view.box, "As a cell")
    discard(view.box)
    assert set(_instances) == before


def test_turns_take_the_places_of_others_and_take_no_more_widgets() -> None:
    view, talk = ChatView(lambda *_: None), Conversation()
    view.show(answered(talk, 3), lambda turn: [("As a cell", "x", lambda: f"cell {turn.number}")])
    press(view.box, "As a cell")
    assert one(view.box, "Textarea", 0).value == "cell 3"
    widgets = set(_instances)
    view.show(answered(talk, 2)[3:], lambda turn: [("As a cell", "x", lambda: f"cell {turn.number}")])
    assert re.findall(r"answer \d", markup(view.box)) == ["answer 4", "answer 5"]
    assert len([name for name in buttons(view.box) if name == "As a cell"]) == 2
    assert one(view.box, "Textarea", 0).description == "Message", "what was to be copied is gone with its turn"
    assert set(_instances) == widgets
    press(view.box, "As a cell")
    assert one(view.box, "Textarea", 0).value == "cell 5"
    discard(view.box)


def test_a_turn_is_a_cell_that_asks_the_same() -> None:
    talk = Conversation()
    assert as_cell(talk.ask("a {{b}} \\{{c}}"), None) == "%%ask\na \\{{b}} \\\\{{c}}"
    assert talk.turns[0].message == "a {{b}} \\{{c}}"
    assert as_cell(talk.ask("x"), "chat_2") == "%%ask --chat chat_2\nx"


def _judged(widget: Any) -> Iterator[str]:
    """What is wrong with what is shown: markup, and words that are put in as they are. Our classes are ours."""
    yield from offences(re.sub(r' class="(asvc-[a-z]+|jp-RenderedHTMLCommon)"', "", markup(widget)))
    yield from (found for name in buttons(widget) for found in FORBIDDEN.findall(name))
    for part in parts(widget):
        for words in (
            getattr(part, "tooltip", None) or "",
            *(label for label, _ in getattr(part, "_options_full", ())),
        ):
            yield from FORBIDDEN.findall(words)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text)[:40])
def test_hostile_text_is_harmless_in_every_part(text: str) -> None:
    talk = Conversation(text)
    turn = talk.ask(text, (text,))
    turn.run_id = text

    def decide(*_: object) -> None:
        raise AskError(text, text)

    view = ChatView(decide)
    watched = TurnScreen(turn, view.live)
    view.live.begin(turn)
    waiting = Script()
    waiting.event("approval.requested", call_id=text, tool=text, input={text: [text]})
    watched.draw(waiting.view)
    assert len(buttons(view.live.box)) == 2
    press(view.box, "Approve")
    unfinished = transcript(talk)
    until(lambda: not button(view.box, "Approve").disabled)
    assert list(_judged(view.box)) == []
    watched.finish(answer_bundle(Script().view) if len(text) % 2 else error_bundle(text, text))
    view.show([turn], lambda _: [(text, text, lambda: ""), ("As a cell", "x", lambda: as_cell(turn, None))])
    view.live.end()
    view.say(text)
    view.attaching.give_back((), [text])
    view.attaching.offer([text])
    view.attaching.say(text)
    for bundle in (unfinished, transcript(talk), summary(talk)):
        assert offences(bundle["text/html"]) == []
        assert FORBIDDEN.findall(bundle["text/plain"]) == []
    assert list(_judged(view.box)) == []
    press(view.box, "As a cell")
    assert one(view.box, "Textarea", 0).value.endswith(talk.turns[0].typed), "to be copied as it was typed"
    discard(view.box)


def test_nothing_moves_when_stop_comes_and_goes() -> None:
    view = ChatView(lambda *_: None)
    row = view.box.children[-1].children
    assert row == (view.send, view.attaching.upload, view.attaching.choose, view.close, view.stop)
    discard(view.box)


def test_what_can_be_chosen_is_bounded() -> None:
    attaching = Attaching()
    attaching.offer([f"{number}.txt" for number in range(1_000)])
    assert len(attaching.choose.options) == 201
    attaching.offer([])
    assert attaching.choose.layout.display == "none"


def test_the_next_turn_begins_with_nothing_of_the_last() -> None:
    view, talk, script = ChatView(lambda *_: None), Conversation(), Script()
    for word in ("first", "second"):
        turn = talk.ask(f"ask {word}")
        view.live.begin(turn)
        script.event("run.resumed", attempt=2, discard_after=0)
        script.say(word)
        TurnScreen(turn, view.live).draw(script.view)
        assert re.findall("first|second", markup(view.live.box)) == [word, word]
        view.live.end()
        assert markup(view.live.box) == ""
    discard(view.box)


def test_a_turn_that_is_asked_again_is_the_last_one() -> None:
    talk = Conversation()
    first, second = answered(talk, 2)
    talk.begin(first)
    assert talk.turns == [second, first]
    assert first.bundle is None
