"""Changes of cells that an agent proposes. A page with the extension is played here; `tests/browser` has a real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.kernel import edits
from agentsvc_nb.notebook.kernel.pages import Cell
from agentsvc_nb.testing import RunningService
from tests.notebook.shells import KernelShell
from tests.notebook.test_hostile import HOSTILE
from tests.notebook.test_in_kernel import answering, results

KEY = "sk-" + "a" * 20


@pytest.fixture
def client(service: RunningService) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as client:
        yield client


class PlayedPage:
    """A page with one cell, which it changes as the extension does."""

    comm_id = "page"

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
    assert edits.changed(source, "prnt", "print") == source.replace("prnt", "print")
    whole = edits.told(Cell("1", source))["source"]
    assert KEY not in whole
    assert edits.changed(source, "", whole.replace("prnt(a)", "print(b)\n")) == source.replace("prnt(a)", "print(b)")
    assert edits.changed(source, "a = '[redacted]'", "c = '[redacted]'") == source.replace("a = ", "c = ", 1)
    with pytest.raises(LookupError, match="Leave each"):
        edits.changed(source, "", "print('[redacted]')")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [("x", "y", "stands 2 times"), ("zz", "y", "stands 0 times"), ("", "x = 1\nx", "changes nothing")],
)
def test_a_change_that_is_none_is_said(old: str, new: str, said: str) -> None:
    with pytest.raises(LookupError, match=said):
        edits.changed("x = 1\nx", old, new)


def test_a_diff_is_text_whatever_is_in_it() -> None:
    markup = edits.diff_bundle("\n".join(HOSTILE), "\n".join(reversed(HOSTILE)))["text/html"]
    assert r"'\u200b\u3164'" in edits.diff_bundle("x = ''", "x = '\u200b\u3164'")["text/plain"]
    opened = {part.partition(" ")[0].partition(">")[0].strip("/") for part in markup.split("<")[1:]}
    assert opened == {"pre", "ins", "del", "span"}


@pytest.mark.usefixtures("connected")
def test_without_a_page_that_can_it_is_not_offered(kernel: KernelShell, client: AgentService) -> None:
    answer = kernel.cell("%%ask --kernel\nsay x", "c1")
    assert client.runs.get(answer.run_id).client_tools == ["list_variables", "show_variable", "run_in_kernel"]


@pytest.mark.usefixtures("connected")
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
    assert asked == ["Write this into the cell? [y]es, [n]o (and why): "] * 2
    listed, shown, changed = results(client, answer.run_id)
    assert listed["content"][0]["json"]["cells"][0]["cell"] == "c1"
    assert "prnt(key)" in shown["content"][0]["json"]["source"]
    assert changed["content"][0]["text"] == "The cell was changed, and not run."
    assert KEY not in json.dumps([listed, shown, changed])
    assert "To mend a typo" in answer.shown["text/plain"]
    assert "    +print(key)" in answer.shown["text/plain"]
    assert "key" not in kernel.user_ns


@pytest.mark.usefixtures("connected")
def test_a_cell_that_changed_meanwhile_is_left_alone_and_the_agent_is_told(
    kernel: KernelShell, client: AgentService, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PlayedPage(kernel, "x = 1", monkeypatch)
    page.before_writing = lambda: page.cells.update(c1="x = 1  # mine")
    answering(monkeypatch, "y")
    answer = kernel.cell(edit(new="x = 2"))
    (told,) = results(client, answer.run_id)
    assert told["is_error"]
    assert "changed meanwhile" in told["content"][0]["text"]
    assert page.cells["c1"] == "x = 1  # mine"
    assert "✗ Not changed" in answer.shown["text/plain"]


@pytest.mark.usefixtures("connected")
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
