"""Draw ads in several layouts. Texts are on a background of one colour, so that their contrast can be computed, and in
the part of the picture that platforms do not cover ("safe part")."""

from __future__ import annotations

import math
import random
from typing import Any, Final, Literal, NamedTuple

from PIL import Image, ImageDraw, ImageOps
from pydantic import BaseModel, ConfigDict, Field

from agentsvc_nb.tools.ads.colors import INK, WHITE, Color, Palette, choose_readable, contrast, mix
from agentsvc_nb.tools.ads.fonts import family_for, font, runs_leftwards, widest_word, width, wrap
from agentsvc_nb.tools.ads.models import SIZES, TEXT_CHARS, AdSize, Box, BrandColor, Parts, Shape, SizeName, Texts
from agentsvc_nb.tools.port import WorkFailure

LayoutName = Literal["sun", "card", "tiles", "product", "photo"]
PictureName = Literal["product", "logo", "background"]
DRAWN: Final[tuple[LayoutName, ...]] = ("sun", "card", "tiles")
_FINE: Final = 2
"""The factor by which shapes are drawn larger and then reduced, to smooth their edges."""
_ABOVE: Final[dict[Shape, Parts]] = {"square": (0, 0, 1, 0.6), "tall": (0, 0, 1, 0.62), "wide": (0, 0, 0.6, 1)}
_INSIDE: Final = (0.08, 0.07, 0.92, 0.93)
WORDS: Final[dict[LayoutName, dict[Shape, Parts]]] = {
    "sun": _ABOVE,
    "tiles": _ABOVE,
    "card": {"square": _INSIDE, "tall": (0.06, 0.05, 0.94, 0.95), "wide": _INSIDE},
    "product": {"square": (0, 0.5, 1, 1), "tall": (0, 0.5, 1, 1), "wide": (0, 0, 0.52, 1)},
    "photo": {"square": (0.05, 0.46, 0.95, 0.95), "tall": (0.05, 0.46, 0.95, 0.95), "wide": (0.04, 0.1, 0.6, 0.92)},
}
"""The box for the texts in each layout and shape of ad, in fractions of the safe part."""
_PRODUCT: Final[dict[Shape, Parts]] = {
    "square": (0.08, 0, 0.92, 0.43), "tall": (0.04, 0, 0.96, 0.44), "wide": (0.62, 0.02, 1, 0.98),
}  # fmt: skip
TYPE: Final = {"brand": (34, 22), "headline": (144, 40), "text": (46, 24), "cta": (38, 22)}
"""The largest and smallest font size of each text, in units (`AdSize.unit`). The largest size that fits is used."""
_GAPS: Final = {"headline": 24, "text": 26, "cta": 40}
"""The space above each text except the first, in units (`AdSize.unit`)."""
_STEPS: Final = 30
_LEADING: Final = 1.16
_BASELINE: Final = 0.84


class Block(NamedTuple):
    """Holds a text or the logo, with its position."""

    name: str
    width: int
    height: int
    lines: tuple[str, ...] = ()
    family: str = ""
    size: int = 0
    left: int = 0
    top: int = 0

    @property
    def box(self) -> Box:
        return self.left, self.top, self.left + self.width, self.top + self.height


class Design(BaseModel):
    """The design of an ad, without its pictures. PNG files contain it as JSON, so that `edit_image` can change the ad.
    Do not trust that JSON, because any program may have written it."""

    model_config = ConfigDict(frozen=True)

    layout: LayoutName
    words: Texts = Texts()
    palette: list[BrandColor] = Field(min_length=4, max_length=4)
    seed: int = Field(default=0, ge=0, lt=2**63)
    product: str | None = None
    logo: str | None = None
    """`product` and `logo` are paths of pictures in the workspace (the chat's files)."""
    size: SizeName = "square"


class Ad(Design):
    """A design with its pictures, which can be drawn."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    pictures: dict[PictureName, Image.Image] = Field(default_factory=dict, exclude=True)
    """The product and the logo as RGBA without transparent edges, and the background of a `photo` layout."""
    own_size: AdSize | None = Field(default=None, exclude=True)
    """The size of an edited picture, which replaces `size`."""

    @property
    def frame(self) -> AdSize:
        return self.own_size or SIZES[self.size]

    @property
    def box(self) -> Box:
        """Return the box for the texts and the logo, in pixels."""
        return self.frame.part(WORDS[self.layout][self.frame.shape])

    def blocks(self) -> list[Block]:
        """Return the logo and the texts with their positions, in the largest font size that fits. Takes CPU time.

        Raises `WorkFailure`: `invalid_tool_input` if the texts do not fit even in the smallest font size,
        `missing_glyphs` if no font has all characters.
        """
        left, top, right, bottom = self.box
        texts = {
            name: text for name in TYPE if (text := getattr(self.words, name)) and not (self.logo and name == "brand")
        }
        for name, text in texts.items():
            if len(text) > TEXT_CHARS:
                raise self._too_long(name)
        families = {name: family_for(name, text) for name, text in texts.items()}
        first = [self._logo_block(self.pictures["logo"])] if "logo" in self.pictures else []
        for step in range(_STEPS + 1):
            blocks = first + [self._text_block(name, text, families[name], step) for name, text in texts.items()]
            gaps = [0, *(round(_GAPS[block.name] * self.frame.unit) for block in blocks[1:])]
            spare = bottom - top - sum(block.height for block in blocks) - sum(gaps)
            if spare >= 0:
                break
        else:
            raise self._too_long(max(texts, key=lambda name: len(texts[name])))
        y = top + (spare if self.layout == "photo" else spare // 2)
        for number, block in enumerate(blocks):
            y += gaps[number]
            x = left if not runs_leftwards(self.words.headline) else right - block.width
            x = (left + right - block.width) // 2 if self.layout == "card" else x
            blocks[number] = block._replace(left=x, top=y)
            y += block.height
        return blocks

    def _text_block(self, name: str, text: str, family: str, step: int) -> Block:
        """Return the block of a text in font size number `step` (0 is the largest, `_STEPS` the smallest)."""
        most, least = (round(size * self.frame.unit) for size in TYPE[name])
        is_bold = name != "text"
        inset = most if name == "cta" else 0  # the space on each side of a button's text
        room = self.box[2] - self.box[0] - 2 * inset
        widest = math.floor(most * room / max(1.0, widest_word(family, is_bold, most, text)))
        if widest < least:
            raise self._too_long(name)
        size = min(widest, most - (most - least) * step // _STEPS)
        lines = tuple(wrap(family, is_bold, size, text, room))
        across = math.ceil(max(width(family, is_bold, size, line) for line in lines)) + 2 * inset
        down = round(size * _LEADING) * len(lines) + (round(0.9 * size) if name == "cta" else 0)
        return Block(name, across, down, lines, family, size)

    def _logo_block(self, logo: Image.Image) -> Block:
        """Return the block of the logo. Wide and tall logos get about the same area."""
        left, top, right, bottom = self.box
        ratio, unit = logo.width / logo.height, self.frame.unit
        high = min(unit * math.sqrt(16_000 / ratio), 130 * unit, 0.6 * (right - left) / ratio, 0.2 * (bottom - top))
        return Block("logo", max(1, round(high * ratio)), max(1, round(high)))

    def _too_long(self, name: str) -> WorkFailure:
        size = f"{self.frame.width} x {self.frame.height}" if self.own_size else self.size
        said = f"The {name} does not fit on the {size} ad, not even in the smallest font size. Shorten it."
        return WorkFailure("invalid_tool_input", said)


def draw_ad(ad: Ad) -> tuple[Image.Image, float]:
    """Draw the ad. Return the picture, and the lowest contrast that any of its texts has with the colours behind it.

    This takes CPU time, so call it in a thread.
    """
    blocks, frame, colors = ad.blocks(), ad.frame, Palette.from_codes(ad.palette)
    if ad.layout == "photo":
        ground = ad.pictures["background"].convert("RGB")
        image = ImageOps.fit(ground, (frame.width, frame.height), Image.Resampling.LANCZOS)
        if blocks:
            left, _, right, _ = ad.box
            edge = min(round(36 * frame.unit), left, frame.width - right)
            plate = (left - edge, blocks[0].top - edge, right + edge, blocks[-1].box[3] + edge)
            _fill_rounded(image, plate, edge, colors.ground)
    else:
        fine = AdSize(*(_FINE * side for side in frame))
        canvas = Image.new("RGB", (fine.width, fine.height), colors.ground)
        _paint(ImageDraw.Draw(canvas), ad.layout, fine, colors, random.Random(ad.seed))
        image = canvas.reduce(_FINE)
    if "product" in ad.pictures:
        _paste(image, ad.pictures["product"], frame.part(_PRODUCT[frame.shape]))
    if "logo" in ad.pictures:
        _draw_logo(image, ad.pictures["logo"], blocks.pop(0).box, colors.ground)
    return image, min((_draw_text(image, block, ad, colors) for block in blocks), default=21.0)


def _paint(
    draw: ImageDraw.ImageDraw, layout: LayoutName, frame: AdSize, colors: Palette, chance: random.Random
) -> None:
    """Draw the shapes of a layout around the box for the texts."""
    ground, accent, second = colors.ground, colors.accent, colors.second
    _, _, right, bottom = frame.part(WORDS[layout][frame.shape])
    right, bottom = right + round(36 * frame.unit), bottom + round(36 * frame.unit)
    is_wide, least = frame.shape == "wide", min(frame.width, frame.height)
    if layout == "sun":
        x, y = (0.94 if is_wide else 0.8) * frame.width, (0.6 if is_wide else 0.97) * frame.height
        radius = min(x - right, 0.8 * frame.height) if is_wide else min(y - bottom, 0.65 * frame.width)
        for part, tone in ((1.0, 0.12), (0.84, 0.28), (0.67, 1.0)):
            draw.circle((x, y), part * radius, mix(ground, accent, tone))
        draw.circle((x + 0.2 * radius, y + 0.14 * radius), 0.38 * radius, second)
    elif layout == "card":
        draw.rectangle((0, 0, frame.width, frame.height), accent)
        draw.circle((0.06 * frame.width, 0.94 * frame.height), 0.36 * least, second)
        draw.circle((0.95 * frame.width, 0.05 * frame.height), 0.28 * least, mix(accent, ground, 0.35))
        draw.rounded_rectangle(frame.part((0.02, 0.02, 0.98, 0.98)), 40 * frame.unit, ground)
    elif layout == "product":
        left, top, end, foot = frame.part(_PRODUCT[frame.shape])
        edge = 30 * frame.unit
        draw.rectangle(
            (left - edge if is_wide else 0, 0, frame.width, frame.height if is_wide else foot + edge / 2), accent
        )
        draw.circle(((left + end) / 2, (top + foot) / 2), 0.5 * min(end - left, foot - top), second)
    else:
        cell = frame.height / 3 if is_wide else frame.width / (6 if frame.shape == "square" else 4)
        columns = int((frame.width - right) / cell) if is_wide else round(frame.width / cell)
        rows = 3 if is_wide else int((frame.height - bottom) / cell)
        tones = (accent, second, mix(ground, accent, 0.45), mix(ground, colors.ink, 0.2))
        for number in range(columns * rows):
            x, y = frame.width - (1 + number // rows) * cell, frame.height - (1 + number % rows) * cell
            under, over = chance.sample(tones, 2)
            draw.rectangle((x, y, x + cell, y + cell), under)
            turn = chance.randrange(5)
            if turn == 4:
                draw.circle((x + cell / 2, y + cell / 2), 0.32 * cell, over)
            else:  # a quarter of a disc around a corner
                x, y = x + cell * (turn in (1, 2)), y + cell * (turn in (2, 3))
                draw.pieslice((x - cell, y - cell, x + cell, y + cell), 90 * turn, 90 * turn + 90, over)


def _fill_rounded(image: Image.Image, box: Box, radius: float, fill: Color) -> None:
    """Fill a box that has smooth, round corners."""
    across, down = _FINE * (box[2] - box[0]), _FINE * (box[3] - box[1])
    mask = Image.new("L", (across, down), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, across - 1, down - 1), _FINE * radius, 255)
    image.paste(fill, box, mask.reduce(_FINE))


def _draw_text(image: Image.Image, block: Block, ad: Ad, colors: Palette) -> float:
    """Draw a text. Return its contrast with the colour behind it."""
    ground, color = colors.ground, colors.ink
    left, top, right, _ = block.box
    x, anchor = (right, "rs") if runs_leftwards(ad.words.headline) else (left, "ls")
    if block.name == "cta" or ad.layout == "card":
        x, anchor = (left + right) // 2, "ms"
    if block.name == "cta":
        ground = colors.button()
        color = choose_readable(ground, colors.ground, WHITE, INK)
        _fill_rounded(image, block.box, block.height / 2 / len(block.lines), ground)
    draw, step = ImageDraw.Draw(image), round(block.size * _LEADING)
    top += (block.height - step * len(block.lines)) // 2
    for number, line in enumerate(block.lines):
        at = (x, top + step * (number + _BASELINE))
        draw.text(at, line, color, font(block.family, block.name != "text", block.size), anchor)
    return contrast(color, ground)


def _draw_logo(image: Image.Image, logo: Image.Image, box: Box, ground: Color) -> None:
    """Draw the logo, on a plate if much of it has almost the colour of the background."""
    left, top, right, bottom = box
    if _hidden_share(logo, ground) > 0.3:
        edge = (bottom - top) // 7
        _fill_rounded(image, box, edge, min((WHITE, INK), key=lambda one: _hidden_share(logo, one)))
        box = (left + edge, top + edge, right - edge, bottom - edge)
    _paste(image, logo, box)


def _paste(image: Image.Image, picture: Image.Image, box: Box) -> None:
    """Draw a picture in the middle of a box, as large as the box allows."""
    left, top, right, bottom = box
    shown = ImageOps.contain(picture, (max(1, right - left), max(1, bottom - top)), Image.Resampling.LANCZOS)
    image.paste(shown, ((left + right - shown.width) // 2, (top + bottom - shown.height) // 2), shown)


def _hidden_share(logo: Image.Image, on: Color) -> float:
    """Return the share of a logo's visible pixels that hardly contrast with the background `on`."""
    colors: Any = logo.resize((64, 64), Image.Resampling.NEAREST).getcolors(64 * 64)
    seen = [(count, pixel[:3]) for count, pixel in colors if pixel[3] > 128]
    lost: int = sum(count for count, one in seen if contrast(one, on) < 1.5)
    every: int = sum(count for count, _ in seen)
    return lost / max(1, every)
