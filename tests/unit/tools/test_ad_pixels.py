"""Ads measured in their pixels: texts within their zone, whole, and readable; a brand's colours in their roles; and no
letter missing: what no font draws is refused before anything is drawn."""

from __future__ import annotations

import io
import itertools
import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest
from PIL import Image, ImageChops

from agentsvc_nb.tools.ads import fonts, layout, pictures
from agentsvc_nb.tools.ads.colors import CONTRAST_MIN, Color, contrast
from agentsvc_nb.tools.ads.creating import Design, designs
from agentsvc_nb.tools.ads.fonts import OWN
from agentsvc_nb.tools.ads.layout import Block
from agentsvc_nb.tools.ads.models import SIZES
from agentsvc_nb.tools.port import Outcome
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.site import serving
from tests.unit.service.tooling import call, made, task
from tests.unit.tools.briefs import BRIEFS, EVERY_SIZE, request

SLACK: Final = 0.02
"""Of the frame: how far a veil may reach beyond the words that it lies under."""


def drawn(design: Design) -> tuple[Image.Image, Image.Image, list[Block]]:
    """The background, the picture, and the blocks of words that make the difference."""
    words = layout.lay_out(design.scene, design.frame, design.words, design.language)
    before = design.scene.paint(design.frame, design.palette, random.Random(design.seed))
    return before, layout.draw(before.copy(), design.palette, words).image, words.blocks


def pixels(image: Image.Image) -> Counter[Color]:
    found: Any = image.getcolors(image.width * image.height)
    return Counter({pixel: count for count, pixel in found})


@pytest.mark.parametrize("scene", range(6))
@pytest.mark.parametrize("name", ["plain", "long words", "right to left", "middle grey"])
def test_texts_are_whole_in_their_zone_and_can_be_read(name: str, scene: int) -> None:
    """Each scene in a size of its own: within its zone, where no platform covers them, on what is under them."""
    size = EVERY_SIZE[(scene + list(BRIEFS).index(name)) % len(EVERY_SIZE)]
    design = designs(request(name, 6, [size]))[scene]
    before, after, blocks = drawn(design)
    assert [block.name for block in blocks] == ["brand", "headline", "subline", "call to action"]
    assert not any(block.fitted.cut for block in blocks)
    assert all(a.box[3] <= b.box[1] for a, b in itertools.pairwise(blocks)), "one upon the other"
    box = ImageChops.difference(before, after).getbbox()
    assert box is not None
    left, top, right, bottom = design.scene.zone(design.frame)
    wide, high = SLACK * design.frame.width, SLACK * design.frame.height
    edges = SIZES[size]  # type: ignore[index]
    assert max(left - wide, edges.left) <= box[0] < box[2] <= min(right + wide, edges.width - edges.right)
    assert max(top - high, edges.top) <= box[1] < box[3] <= min(bottom + high, edges.height - edges.bottom)
    for block in blocks:
        under, ink = _apart(before, after, block)
        worst = min(contrast(ink, ground) for ground in under)
        assert worst >= CONTRAST_MIN - 0.2, (block.name, ink)  # some ink is blended


def _apart(before: Image.Image, after: Image.Image, block: Block) -> tuple[list[Color], Color]:
    """The colours under a text, and the colour of most of its ink."""
    left, top, right, bottom = block.box
    inner = block.box
    if block.button:
        inset = (bottom - top) // 2
        inner = (left + inset, top + 2, right - inset, bottom - 2)
    shown = pixels(after.crop(inner))
    corner = after.getpixel((inner[0], inner[1]))
    veiled = corner != before.getpixel((inner[0], inner[1]))
    under = [corner] if veiled else list(pixels(before.crop(inner)))
    for ground in under:
        del shown[ground]
    return under, shown.most_common(1)[0][0]  # type: ignore[return-value]


MISSING: Final = {
    "Headline": ("家族向けのテント", "家", "CJK", "Noto Sans CJK"),
    "Subline": ("नया साल", "न", "Devanagari", "Noto Sans Devanagari"),
    "CTA": ("Party 🎉🔥 time", "🎉", "symbols", "Leave them out"),
    "Brand": ("Pack light in 東 and go", "東", "CJK", "Noto Sans CJK"),
}
DRAWN: Final = {
    "German": "Größer, schöner: 50 % Übermaß",
    "Vietnamese, decomposed": "Le\u0302\u0300u nhe\u0323 cho ca\u0309 gia \u0111i\u0300nh",
    "what is not seen": "Pack\u00ad light\ufe0f\u200b \u200dnow\u2060 \ufeff100\u00a0%",
}


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no fonts but ours."""
    monkeypatch.setattr(fonts, "families", lambda: (OWN,))


def create(folder: Path, brief: str, at: MemoryToolContext | None = None, **more: Any) -> Outcome:
    return call(made(folder, "create_images"), at or task(folder), request={"brief": brief, **more})


def refused(outcome: Outcome) -> str:
    assert outcome.error is not None
    code, message = outcome.error
    assert code == "missing_glyphs"
    return message


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("label", MISSING)
def test_a_script_that_no_font_has_is_refused_in_any_text(label: str, tmp_path: Path) -> None:
    text, first, script, remedy = MISSING[label]
    at = task(tmp_path)
    brief = f"{label}: {text}" if label == "Headline" else f"Headline: Travel far\n{label}: {text}"
    message = refused(create(tmp_path, brief, at, outputs={"count": 3}))
    assert all(word in message for word in (f" {first}", script, remedy))
    assert {"CTA": "call to action"}.get(label, label.lower()) in message
    assert at.files.outputs == {}, "nothing was drawn"


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("name", DRAWN)
def test_a_script_that_the_shipped_font_has_is_drawn(name: str, tmp_path: Path) -> None:
    at = task(tmp_path)
    outcome = create(tmp_path, f"Headline: {DRAWN[name]}", at)
    assert outcome.data is not None
    (path,) = at.files.outputs
    with Image.open(io.BytesIO(at.files.bytes(path))) as picture:
        picture.load()
        words = (pictures.design(picture) or {})["words"]
    assert words["headline"] == outcome.data["images"][0]["headline"] == fonts.tidy(DRAWN[name])
    assert not set(words["headline"]) & set("\u00ad\ufe0f\u200b\u200d\u2060\ufeff")


@pytest.mark.usefixtures("shipped")
def test_an_edit_is_refused_and_neither_drawn_nor_asked_of_a_model(tmp_path: Path) -> None:
    at = task(tmp_path)
    assert create(tmp_path, "Headline: Pack light", at).error is None
    ((path, _),) = at.files.outputs.items()
    with serving() as site:
        asking = {"image_url": f"{site.url}/v1", "fetch_allow": "127.0.0.1"}
        edit = made(tmp_path, "edit_image", **asking)
        refused(call(edit, at, request={"path": path, "subline": "ลดราคา", "instruction": "Make it blue"}))
        painted = {"brief": "Headline: ลดราคา", "background": "model"}
        refused(call(made(tmp_path, "create_images", **asking), at, request=painted))
        assert site.asked == []
    assert list(at.files.outputs) == [path]
