"""The sources of an answer's numbers: by hover, click and keyboard, in a cell, in `Chat()` and on the web page."""

from __future__ import annotations

import json

from playwright.sync_api import Browser, Locator, expect

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService
from tests.browser import axe
from tests.browser.conftest import Place
from tests.browser.test_front import SCHEMES
from tests.browser.test_pages import signed_in
from tests.support.numbers import COMPARE, script

LINE = "11 of 12 numbers traced, 1 not found."
SPEND = f"Found under Email, column spend. {COMPARE}"


def style(shown: Locator, name: str, part: str = "") -> str:
    return str(shown.evaluate("(one, [part, name]) => getComputedStyle(one, part || null)[name]", [part, name]))


def judge(answer: Locator) -> None:
    """Hover and click a number, then reach the list of sources with the keyboard."""
    numbers = answer.locator(".asvc-number")
    expect(numbers).to_have_count(12)
    spent, missing = numbers.nth(4), numbers.nth(11)
    spent.hover()
    assert SPEND in str(spent.get_attribute("title"))
    assert style(spent, "text-decoration-style") == "solid"
    assert style(missing, "text-decoration-style") == "dotted"
    spent.click()
    assert SPEND in style(spent, "content", "::after")
    assert style(missing, "content", "::after") == "none"
    in_table = numbers.nth(8)
    in_table.click()
    assert style(in_table, "position", "::after") == "fixed", "the table does not cut the card off"
    line = answer.locator("summary", has_text=LINE)
    line.focus()
    answer.page.keyboard.press("Shift+Tab")
    expect(answer.locator(".asvc-number:focus")).to_have_count(0)
    answer.page.keyboard.press("Tab")
    expect(line).to_be_focused()
    answer.page.keyboard.press("Enter")
    expect(answer.get_by_role("listitem").filter(has_text="€5")).to_contain_text("Not found")
    answer.page.keyboard.press("Enter")


def test_sources_in_a_notebook_and_a_chat_in_each_look(place: Place) -> None:
    chat = "import agentsvc_nb\nagentsvc_nb.Chat(new=True)"
    notebook = place.lab.open("numbers.ipynb", ["%load_ext agentsvc_nb", f"%%ask\n{script()}", chat])
    page = notebook.page
    for cell in range(3):
        notebook.run(cell)
        notebook.wait_idle()
    asked = page.locator(".asvc-chat")
    asked.get_by_label("Message").fill(script())
    asked.get_by_role("button", name="Send").click()
    expect(asked).to_contain_text(LINE)
    for answer in (page.locator(".jp-CodeCell").nth(1).locator(".asvc-answer"), asked.locator(".asvc-answer")):
        judge(answer)
    axe.check(notebook)
    assert SPEND in json.dumps(notebook.save())
    page.close()


def test_sources_on_the_page_of_a_run_in_light_and_dark(chromium: Browser, service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start(script(), sync=True)
    for scheme in SCHEMES:
        context = chromium.new_context(color_scheme=scheme)
        page = signed_in(context, service)
        page.goto(str(run.app_url))
        judge(page.locator(".answer"))
        assert axe.violations(page, ".answer") == []
        context.close()
