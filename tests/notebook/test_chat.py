"""`Chat()` over a real service, used as a page uses it: what is sent when something is pressed, what is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService, Chat
from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.ask.history import decide
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.chat import turns as chat_turns
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook.allowlist import offences
from tests.notebook.fronts import ask, attach, markup, press_again, say, text
from tests.notebook.fronts import decide as answer_call
from tests.notebook.shells import KernelShell, loaded
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")
WIDGET = "application/vnd.jupyter.widget-view+json"


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
        return until(
            lambda: text(self.front),
            lambda read: words in read and "complete" in read and self.idle,
        )

    @property
    def idle(self) -> bool:
        return self.front.part("active") is None


@pytest.fixture
def used(kernel: Any) -> Used:
    return Used(kernel)


def test_several_turns_in_the_chat_of_the_notebook(used: Used, kernel: Any) -> None:
    assert [WIDGET in output for output in used.outputs.outputs] == [False, True]
    used.ask("say one\nsay **bold**\nwrite out/a.txt hi")
    first = used.answered("bold")
    assert "✓ completed" in first
    assert "out/a.txt" in first
    used.ask("say two")
    assert used.answered("two").index("say one") < used.answered("two").index("say two")
    assert "<strong>bold</strong>" in markup(used.front)
    chat = kernel.cell("%%ask\nsay three").chat
    assert used.chat._conversation.chat == chat
    until(lambda: f"Chat {chat}, 2 turns" in used.outputs.outputs[0]["text/plain"])


def test_the_turns_that_were_there_are_counted(kernel: Any) -> None:
    chat = kernel.cell("%%ask\nsay one").chat
    assert f"Chat {chat}, 1 turn." in Used(kernel).outputs.outputs[0]["text/plain"]


def test_nothing_to_send_is_said_until_something_is_sent(used: Used) -> None:
    used.ask(" \n")
    assert "Write a message first." in text(used.front)
    used.ask("say one")
    assert "Write a message first." not in text(used.front)
    used.answered("one")
    assert len(used.chat._conversation.turns) == 1


def test_it_is_seen_growing_and_stop_cancels_on_the_service(used: Used, client: AgentService) -> None:
    used.ask("say begun\nwait 60")
    until(lambda: "<p>begun" in markup(used.front))
    used.ask("say not now")
    assert "not now" not in text(used.front), "one at a time"
    say(used.front, "stop")
    assert used.front.part("active") == "stopping"
    until(lambda: "■ cancelled" in text(used.front))
    (run,) = {turn.run_id for turn in used.chat._conversation.turns}
    assert client.runs.get(run).status == "cancelled"


def test_stop_before_it_began_leaves_nothing_running(used: Used, client: AgentService) -> None:
    used.ask("wait 60")
    say(used.front, "stop")
    until(lambda: used.idle)
    (turn,) = used.chat._conversation.turns
    assert not turn.run_id or client.runs.wait(turn.run_id, poll=0.05).status == "cancelled"


def test_a_failed_run_and_a_refused_start_are_told_in_a_few_lines(used: Used) -> None:
    used.ask("say so far\nfail agent_error It broke")
    assert "It broke" in until(lambda: text(used.front), lambda read: "failed" in read)
    until(lambda: used.idle)
    used.ask("fail-http api_wallet_exhausted")
    read = until(lambda: text(used.front), lambda read: "api_wallet" in read.split("http ")[-1])
    assert "api_wallet_exhausted" in read
    assert until(lambda: used.front.part("draft")) == "fail-http api_wallet_exhausted", "to be sent again"


def test_what_is_attached_and_chosen_goes_along(used: Used, client: AgentService) -> None:
    attach(used.front, "C:\\mine\\a.txt", b"hello, in slices")
    attach(used.front, "b.txt", b"x")
    attach(used.front, "huge.bin", b"", size=30_000_000)
    assert "20 MB go along at most; not attached: huge.bin" in text(used.front)
    (_, a), (key, b) = used.front.part("chips")
    assert (a, b) == ("a.txt", "b.txt")
    say(used.front, "unattach", key=key)
    used.ask("say got it\nwrite out/made.txt 1")
    assert "a.txt" in used.answered("got it")
    chat = str(used.chat._conversation.chat)
    assert {file.path for file in client.files.list(chat)} == {"uploads/a.txt", "out/made.txt"}
    assert client.files.head("uploads/a.txt", 100, chat=chat) == b"hello, in slices"
    until(lambda: len(used.front.part("files") or ()) == 2)
    say(used.front, "choose", path="out/made.txt")
    assert used.front.part("chips") == [["out/made.txt", "out/made.txt"]]
    used.ask("say again")
    assert "Files of this chat: `out/made.txt`" in used.answered("again")
    assert used.front.part("chips") is None


def test_a_question_waits_for_the_run_of_another_machine_and_can_be_given_up(used: Used, client: AgentService) -> None:
    used.ask("say first")
    used.answered("first")
    busy = client.runs.start("say elsewhere\nwait 60", chat=str(used.chat._conversation.chat))
    used.ask("say mine")
    until(lambda: f"waiting for run {busy.run_id}" in text(used.front))
    client.runs.cancel(busy.run_id)
    assert "✓ completed" in used.answered("mine").split("say mine")[1]
    until(lambda: "■ cancelled" in text(used.front))
    busy = client.runs.start("wait 60", chat=str(used.chat._conversation.chat))
    used.ask("say never")
    until(lambda: "waiting for run" in text(used.front))
    say(used.front, "stop")
    until(lambda: used.idle)
    assert used.front.part("draft") == "say never"
    client.runs.cancel(busy.run_id)


def test_an_open_chat_shows_the_turns_of_cells_of_other_chats_and_of_other_machines(
    kernel: Any, client: AgentService
) -> None:
    used, other = Used(kernel), Used(kernel)
    for each in (used, other):
        say(each.front, "hello", view="page")
    chat = kernel.cell("%%ask\nsay of a cell").chat
    for each in (used, other):
        each.answered("of a cell")
    used.ask("say of the first\nwait 1")
    until(lambda: other.front.part("active") == "running" and "of the first" in text(other.front))
    used.answered("of the first")
    other.answered("of the first")
    client.runs.wait(client.runs.start("say of elsewhere", chat=chat).run_id, poll=0.05)
    say(used.front, "look")
    until(lambda: text(used.front).count("✓ completed") == 3)
    assert [front["again"] for front in used.front.parts("turn/").values()] == [True, True, False]
    assert kernel.cell("%%ask\nsay the last").chat == chat
    for each in (used, other):
        read = until(lambda each=each: text(each.front), lambda read: read.count("✓ completed") == 4)  # type: ignore[misc]
        places = [read.index(words) for words in ("of a cell", "of the first", "of elsewhere", "the last")]
        assert places == sorted(places)
    say(other.front, "bye", view="page")
    kernel.cell("%%ask\nsay unseen")
    until(lambda: text(used.front).count("✓ completed") == 5)
    assert "unseen" not in text(other.front), "nobody looks at it"
    say(other.front, "look")
    until(lambda: text(other.front).count("✓ completed") == 5)


def test_close_leaves_one_static_conversation(used: Used, kernel: Any) -> None:
    used.ask("say **hello** {{name}}\nwrite out/a.txt hi")
    used.answered("hello")
    say(used.front, "close")
    line, conversation = used.outputs.outputs
    assert WIDGET not in conversation
    assert "closed. Run this cell again" in line["text/plain"]
    assert conversation["text/plain"].startswith("You: say **hello** {{name}}")
    assert "<strong>hello</strong>" in conversation["text/html"]
    assert "out/a.txt" in conversation["text/html"]
    assert offences(conversation["text/html"]) == []
    kernel.cell("chat", cell_id="c2")
    assert kernel.shown.outputs == [conversation]


def test_a_run_goes_on_after_close_and_its_answer_still_comes(used: Used) -> None:
    used.ask("say begun\nwait 1\nsay all of it")
    until(lambda: "begun" in text(used.front).split("all of it")[-1])
    say(used.front, "close")
    assert "%runs attach" in used.outputs.outputs[1]["text/plain"]
    until(lambda: "✓ completed" in used.outputs.outputs[1]["text/plain"])


def test_a_turn_as_a_cell_and_asked_again(used: Used, kernel: Any) -> None:
    used.ask("say a {{name}}\nsay b")
    used.answered("a {{name}}")
    cell = used.front.part("turn/1")["cell"]
    assert cell == "%%ask\nsay a \\{{name}}\nsay b"
    assert kernel.cell(cell).text == "a {{name}}\nb"
    press_again(used.front)
    until(lambda: used.idle and text(used.front).count("✓ completed") == 3)
    first, last, of_the_cell = until(lambda: used.chat._conversation.turns, lambda turns: len(turns) == 3)
    assert first.message == last.message == of_the_cell.message.strip() == "say a {{name}}\nsay b"


def test_a_page_that_is_opened_again_is_sent_all_of_it(used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    used.ask("say one")
    used.answered("one")
    say(used.front, "draft", text="half typed")
    sent: list[Any] = []
    monkeypatch.setattr(used.front, "send", lambda content: sent.append(content))
    say(used.front, "hello", view="v1")
    (message,) = sent
    assert message["view"] == "v1"
    assert message["parts"]["draft"] == "half typed"
    assert "✓ completed" in message["parts"]["turn/1"]["answer"]
    say(used.front, "send", text=" ")
    assert {"draft": None} not in [sent[1]["parts"]], "the page has cleared it itself"


def test_another_chat_and_a_new_one(kernel: Any, client: AgentService) -> None:
    own = kernel.cell("%%ask\nsay own").chat
    other = str(client.runs.wait(client.runs.start("say x").run_id).chat)
    named = Used(kernel, f"Chat({other!r})")
    named.ask("say named")
    named.answered("named")
    assert named.chat._conversation.chat == other
    new = Used(kernel, "Chat(new=True)")
    for word in ("alpha", "beta"):
        new.ask(f"say {word}")
        new.answered(f"{word} ")
    assert new.chat._conversation.chat not in (own, other)
    assert kernel.cell("%%ask\nsay still").chat == own


@pytest.fixture
def notebook() -> Any:
    shell: Any = loaded(KernelShell, "/home/ada/chat.ipynb")
    yield shell
    shell.cell("%unload_ext agentsvc_nb")
    KernelShell.clear_instance()


def test_the_last_turns_are_there_and_what_goes_on_is_followed(notebook: Any) -> None:
    for number in range(6):
        notebook.cell(f"%%ask\nsay answer {number}", cell_id=f"a{number}")
    first = Used(notebook)
    until(lambda: "answer 5" in text(first.front))
    first.ask("say begun\nwait 2\nsay the end")
    until(lambda: "begun" in text(first.front).split("the end")[-1])
    again = Used(notebook)
    read = until(lambda: text(again.front), lambda read: "begun" in read and "answer 5" in read and "answer 2" in read)
    assert "answer 1" not in read
    assert again.front.part("earlier") == 2
    say(again.front, "earlier")
    until(lambda: "✓ completed" in text(again.front).split("say the end")[1])
    read = until(lambda: text(again.front), lambda read: "answer 0" in read)
    first.answered("the end")
    assert again.front.part("earlier") is None
    assert read.index("answer 0") < read.index("answer 5") < read.index("the end")


def test_what_is_no_id_is_refused_at_once(kernel: Any) -> None:
    with pytest.raises(AskError, match="is no chat id"):
        Used(kernel, "Chat('nonsense')")
    with pytest.raises(AskError, match="exclude each other"):
        Used(kernel, "Chat('chat_1', new=True)")


def test_beside_the_notebook_needs_a_package_that_is_named(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sidecar", None)
    with pytest.raises(AskError, match="needs the package sidecar") as refused:
        Used(kernel, "Chat(where='side')")
    assert "%pip install 'agentsvc-nb[lab]'" in refused.value.hint


def test_where_nothing_can_be_pressed_it_says_what_to_use(
    kernel: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel.cell("import agentsvc_nb\nagentsvc_nb.Chat()")
    (output,) = kernel.shown.outputs
    assert "`%%ask` asks in the same chat" in output["text/plain"]
    monkeypatch.setenv("VOILA_BASE_URL", "/")
    kernel.cell("agentsvc_nb.Chat()")
    (chat,) = kernel.shown.outputs
    assert WIDGET in chat


def test_in_a_terminal_it_says_what_to_use(terminal: Any, capsys: pytest.CaptureFixture[str]) -> None:
    terminal.cell("import agentsvc_nb\nagentsvc_nb.Chat()")
    assert "`%%ask` asks in the same chat" in capsys.readouterr().out


@pytest.fixture(scope="module")
def asking() -> Iterator[RunningService]:
    with running_service(approve_effects="yes") as service:
        yield service


@pytest.fixture
def careful(kernel: Any, asking: RunningService, monkeypatch: pytest.MonkeyPatch) -> Used:
    """A chat with a service whose effects wait."""
    monkeypatch.setenv("SERVICE_API_KEY", asking.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", asking.base_url)
    return Used(kernel)


CALL = 'call echo_job {"steps": 0, "text": "<b>7</b>"}'


def test_an_effect_waits_for_a_yes_or_a_no(careful: Used, asking: RunningService) -> None:
    careful.ask(f"{CALL}\nsay done")
    until(lambda: "echo_job waits for your approval" in text(careful.front))
    assert '"text": "<b>7</b>"' in text(careful.front)
    assert offences(markup(careful.front)) == []
    answer_call(careful.front, True)
    careful.answered("done")
    assert careful.front.parts("asked/") == {}
    careful.ask(f"{CALL}\nsay afterwards")
    until(lambda: careful.front.parts("asked/"))
    answer_call(careful.front, False, reason="Not before Monday.")
    careful.answered("afterwards")
    with AgentService(asking.api_key, asking.base_url) as client:
        run = careful.chat._conversation.turns[1].run_id
        decided = [event.payload for event in client.runs.events(run).data if event.type == "approval.decided"]
    assert [(one["approved"], one["reason"]) for one in decided] == [(False, "Not before Monday.")]


def test_what_was_answered_elsewhere_is_told(careful: Used, asking: RunningService) -> None:
    careful.ask(f"{CALL}\nsay done")
    (name,) = until(lambda: careful.front.parts("asked/"))
    turn, call = careful.chat._conversation.turns[0], name.removeprefix("asked/")
    with AgentService(asking.api_key, asking.base_url) as client:
        client.runs.refuse(turn.run_id, call)
    careful.answered("done")
    assert careful.front.parts("asked/") == {}
    with pytest.raises(AskError, match="call_not_waiting"):
        decide(careful.chat._session, WaitingCall(turn.run_id, call, "echo_job", {}, ""), True, "")


def test_a_service_that_is_killed_in_the_middle_loses_nothing(careful: Used, asking: RunningService) -> None:
    careful.ask("say alpha\nstep 1\nwait 1\nsay omega")
    until(lambda: "alpha" in text(careful.front).split("say omega")[-1])
    asking.kill()
    asking.start()
    read = careful.answered("omega").split("say omega")[-1]
    assert (read.count("alpha"), read.count("omega")) == (1, 1)


def test_a_long_chat_stays_as_large_as_it_was(used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_turns, "SHOWN", 4)
    monkeypatch.setattr(chat_turns, "KEPT", 2)
    for number in range(1, 9):
        used.ask(f"say answer {number}.")
        used.answered(f" answer {number}.")
    assert used.front.part("order") == [7, 8]
    assert [*used.front.parts("turn/")] == ["turn/7", "turn/8"]
    say(used.front, "earlier")
    say(used.front, "earlier")
    read = until(lambda: text(used.front), lambda read: read.count("✓ completed") == 8)
    assert [read.index(f"say answer {number}.") for number in range(1, 9)] == sorted(
        read.index(f"say answer {number}.") for number in range(1, 9)
    )


def test_without_a_notebook_it_says_what_to_use() -> None:
    assert repr(Chat()) == "✗ A chat needs a notebook, and this is none.\n`client.ask(...)` asks the agent."
