"""`edit_image`: redraws an ad with other words, colours or sizes; crops any other picture to sizes and sets words on
it."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final, Literal

from PIL import Image
from pydantic import BaseModel, Field, ValidationError

from agentsvc_nb.tools.ads import colors, pictures, scenes
from agentsvc_nb.tools.ads.colors import Palette
from agentsvc_nb.tools.ads.creating import Design, make, placed, sha256
from agentsvc_nb.tools.ads.layout import drawable
from agentsvc_nb.tools.ads.models import BrandColor, ImageEdit
from agentsvc_nb.tools.ads.pictures import Fit, ImageModel, Placed, on_white, read_picture
from agentsvc_nb.tools.ads.scenes import photo_scene
from agentsvc_nb.tools.ads.shapes import Frame, frame, whole
from agentsvc_nb.tools.ads.wording import Wording
from agentsvc_nb.tools.port import Outcome, ToolContext, WorkFailure

_SIDES: Final = (320, 2160)
"""Least pixels of the shorter side, and most of the longer."""
_RATIO_MAX: Final = 3.0
_ANY: Final = Frame(1, 1, (0, 0, 1, 1))
"""Stands for the frame that is set later."""


class _KeptWords(BaseModel):
    headline: str = Field(max_length=500)
    subline: str = Field(default="", max_length=500)
    action: str = Field(default="", max_length=200)
    brand: str = Field(default="", max_length=200)


class _KeptPicture(BaseModel):
    path: str = Field(max_length=1_000)
    sha256: str = Field(max_length=64)
    fit: Fit | None = None


class _Kept(BaseModel):
    """The design in a picture's file. It is untrusted: any program may have written it."""

    scene: Literal["sunrise", "split", "card", "slope", "rings", "tiles", "stage", "band"]
    palette: list[BrandColor] = Field(min_length=4, max_length=4)
    words: _KeptWords
    seed: int = Field(ge=0, lt=2**63)
    language: str = Field(default="", max_length=10)
    brand_colors: bool = False
    ink: BrandColor | None = None
    product: _KeptPicture | None = None
    logo: _KeptPicture | None = None


async def change(edit: ImageEdit, model: ImageModel, context: ToolContext) -> Outcome:
    """Make the edited pictures. Raises `WorkFailure`; `missing_glyphs` before anything is painted."""
    picture, before = await _opened(context, edit.path)
    kept = None if edit.instruction else _kept(picture)
    words = drawable(_words(edit, Wording(**kept.words.model_dump()) if kept else Wording("", action="")))
    if edit.instruction:
        picture = await model.change(picture, edit.instruction)
    start = await _again(kept, edit, words, context) if kept else _over(picture, edit, words)
    start = replace(start, edited_from=before)
    mark = hashlib.sha256(picture.tobytes() + edit.model_dump_json().encode()).hexdigest()
    designs = [replace(start, path=path, frame=size) for path, size in _targets(edit, _framed(picture, kept), mark[:6])]
    return await make(context, designs, f"image_set_{mark[:16]}")


async def _opened(context: ToolContext, path: str) -> tuple[Image.Image, dict[str, str]]:
    """The picture, and its path and SHA-256 for the files made from it."""
    try:
        async with context.workspace.open(path) as file:
            picture = on_white(await read_picture(file, f"request.path: {path[:200]!r}"))
            return picture, {"path": path, "sha256": await asyncio.to_thread(sha256, file)}
    except FileNotFoundError:
        raise WorkFailure("invalid_tool_input", f"request.path: the chat has no file {path[:200]!r}.") from None


def _kept(picture: Image.Image) -> _Kept | None:
    try:
        return _Kept.model_validate(pictures.design(picture))
    except ValidationError:
        return None


async def _again(kept: _Kept, edit: ImageEdit, words: Wording, context: ToolContext) -> Design:
    """The stored design with the changes of the edit; path and frame are set later."""
    product, logo = await _still_there(context, kept.product), await _still_there(context, kept.logo)
    ink = colors.color(kept.ink) if kept.ink else None
    ground, deep, accent, second = map(colors.color, kept.palette)
    palette = Palette(ground, deep, accent, second, ink, kept.brand_colors)
    scene = scenes.named(kept.scene)
    return Design("", scene, _ANY, _palette(edit, palette), words, kept.seed, product, logo, kept.language)


async def _still_there(context: ToolContext, kept: _KeptPicture | None) -> Placed | None:
    """The picture that the design places. Raises `WorkFailure` when it has gone or changed."""
    found = await placed(context, "The picture's product or logo", kept.path, kept.fit) if kept else None
    if found and kept and found.sha256 != kept.sha256:
        said = f"{kept.path[:200]!r}, which stands on the picture, has changed: make the picture anew."
        raise WorkFailure("invalid_tool_input", said)
    return found


def _over(picture: Image.Image, edit: ImageEdit, words: Wording) -> Design:
    said = any((words.headline, words.subline, words.action, words.brand))
    return Design("", photo_scene(picture, said), _ANY, _palette(edit, colors.PALETTES[6]), words, 0)


def _words(edit: ImageEdit, before: Wording) -> Wording:
    given = {"headline": edit.headline, "subline": edit.subline, "action": edit.cta, "brand": edit.brand}
    changed: dict[str, Any] = {name: " ".join(text.split())[:500] for name, text in given.items() if text is not None}
    return replace(before, **changed)


def _palette(edit: ImageEdit, before: Palette) -> Palette:
    return colors.brand(edit.brand_colors) if edit.brand_colors else before


def _framed(picture: Image.Image, kept: _Kept | None) -> Frame:
    """The picture's own size, scaled into the limits of what can be drawn."""
    if kept and max(picture.size) <= _SIDES[1] and min(picture.size) >= _SIDES[0]:
        return whole(*picture.size)
    low, high = sorted(picture.size)
    scale = min(_SIDES[1] / high, max(1.0, _SIDES[0] / low))
    sides = [max(round(side * scale), _SIDES[0], round(high * scale / _RATIO_MAX)) for side in picture.size]
    return whole(*sides)


def _targets(edit: ImageEdit, own: Frame, mark: str) -> list[tuple[str, Frame]]:
    stem = f"images/{PurePosixPath(edit.path).stem[:80]}-edit-{mark}"
    if not edit.sizes:
        return [(f"{stem}.png", own)]
    return [(f"{stem}-{size}.png", frame(size)) for size in dict.fromkeys(edit.sizes)]
