"""The file browser and the gallery in JupyterLab, used as a user would: clicked, typed into, tabbed through, left."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import Locator, expect

from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.support.waiting import until

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
CLIP = """() => getComputedStyle(document.querySelector('.asvc-after')).clipPath"""
IN_PROPORTION = """all => all.length > 2 && all.every(one => getComputedStyle(one).objectFit !== "fill"
    || Math.abs(one.clientWidth * one.naturalHeight / (one.clientHeight * one.naturalWidth) - 1) < 0.05)"""
NAME = """() => { const it = document.activeElement
    return it.getAttribute('aria-label') || it.labels?.[0]?.innerText || it.innerText }"""


def test_files_are_looked_through_uploaded_and_compared(place: Place, tmp_path: Path) -> None:
    notebook = place.lab.open("files.ipynb", CELLS)
    for cell in range(len(CELLS)):
        notebook.run(cell)
        notebook.wait_idle()
    browser, gallery = Widget(notebook, BROWSER), Widget(notebook, GALLERY)
    _files_are_looked_through(browser, place)
    _keys_are_those_of_the_list_and_not_of_the_notebook(browser)
    _every_part_is_reached_by_tab(browser)
    _a_hostile_file_is_uploaded_and_stays_text(browser, tmp_path)
    _a_picture_is_opened_enlarged_left_and_compared(gallery)
    saved = notebook.save()
    for cell, words in ((BROWSER, "%files browse"), (GALLERY, "%files gallery")):
        first, _ = saved["cells"][cell]["outputs"]
        assert words in "".join(first["data"]["text/plain"])
    assert "widgets" not in saved["metadata"]
    assert len(json.dumps(saved)) < 400_000
    assert notebook.errors == []
    here = f"127.0.0.1:{place.lab.port}"
    assert [url for url in notebook.requests if here not in url and not url.startswith(("data:", "blob:"))] == []
    notebook.page.close()


class Widget:
    """The widget of a cell."""

    def __init__(self, notebook: Notebook, cell: int) -> None:
        self.notebook, self.cell, self.page = notebook, cell, notebook.page
        self.box = self.page.locator(".jp-CodeCell").nth(cell).locator(".asvc")

    def button(self, name: str) -> Locator:
        return self.box.get_by_role("button", name=name, exact=True)

    def row(self, name: str) -> Locator:
        return self.box.get_by_role("row", name=name)

    def file(self, name: str) -> Locator:
        return self.row(name).locator("[data-key]")

    def says(self, words: str) -> None:
        expect(self.box).to_contain_text(words)


def open_the_first(gallery: Locator) -> None:
    gallery.locator("button.asvc-thumb").first.focus()
    gallery.page.keyboard.press("Enter")
    expect(gallery.locator(".asvc-pair img").first).to_be_visible()


def enlarge_and_close(gallery: Locator) -> None:
    """The picture that is open: large, small again with Escape, closed."""
    popover = gallery.page.locator(":popover-open")
    gallery.get_by_role("button", name="Enlarge").press("Enter")
    expect(popover).to_have_count(1)
    gallery.page.keyboard.press("Escape")
    expect(popover).to_have_count(0)
    gallery.get_by_role("button", name="Close the preview").click()


def _files_are_looked_through(widget: Widget, place: Place) -> None:
    page = widget.page
    search = widget.box.get_by_role("searchbox")
    search.fill("PLAN")
    expect(widget.row("plan.md")).to_contain_text("8 B")
    expect(widget.row("q3.md")).to_have_count(0)
    widget.file("plan.md").click()
    expect(widget.box.get_by_role("heading", name="Autumn")).to_be_visible()
    expect(widget.box.get_by_role("group", name="Preview of plan.md")).to_be_focused()
    page.keyboard.press("Escape")
    expect(widget.box.get_by_role("heading", name="Autumn")).to_have_count(0)
    expect(widget.file("plan.md")).to_be_focused()
    page.keyboard.press("Enter")
    widget.button("Download it to the notebook's folder, like %files get").click()
    widget.says("Downloaded to plan.md")
    assert (place.lab.root / "plan.md").read_text() == "# Autumn"
    page.keyboard.press("Escape")

    def found() -> bool:  # what was written is found by its words a moment later
        search.fill("return")
        search.fill("return spend")
        page.wait_for_timeout(1_000)
        return widget.row("q3.md").count() == 1

    until(found)
    assert widget.box.locator("mark").all_inner_texts() == ["return", "spend"]
    search.fill("")
    expect(widget.row("plan.md")).to_be_visible()


def _keys_are_those_of_the_list_and_not_of_the_notebook(widget: Widget) -> None:
    """Letters add, delete and paste cells in JupyterLab, and the arrow keys go to the next cell."""
    page = widget.page
    cells = page.locator(".jp-CodeCell").count()
    widget.file("plan.md").focus()
    page.keyboard.press("Control+v")
    page.keyboard.press("Home")
    expect(widget.box.locator("[data-key]").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(widget.box.locator("[data-key]").nth(1)).to_be_focused()
    page.keyboard.type("dd")
    expect(widget.box.get_by_role("searchbox")).to_have_value("dd")
    widget.box.get_by_role("searchbox").fill("")
    expect(page.locator(".jp-CodeCell")).to_have_count(cells)


def _every_part_is_reached_by_tab(widget: Widget) -> None:
    page, reached = widget.page, []
    widget.box.get_by_role("searchbox").focus()
    for _ in range(7):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(NAME).split()[0])
    assert reached == ["Show", "Refresh", "Upload", "Name", "By", "Size", "Changed"]
    page.keyboard.press("Tab")
    expect(widget.box.locator("[data-key][tabindex='0']")).to_be_focused()


def _a_hostile_file_is_uploaded_and_stays_text(widget: Widget, tmp_path: Path) -> None:
    page = widget.page
    (evil := tmp_path / f"{EVIL}.md").write_text(f"<script>window.bad = 2</script>{EVIL}")
    with page.expect_file_chooser() as chooser:
        widget.button("Upload").click()
    chooser.value.set_files(evil)
    widget.says("1 sent")
    widget.file("onerror").click()
    widget.says("window.bad = 2")
    assert page.evaluate("window.bad") is None
    widget.button("Close the preview (Escape)").click()


def _a_picture_is_opened_enlarged_left_and_compared(widget: Widget) -> None:
    page = widget.page
    open_the_first(widget.box)
    assert widget.box.locator("img").evaluate_all(IN_PROPORTION)
    widget.box.locator("img.asvc-after[alt^='Travel far']").wait_for()
    expect(widget.box.get_by_alt_text("Before: images/")).to_be_visible()
    slider = widget.box.get_by_label("How much of the earlier picture is shown, %")
    slider.press("Home")
    until(lambda: page.evaluate(CLIP) in ("inset(0px)", "inset(0px 0px 0px 0%)"))
    slider.press("ArrowUp")
    until(lambda: page.evaluate(CLIP) == "inset(0px 0px 0px 10%)")
    widget.button("Enlarge").press("ArrowRight")
    expect(widget.box.locator("img.asvc-after")).to_have_count(0)
    enlarge_and_close(widget.box)
    expect(widget.box.locator("button.asvc-thumb").nth(1)).to_be_focused()
