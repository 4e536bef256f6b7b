"""The agent in the user's kernel: what it is shown, what runs once approved, and what never runs."""

from __future__ import annotations

import builtins
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.notebook.errors import AskError, RunStopped
from agentsvc_nb.testing import RunningService
from tests.notebook.fronts import VIEW, decide, front_of
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture
def client(service: RunningService) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as client:
        yield client


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


def test_a_name_that_is_not_there_is_said_to_the_agent(terminal: Any, client: AgentService) -> None:
    answer = terminal.cell('%%ask --kernel look\ncall show_variable {"name": "nowhere"}')
    (shown,) = results(client, answer.run_id)
    assert shown["is_error"]
    assert "no variable nowhere" in shown["content"][0]["text"]


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


def test_code_leaves_no_trace_but_its_variables(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    answering(monkeypatch, "y")
    before = (sys.stdout, sys.stdin, sys.displayhook, dict(vars(terminal)).keys(), len(terminal.user_ns["Out"]))
    terminal.cell(asking("1 + 1"))
    after = (sys.stdout, sys.stdin, sys.displayhook, dict(vars(terminal)).keys(), len(terminal.user_ns["Out"]))
    assert after[:4] == before[:4]
    assert 2 not in [value for value in terminal.user_ns["Out"].values() if isinstance(value, int)]


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
        ("def f(:", "SyntaxError"),
        ("input('name?')", "can't ask with input"),
        ("import sys; sys.exit(3)", "SystemExit"),
        ("exit()", "can't end the kernel"),
        ("raise KeyboardInterrupt", "stopped the code"),
        ("%no_such_magic", "no_such_magic"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "Odd"),
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


def test_a_stop_that_a_finalizer_swallows_comes_again(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "y")
    swallowing = "class Widget:\n    def __del__(self):\n        import signal; signal.raise_signal(signal.SIGINT)\n"
    answer = terminal.cell(asking(f"{swallowing}Widget()\nwhile True: pass"))
    assert "the user stopped the code" in repr(results(client, answer.run_id))


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


def test_threads_of_the_code_do_no_harm(terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "y")
    code = (
        "import threading, sys\nout, go = sys.stdout, threading.Event()\n"
        "def later():\n    go.wait(20); print('late', file=out); done.set()\n"
        "done = threading.Event(); threading.Thread(target=later).start(); print('begun')"
    )
    answer = terminal.cell(asking(code))
    assert results(client, answer.run_id)[0]["content"][0]["text"] == "begun"
    terminal.cell("go.set(); done.wait(20)")
    assert terminal.user_ns["done"].is_set()


def test_secrets_in_output_are_masked(terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "word-of-the-day")
    answering(monkeypatch, "y")
    code = "import os; print(os.environ['SHOP_API_KEY'], 'sk-proj-' + 'x' * 40); raise ValueError('ghp_' + 'Z' * 36)"
    answer = terminal.cell(asking(code))
    said = json.dumps(results(client, answer.run_id))
    assert not [part for part in ("word-of-the-day", "x" * 40, "Z" * 36) if part in said]


@pytest.mark.parametrize("char", "\u202e\u200b\xad\u2062\u3164\x1b", ids=ascii)
def test_invisible_characters_are_never_put_before_the_user(
    char: str, terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch)
    answer = terminal.cell(asking(f"ran = 1 # {char} evil"))
    assert "invisible" in results(client, answer.run_id)[0]["content"][0]["text"]
    assert asked == []
    assert "ran" not in terminal.user_ns


def test_the_joiners_of_emoji_and_wide_spaces_are_shown_as_escapes(
    terminal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "y")
    answer = terminal.cell(asking("family = '👩\u200d👧\ufe0f\xa0'"))
    shown = answer.shown["text/plain"], answer.shown["text/html"]
    assert all(r"👩\u200d👧\ufe0f\u00a0" in text for text in shown)
    assert terminal.user_ns["family"] == "👩\u200d👧\ufe0f\xa0"


def test_ctrl_c_at_the_prompt_stops_the_run_and_nothing_runs(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(question: str = "") -> str:
        raise KeyboardInterrupt

    answering(monkeypatch)
    monkeypatch.setattr(builtins, "input", stop)
    with pytest.raises(RunStopped):
        terminal.cell(f"%%ask --kernel\n{calling('ran = True')}\nwait 60")
    assert "ran" not in terminal.user_ns
    assert terminal.cell("6 * 7") == 42


def test_a_host_with_nobody_to_ask_refuses_with_a_sentence(kernel: Any, client: AgentService) -> None:
    answer = kernel.cell(f"%%ask --kernel\n{calling('ran = True')}\ncall list_variables {{}}")
    refused, listed = results(client, answer.run_id)
    assert "Nobody can approve this here" in refused["content"][0]["text"]
    assert not listed.get("is_error")
    assert "ran" not in kernel.user_ns


def test_a_terminal_has_no_background_for_it(terminal: Any) -> None:
    with pytest.raises(AskError, match="In a terminal"):
        terminal.cell("%%ask --kernel --bg\nsay x")


def test_it_goes_with_one_question_alone(terminal: Any) -> None:
    with pytest.raises(AskError, match="exclude each other"):
        terminal.cell("%%ask --kernel --each df\nsay x")


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


def test_buttons_approve_where_the_kernel_hears_them(heard: Any, client: AgentService) -> None:
    thread = pressing(heard, lambda front: decide(front, True))
    answer = heard.cell(asking("n = 6 * 7\nprint(n)"), cell_id="c1")
    thread.join(20)
    assert results(client, answer.run_id)[0]["content"][0]["text"] == "42"
    (output,) = heard.shown.outputs
    assert "Ran in your kernel" in output["text/plain"]
    assert "<span" in output["text/html"]


def test_buttons_approve_a_query_of_a_database_without_kernel(heard: Any, client: AgentService) -> None:
    heard.cell("import sqlalchemy; db = sqlalchemy.create_engine('sqlite://')")
    thread = pressing(heard, lambda front: decide(front, True))
    asked = "call query_database " + json.dumps({"sql": "SELECT printf('%d', 42) AS n"})
    answer = heard.cell(f"%%ask --connection db\n{asked}", cell_id="c1")
    thread.join(20)
    (told,) = results(client, answer.run_id)
    assert told["content"][0]["json"]["rows"] == [["42"]]
    assert "The query ran in your database" in heard.shown.outputs[-1]["text/plain"]


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


def test_a_table_and_hostile_values_are_shown_safely(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, "y")
    code = "import pandas as pd; pd.DataFrame({'<script>x</script>': ['<img src=x onerror=alert(1)>']})"
    answer = terminal.cell(asking(code, "<b>why</b>"))
    shown = answer.shown["text/html"]
    assert "<table" in shown
    assert not [part for part in ("<script", "<img", "<b>why") if part in shown]


def test_a_call_that_was_begun_is_never_begun_again(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "y")
    monkeypatch.setattr("agentsvc_nb.notebook.state.journal.Journal.begin_call", lambda *_: False)
    answer = terminal.cell(asking("ran = True"))
    assert "not run again" in results(client, answer.run_id)[0]["content"][0]["text"]
    assert "ran" not in terminal.user_ns


def test_somebody_else_with_the_key_cannot_answer_for_it(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def answer_late(question: str = "") -> str:
        (run,) = [row for row in ask_of(terminal).session.journal.runs(None) if row["status"] in ("queued", "running")]
        seen.append(run["run_id"])
        client.runs.cancel(run["run_id"])
        return "y"

    answering(monkeypatch)
    monkeypatch.setattr(builtins, "input", answer_late)
    with pytest.raises((AskError, StefanBrainError, Exception), match="cancelled"):
        terminal.cell(f"%%ask --kernel\n{calling('n = 1')}\nwait 60")
    assert seen


def ask_of(shell: Any) -> Any:
    (ask,) = [part for part in shell.configurables if type(part).__name__ == "Ask"]
    return ask
