"""Take the pictures of these pages in JupyterLab: quickstart, what moves below a cell, a form (needs chromium).

python -m docs.pictures
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from docs.notebooks import NOTEBOOKS, fresh_service
from tests.browser import axe
from tests.browser.lab import Lab
from tests.waiting import until

IMAGES = Path(__file__).parent / "images"
HEIGHT = 2050  # pixels: down to the pictures of the job


CARDS = [
    "%load_ext agentsvc_nb",
    "%%ask --bg\nstep 1\nsay The autumn plan in short:\nsay\nsay 1. Earlier, and to those who came back.\n"
    "say 2. One picture less, one price more.\nstep 2\nprogress 2 5 reading plan.pdf\nwait 600",
    "%%job echo_job --bg\nsteps: 12\nseconds: 90",
    "%%job echo_job --bg\nsteps: 30\nseconds: 90",
    "%jobs watch --bg",
]
WATCH = len(CARDS) - 1


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    quickstart()
    cards()
    for name in ("light", "dark"):
        form(name)


def cards() -> None:
    """A run and two jobs in the background, in each look that `tests/browser/axe.py` judges."""
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        (root := Path(folder) / "notebooks").mkdir()
        with Lab(root, env | {"AGENTSVC_MODEL": "scripted"}) as lab:
            notebook = lab.open("cards.ipynb", CARDS, width=1000)
            for cell in range(len(CARDS)):
                notebook.run(cell)
                notebook.wait_idle()
            until(lambda: notebook.output(WATCH).count("%") > 2 and "reading plan.pdf" in notebook.output(1))
            for look in axe.looks(notebook):
                name = f"cards-{look.removeprefix('JupyterLab ').replace(' ', '-').lower()}.png"
                notebook.page.locator(".jp-NotebookPanel-notebook").screenshot(path=str(IMAGES / name))
                print(f"took {name}")


def quickstart() -> None:
    for name in ("light", "dark"):
        with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
            root = Path(shutil.copytree(NOTEBOOKS, f"{folder}/notebooks"))
            with Lab(root, env, theme=f"JupyterLab {name.title()}") as lab:
                notebook = lab.open("quickstart.ipynb")
                notebook.page.set_viewport_size({"width": 1200, "height": HEIGHT})
                notebook.run_all()
                notebook.wait_idle()
                notebook.page.evaluate("document.querySelector('.jp-WindowedPanel-outer').scrollTop = 0")
                picture = str(IMAGES / f"quickstart-{name}.png")
                notebook.page.locator(".jp-NotebookPanel-notebook").screenshot(path=picture)
        print(f"took quickstart-{name}.png")


def form(name: str) -> None:
    """A form that was filled in wrong."""
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env:
        root = Path(folder, "notebooks")
        root.mkdir()
        with Lab(root, env, theme=f"JupyterLab {name.title()}") as lab:
            notebook = lab.open("form.ipynb", ["%load_ext agentsvc_nb", "%tools form send_email"], width=1000)
            notebook.page.set_viewport_size({"width": 1000, "height": 1200})
            notebook.run_all()
            notebook.wait_idle()
            shown = notebook.page.locator(".asvc-form")
            shown.get_by_label("To 1").fill("ana@example.com")
            shown.get_by_label("Text").fill("The autumn plan is done.")
            shown.get_by_role("button", name="Run", exact=True).click()
            shown.get_by_role("alert").first.wait_for()
            shown.screenshot(path=str(IMAGES / f"form-{name}.png"))
    print(f"took form-{name}.png")


if __name__ == "__main__":
    main()
