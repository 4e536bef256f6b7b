"""The agent in the user's kernel: what it is shown, what runs once approved, and what never runs."""

from __future__ import annotations

import builtins
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from agentsvc_nb import AgentService
from tests.notebook.fronts import VIEW, decide, front_of
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


def results(client: AgentService, run_id: str) -> list[dict[str, Any]]:
    """What the agent was told, call by call."""
    return [event.payload for event in client.runs.events(run_id).data if event.type == "tool.result"]


def calling(code: str, why: str = "") -> str:
    return "call run_in_kernel " + json.dumps({"code": code, "why": why})


def asking(code: str, why: str = "") -> str:
    return f"%%ask --kernel\n{calling(code, why)}"


def answering(monkeypatch: pytest.MonkeyPatch, *answers: str) -> list[str]:
    """Somebody at the prompt, who gives these answers; the questions that were asked."""
    asked: list[str] = []
    left = list(answers)

    def answer(question: str = "") -> str:
        asked.append(question)
        return left.pop(0)

    monkeypatch.setattr(builtins, "input", answer)
    monkeypatch.setattr("agentsvc_nb.notebook.host.asker", lambda shell: answer)
    return asked


def test_nothing_is_offered_unless_it_is_asked_for(terminal: Any, client: AgentService) -> None:
    answer = terminal.cell("%%ask -o answer\nsay hello")
    assert client.runs.get(answer.run_id).client_tools == []


def test_look_offers_no_code(terminal: Any, client: AgentService) -> None:
    terminal.cell("n = 41\nAPI_KEY = 'nothing special'")
    answer = terminal.cell('%%ask --kernel look\ncall list_variables {}\ncall show_variable {"name": "n"}')
    assert sorted(client.runs.get(answer.run_id).client_tools) == ["list_variables", "show_variable"]
    listed, shown = results(client, answer.run_id)
    names = [row["name"] for row in listed["content"][0]["json"]["variables"]]
    assert {"n", "API_KEY"} <= set(names)
    assert shown["content"][0]["json"] == {"name": "n", "type": "int", "value": 41}
    assert "nothing special" not in json.dumps(results(client, answer.run_id))


def test_the_options_of_config_are_heeded(terminal: Any, client: AgentService) -> None:
    terminal.cell("import pandas as pd; df = pd.DataFrame({'salary': [90000], 'city': ['Zanzibar']})")
    terminal.cell("%config Ask.kernel = 'look'\n%config Ask.kernel_rows = 0\n%config Ask.kernel_hidden = ['salary']")
    answer = terminal.cell('%%ask\ncall show_variable {"name": "df"}')
    (shown,) = results(client, answer.run_id)
    assert shown["content"][0]["json"]["columns"][0]["name"] == "city"
    assert not [part for part in ("Zanzibar", "salary", "90000") if part in json.dumps(shown)]
    answer = terminal.cell("%%ask --kernel off\nsay x")
    assert client.runs.get(answer.run_id).client_tools == []


def test_approved_code_runs_in_the_kernel_and_its_output_goes_back(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    terminal.cell("n = 41")
    asked = answering(monkeypatch, "what?", "y")
    answer = terminal.cell(asking("print(n + 1)\nm = n * 2\nm", "to count"))
    assert len(asked) == 2
    (told,) = results(client, answer.run_id)
    assert told["content"][0]["text"] == "42\n82"
    assert terminal.user_ns["m"] == 82
    shown = capsys.readouterr().out
    assert "The agent wants to run this in your kernel: to count" in shown
    assert "    m = n * 2" in shown
    assert "82" in answer.shown["text/plain"]


def test_refused_code_does_not_run_and_the_reason_is_told(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "n Not my data")
    answer = terminal.cell(f"%%ask --kernel\n{calling('ran = True')}\nsay and on")
    (told,) = results(client, answer.run_id)
    assert told["is_error"]
    assert "refused" in told["content"][0]["text"]
    assert "Not my data" in told["content"][0]["text"]
    assert "ran" not in terminal.user_ns
    assert answer.text.endswith("and on")


def test_edited_code_runs_instead_and_the_agent_is_told(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "e", "mine = 1", "print('mine')", ".")
    answer = terminal.cell(asking("theirs = 1"))
    (told,) = results(client, answer.run_id)
    assert "changed the code" in told["content"][0]["text"]
    assert told["content"][0]["text"].endswith("mine")
    assert "theirs" not in terminal.user_ns
    assert terminal.user_ns["mine"] == 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("input('name?')", "can't ask with input"),
        ("exit()", "can't end the kernel"),
        ("raise KeyboardInterrupt", "stopped the code"),
    ],
)
def test_what_fails_is_told_and_the_kernel_goes_on(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch, code: str, said: str
) -> None:
    answering(monkeypatch, "y")
    answer = terminal.cell(f"%%ask --kernel\n{calling(code)}\nsay and on")
    (told,) = results(client, answer.run_id)
    assert said in json.dumps(told)
    assert answer.text.endswith("and on")
    assert terminal.cell("6 * 7") == 42


def test_much_output_is_bounded_and_its_ends_are_kept(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "y")
    code = "print('begin')\nfor n in range(2000): print('x' * 10_000)\nprint('end')"
    answer = terminal.cell(asking(code))
    (told,) = results(client, answer.run_id)
    text = told["content"][0]["text"]
    assert text.startswith("begin")
    assert text.endswith("end")
    assert "characters left out" in text
    assert len(text) < 25_000
    assert len(answer.shown["text/html"]) < 60_000


def test_secrets_in_output_are_masked(terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "word-of-the-day")
    answering(monkeypatch, "y")
    code = "import os; print(os.environ['SHOP_API_KEY'], 'sk-proj-' + 'x' * 40); raise ValueError('ghp_' + 'Z' * 36)"
    answer = terminal.cell(asking(code))
    said = json.dumps(results(client, answer.run_id))
    assert not [part for part in ("word-of-the-day", "x" * 40, "Z" * 36) if part in said]


@pytest.mark.parametrize("char", "\u202e\u200b\x1b", ids=ascii)
def test_invisible_characters_are_never_put_before_the_user(
    char: str, terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch)
    answer = terminal.cell(asking(f"ran = 1 # {char} evil"))
    assert "invisible" in results(client, answer.run_id)[0]["content"][0]["text"]
    assert asked == []
    assert "ran" not in terminal.user_ns


def test_a_host_with_nobody_to_ask_refuses_with_a_sentence(kernel: Any, client: AgentService) -> None:
    answer = kernel.cell(f"%%ask --kernel\n{calling('ran = True')}\ncall list_variables {{}}")
    refused, listed = results(client, answer.run_id)
    assert "Nobody can approve this here" in refused["content"][0]["text"]
    assert not listed.get("is_error")
    assert "ran" not in kernel.user_ns


class Heard:
    """A kernel whose front end has a subshell."""

    shell_channel_thread: Any = None
    _allow_stdin = False

    def __init__(self) -> None:
        self.shell_channel_thread = self.manager = self

    def list_subshell(self) -> list[str]:
        return ["one"]


@pytest.fixture
def heard(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(kernel, "kernel", Heard(), raising=False)
    return kernel


def pressing(shell: Any, act: Callable[[Any], None]) -> threading.Thread:
    """Somebody who presses buttons in the running cell as soon as there are some."""

    def go() -> None:
        def front() -> Any:
            found = [output for output in shell.shown.outputs if VIEW in output] if hasattr(shell, "shown") else []
            return front_of(found[-1]) if found else None

        until(lambda: front() is not None and front().parts("asked/"))
        act(front())

    thread = threading.Thread(target=go)
    thread.start()
    return thread


def test_buttons_edit_and_refuse(heard: Any, client: AgentService) -> None:
    thread = pressing(heard, lambda front: decide(front, True, code="mine = 2"))
    answer = heard.cell(asking("theirs = 1"), cell_id="c1")
    thread.join(20)
    assert "changed the code" in results(client, answer.run_id)[0]["content"][0]["text"]
    assert heard.user_ns["mine"] == 2
    assert "theirs" not in heard.user_ns
    del heard.shown
    thread = pressing(heard, lambda front: decide(front, False))
    answer = heard.cell(asking("theirs = 1"), cell_id="c2")
    thread.join(20)
    assert results(client, answer.run_id)[0]["is_error"]
    assert "theirs" not in heard.user_ns


def test_a_call_that_was_begun_is_never_begun_again(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "y")
    monkeypatch.setattr("agentsvc_nb.notebook.state.journal.Journal.begin_call", lambda *_: False)
    answer = terminal.cell(asking("ran = True"))
    assert "not run again" in results(client, answer.run_id)[0]["content"][0]["text"]
    assert "ran" not in terminal.user_ns
