"""`Chat()` over a real service, used as a page uses it: what is sent when something is pressed, what is shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.approvals import PendingApproval
from agentsvc_nb.notebook.ask.request import AskRequest
from agentsvc_nb.notebook.display.render import Bundle, answer_bundle, error_bundle
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.approvals import ApprovalCards
from agentsvc_nb.notebook.widgets.chat.controller import ChatController
from agentsvc_nb.notebook.widgets.chat.screen import TurnScreen
from agentsvc_nb.notebook.widgets.chat.turns import Conversation, summary, transcript
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.notebook.widgets.limit_card import LimitCard
from agentsvc_nb.notebook.widgets.uploads import Uploads
from tests.notebook.allowlist import FORBIDDEN, offences
from tests.notebook.fronts import VIEW, ask, attach, decide, markup, press_again, say, send, text, words
from tests.notebook.screens import Script
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until


class Used:
    """A chat in the output of a cell."""

    def __init__(self, kernel: Any, call: str = "Chat()") -> None:
        kernel.cell(f"import agentsvc_nb\nchat = agentsvc_nb.{call}\nchat", cell_id="c1")
        self.outputs, self.chat = kernel.shown, kernel.user_ns["chat"]
        self.front: Any = self.chat.front

    def ask(self, message: str) -> None:
        ask(self.front, message)

    def answered(self, words: str = "") -> str:
        """What is read once the run has ended and these words are there."""
        return until(lambda: text(self.front), lambda read: words in read and "complete" in read and self.idle)

    @property
    def idle(self) -> bool:
        return self.front.part("active") is None

    @property
    def id(self) -> str:
        """The id of the chat, once it has a turn."""
        return re.findall(r"chat_[\w-]+", repr(self.chat))[0]


@pytest.fixture
def used(kernel: Any, connected: None) -> Used:
    return Used(kernel)


def test_several_turns_go_into_the_chat_of_the_notebook_and_leave_one_static_conversation(
    used: Used, kernel: Any
) -> None:
    assert [VIEW in output for output in used.outputs.outputs] == [False, True]
    used.ask(" \n")
    assert "Write a message first." in text(used.front)
    used.ask("say **bold** {{name}}\nwrite out/a.txt hi")
    first = used.answered("bold")
    assert "✓ completed" in first
    assert "out/a.txt" in first
    assert used.front.part("turn/1")["cell"] == "%%ask\nsay **bold** \\{{name}}\nwrite out/a.txt hi"
    assert kernel.cell("%%ask\nsay three").chat == used.id
    say(used.front, "look")
    until(lambda: used.idle and text(used.front).count("✓ completed") == 2)
    press_again(used.front)
    until(lambda: used.idle and text(used.front).count("✓ completed") == 3)
    until(lambda: f"Chat {used.id}, 3 turns" in used.outputs.outputs[0]["text/plain"])
    say(used.front, "close")
    line, conversation = used.outputs.outputs
    assert "closed. Run this cell again" in line["text/plain"]
    assert conversation["text/plain"].startswith("You: say **bold** {{name}}")
    assert "<strong>bold</strong> {{name}}" in conversation["text/html"]
    assert "out/a.txt" in conversation["text/html"]
    assert offences(conversation["text/html"]) == []
    kernel.cell("chat", cell_id="c2")
    assert kernel.shown.outputs == [conversation]


def test_it_is_seen_growing_and_stop_cancels_on_the_service(used: Used, client: AgentService) -> None:
    used.ask("say first")
    used.answered("first")
    used.ask("say begun\nwait 60")
    until(lambda: "<p>begun" in markup(used.front))
    used.ask("say not now")
    assert used.front.part("draft") == "say not now", "one at a time: the input has it again"
    press_again(used.front)
    assert used.front.part("draft") == "say first"
    say(used.front, "stop")
    until(lambda: "■ cancelled" in text(used.front))
    assert [run.status for run in client.runs.list(chat=used.id)] == ["cancelled", "completed"]


def test_a_run_near_its_limit_is_given_more_by_its_button_and_by_a_magic(
    kernel: Any, connected: None, client: AgentService
) -> None:
    run = client.runs.start("usage 41000 0\nstep 1\nwait 60", max_cents=5)
    used = Used(kernel, f"Chat({run.chat!r})")
    until(lambda: used.front.part("near"))
    assert used.front.part("near")["button"][0] == "Raise to 10 cents"
    say(used.front, "raise")
    until(lambda: used.front.part("near") is None)
    assert client.runs.get(run.run_id).max_cents == 10
    kernel.cell(f"%runs raise {run.run_id} 20")
    assert client.runs.get(run.run_id).max_cents == 20
    for wrong, why in (("1", "can only be raised"), ("1e30", "at most 1,000,000,000"), ("nan", "at most")):
        with pytest.raises(AskError, match=why):
            kernel.cell(f"%runs raise {run.run_id} {wrong}")
    say(used.front, "stop")
    until(lambda: used.idle)


def test_what_is_attached_and_chosen_goes_along(used: Used, client: AgentService) -> None:
    attach(used.front, "C:\\mine\\a.txt", b"hello, in slices")
    attach(used.front, "b.txt", b"x")
    attach(used.front, "huge.bin", b"", size=30_000_000)
    assert "not attached: huge.bin" in text(used.front)
    (_, a), (key, b) = used.front.part("chips")
    assert (a, b) == ("a.txt", "b.txt")
    say(used.front, "unattach", key=key)
    used.ask("say got it\nwrite out/made.txt 1")
    assert "a.txt" in used.answered("got it")
    assert {file.path for file in client.files.list(used.id)} == {"uploads/a.txt", "out/made.txt"}
    assert client.files.head("uploads/a.txt", 100, chat=used.id) == b"hello, in slices"


# -- with a service whose effects wait --------------------------------------------------------------------------------

CALL = 'call echo_job {"steps": 0, "text": "<b>7</b>"}'


@pytest.fixture
def careful(kernel: Any, approver: AgentService) -> Used:
    return Used(kernel)


def test_an_effect_waits_for_a_yes_or_a_no(careful: Used, approver: AgentService) -> None:
    careful.ask(f"{CALL}\nsay done")
    until(lambda: "echo_job waits for your approval" in text(careful.front))
    assert '"text": "<b>7</b>"' in text(careful.front)
    assert offences(markup(careful.front)) == []
    decide(careful.front, True)
    careful.answered("done")
    assert careful.front.parts("asked/") == {}
    careful.ask(f"{CALL}\nsay afterwards")
    until(lambda: careful.front.parts("asked/"))
    decide(careful.front, False, reason="Not before Monday.")
    careful.answered("afterwards")
    run, _ = approver.runs.list(chat=careful.id)
    decided = [event.payload for event in approver.runs.events(run.run_id).data if event.type == "approval.decided"]
    assert [(one["approved"], one["reason"]) for one in decided] == [(False, "Not before Monday.")]


def _says(front: Front, words: str) -> bool:
    return words in text(front)


def test_arguments_are_edited_on_the_card_until_they_fit(careful: Used, approver: AgentService) -> None:
    careful.ask(f"{CALL}\n{CALL}\nsay done")
    [card] = until(lambda: careful.front.parts("asked/")).values()
    assert json.loads(card["edit"]["text"]) == {"steps": 0, "text": "<b>7</b>"}
    for wrong, said in (('{"steps": ', "not valid JSON"), ("[]", "JSON object"), ('{"steps": -1}', "steps")):
        decide(careful.front, True, edited=wrong)
        until(partial(_says, careful.front, said))
    assert [name for name, _ in card["scopes"]] == ["", "run", "hour"]
    decide(careful.front, True, edited='{"steps": 0, "files": {"net.txt": "net"}}', scope="run")
    careful.answered("done")
    assert [file.path for file in approver.files.list(careful.id)] == ["net.txt"]


def test_a_failure_stays_on_its_card_when_cards_are_drawn_at_the_same_moment() -> None:
    def refused(*_: object) -> None:
        raise AskError("Gone.")

    class Ended(KernelCall):
        def bundle(self) -> Bundle:
            decide(front, True)
            until(lambda: front.part("asked/a")["failed"])
            return super().bundle()

    front = Front("live", "card")
    cards = ApprovalCards(front, refused)
    waiting = {"a": PendingApproval("run_1", "a", "send_email", {}, "2026-11-29T08:00:00Z")}
    cards.show(waiting, ())
    cards.show(waiting, [Ended("b", "run_1", "1", state="failed")])
    assert "Gone." in front.part("asked/a")["failed"]


def controlled(talk: Conversation | None = None) -> ChatController:
    """The controller of a chat that nothing is asked in."""
    return ChatController(Session(journal=Journal(None)), talk or Conversation(), AskRequest("-"), lambda: None)


def test_a_message_that_no_page_of_ours_sends_does_nothing() -> None:
    front = controlled().front
    before = front.parts()
    odd: tuple[Any, ...] = (None, "x", [], {"do": None}, {"do": "steal"}, {"do": "again", "turn": []})
    for content in (*odd, *({"do": do} for do in ("file", "choose", "unattach", "decide", "again"))):
        send(front, content)
    assert {**front.parts(), "note": None, "chips": None} == {**before, "note": None, "chips": None}


def _judged(front: Front) -> Iterator[str]:
    """What is wrong with what is shown: markup, and words that are put in as they are."""
    yield from offences(markup(front))
    yield from (found for said in words(front) for found in FORBIDDEN.findall(said))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_harmless_in_every_part(text: str) -> None:
    talk = Conversation(text)
    turn = talk.ask(text, (text,))
    turn.run_id = text

    def refused(*_: object) -> None:
        raise AskError(text, text)

    chat = controlled(talk)
    watched = TurnScreen(chat.front, ApprovalCards(chat.front, refused), LimitCard(chat.front, refused), turn)
    waiting = Script()
    waiting.event("approval.requested", call_id=text, tool=text, input={text: [text]})
    waiting.event("limit.near", max_cents=5, spent_cents=4.1, suggested_cents=10)
    waiting.view.kernel = [KernelCall("b", text, text, state="failed", reason=text)]
    watched.draw(waiting.view)
    decide(chat.front, True, reason=text)
    say(chat.front, "raise")
    until(lambda: chat.front.part("near")["failed"])
    until(lambda: chat.front.part(f"asked/{text}")["failed"])
    assert list(_judged(chat.front)) == []
    watched.finish(answer_bundle(Script().view) if len(text) % 2 else error_bundle(text, text))
    chat.show()
    watched.end()
    chat.attachments.offer_files([text])
    attach(chat.front, text, b"")
    chat.attachments.show_problem(text)
    for bundle in (transcript(talk), summary(talk)):
        assert offences(bundle["text/html"]) == []
        assert FORBIDDEN.findall(bundle["text/plain"]) == []
    assert list(_judged(chat.front)) == []
    chat.show_closed()
    assert list(_judged(chat.front)) == []


@pytest.mark.parametrize(
    ("slices", "refused"),
    [
        ([(0, b"ab"), (0, b"ab"), (2, b"cd")], ""),
        ([(0, b"a"), (3, b"d"), (1, b"bcd")], "byte 1"),
        ([(0, b"abcd"), (0, b"abXd")], "already complete"),
    ],
)
def test_an_upload_arrives_once_and_whole(slices: Sequence[tuple[int, bytes]], refused: str) -> None:
    come: list[bytes] = []
    refusals: list[str] = []
    front = Front("live", "writing", "chat")
    uploads = Uploads(front, lambda _, path: come.append(path.read_bytes()), refusals.append)
    for at, content in slices:
        say(front, "file", content, id="1", name="a.txt", size=4, at=at)
    assert come == [b"abcd"]
    assert len(refusals) == bool(refused)
    assert refused in "".join(refusals)
    uploads.discard("1")
