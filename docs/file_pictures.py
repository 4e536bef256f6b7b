"""Take the pictures of the file browser and the gallery in JupyterLab (needs the chromium package).

python -m docs.file_pictures
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from docs.notebooks import fresh_service
from tests.browser.lab import Lab
from tests.waiting import until

IMAGES = Path(__file__).parent / "images"
ADS = r'request.brief: "Headline: Pack light\nSubline: A tent of two kilos.\nCTA: Shop tents\nnavy, orange"'
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
    with tempfile.TemporaryDirectory() as folder, fresh_service() as env, Lab(Path(folder), env) as lab:
        notebook = lab.open("files.ipynb", CELLS)
        notebook.page.set_viewport_size({"width": 1100, "height": 1400})
        for cell in range(len(CELLS)):
            notebook.run(cell)
            notebook.wait_idle()
        browser, gallery = (notebook.page.locator(".jp-CodeCell").nth(cell).locator(".asvc") for cell in (6, 7))
        browser.get_by_label("Names").fill("prices")
        until(lambda: "1 row;" in notebook.output(6))
        browser.get_by_role("row", name="prices.csv").dblclick()
        browser.locator("td").first.wait_for()
        browser.get_by_label("Names").fill("")
        until(lambda: "1 row;" not in notebook.output(6))
        gallery.locator("button.asvc-thumb").first.click()
        gallery.locator("img.asvc-after").wait_for()
        for name, box in (("files", browser), ("gallery", gallery)):
            box.screenshot(path=str(IMAGES / f"{name}-light.png"))
            print(f"took {name}-light.png")


if __name__ == "__main__":
    main()
