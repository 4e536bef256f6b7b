"""Take the pictures of these pages: the quickstart and a form in JupyterLab, light and dark (needs chromium).

python -m docs.pictures
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from docs.notebooks import NOTEBOOKS, fresh_service
from tests.browser.lab import Lab

IMAGES = Path(__file__).parent / "images"
HEIGHT = 2050  # pixels: down to the pictures of the job


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
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
        form(name)


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
