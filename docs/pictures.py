"""Take the pictures of these pages: the quickstart in JupyterLab, light and dark (needs the chromium package).

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


if __name__ == "__main__":
    main()
