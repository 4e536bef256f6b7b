"""The agent in the user's kernel and cells: what it is shown, what happens once approved, and what never does."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.kernel import edits
from agentsvc_nb.notebook.kernel.pages import NotebookCell
from tests.notebook.shells import KernelShell
from tests.notebook.test_hostile import HOSTILE

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
    monkeypatch.setattr("agentsvc_nb.notebook.host.key_prompt", lambda shell: answer)
    return asked


@pytest.mark.rule("An agent gets no access to the kernel unless the user turns it on.")
def test_nothing_is_offered_unless_it_is_asked_for(terminal: Any, client: AgentService) -> None:
    assert client.runs.get(terminal.cell("%%ask\nsay hello").run_id).client_tools == []


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


@pytest.mark.rule("Agent code runs in the kernel once, as approved.")
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
    assert "to count" in shown
    assert "    m = n * 2" in shown


@pytest.mark.rule("Refused code does not run.")
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


def test_what_fails_is_told_and_the_kernel_goes_on(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = {"1 / 0": "ZeroDivisionError", "input('name?')": "input", "exit()": "stop the kernel"}
    answering(monkeypatch, *["y"] * len(failing))
    answer = terminal.cell("\n".join(["%%ask --kernel", *map(calling, failing), "say and on"]))
    told = results(client, answer.run_id)
    assert [said in json.dumps(one) for said, one in zip(failing.values(), told, strict=True)] == [True] * 3
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
    assert (text[:5], text[-3:]) == ("begin", "end")
    assert len(text) < 25_000


def test_secrets_in_output_are_masked(terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "word-of-the-day")
    answering(monkeypatch, "y")
    code = "import os; print(os.environ['SHOP_API_KEY'], 'sk-proj-' + 'x' * 40); raise ValueError('ghp_' + 'Z' * 36)"
    answer = terminal.cell(asking(code))
    said = json.dumps(results(client, answer.run_id))
    assert not [part for part in ("word-of-the-day", "x" * 40, "Z" * 36) if part in said]


def test_invisible_characters_are_never_put_before_the_user(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = answering(monkeypatch)
    codes = [calling(f"ran = 1 # {char} evil") for char in "\u202e\u200b\x1b"]
    answer = terminal.cell("\n".join(["%%ask --kernel", *codes]))
    told = results(client, answer.run_id)
    assert ["invisible" in one["content"][0]["text"] for one in told] == [True] * 3
    assert asked == []
    assert "ran" not in terminal.user_ns


def test_a_host_with_nobody_to_ask_refuses_with_a_sentence(kernel: Any, client: AgentService) -> None:
    answer = kernel.cell(f"%%ask --kernel\n{calling('ran = True')}\ncall list_variables {{}}")
    refused, listed = results(client, answer.run_id)
    assert "Nobody can approve" in refused["content"][0]["text"]
    assert not listed.get("is_error")
    assert "ran" not in kernel.user_ns


def test_a_call_that_was_begun_is_never_begun_again(
    terminal: Any, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, "y")
    monkeypatch.setattr("agentsvc_nb.notebook.state.journal.Journal.begin_call", lambda *_: False)
    answer = terminal.cell(asking("ran = True"))
    assert "not run again" in results(client, answer.run_id)[0]["content"][0]["text"]
    assert "ran" not in terminal.user_ns


KEY = "sk-" + "a" * 20


class PlayedPage:
    """A page with one cell, which it changes as the extension does."""

    comm_id = "page"
    target_name = "agentsvc_nb"

    def __init__(self, shell: Any, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cells, self.inserted = {"c1": source}, list[str]()
        self.before_writing: Callable[[], object] = lambda: None
        parent = {"metadata": {"cellId": "c9"}, "header": {"session": "page"}}
        monkeypatch.setattr(shell, "get_parent", lambda: parent)
        channel = SimpleNamespace(send=lambda *_, **__: None)
        kernel = SimpleNamespace(comm_manager=self, session=channel, iopub_socket=None, get_parent=lambda: parent)
        monkeypatch.setattr(shell, "kernel", kernel)
        shell.cell("%reload_ext agentsvc_nb")

    def register_target(self, target: str, opened: Callable[[Any, Any], object]) -> None:
        opened(self, {"content": {"data": {"page": "page", "earlier": [], "subshell": True}}})

    def unregister_target(self, *_: Any) -> None:
        pass

    def on_msg(self, callback: Callable[[Any], object]) -> None:
        self._tell = callback

    def handle_msg(self, message: Any) -> None:
        self._tell(message)

    def send(self, asked: dict[str, Any]) -> None:
        told = getattr(self, f"_{asked['do']}")(asked)
        self.handle_msg({"content": {"data": {"id": asked["id"], **told}}})

    def close(self) -> None:
        pass

    def _cells(self, asked: dict[str, Any]) -> dict[str, Any]:
        return {"cells": [{"id": key, "count": 1, "source": source} for key, source in self.cells.items()]}

    def _edit(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.before_writing()
        if self.cells[asked["cell"]] != asked["was"]:
            return {"outcome": "conflict"}
        self.cells[asked["cell"]] = asked["source"]
        return {"outcome": "done"}

    def _insert(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.inserted.append(asked["source"])
        return {"outcome": "done"}


def edit(**given: str) -> str:
    return f"%%ask --kernel\ncall edit_cell {json.dumps({'cell': 'c1', **given})}"


def test_what_was_masked_stays_when_the_rest_is_changed() -> None:
    source = f"a = '{KEY}'\nb = 'Bearer 0123456789'\nprnt(a)"
    assert edits.apply_change(source, "prnt", "print") == source.replace("prnt", "print")
    whole = edits.describe_cell(NotebookCell("1", source))["source"]
    assert KEY not in whole
    assert edits.apply_change(source, "", whole.replace("prnt(a)", "print(b)\n")) == source.replace(
        "prnt(a)", "print(b)"
    )
    with pytest.raises(LookupError):
        edits.apply_change(source, "", "print('[redacted]')")


def test_a_diff_is_text_whatever_is_in_it() -> None:
    markup = edits.diff_bundle("\n".join(HOSTILE), "\n".join(reversed(HOSTILE)))["text/html"]
    assert {tag.strip("</") for tag in re.findall(r"</?\w+", markup)} == {"pre", "ins", "del", "span"}


def test_without_a_page_that_can_it_is_not_offered(kernel: KernelShell, client: AgentService) -> None:
    answer = kernel.cell("%%ask --kernel\nsay x", "c1")
    assert client.runs.get(answer.run_id).client_tools == ["list_variables", "show_variable", "run_in_kernel"]


def test_an_accepted_change_is_written_and_not_run(
    kernel: KernelShell, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PlayedPage(kernel, f"key = '{KEY}'\nprnt(key)", monkeypatch)
    asked = answering(monkeypatch, "e", "y")
    answer = kernel.cell(
        '%%ask --kernel\ncall list_cells {}\ncall show_cell {"cell": "[1]"}\ncall edit_cell '
        + json.dumps({"cell": "1", "old": "prnt", "new": "print", "why": "To mend a typo"})
    )
    assert page.cells["c1"] == f"key = '{KEY}'\nprint(key)"
    assert len(asked) == 2, "'e' is no answer"
    listed, shown, changed = results(client, answer.run_id)
    assert listed["content"][0]["json"]["cells"][0]["cell"] == "c1"
    assert "prnt(key)" in shown["content"][0]["json"]["source"]
    assert "not run" in changed["content"][0]["text"]
    assert KEY not in json.dumps([listed, shown, changed])
    assert "    +print(key)" in answer.shown["text/plain"]
    assert "key" not in kernel.user_ns


def test_a_cell_that_changed_meanwhile_is_left_alone_and_the_agent_is_told(
    kernel: KernelShell, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PlayedPage(kernel, "x = 1", monkeypatch)
    page.before_writing = lambda: page.cells.update(c1="x = 1  # mine")
    answering(monkeypatch, "y")
    answer = kernel.cell(edit(new="x = 2"))
    (told,) = results(client, answer.run_id)
    assert told["is_error"]
    assert "changed in the meantime" in told["content"][0]["text"]
    assert page.cells["c1"] == "x = 1  # mine"


def test_a_refused_change_is_not_written(
    kernel: KernelShell, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PlayedPage(kernel, "x = 1", monkeypatch)
    answering(monkeypatch, "n I like it")
    answer = kernel.cell(edit(new="x = 2") + "\ncall edit_cell " + json.dumps({"cell": "c1", "new": "x\u3164 = 2"}))
    refused, invisible = results(client, answer.run_id)
    assert "I like it" in refused["content"][0]["text"]
    assert "invisible" in invisible["content"][0]["text"]
    assert page.cells["c1"] == "x = 1"
