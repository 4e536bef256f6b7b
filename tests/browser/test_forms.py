"""A form in JupyterLab: filled in by mouse and keyboard, wrong and right; what stays of it."""

from __future__ import annotations

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.support.waiting import until

CELLS = [
    "%load_ext agentsvc_nb",
    "%tools form create_images -o form",
    "%tools form send_email",
    "print(form.answer.status, form.value['request'])",
]
GIVE_UP = """form => {
    const output = form.closest(".jp-OutputArea-output");
    output.textContent = "Error displaying widget: model not found";
    output.classList.add("jupyter-widgets");
}"""
"""What ipywidgets does where a widget's state comes just after it has looked for it for the last time."""
IMAGES, MAIL, ANSWER = 1, 2, 4  # "As a cell" inserts one below the first form


def test_a_form_is_filled_in_and_run_and_says_how_to_come_back(place: Place) -> None:
    notebook = place.lab.open("forms.ipynb", CELLS)
    for cell in (0, IMAGES, MAIL):
        notebook.run(cell)
        notebook.wait_idle()
    _wrong_input_is_told_at_its_field(notebook)
    _filled_in_by_keyboard(notebook)
    notebook.run(ANSWER)
    notebook.wait_idle()
    assert "succeeded {'kind': 'static_ad', 'brief': 'Headline: Pack light'" in notebook.output(ANSWER)
    notebook.save()
    assert notebook.errors == []
    notebook.reload()
    form = _form(notebook, IMAGES)
    expect(form.get_by_label("Brief")).to_have_value("Headline: Pack light")
    expect(form).to_contain_text("✓ succeeded")
    form.evaluate(GIVE_UP)
    expect(form.get_by_label("Brief")).to_have_value("Headline: Pack light")
    assert "not found" not in notebook.output(IMAGES)
    notebook.restart()
    notebook.reload()
    said = until(lambda: notebook.output(IMAGES), lambda text: "Run this cell again" in text)
    assert "to show it again" in said
    assert "✓ succeeded" in said, "the answer stays"
    assert "not found" not in said
    notebook.page.close()


def _wrong_input_is_told_at_its_field(notebook: Notebook) -> None:
    form = _form(notebook, MAIL)
    to = form.get_by_label("To 1", exact=True)
    to.click()
    to.press_sequentially("nobody")
    to.press("Tab")
    expect(form.get_by_role("alert")).to_contain_text("does not match")
    expect(form.get_by_role("button", name="Remove To 1")).to_be_focused()
    form.get_by_role("button", name="Run", exact=True).click()
    expect(form.get_by_role("status").first).to_contain_text("Nothing was sent.")
    expect(to).to_be_focused()
    expect(form.get_by_text("This is required.", exact=True)).to_have_count(2)
    form.get_by_label("Subject").fill("Hello")
    form.get_by_label("Subject").press("Tab")
    expect(form.get_by_text("This is required.", exact=True)).to_have_count(1)


def _filled_in_by_keyboard(notebook: Notebook) -> None:
    form, keyboard = _form(notebook, IMAGES), notebook.page.keyboard
    form.get_by_label("Brief").focus()
    keyboard.type("Headline: Pack light")
    keyboard.press("Escape")
    form.get_by_label("story").focus()
    keyboard.press("Space")
    form.get_by_role("button", name="Add").focus()
    keyboard.press("Enter")
    expect(form.get_by_label("Brand colors 1", exact=True)).to_be_focused()
    keyboard.type("#123456")
    form.get_by_role("button", name="As a cell").press("Enter")
    expect(form).to_contain_text("Inserted as a cell below.")
    expect(notebook.page.locator(".jp-CodeCell").nth(IMAGES + 1)).to_contain_text('request.brand_colors: ["#123456"]')
    notebook.page.keyboard.press("Escape")
    form.get_by_role("button", name="Create", exact=True).press("Enter")
    expect(form).to_contain_text("✓ succeeded")
    expect(form.get_by_role("button", name="Create", exact=True)).to_be_enabled()
    assert form.locator("figure img").count() == 1


def _form(notebook: Notebook, cell: int) -> Locator:
    return notebook.page.locator(".jp-CodeCell").nth(cell).locator(".asvc-form")
