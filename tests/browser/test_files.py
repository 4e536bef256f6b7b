"""The file browser and the gallery in JupyterLab, used as a user would: clicked, typed into, tabbed through, left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from tests.browser import axe
from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.waiting import until

pytestmark = pytest.mark.browser

CELLS = [
    "%load_ext agentsvc_nb\nimport agentsvc_nb",
    "%%ask\nsay x\nwrite out/plan.md # Autumn\nwrite reports/q3.md The return on ad spend rose",
    '%%job create_images -o made\nrequest.brief: "Headline: Pack light"',
    "path = made.files[0].path",
    "%%job edit_image\nrequest.path: {{path}}\nrequest.headline: Travel far",
    "agentsvc_nb.Files()",
    "%files gallery",
]
BROWSER, GALLERY = 5, 6
EVIL = "<img src=x onerror='window.bad = 1'>"
TABBED = [
    *("Names", "Sort", "Contents", "Search", "Files", "Open", "Up", "Line-up", "Line-down"),
    *("Preview", "Get", "Attach", "Upload,", "Refresh"),
]
OURS = ".jp-NotebookPanel .jp-OutputArea-output .asvc"
CLIP = """() => getComputedStyle(document.querySelector('.asvc-after')).clipPath"""
NAME = """() => { const it = document.activeElement
    return it.getAttribute('aria-label') || it.labels?.[0]?.innerText || it.innerText }"""


@pytest.fixture(scope="module")
def notebook(place: Place) -> Iterator[Notebook]:
    opened = place.lab.open("files.ipynb", CELLS)
    for cell in range(len(CELLS)):
        opened.run(cell)
        opened.wait_idle()
    yield opened
    opened.page.close()


class Widget:
    """The widget of a cell."""

    def __init__(self, notebook: Notebook, cell: int) -> None:
        self.notebook, self.cell, self.page = notebook, cell, notebook.page
        self.box = self.page.locator(".jp-CodeCell").nth(cell).locator(".asvc")

    def button(self, name: str) -> Locator:
        return self.box.get_by_role("button", name=name, exact=True)

    def says(self, words: str) -> None:
        until(self.read, lambda text: words in text)

    def read(self) -> str:
        """Its text; blanks as they are meant, which a list shows as wide ones."""
        return " ".join(self.notebook.output(self.cell).split())


def focused(page: Page) -> str:
    """What has the focus, by its name."""
    name: str = page.evaluate(NAME)
    return name


def test_files_are_looked_through(notebook: Notebook, place: Place, tmp_path: Path) -> None:
    widget, page = Widget(notebook, BROWSER), notebook.page
    widget.box.get_by_label("Names").fill("PLAN")
    widget.says("out/plan.md (8 B)")
    widget.box.get_by_label("Names").fill("")
    widget.says("reports/ (1 file)")
    widget.button("Line down").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    widget.says("out/ (1 file)")
    widget.button("Open").press("Enter")
    widget.says("Files below out/")
    until(lambda: page.evaluate("document.activeElement.tagName") == "SELECT")
    widget.box.locator("select").last.select_option(index=0)
    widget.box.get_by_role("heading", name="Autumn").wait_for()
    widget.button("Get").click()
    widget.says("It is in plan.md")
    assert (place.lab.root / "plan.md").read_text() == "# Autumn"
    widget.button("Attach").click()
    until(lambda: widget.box.get_by_label("To copy").input_value() == "out/plan.md")

    def found() -> bool:  # what was written is found by its words a moment later
        widget.button("Search").click()
        return "1 file found." in until(widget.read, lambda text: "found." in text)

    widget.box.get_by_label("Contents").fill("return spend")
    until(found)
    assert widget.box.locator("mark").all_inner_texts() == ["return", "spend"]


def test_a_hostile_file_is_uploaded_and_stays_text(notebook: Notebook, tmp_path: Path) -> None:
    widget, page = Widget(notebook, BROWSER), notebook.page
    (evil := tmp_path / f"{EVIL}.md").write_text(f"<script>window.bad = 2</script>{EVIL}")
    with page.expect_file_chooser() as chooser:
        widget.box.get_by_role("button", name="Upload").click()
    chooser.value.set_files(evil)
    widget.says("1 sent")
    widget.button("Up").click()
    widget.box.get_by_label("Names").fill("onerror")
    widget.says("onerror")
    widget.button("Line down").click()
    widget.says("window.bad = 2")
    assert page.evaluate("window.bad") is None


def test_every_part_is_reached_by_tab(notebook: Notebook) -> None:
    widget, page = Widget(notebook, BROWSER), notebook.page
    widget.button("Refresh").click()
    widget.box.get_by_label("Names").focus()
    reached = [focused(page)]
    for _ in TABBED[1:]:
        page.keyboard.press("Tab")
        reached.append(focused(page).replace("Line ", "Line-"))
    assert [name.split()[0] for name in reached] == TABBED


def test_a_picture_is_opened_enlarged_left_and_compared(notebook: Notebook) -> None:
    widget, page = Widget(notebook, GALLERY), notebook.page
    thumb = widget.box.locator("button.asvc-thumb").first
    thumb.press("Enter")
    widget.box.locator("img.asvc-after[alt^='Travel far']").wait_for()
    widget.box.get_by_alt_text("Before: Pack light").wait_for()
    until(lambda: focused(page) == "Next")
    widget.button("Enlarge").press("Enter")
    assert page.locator(":popover-open").count() == 1
    page.keyboard.press("Escape")
    assert page.locator(":popover-open").count() == 0
    assert focused(page) == "Enlarge"
    widget.button("After").click()
    until(lambda: page.evaluate(CLIP) in ("inset(0px)", "inset(0px 0px 0px 0%)"))
    widget.box.get_by_label("Of the picture before, %").press("ArrowUp")
    page.keyboard.press("Tab")
    until(lambda: page.evaluate(CLIP) == "inset(0px 0px 0px 10%)")
    axe.check(notebook, OURS)
    widget.button("Next").click()
    widget.says("Picture 2 of 2")
    widget.button("Close").click()
    until(lambda: focused(page).startswith("2 "))
    axe.check(notebook, OURS)


def test_a_saved_notebook_says_what_was_there(notebook: Notebook, place: Place) -> None:
    saved = notebook.save()
    for cell, words in ((BROWSER, "%files browse"), (GALLERY, "%files gallery")):
        first, _ = saved["cells"][cell]["outputs"]
        assert words in "".join(first["data"]["text/plain"])
    assert "widgets" not in saved["metadata"]
    assert len(json.dumps(saved)) < 400_000
    assert notebook.errors == []
    here = f"127.0.0.1:{place.lab.port}"
    assert [url for url in notebook.requests if here not in url and not url.startswith(("data:", "blob:"))] == []
