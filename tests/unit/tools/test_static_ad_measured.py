"""Pictures measured, not trusted: no text leaves its zone, and each can be read on what is really under it."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest
from PIL import Image, ImageChops

from agentsvc_nb.tools.ads import layout
from agentsvc_nb.tools.ads.colors import CONTRAST_MIN, Color, contrast
from agentsvc_nb.tools.ads.creating import Design, designs
from agentsvc_nb.tools.ads.layout import Block
from tests.unit.tools.briefs import BRIEFS, EVERY_SIZE, request

SLACK = 0.02
"""Of the frame: how far a veil may reach beyond the words that it lies under."""


def drawn(design: Design) -> tuple[Image.Image, Image.Image, list[Block]]:
    """The background, the picture, and the blocks of words that make the difference."""
    words = layout.lay_out(design.scene, design.frame, design.words, design.language)
    before = design.scene.paint(design.frame, design.palette, random.Random(design.seed))
    return before, layout.draw(before.copy(), design.palette, words).image, words.blocks


def pixels(image: Image.Image) -> Counter[Color]:
    found: Any = image.getcolors(image.width * image.height)
    return Counter({color: count for count, color in found})


@pytest.mark.parametrize("name", BRIEFS)
@pytest.mark.parametrize("size", EVERY_SIZE)
def test_no_text_leaves_its_zone(name: str, size: str) -> None:
    for design in designs(request(name, 6, [size])):
        before, after, blocks = drawn(design)
        left, top, right, bottom = design.scene.zone(design.frame)
        wide, high = SLACK * design.frame.width, SLACK * design.frame.height
        box = ImageChops.difference(before, after).getbbox()
        assert box is not None or not blocks
        x, y, x_end, y_end = box or design.scene.zone(design.frame)
        assert left - wide <= x <= x_end <= right + wide, design.scene.name
        assert top - high <= y <= y_end <= bottom + high, design.scene.name
        assert all(a.box[3] <= b.box[1] for a, b in itertools.pairwise(blocks)), "one upon the other"


@pytest.mark.parametrize("name", BRIEFS)
def test_each_text_can_be_read_on_what_is_under_it(name: str) -> None:
    for design in designs(request(name, 10, ["square", "landscape"])):
        before, after, blocks = drawn(design)
        for block in blocks:
            under, ink = _apart(before, after, block)
            worst = min(contrast(ink, color) for color in under)
            assert worst >= CONTRAST_MIN - 0.2, (design.scene.name, block.fitted.lines, ink)  # some ink is blended


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
    for color in under:
        del shown[color]
    return under, shown.most_common(1)[0][0]  # type: ignore[return-value]


def test_a_text_from_right_to_left_stands_on_the_right() -> None:
    design = next(one for one in designs(request("Hebrew", 6, ["square"])) if one.scene.name == "slope")
    words = layout.lay_out(design.scene, design.frame, design.words, design.language)
    assert len(words.blocks) == 4
    assert {block.box[2] for block in words.blocks} == {design.scene.zone(design.frame)[2]}


def test_a_long_word_is_parted_rather_than_made_tiny() -> None:
    words = layout.lay_out(*_first("long words"))
    headline = words.blocks[0].fitted
    assert headline.size > 40
    assert "".join(line.removesuffix("-") for line in headline.lines).startswith("Donaudampfschiff")


def _first(name: str) -> Any:
    design = designs(request(name, 1, ["square"]))[0]
    return design.scene, design.frame, design.words, design.language
