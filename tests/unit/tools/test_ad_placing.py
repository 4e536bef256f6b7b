"""A product and a logo from the workspace, placed on ads: where they stand, that they are seen whole and upright, and
what is refused. Measured in pixels."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any, Final

import pytest
from PIL import Image, ImageDraw

from agentsvc_nb.tools.ads import colors
from agentsvc_nb.tools.ads.colors import Color
from agentsvc_nb.tools.ads.models import SIZES, SizeName
from agentsvc_nb.tools.port import Outcome
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.tooling import call, made, task

BRIEF: Final = "Headline: Frischer Geschmack für heiße Tage\nSubline: Ohne Zucker.\nCTA: Probieren\nBrand: Northpeak"
BRAND: Final = ["#14213d", "#fca311", "#ffffff"]
GREEN, RED, BLUE = (20, 160, 60), (230, 20, 20), (20, 20, 230)


def encoded(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    held = io.BytesIO()
    image.save(held, kind, **more)
    return held.getvalue()


def bottle() -> Image.Image:
    """A free-standing product of 200 x 400 pixels in a larger transparent picture."""
    image = Image.new("RGBA", (500, 900), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((150, 300, 349, 699), GREEN)
    return image


def mark(ink: Color) -> bytes:
    image = Image.new("RGBA", (600, 240), (0, 0, 0, 0))
    ImageDraw.Draw(image).ellipse((20, 20, 580, 220), ink)
    return encoded(image)


def create(at: MemoryToolContext, folder: Path, **request: Any) -> Outcome:
    return call(made(folder, "create_images"), at, request={"brief": BRIEF, "brand_colors": BRAND, **request})


def pictures(at: MemoryToolContext, outcome: Outcome) -> list[tuple[dict[str, Any], Image.Image]]:
    assert outcome.error is None, outcome.error
    assert outcome.data is not None
    return [(one, Image.open(io.BytesIO(at.files.bytes(one["path"]))).convert("RGB")) for one in outcome.data["images"]]


def count(image: Image.Image, wanted: Color, slack: int = 12) -> int:
    found: Any = image.getcolors(image.width * image.height)
    return sum(n for n, pixel in found if all(abs(a - b) <= slack for a, b in zip(pixel, wanted, strict=True)))


@pytest.mark.parametrize("size", ["square", "story"])
def test_a_free_product_is_seen_whole_where_no_platform_covers_it(size: SizeName, tmp_path: Path) -> None:
    at = task(tmp_path, {"bottle.png": encoded(bottle())})
    outcome = create(at, tmp_path, product="bottle.png", sizes=[size], outputs={"count": 2})
    edges = SIZES[size]
    for one, image in pictures(at, outcome):
        left, top, right, bottom = one["product"]
        assert edges.left <= left < right <= edges.width - edges.right
        assert edges.top <= top < bottom <= edges.height - edges.bottom
        assert abs((right - left) / (bottom - top) - 0.5) < 0.02, "its proportions are kept, its empty edges are not"
        assert count(image.crop(one["product"]), GREEN) > 0.95 * (right - left) * (bottom - top)
        assert count(image, GREEN) <= (right - left + 2) * (bottom - top + 2), "and it is nowhere else"
        assert bottom - top >= 0.25 * (edges.height - edges.top - edges.bottom)
        assert one["contrast"] >= colors.CONTRAST_MIN
        assert one["cut"] == []
    assert {one["layout"] for one, _ in pictures(at, outcome)} == {"stage", "band"}


@pytest.mark.parametrize("size", ["landscape"])
def test_a_logo_has_room_around_it_and_stands_for_the_brands_name(size: SizeName, tmp_path: Path) -> None:
    at = task(tmp_path, {"logo.png": mark(RED)})
    edges = SIZES[size]
    for one, image in pictures(at, create(at, tmp_path, logo="logo.png", sizes=[size], outputs={"count": 3})):
        left, top, right, bottom = one["logo"]
        assert edges.left <= left < right <= edges.width - edges.right
        assert edges.top <= top < bottom <= edges.height - edges.bottom
        assert count(image.crop(one["logo"]), RED, 4) > 0.5 * (right - left) * (bottom - top), one["layout"]
        clear = (bottom - top) // 2
        for near in ((left, top - clear, right, top), (left, bottom, right, bottom + clear)):
            found: Any = image.crop(near).getcolors(100_000)
            assert max(n for n, _ in found) > 0.97 * (right - left) * clear, (one["layout"], "nothing but the ground")


def bomb() -> bytes:
    """A PNG of some bytes that says it has 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0" * 1_000)) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("field", "path", "data", "said"),
    [
        ("product", "gone.png", None, "gone.png"),
        pytest.param("product", "bomb.png", bomb(), "50,000,000 pixels", id="bomb"),
        ("logo", "logo.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture"),
        ("product", "cut.jpg", encoded(Image.new("RGB", (300, 300), RED), "JPEG")[:700], "no picture"),
        ("logo", "empty.png", encoded(Image.new("RGBA", (40, 40), (0, 0, 0, 0))), "transparent"),
    ],
)
def test_what_can_not_be_placed_is_refused_before_anything_is_drawn(
    field: str, path: str, data: bytes | None, said: str, tmp_path: Path
) -> None:
    at = task(tmp_path, {} if data is None else {path: data})
    outcome = create(at, tmp_path, **{field: path})
    assert outcome.error is not None
    assert outcome.error[0] == "invalid_tool_input"
    assert outcome.error[1].startswith(f"request.{field}: ")
    assert said in outcome.error[1]
    assert [path for path in at.files.outputs if path.startswith("images/")] == []
