"""Pictures keep their proportions wherever they are shown: measured on what Chromium has drawn."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Final

import pytest
from PIL import Image, ImageChops
from playwright.sync_api import Locator, expect

from tests.browser import axe
from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.notebook.images import png
from tests.support.waiting import until

SIZES: Final = {"red": (400, 100), "lime": (90, 360), "blue": (300, 300), "magenta": (40, 30), "cyan": (600, 60)}
"""Wide, tall, square, smaller than its thumbnail, and very wide."""
CELLS = ["%load_ext agentsvc_nb", "%%ask\nsay x", "%files put pictures/*.png", "%files gallery"]
STATIC = ["%config Ask.live = False", "%files gallery", "%files preview uploads/red.png"]
GALLERY: Final = len(CELLS) - 1
THEMES = ("JupyterLab Light", "JupyterLab Dark")
NEAR: Final = 60
PIXELS: Final = 2
"""An edge of a picture may fall between two pixels, and is blurred by WEBP."""


@pytest.fixture(scope="module")
def notebook(place: Place) -> Iterator[Notebook]:
    (folder := place.lab.root / "pictures").mkdir()
    for colour, size in SIZES.items():
        (folder / f"{colour}.png").write_bytes(png(colour, size))
    opened = place.lab.open("pictures.ipynb", cells := [*CELLS, *STATIC])
    for cell in range(len(cells)):
        opened.run(cell)
        opened.wait_idle()
    yield opened
    opened.page.close()


def drawn(shown: Locator, colour: str) -> tuple[int, int]:
    """The width and height of what has this colour."""
    found = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    apart = ImageChops.difference(found, Image.new("RGB", found.size, colour)).split()
    farthest = ImageChops.lighter(ImageChops.lighter(apart[0], apart[1]), apart[2])
    left, upper, right, lower = farthest.point(lambda away: 255 * (away < NEAR)).getbbox() or (0, 0, 0, 0)
    return right - left, lower - upper


def in_proportion(shown: Locator, colour: str) -> None:
    width, height = until(lambda: drawn(shown, colour), all)
    natural_width, natural_height = SIZES[colour]
    fitting = [
        (width, width * natural_height / natural_width),
        (height * natural_width / natural_height, height),
    ]
    assert any(abs(width - w) <= PIXELS and abs(height - h) <= PIXELS for w, h in fitting), (colour, width, height)


@pytest.mark.parametrize("theme", THEMES)
def test_thumbnails_and_the_large_picture_keep_their_proportions(notebook: Notebook, theme: str) -> None:
    page = notebook.page
    axe.theme(page, theme)
    gallery = page.locator(".jp-CodeCell").nth(GALLERY).locator(".asvc")
    for colour in SIZES:
        in_proportion(gallery.locator("button.asvc-thumb", has_text=f"{colour}.png"), colour)
    for colour in SIZES:
        gallery.locator("button.asvc-thumb", has_text=f"{colour}.png").click()
        gallery.locator(f".asvc-pair img[alt^='{colour}']").wait_for()
        in_proportion(gallery.locator(".asvc-pair"), colour)
        gallery.get_by_role("button", name="Close the preview").click()


def test_static_pictures_keep_them_too_also_where_it_is_narrow(notebook: Notebook) -> None:
    images = notebook.page.locator(".jp-CodeCell .jp-RenderedHTMLCommon img[src^='data:']:visible")
    expect(images).to_have_count(len(SIZES) + 1)  # a gallery without a widget, and a preview
    whole = until(lambda: _sizes(images), lambda sizes: all(natural for _, _, natural in sizes))
    with axe.narrow(notebook.page):
        small = _sizes(images)
    assert small != whole, "none had to be made smaller"
    for width, height, natural in (*whole, *small):
        assert abs(width / height - natural) < 0.02 * natural


def _sizes(images: Locator) -> list[tuple[float, float, float]]:
    """Width, height and natural ratio of each."""
    found: list[tuple[float, float, float]] = images.evaluate_all(
        """all => all.map(one => { const box = one.getBoundingClientRect()
            return [box.width, box.height, one.naturalHeight && one.naturalWidth / one.naturalHeight] })"""
    )
    return found
