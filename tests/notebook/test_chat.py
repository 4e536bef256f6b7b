"""`Chat()` over a real service, used as a user would: what is pressed, typed and read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from ipywidgets.widgets.widget import _instances

from agentsvc_nb import AgentService, Chat
from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.ask.history import decide
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.notebook.widgets.chat import state as chat_state
from agentsvc_nb.testing import RunningService, running_service
from tests.notebook.allowlist import offences
from tests.notebook.clicking import button, buttons, markup, one, press, text
from tests.notebook.shells import KernelShell, loaded
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("connected")
WIDGET = "application/vnd.jupyter.widget-view+json"


class Used:
    """A chat in the output of a cell."""

    def __init__(self, kernel: Any, call: str = "Chat()") -> None:
        kernel.cell(f"import agentsvc_nb\nchat = agentsvc_nb.{call}\nchat", cell_id="c1")
        self.outputs, self.chat = kernel.shown, kernel.user_ns["chat"]
        self.box = self.chat._box

    def ask(self, message: str) -> None:
        one(self.box, "Textarea").value = message
        press(self.box, "Send")

    def answered(self, words: str = "") -> str:
        """What is read once the run has ended and these words are there."""
        return until(
            lambda: text(self.box),
            lambda read: words in read and "complete" in read and "Stop" not in buttons(self.box),
        )


@pytest.fixture
def used(kernel: Any) -> Used:
    return Used(kernel)


def test_several_turns_in_the_chat_of_the_notebook(used: Used, kernel: Any) -> None:
    assert [WIDGET in output for output in used.outputs.outputs] == [False, True]
    used.ask("say one\nsay **bold**\nwrite out/a.txt hi")
    first = used.answered("bold")
    assert "✓ completed" in first
    assert "out/a.txt" in first
    assert one(used.box, "Textarea").value == ""
    used.ask("say two")
    assert used.answered("two").index("say one") < used.answered("two").index("say two")
    assert "<strong>bold</strong>" in markup(used.box)
    chat = kernel.cell("%%ask\nsay three").chat
    assert used.chat._conversation.chat == chat
    until(lambda: f"Chat {chat}, 2 turns" in used.outputs.outputs[0]["text/plain"])


def test_the_turns_that_were_there_are_counted(kernel: Any) -> None:
    chat = kernel.cell("%%ask\nsay one").chat
    assert f"Chat {chat}, 1 turn." in Used(kernel).outputs.outputs[0]["text/plain"]


def test_nothing_to_send_is_said_until_something_is_sent(used: Used) -> None:
    used.ask(" \n")
    assert "Write a message first." in text(used.box)
    used.ask("say one")
    assert "Write a message first." not in text(used.box)
    used.answered("one")
    assert len(used.chat._conversation.turns) == 1


def test_it_is_seen_growing_and_stop_cancels_on_the_service(used: Used, client: AgentService) -> None:
    used.ask("say begun\nwait 60")
    until(lambda: "begun" in text(used.box))
    used.ask("say not now")
    assert "not now" not in text(used.box), "one at a time"
    press(used.box, "Stop")
    assert button(used.box, "Stop").disabled
    until(lambda: "■ cancelled" in text(used.box))
    (run,) = {turn.run_id for turn in used.chat._conversation.turns}
    assert client.runs.get(run).status == "cancelled"


def test_stop_before_it_began_leaves_nothing_running(used: Used, client: AgentService) -> None:
    used.ask("wait 60")
    press(used.box, "Stop")
    until(lambda: "Send" in buttons(used.box) and not button(used.box, "Send").disabled)
    (turn,) = used.chat._conversation.turns
    assert not turn.run_id or client.runs.wait(turn.run_id, poll=0.05).status == "cancelled"


def test_a_failed_run_and_a_refused_start_are_told_in_a_few_lines(used: Used) -> None:
    used.ask("say so far\nfail agent_error It broke")
    assert "It broke" in until(lambda: text(used.box), lambda read: "failed" in read)
    until(lambda: not button(used.box, "Send").disabled)
    used.ask("fail-http api_wallet_exhausted")
    assert "api_wallet_exhausted" in until(lambda: text(used.box), lambda read: "api_wallet" in read.split("http ")[-1])
    assert until(lambda: one(used.box, "Textarea").value) == "fail-http api_wallet_exhausted", "to be sent again"


def test_what_is_uploaded_and_chosen_goes_along(used: Used, client: AgentService) -> None:
    upload = one(used.box, "FileUpload")
    upload.value = [_upload("a.txt", b"hello"), _upload("b.txt", b"x"), _upload("huge.bin", b"", size=30_000_000)]
    assert upload.value == (), "not held twice"
    assert "20 MB go along at most; not attached: huge.bin" in text(used.box)
    press(used.box, "✕ b.txt")
    used.ask("say got it\nwrite out/made.txt 1")
    assert "with a.txt" in used.answered("got it")
    chat = str(used.chat._conversation.chat)
    assert {file.path for file in client.files.list(chat)} == {"uploads/a.txt", "out/made.txt"}
    choose = used.chat._controller._view.attaching.choose
    until(lambda: len(choose.options) == 3)
    assert one(used.box, "Dropdown") is choose
    choose.value = "out/made.txt"
    assert "✕ out/made.txt" in buttons(used.box)
    used.ask("say again")
    assert "Files of this chat: `out/made.txt`" in used.answered("again")
    assert not [name for name in buttons(used.box) if name.startswith("✕")]


def _upload(name: str, content: bytes, size: int | None = None) -> dict[str, Any]:
    kind = {"type": "text/plain", "last_modified": datetime(2026, 11, 21, tzinfo=UTC)}
    return {"name": name, "size": len(content) if size is None else size, "content": memoryview(content), **kind}


def test_a_busy_chat_offers_choices(used: Used, kernel: Any, client: AgentService) -> None:
    used.ask("say first")
    used.answered("first")
    busy = client.runs.start("say elsewhere\nwait 1.5", chat=str(used.chat._conversation.chat))
    used.ask("say mine")
    read = until(lambda: text(used.box), lambda read: "is busy with run" in read)
    assert busy.run_id in read
    until(lambda: "Follow run" in " ".join(buttons(used.box)))
    press(used.box, "Follow run")
    assert "elsewhere" in until(lambda: text(used.box), lambda read: "elsewhere" in read)
    until(lambda: not button(used.box, "Send").disabled)
    press(used.box, "Ask when")
    used.answered("mine")
    assert text(used.box).count("say mine") == 1


def test_a_run_that_holds_the_chat_can_be_stopped(used: Used, client: AgentService) -> None:
    used.ask("say first")
    used.answered("first")
    busy = client.runs.start("wait 60", chat=str(used.chat._conversation.chat))
    used.ask("say mine")
    until(lambda: "Stop run" in " ".join(buttons(used.box)))
    press(used.box, "Stop run")
    assert client.runs.wait(busy.run_id, poll=0.02).status == "cancelled"
    press(used.box, "Ask when")
    used.answered("mine")


def test_close_leaves_one_static_conversation(used: Used, kernel: Any) -> None:
    used.ask("say **hello** {{name}}\nwrite out/a.txt hi")
    used.answered("hello")
    press(used.box, "Close")
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
    until(lambda: "● running" in text(used.box))
    press(used.box, "Close")
    assert "%runs attach" in used.outputs.outputs[1]["text/plain"]
    until(lambda: "✓ completed" in used.outputs.outputs[1]["text/plain"])


def test_a_turn_as_a_cell(used: Used, kernel: Any) -> None:
    used.ask("say a {{name}}\nsay b")
    used.answered("a {{name}}")
    press(used.box, "As a cell")
    area = one(used.box, "Textarea", 0)
    assert area.value == "%%ask\nsay a \\{{name}}\nsay b"
    assert kernel.cell(area.value).text == "a {{name}}\nb"


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
    until(lambda: "answer 5" in text(first.box))
    first.ask("say begun\nwait 2\nsay the end")
    until(lambda: "● running" in text(first.box))
    again = Used(notebook)
    read = until(lambda: text(again.box), lambda read: "begun" in read and "answer 5" in read and "answer 2" in read)
    assert "answer 1" not in read
    press(again.box, "Show earlier (2)")
    until(lambda: "✓ completed" in text(again.box).split("say the end")[1])
    read = until(lambda: text(again.box), lambda read: "answer 0" in read)
    first.answered("the end")
    assert "Show earlier" not in " ".join(buttons(again.box))
    assert read.index("answer 0") < read.index("answer 5") < read.index("the end")


def test_what_is_no_id_is_refused_at_once(kernel: Any) -> None:
    with pytest.raises(AskError, match="is no chat id"):
        Used(kernel, "Chat('nonsense')")
    with pytest.raises(AskError, match="exclude each other"):
        Used(kernel, "Chat('chat_1', new=True)")


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
    until(lambda: "echo_job waits for your approval" in text(careful.box))
    assert '"text": "<b>7</b>"' in text(careful.box)
    assert offences(re.sub(r' class="asvc-[a-z]+"', "", markup(careful.box))) == []
    press(careful.box, "Approve")
    careful.answered("done")
    assert "Approve" not in buttons(careful.box)
    careful.ask(f"{CALL}\nsay afterwards")
    until(lambda: "Refuse" in buttons(careful.box))
    one(careful.box, "Text").value = "Not before Monday."
    press(careful.box, "Refuse")
    careful.answered("afterwards")
    with AgentService(asking.api_key, asking.base_url) as client:
        run = careful.chat._conversation.turns[1].run_id
        decided = [event.payload for event in client.runs.events(run).data if event.type == "approval.decided"]
    assert [(one["approved"], one["reason"]) for one in decided] == [(False, "Not before Monday.")]


def test_what_was_answered_elsewhere_is_told(careful: Used, asking: RunningService) -> None:
    careful.ask(f"{CALL}\nsay done")
    until(lambda: "Approve" in buttons(careful.box))
    turn, waiting = careful.chat._conversation.turns[0], careful.chat._controller._view.live._approvals
    (call,) = waiting._cards
    with AgentService(asking.api_key, asking.base_url) as client:
        client.runs.refuse(turn.run_id, call)
    careful.answered("done")
    assert "Approve" not in buttons(careful.box)
    with pytest.raises(AskError, match="call_not_waiting"):
        decide(careful.chat._session, WaitingCall(turn.run_id, call, "echo_job", {}, ""), True, "")


def test_a_service_that_is_killed_in_the_middle_loses_nothing(careful: Used, asking: RunningService) -> None:
    careful.ask("say alpha\nstep 1\nwait 1\nsay omega")
    until(lambda: "alpha" in text(careful.box).split("say omega")[-1])
    asking.kill()
    asking.start()
    read = careful.answered("omega").split("say omega")[-1]
    assert (read.count("alpha"), read.count("omega")) == (1, 1)


def test_a_long_chat_stays_as_large_as_it_was(used: Used, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_state, "SHOWN", 4)
    monkeypatch.setattr(chat_state, "KEPT", 2)
    sizes = []
    for number in range(1, 9):
        used.ask(f"say answer {number}.")
        used.answered(f" answer {number}.")
        until(lambda: not button(used.box, "Send").disabled)
        sizes.append(len(_instances))
    assert sizes[4] == sizes[7], "turns take the places of others"
    assert "answer 4." not in text(used.box)
    press(used.box, "Show earlier (6)")
    press(used.box, "Show earlier (1)")
    read = until(lambda: text(used.box), lambda read: read.count("✓ completed") == 8)
    assert [read.index(f"say answer {number}.") for number in range(1, 9)] == sorted(
        read.index(f"say answer {number}.") for number in range(1, 9)
    )


def test_without_a_notebook_it_says_what_to_use() -> None:
    assert repr(Chat()) == "✗ A chat needs a Jupyter notebook, and this is none.\n`client.ask(...)` asks the agent."
