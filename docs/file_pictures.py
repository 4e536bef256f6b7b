"""Take the pictures of the file browser and the gallery in JupyterLab (needs the chromium package).

python -m docs.file_pictures
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from docs.notebooks import fresh_service
from tests.browser.lab import Lab

IMAGES = Path(__file__).parent / "images"
ADS = r'request.brief: "Headline: Pack light\nText: A tent of two kilos.\nCTA: Shop tents\nColors: #10264d #ffb238"'
CELLS = [
    "%load_ext agentsvc_nb",
    "%%ask\nHello",
    "from pathlib import Path\nPath('prices.csv').write_text('product,price,sold\\nlamp,39,120\\ndesk,249,31\\n')",
    f'%%job create_images -o made\n{ADS}\nrequest.outputs: {{"mode": "count", "count": 3}}',
    "path = made.files[0].path\n%files put prices.csv",
    '%%job edit_image\nrequest.path: {{path}}\nrequest.headline: Travel far\nrequest.brand_colors: ["#0b6e4f"]',
    "%files browse",
    "%files gallery",
]


def main() -> None:
    for theme in ("light", "dark"):
        take(theme)


def take(theme: str) -> None:
    """Open a table in the list of files, and an edited picture in the gallery."""
    name = f"JupyterLab {theme.title()}"
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env, Lab(Path(folder), env, theme=name) as lab:
        notebook = lab.open("files.ipynb", CELLS)
        notebook.page.set_viewport_size({"width": 1200, "height": 1400})
        notebook.page.keyboard.press("Control+b")  # the side bar
        for cell in range(len(CELLS)):
            notebook.run(cell)
            notebook.wait_idle()
        browser, gallery = (notebook.page.locator(".jp-CodeCell").nth(cell).locator(".asvc-files") for cell in (6, 7))
        browser.get_by_role("button", name="prices.csv").click()
        browser.locator("td", has_text="lamp").wait_for()
        gallery.locator("button.asvc-thumb").first.click()
        gallery.locator("img.asvc-after").wait_for()
        notebook.page.wait_for_timeout(1000)  # thumbnails
        for shown, box in (("files", browser), ("gallery", gallery)):
            box.screenshot(path=str(IMAGES / f"{shown}-{theme}.png"))
            print(f"took {shown}-{theme}.png")


if __name__ == "__main__":
    main()
