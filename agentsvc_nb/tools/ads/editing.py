"""`edit_image`: draws an ad again with other texts, colours or sizes; crops any other picture and sets texts on it."""

from __future__ import annotations

import hashlib
from pathlib import PurePosixPath
from typing import Final

from PIL import Image
from pydantic import ValidationError

from agentsvc_nb.tools.ads.brief import one_line
from agentsvc_nb.tools.ads.colors import PALETTES, Palette
from agentsvc_nb.tools.ads.creating import draw, place
from agentsvc_nb.tools.ads.drawing import Ad, Placed
from agentsvc_nb.tools.ads.models import DESIGN, ImageEdit, Size
from agentsvc_nb.tools.ads.pictures import ImageModel, on_white, open_picture
from agentsvc_nb.tools.port import Outcome, ToolContext, WorkFailure

_SIDES: Final = (320, 2160)
"""Least pixels of the shorter side, and most of the longer."""
_RATIO_MAX: Final = 3.0


async def change(edit: ImageEdit, model: ImageModel, context: ToolContext) -> Outcome:
    """Draw the edited pictures. Raises `WorkFailure` before anything is drawn if a text cannot be drawn."""
    opened, digest = await open_picture(context, "request.path", edit.path)
    source = on_white(opened)
    ad = None if edit.instruction else _stored(source)
    if edit.instruction:
        source = await model.change(source, edit.instruction)
    if ad is None:
        ad = Ad(layout="photo", palette=PALETTES[0].codes(), picture=source, own_size=_own_size(source))
    placed = {"product": await _still_there(context, ad.product), "logo": await _still_there(context, ad.logo)}
    words = ad.words.model_copy(update={label: one_line(text) for label, text in edit.given_texts().items()})
    palette = Palette.of(edit.brand_colors).codes() if edit.brand_colors else ad.palette
    ad = ad.model_copy(update={**placed, "words": words, "palette": palette})
    mark = hashlib.sha256(source.tobytes() + edit.model_dump_json().encode()).hexdigest()
    stem = f"images/{PurePosixPath(edit.path).stem[:80]}-edit-{mark[:6]}"
    sizes = [{"size": size, "own_size": None} for size in dict.fromkeys(edit.sizes)]
    ads = {f"{stem}-{one['size']}.png": ad.model_copy(update=one) for one in sizes} or {f"{stem}.png": ad}
    return await draw(context, ads, f"image_set_{mark[:16]}", {"path": edit.path, "sha256": digest})


def _stored(picture: Image.Image) -> Ad | None:
    """Return the ad that is stored in a picture of ours. It has no files of a photo."""
    try:
        ad = Ad.model_validate_json(picture.info.get(DESIGN, ""))
    except ValidationError:
        return None
    return None if ad.layout == "photo" else ad


async def _still_there(context: ToolContext, placed: Placed | None) -> Placed | None:
    """Return the product or logo of an ad with its picture. Raises `WorkFailure` when its file has gone or changed."""
    if placed is None:
        return None
    found = await place(context, "The picture's product or logo", placed.path)
    if found.sha256 != placed.sha256:
        said = f"{placed.path[:200]!r}, which is on the picture, has changed: draw the picture again."
        raise WorkFailure("invalid_tool_input", said)
    return found


def _own_size(picture: Image.Image) -> Size:
    """Return the picture's own size, scaled into the limits of what can be drawn, with a narrow edge."""
    low, high = sorted(picture.size)
    scale = min(_SIDES[1] / high, max(1.0, _SIDES[0] / low))
    wide, tall = (max(round(side * scale), _SIDES[0], round(high * scale / _RATIO_MAX)) for side in picture.size)
    edge = round(0.05 * min(wide, tall))
    return Size(wide, tall, edge, edge, edge, edge)
