"""Long answers, reloads, restarts, stops and runs in the background, seen in JupyterLab and in Notebook 7."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter, MarkdownExporter
from playwright.sync_api import expect

from tests.browser import axe
from tests.browser.conftest import APPS, Place, placed
from tests.browser.lab import Notebook
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"
LINES, PAUSE = 290, 0.08  # some 900 characters a second, 225 tokens
LONG = "\n".join(f"say Line {number} of a *long* answer: {'x' * 50}\nsay\nwait {PAUSE}" for number in range(LINES))


@pytest.fixture(scope="module", params=APPS)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from placed(tmp_path_factory, request.param, AGENTSVC_APPROVE_EFFECTS="yes")


def outputs(saved: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """What is seen of each cell: the place of a card that has ended is empty."""
    cells = [cell["outputs"] for cell in saved["cells"] if cell["cell_type"] == "code"]
    return [[output for output in found if any(output.get("data", {"": "an error"}).values())] for found in cells]


def text(answer: dict[str, Any]) -> str:
    return "".join(answer["data"]["text/plain"])


def test_a_long_answer_leaves_the_page_free_and_the_notebook_small(place: Place) -> None:
    notebook = place.lab.open("long.ipynb", [LOAD, "%%ask\nsay warm", f"%%ask\n{LONG}"])
    for cell in (0, 1):
        notebook.run(cell)
        notebook.wait_idle()
    inspector = notebook.page.context.new_cdp_session(notebook.page)
    inspector.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = {item["name"]: item["value"] for item in inspector.send("Performance.getMetrics")["metrics"]}
        return float(metrics["TaskDuration"])

    before, sent = worked(), notebook.kernel_bytes
    notebook.run(2)
    until(lambda: "Line 30 " in notebook.output(2))
    assert f"Line {LINES - 1} " not in notebook.output(2), "it was not seen growing"
    until(lambda: f"Line {LINES - 1} " in notebook.output(2))
    notebook.wait_idle()
    share = (worked() - before) / (LINES * PAUSE)
    sent = notebook.kernel_bytes - sent
    (answer,) = outputs(notebook.save())[2]
    characters = len(text(answer))
    size = len(json.dumps(answer["data"]))
    print(f"{share:.0%} of the page's thread; {characters} characters in {size} bytes, {sent} on the channel")
    assert characters > 20_000
    assert sent < 80 * characters
    assert size < 3 * characters
    assert share < 0.2
    notebook.page.close()


def test_what_was_saved_is_accepted_by_nbformat_and_nbconvert(place: Place) -> None:
    cells = [LOAD, "%%ask\nsay **fg**", "%%ask --bg -o later\nsay **bg**", "later.text"]
    notebook = place.lab.open("saved.ipynb", cells)
    for number in range(len(cells)):
        notebook.run(number)
        notebook.wait_idle()
    until(lambda: "completed" in notebook.output(2))
    saved = notebook.save()
    assert [len(cell) for cell in outputs(saved)] == [0, 1, 1, 1]
    assert "widget" not in json.dumps(outputs(saved))
    assert "widgets" not in saved["metadata"]
    document = nbformat.read(place.lab.root / "saved.ipynb", as_version=4)
    nbformat.validate(document)
    html, _ = HTMLExporter().from_notebook_node(document)
    markdown, _ = MarkdownExporter().from_notebook_node(document)
    for word in ("fg", "bg"):
        assert html.count(f"<strong>{word}</strong>") == markdown.count(f"<strong>{word}</strong>") == 1
    notebook.page.close()


def test_two_runs_in_the_background_and_one_is_cancelled(place: Place) -> None:
    cells = [LOAD, "%%ask --bg -o a\nsay alpha\nwait 60", "%%ask --bg --new-chat -o b\nsay beta\nwait 2", "1 + 1"]
    notebook = place.lab.open("background.ipynb", cells)
    at_load = [*notebook.errors]  # of the page's own extensions
    notebook.run_all()
    until(lambda: "2" in notebook.output(3))
    until(lambda: "running" in notebook.output(1) and "running" in notebook.output(2))
    button = notebook.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(1).get_by_role("button", name="Cancel")
    button.click()
    until(lambda: "cancelled" in notebook.output(1))
    until(lambda: "completed" in notebook.output(2) and "beta" in notebook.output(2))
    assert notebook.page.get_by_role("button", name="Cancel").count() == 0
    assert [len(cell) for cell in outputs(notebook.save())][1:3] == [1, 1]
    assert notebook.errors == at_load
    notebook.page.close()


def test_a_reload_in_the_middle_loses_nothing(place: Place) -> None:
    cells = [LOAD, "%%ask --bg -o later\nsay one\nwait 6\nsay two", "print(later.text)"]
    notebook = place.lab.open("reloaded.ipynb", cells)
    notebook.run(0)
    notebook.wait_idle()
    notebook.run(1)
    until(lambda: "running" in notebook.output(1))
    notebook.save()
    notebook.reload()
    until(lambda: "two" in notebook.output(1))
    notebook.run(2)
    until(lambda: "one" in notebook.output(2) and "two" in notebook.output(2))
    notebook.page.close()


def test_a_kernel_restart_in_the_middle_goes_on_with_the_same_run(place: Place) -> None:
    cells = [LOAD, "%%ask\nsay one\nwait 12\nsay two"]
    notebook = place.lab.open("restarted.ipynb", cells)
    notebook.run(0)
    notebook.wait_idle()
    notebook.run(1)
    until(lambda: "one" in notebook.output(1))
    count = place.count()
    notebook.restart()
    notebook.run(0)
    notebook.run(1)
    until(lambda: "two" in notebook.output(1) and "completed" in notebook.output(1))
    notebook.wait_idle()
    assert place.count() == count
    assert [notebook.output(1).count(word) for word in ("one", "two")] == [1, 1]
    notebook.page.close()


def test_a_second_stop_leaves_the_run_and_says_how_to_go_on(place: Place) -> None:
    notebook = place.lab.open("stopped.ipynb", [LOAD, "%%ask\nsay before\nwait 60"])
    notebook.run_all()
    until(lambda: "before" in notebook.output(1))
    notebook.stop()
    notebook.stop()
    notebook.wait_idle()
    assert "RunStopped" in notebook.output(1)
    with place.client() as client:
        assert client.runs.wait(place.last_run(), poll=0.05).status == "cancelled"
    notebook.page.close()


def test_two_notebooks_have_a_chat_each_and_one_approves_what_the_other_waits_for(place: Place) -> None:
    call = 'call echo_job {"steps": 0, "seconds": 0}'
    cells = ["%%ask -o answer\nsay {{name}}\nwait 2", "print('chat', answer.chat)"]
    cells += [f"%%ask\nsay before\n{call}\nsay after", "%approve --all -o calls"]
    cells += ["get_ipython().run_line_magic('approve', calls.call_id[0])"]
    two = [place.lab.open(f"{name}.ipynb", [LOAD, f"name = '{name}'", *cells]) for name in ("ada", "bob")]
    for notebook in two:
        for cell in range(4):
            notebook.run(cell)
    assert len({until(lambda notebook=notebook: _chat(notebook)) for notebook in two}) == 2  # type: ignore[misc]
    assert ["ada" in two[0].output(2), "bob" in two[1].output(2)] == [True, True]
    _approved(*two)
    for notebook in two:
        notebook.page.close()


def _approved(waiting: Notebook, answering: Notebook) -> None:
    waiting.run(4)
    shown = until(lambda: waiting.output(4), lambda text: "waits for your approval" in text and "before" in text)
    assert '"seconds": 0' in shown
    panel = waiting.page.get_by_text("This cell waits.").element_handle()
    until(lambda: waiting.output(4) != shown)
    assert panel is not None
    assert panel.evaluate("node => node.isConnected"), "what is to be copied stands still while the line ticks"
    for cell in (5, 6):
        answering.run(cell)
        answering.wait_idle()
    assert '"seconds": 0' in answering.output(5)
    assert "Approved: echo_job" in answering.output(6)
    until(lambda: "completed" in waiting.output(4) and "after" in waiting.output(4))
    assert "waits for your approval" not in waiting.output(4)


def _chat(notebook: Notebook) -> str:
    shown = notebook.output(3)
    return shown.strip() if shown.startswith("chat chat_") else ""


def test_restart_and_run_all_starts_no_run(place: Place) -> None:
    cells = [LOAD, "%%ask --bg\nsay one\nwait 1", "%%ask --on-busy wait\nsay two"]
    notebook = place.lab.open("again.ipynb", cells)
    notebook.run_all()
    until(lambda: "completed" in notebook.output(1) and "completed" in notebook.output(2))
    notebook.wait_idle()
    before = place.count()
    notebook.restart_and_run_all()
    until(lambda: "Shown again" in notebook.output(1) and "Shown again" in notebook.output(2))
    notebook.wait_idle()
    assert place.count() == before
    notebook.page.close()


def test_a_run_in_the_background_is_answered_in_its_card(place: Place) -> None:
    first, second = (f'call echo_job {{"steps": {steps}, "seconds": 0}}' for steps in (0, 1))
    notebook = place.lab.open("card.ipynb", [LOAD, f"%%ask --bg\nsay before\n{first}\n{second}\nsay after"])
    notebook.run_all()
    card = notebook.page.locator(".asvc")
    approve, refuse = (card.get_by_role("button", name=name) for name in ("Approve", "Refuse"))
    expect(approve).to_be_enabled()
    if place.lab.app == "lab":
        axe.check(notebook, ".asvc")
    approve.focus()
    notebook.page.keyboard.press("Enter")
    until(lambda: notebook.output(1), lambda text: '"steps": 1' in text and "before" in text)
    card.get_by_label("Reason").fill("once is enough")
    refuse.click()
    until(lambda: notebook.output(1), lambda text: "✓ completed" in text and "after" in text)
    folded = notebook.page.locator(".jp-CodeCell").nth(1).text_content() or ""
    assert "echo_job was approved" in folded
    assert "echo_job was refused: once is enough" in folded
    assert card.get_by_role("button").count() == 0
    notebook.page.close()


def test_a_chat_is_talked_with_and_closed(place: Place) -> None:
    notebook = place.lab.open("chat.ipynb", ["import agentsvc_nb\nagentsvc_nb.Chat()"])
    notebook.run(0)
    chat = notebook.page.locator(".asvc")
    for turn in (1, 2):
        chat.get_by_label("Message").fill(f"say **answer** {turn}")
        chat.get_by_role("button", name="Send").click()
        until(lambda turn=turn: notebook.output(0).count("✓ completed") == turn)  # type: ignore[misc]
    chat.get_by_role("button", name="Close").click()
    until(lambda: "closed" in notebook.output(0))
    assert "answer 2" in notebook.output(0)
    assert chat.get_by_role("button").count() == 0
    notebook.page.close()
