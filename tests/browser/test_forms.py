"""A form in JupyterLab: filled in by mouse and keyboard, wrong and right; hostile text in it; what stays of it."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import axe
from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.notebook.test_hostile import HOSTILE
from tests.waiting import until

pytestmark = pytest.mark.browser

CELLS = [
    "%load_ext agentsvc_nb",
    "%tools form create_images -o form",
    "%tools form send_email",
    "print(form.answer.status, form.value['request'])",
    """import json
from agentsvc_nb.notebook.widgets.forms.view import FormView
FormView(json.load(open("hostile.json")), {}, print, str).box""",
    "%tools form echo_job",
    "import agentsvc_nb; agentsvc_nb.Chat()",
]
IMAGES, MAIL, ANSWER, HOSTILE_CELL, JOB, CHAT = 1, 2, 3, 4, 5, 6


def test_a_form_is_filled_in_and_run_and_says_how_to_come_back(place: Place) -> None:
    (place.lab.root / "hostile.json").write_text(json.dumps(_hostile_schema()))
    notebook = place.lab.open("forms.ipynb", CELLS)
    notebook.page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")
    for cell in (0, IMAGES, MAIL):
        notebook.run(cell)
        notebook.wait_idle()
    _wrong_input_is_told_beside_its_field(notebook)
    _filled_in_by_keyboard(notebook)
    _no_rule_of_accessibility_is_broken(notebook)
    _a_chat_on_the_page_moves_no_field(notebook)
    notebook.run(ANSWER)
    notebook.wait_idle()
    assert "succeeded {'kind': 'static_ad', 'brief': 'Pack light'" in notebook.output(ANSWER)
    _nothing_executes(place, notebook)
    _a_job_moves_and_is_cancelled(notebook)
    notebook.save()
    assert notebook.errors == []
    notebook.restart()
    notebook.reload()
    said = until(lambda: notebook.output(IMAGES))
    assert "run the cell again" in said
    assert "✓ succeeded" in said, "the answer stays"
    notebook.page.close()


def _wrong_input_is_told_beside_its_field(notebook: Notebook) -> None:
    form = _form(notebook, MAIL)
    to = form.get_by_label("To 1")
    to.click()
    to.press_sequentially("nobody")
    to.press("Tab")
    expect(_field(form, "To 1").get_by_role("alert")).to_contain_text("does not match")
    expect(form.get_by_role("button", name="Remove")).to_be_focused()
    form.get_by_role("button", name="Run", exact=True).click()
    expect(form.get_by_role("alert").first).to_contain_text("subject: This is required.")
    expect(_field(form, "Subject")).to_contain_text("This is required.")
    expect(form.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(form.get_by_role("button", name="Run", exact=True)).to_be_focused()
    form.get_by_label("Subject").fill("Hello")
    form.get_by_label("Subject").press("Tab")
    expect(_field(form, "Subject")).not_to_contain_text("This is required.")


def _filled_in_by_keyboard(notebook: Notebook) -> None:
    form, keyboard = _form(notebook, IMAGES), notebook.page.keyboard
    form.get_by_label("Brief").focus()
    keyboard.type("Pack light")
    keyboard.press("Escape")
    form.get_by_label("story").focus()
    keyboard.press("Space")
    form.get_by_role("button", name="Add").focus()
    keyboard.press("Enter")
    expect(form.get_by_label("Brand colors 1")).to_be_focused()
    keyboard.type("#123456")
    form.get_by_role("button", name="As a cell").click()
    cell = form.get_by_label("As a cell")
    expect(cell).to_have_value(
        '%%job create_images\nrequest.kind: static_ad\nrequest.brief: Pack light\nrequest.sizes: ["square", "story"]\n'
        'request.brand_colors: ["#123456"]\nrequest.product_fit: auto\nrequest.background: drawn'
    )
    form.get_by_role("button", name="request").click()
    expect(form.get_by_label("Brief")).to_be_hidden()
    form.get_by_role("button", name="request").click()
    form.get_by_role("button", name="Run", exact=True).focus()
    keyboard.press("Enter")
    until(lambda: "✓ succeeded" in notebook.output(IMAGES))
    expect(form.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    assert notebook.page.locator(".jp-CodeCell").nth(IMAGES).locator("figure img").count() == 1


def _no_rule_of_accessibility_is_broken(notebook: Notebook) -> None:
    """Of two forms, one with messages; narrow they stay within the page."""
    for theme in axe.THEMES:
        axe.theme(notebook.page, theme)
        assert axe.violations(notebook.page, ".asvc-form") == []
    with axe.narrow(notebook.page):
        for form in notebook.page.locator(".asvc-form").all():
            assert form.evaluate("one => one.scrollWidth <= one.clientWidth")


def _nothing_executes(place: Place, notebook: Notebook) -> None:
    notebook.requests.clear()
    notebook.run(HOSTILE_CELL)
    notebook.wait_idle()
    form = _form(notebook, HOSTILE_CELL)
    form.get_by_role("button", name="Run", exact=True).click()
    expect(form.get_by_role("button", name="Running…")).to_be_disabled()
    assert form.locator(".asvc-field .asvc-muted").count() >= len(HOSTILE) - 1, "all but one can be sent as JSON"
    assert notebook.page.evaluate("window.executed") == []
    assert form.locator("script, iframe, base, object, img, svg, form, link, meta").count() == 0
    origin = f"http://127.0.0.1:{place.lab.port}/"
    assert [url for url in notebook.requests if not url.startswith((origin, "data:", "blob:"))] == []


def _a_job_moves_and_is_cancelled(notebook: Notebook) -> None:
    notebook.run(JOB)
    notebook.wait_idle()
    form = _form(notebook, JOB)
    form.get_by_label("Steps").fill("100")
    form.get_by_label("Seconds").fill("100")
    form.get_by_label("Seconds").press("Tab")
    form.get_by_role("button", name="Run", exact=True).click()
    expect(form.get_by_role("progressbar")).to_be_visible()
    assert axe.violations(notebook.page, ".asvc-form") == []
    form.get_by_role("button", name="Cancel").click()
    expect(form.get_by_role("button", name="Run", exact=True)).to_be_enabled()
    expect(form).to_contain_text("It was cancelled.")


def _a_chat_on_the_page_moves_no_field(notebook: Notebook) -> None:
    """The style sheet of the front end is the whole page's."""
    notebook.run(CHAT)
    notebook.wait_idle()
    expect(notebook.page.locator(".jp-CodeCell").nth(CHAT).get_by_role("button", name="Send")).to_be_visible()
    field = _field(_form(notebook, IMAGES), "Brief").last
    inner = field.get_by_label("Brief").bounding_box()
    outer = field.bounding_box()
    assert inner is not None
    assert outer is not None
    assert inner["x"] - outer["x"] < 8
    assert inner["width"] > 300


def _hostile_schema() -> dict[str, object]:
    sayable = [text for text in HOSTILE if not any("\ud800" <= character <= "\udfff" for character in text)]
    properties = {
        f"{text} {number}": {"type": "string", "title": text, "description": text, "default": text, "examples": [text]}
        for number, text in enumerate(sayable)
    }
    return {"type": "object", "properties": {**properties, "choice": {"enum": sayable, "title": sayable[0]}}}


def _form(notebook: Notebook, cell: int) -> Locator:
    return notebook.page.locator(".jp-CodeCell").nth(cell).locator(".asvc-form")


def _field(form: Locator, name: str) -> Locator:
    return form.locator(".asvc-field").filter(has=form.page.get_by_label(name))
