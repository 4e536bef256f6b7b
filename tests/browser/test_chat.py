"""`Chat()` in JupyterLab, used as a user would: typed, clicked, tabbed, stopped, closed, opened again."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import FilePayload, Locator, expect

from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

CELL = "import agentsvc_nb\nagentsvc_nb.Chat()"


class Seen:
    """The chat in the first cell, as it is seen."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.page = notebook, notebook.page
        notebook.run(0)
        self.input = self.page.get_by_label("Message")
        self.input.wait_for(timeout=60_000)

    def button(self, name: str) -> Locator:
        return self.page.locator(".asvc").get_by_role("button", name=name).last

    def ask(self, script: str) -> None:
        self.input.fill(script)
        self.button("Send").click()

    def reads(self, words: str, times: int = 1) -> str:
        return until(lambda: self.notebook.output(0), lambda text: text.count(words) >= times)


def test_a_conversation_by_keys_and_clicks(place: Place, tmp_path: Path) -> None:
    seen = Seen(place.lab.open("chat.ipynb", [CELL, "1 + 1"]))
    page, notebook = seen.page, seen.notebook
    page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")
    notebook.requests.clear()
    seen.input.click()
    for line in ("say # A **plan**", "wait 5", "say the rest"):
        page.keyboard.type(line)
        page.keyboard.press("Shift+Enter")
    page.keyboard.type("write out/plan.md hello")
    page.keyboard.press("Enter")
    seen.button("Stop").wait_for()
    page.keyboard.type("say typed while it ran")
    seen.reads("✓ completed")
    assert "out/plan.md" in notebook.output(0)
    page.keyboard.press("Escape")
    assert seen.input.input_value() == "say typed while it ran", "the focus stayed, and Escape takes nothing"
    with page.expect_file_chooser() as chooser:
        seen.button("Attach").click()
    chooser.value.set_files(FilePayload(name="notes.txt", mimeType="text/plain", buffer=b"my notes"))
    seen.button("Remove notes.txt").wait_for()
    seen.button("Send").click()
    seen.reads("✓ completed", 2)
    seen.reads("notes.txt")
    seen.ask('call echo_job {"steps": 0, "text": "for you"}\nsay approved')
    seen.reads("echo_job waits for your approval")
    seen.button("Approve").click()
    seen.reads("✓ completed", 3)
    seen.ask("say begun\nwait 60")
    seen.reads("writing · ")
    notebook.stop()
    notebook.run(1)
    until(lambda: "2" in notebook.output(1))
    assert "writing · " in notebook.output(0), "interrupting the kernel is not for the chat"
    seen.button("Stop").click()
    seen.reads("■ cancelled")
    seen.ask("\n".join(f"say {line}" for text in HOSTILE[:12] for line in text.splitlines() if line.isprintable()))
    seen.reads("✓ completed", 4)
    seen.button("As a cell").click()
    expect(page.locator(".jp-CodeCell").nth(1)).to_contain_text("%%ask")
    expect(page.locator(".jp-CodeCell")).to_have_count(3)
    seen.button("Close").click()
    seen.reads("closed")
    assert page.locator(".asvc textarea, .asvc button").count() == 0
    assert page.evaluate("window.executed") == []
    origin = f"http://127.0.0.1:{place.lab.port}/"
    assert [url for url in notebook.requests if not url.startswith((origin, "data:", "blob:"))] == []
    outputs = notebook.save()["cells"][0]["outputs"]
    assert "widget" not in json.dumps([output["data"] for output in outputs]).replace("as a widget", "")
    page.close()


def test_a_chat_beside_the_notebook(place: Place) -> None:
    notebook = place.lab.open("beside.ipynb", [CELL.replace("Chat()", "Chat(where='side')"), "1 + 1"])
    page = notebook.page
    notebook.run(0)
    side = page.locator(".asvc-chat")
    expect(side).to_be_visible(timeout=60_000)
    assert page.locator(".jp-NotebookPanel .asvc-chat").count() == 0, "it stands beside it"
    apart = page.evaluate(
        """() => document.querySelector(".asvc-chat").getBoundingClientRect().left
            - document.querySelector(".jp-NotebookPanel").getBoundingClientRect().right"""
    )
    assert apart >= 0
    side.get_by_label("Message").fill("say **beside**")
    page.keyboard.press("Enter")
    expect(side.locator("strong", has_text="beside")).to_have_count(1)
    expect(side).to_contain_text("✓ completed")
    notebook.run(1)
    until(lambda: "2" in notebook.output(1))
    expect(side.get_by_label("Message")).to_be_visible()
    wide, room = side.evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert wide <= room
    side.get_by_role("button", name="Close").click()
    until(lambda: "beside" in notebook.output(0))
    page.close()


def test_it_goes_on_where_the_notebook_was_left(place: Place) -> None:
    seen = Seen(place.lab.open("left.ipynb", [CELL]))
    seen.ask("say one")
    seen.reads("✓ completed")
    seen.ask("say two\nwait 5\nsay and the rest")
    seen.reads("writing · ")
    seen.notebook.save()
    seen.notebook.reload()
    seen.reads("two and the rest")
    seen.reads("✓ completed", 2)
    seen.ask("say three\nwait 60")
    seen.reads("writing · ")
    seen.notebook.restart()
    again = Seen(seen.notebook)
    again.reads("writing · ")
    again.reads("two and the rest")
    again.button("Stop").click()
    again.reads("■ cancelled")
    again.notebook.save()
    again.page.close()
    reopened = place.lab.open("left.ipynb")
    until(lambda: "two and the rest" in reopened.output(0))
    reopened.restart()
    until(lambda: "If the kernel was restarted, run this cell again." in reopened.output(0))
    reopened.page.close()
