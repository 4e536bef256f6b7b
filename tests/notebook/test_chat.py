"""`Chat()` over a real service, used as a page uses it: what is sent when something is pressed, what is shown."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from agentsvc_nb import AgentService, Chat
from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.ask.history import decide
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.chat import turns as chat_turns
from tests.notebook.allowlist import offences
from tests.notebook.fronts import VIEW, ask, attach, markup, press_again, say, text
from tests.notebook.fronts import decide as answer_call
from tests.notebook.shells import session_of
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
    used.ask("say begun\nwait 60")
    until(lambda: "<p>begun" in markup(used.front))
    used.ask("say not now")
    assert "not now" not in text(used.front), "one at a time"
    say(used.front, "stop")
    until(lambda: "■ cancelled" in text(used.front))
    assert [run.status for run in client.runs.list(chat=used.id)] == ["cancelled"]


def test_a_failed_run_and_a_refused_start_are_told(used: Used) -> None:
    used.ask("say so far\nfail agent_error It broke")
    assert "It broke" in until(lambda: text(used.front), lambda read: "failed" in read)
    until(lambda: used.idle)
    used.ask("fail-http api_wallet_exhausted")
    until(lambda: "api_wallet_exhausted" in text(used.front).split("http ")[-1])
    assert until(lambda: used.front.part("draft")) == "fail-http api_wallet_exhausted", "to be sent again"


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
    until(lambda: len(used.front.part("files") or ()) == 2)
    say(used.front, "choose", path="out/made.txt")
    used.ask("say again")
    assert "Files of this chat: `out/made.txt`" in used.answered("again")
    assert used.front.part("chips") is None


def test_a_question_waits_for_the_run_of_another_machine_and_can_be_given_up(used: Used, client: AgentService) -> None:
    used.ask("say first")
    used.answered("first")
    busy = client.runs.start("say elsewhere\nwait 60", chat=used.id)
    used.ask("say never")
    until(lambda: f"waiting for run {busy.run_id}" in text(used.front))
    say(used.front, "stop")
    until(lambda: used.idle)
    assert used.front.part("draft") == "say never"
    used.ask("say mine")
    until(lambda: "waiting for run" in text(used.front))
    client.runs.cancel(busy.run_id)
    assert "✓ completed" in used.answered("mine").split("say mine")[1]


def test_an_open_chat_shows_the_turns_of_cells_and_of_other_machines(
    used: Used, kernel: Any, client: AgentService
) -> None:
    other = Used(kernel)
    for each in (used, other):
        say(each.front, "hello", view="page")
    chat = kernel.cell("%%ask\nsay of a cell").chat
    used.answered("of a cell")
    used.ask("say of the first")
    used.answered("of the first")
    other.answered("of the first")
    client.runs.wait(client.runs.start("say of elsewhere", chat=chat).run_id, poll=0.05)
    say(other.front, "bye", view="page")
    assert kernel.cell("%%ask\nsay the last").chat == chat
    read = until(lambda: text(used.front), lambda read: read.count("✓ completed") == 4)
    places = [read.index(words) for words in ("of a cell", "of the first", "of elsewhere", "the last")]
    assert places == sorted(places)
    assert "the last" not in text(other.front), "nobody looks at it"
    say(other.front, "look")
    until(lambda: text(other.front).count("✓ completed") == 4)


def test_a_run_goes_on_after_close_and_its_answer_still_comes(used: Used, client: AgentService) -> None:
    used.ask("say begun\nwait 0.5\nsay all of it")
    until(lambda: "begun" in text(used.front).split("all of it")[-1])
    say(used.front, "close")
    until(lambda: "✓ completed" in used.outputs.outputs[1]["text/plain"])


def test_a_page_that_is_opened_again_is_sent_all_of_it(used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    used.ask("say one")
    used.answered("one")
    say(used.front, "draft", text="half typed")
    sent: list[Any] = []
    monkeypatch.setattr(used.front, "send", lambda content: sent.append(content))
    say(used.front, "hello", view="v1")
    (message,) = sent
    assert (message["view"], message["parts"]["draft"]) == ("v1", "half typed")
    assert "✓ completed" in message["parts"]["turn/1"]["answer"]


@pytest.mark.usefixtures("connected")
def test_another_chat_and_a_new_one_leave_the_notebook_where_it_is(kernel: Any, client: AgentService) -> None:
    own = kernel.cell("%%ask\nsay own").chat
    named = Used(kernel, f"Chat({client.runs.start('say x', sync=True).chat!r})")
    named.ask("say named")
    assert "say x" in named.answered("named"), "its turns are there"
    new = Used(kernel, "Chat(new=True)")
    for word in ("alpha", "beta"):
        new.ask(f"say {word}")
        new.answered(f"{word} ")
    assert len({own, named.id, new.id}) == 3
    assert kernel.cell("%%ask\nsay still").chat == own


def test_a_long_chat_stays_as_large_as_it_was_and_its_earlier_turns_are_called_back(
    used: Used, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_turns, "SHOWN", 4)
    monkeypatch.setattr(chat_turns, "KEPT", 2)
    for number in range(1, 6):
        used.ask(f"say answer {number}.")
        used.answered(f" answer {number}.")
    assert [*used.front.parts("turn/")] == [f"turn/{number}" for number in used.front.part("order")]
    assert len(used.front.part("order")) < 5
    say(used.front, "earlier")
    read = until(lambda: text(used.front), lambda read: read.count("✓ completed") == 5)
    places = [read.index(f"say answer {number}.") for number in range(1, 6)]
    assert places == sorted(places)


@pytest.mark.usefixtures("connected")
def test_what_cannot_be_shown_is_said(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sidecar", None)
    for call, said in (
        ("Chat('nonsense')", "is no chat id"),
        ("Chat('chat_1', new=True)", "exclude each other"),
        ("Chat(where='side')", "needs the package sidecar"),
    ):
        with pytest.raises(AskError, match=said):
            Used(kernel, call)
    kernel.cell("import agentsvc_nb\nagentsvc_nb.Chat()")
    (output,) = kernel.shown.outputs
    assert "`%%ask`" in output["text/plain"], "nothing can be pressed where no cell has an id"
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    kernel.cell("agentsvc_nb.Chat()")
    assert VIEW in kernel.shown.outputs[0]


def test_without_a_notebook_it_says_what_to_use() -> None:
    assert "`client.ask(...)`" in repr(Chat())


# -- with a service whose effects wait --------------------------------------------------------------------------------

CALL = 'call echo_job {"steps": 0, "text": "<b>7</b>"}'


@pytest.fixture
def careful(kernel: Any, approver: AgentService) -> Used:
    return Used(kernel)


def test_an_effect_waits_for_a_yes_or_a_no(careful: Used, kernel: Any, approver: AgentService) -> None:
    careful.ask(f"{CALL}\nsay done")
    until(lambda: "echo_job waits for your approval" in text(careful.front))
    assert '"text": "<b>7</b>"' in text(careful.front)
    assert offences(markup(careful.front)) == []
    answer_call(careful.front, True)
    careful.answered("done")
    assert careful.front.parts("asked/") == {}
    careful.ask(f"{CALL}\nsay afterwards")
    (name,) = until(lambda: careful.front.parts("asked/"))
    answer_call(careful.front, False, reason="Not before Monday.")
    careful.answered("afterwards")
    run, _ = approver.runs.list(chat=careful.id)
    decided = [event.payload for event in approver.runs.events(run.run_id).data if event.type == "approval.decided"]
    assert [(one["approved"], one["reason"]) for one in decided] == [(False, "Not before Monday.")]
    call = WaitingCall(run.run_id, name.removeprefix("asked/"), "echo_job", {}, "")
    with pytest.raises(AskError, match="call_not_waiting"):
        decide(session_of(kernel), call, True, "")
