"""`create_images`: draws the ads of a brief, exactly as many pictures as asked for."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from PIL import Image

from agentsvc_nb.tools.ads.brief import brief_colors
from agentsvc_nb.tools.ads.colors import PALETTES, Palette
from agentsvc_nb.tools.ads.drawing import DRAWN, Ad, LayoutName, Placed, draw_ad
from agentsvc_nb.tools.ads.models import ImageRequest, ImageSet, MadeImage
from agentsvc_nb.tools.ads.pictures import ImageModel, encode, open_picture
from agentsvc_nb.tools.port import Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support import stopping

_SEEN: Final = 8
"""Alpha from which a pixel is visible."""
_PROMPT: Final = "A picture without any text, as the background of an advertisement. "
_PROMPT_CHARS: Final = 2_000


async def create(request: ImageRequest, model: ImageModel, context: ToolContext) -> Outcome:
    """Draw the pictures of a request. Raises `WorkFailure` before anything is drawn if a text cannot be drawn."""
    placed = {
        name: await place(context, f"request.{name}", path)
        for name in ("product", "logo")
        if (path := getattr(request, name)) is not None
    }
    ads = designs(request)
    painted: dict[str, Image.Image] = {}
    for path, ad in ads.items():
        ads[path] = ad.model_copy(update=placed)
        if request.background == "drawn":
            ads[path] = await asyncio.to_thread(_fitting, ads[path])
            continue
        photo = ads[path].model_copy(update={"layout": "photo"})
        await asyncio.to_thread(photo.blocks)  # nothing is painted for texts that do not fit
        if (shape := ad.frame.shape) not in painted:
            await context.progress(0, None, f"painting a {shape} background")
            painted[shape] = await model.paint(_PROMPT + request.brief[:_PROMPT_CHARS], shape)
        ads[path] = photo.model_copy(update={"picture": painted[shape]})
    return await draw(context, ads, f"image_set_{_key(request)[:16]}")


def designs(request: ImageRequest) -> dict[str, Ad]:
    """Return the ads by the paths of their files. The n-th is the same however many are asked for."""
    key, texts, sizes = _key(request), request.texts(), list(dict.fromkeys(request.sizes))
    seed = int(key[:8], 16)
    codes = request.brand_colors or brief_colors(request.brief)
    stem = f"images/{_slug(texts[0].headline)}-{key[:6]}"
    made = {}
    for number in range(request.outputs.count):
        turn, size = number // len(sizes), sizes[number % len(sizes)]
        palette = Palette.of(codes) if codes else PALETTES[(seed + turn // len(DRAWN)) % len(PALETTES)]
        layout: LayoutName = "product" if request.product else DRAWN[(seed + turn) % len(DRAWN)]
        path = f"{stem}-{turn + 1}.png" if sizes == ["square"] else f"{stem}-{turn + 1}-{size}.png"
        words = texts[turn % len(texts)]
        made[path] = Ad(layout=layout, words=words, palette=palette.codes(), seed=seed + turn, size=size)
    return made


def _fitting(ad: Ad) -> Ad:
    """Return the ad in its layout, or else in the next one that has room for its texts."""
    at = DRAWN.index(ad.layout) if ad.layout in DRAWN else len(DRAWN)
    for layout in (*DRAWN[at:], *DRAWN[:at]) if at < len(DRAWN) else ():
        with contextlib.suppress(WorkFailure):
            (turned := ad.model_copy(update={"layout": layout})).blocks()
            return turned
    return ad  # `draw` refuses it


async def place(context: ToolContext, field: str, path: str) -> Placed:
    """Return a picture of the workspace without its empty edges. Raises `WorkFailure("invalid_tool_input")`."""
    picture, digest = await open_picture(context, field, path)
    seen = picture.getchannel("A").point([255 if alpha > _SEEN else 0 for alpha in range(256)]).getbbox()
    if seen is None:
        raise WorkFailure("invalid_tool_input", f"{field}: {path[:200]!r} is transparent: nothing of it can be seen.")
    return Placed(path=path, sha256=digest, image=picture.crop(seen))


async def draw(
    context: ToolContext, ads: Mapping[str, Ad], set_id: str, edited_from: dict[str, str] | None = None
) -> Outcome:
    """Draw all ads and write them into the workspace, in order, as one typed output.

    Args:
        edited_from: `path` and `sha256` of the picture that an edit was made from.
    """
    for ad in ads.values():
        await asyncio.to_thread(ad.blocks)  # what does not fit is refused before anything is written
    made: list[MadeImage] = []
    for path, ad in ads.items():
        await context.progress(len(made), len(ads), f"drawing {path}")
        image, contrast = await asyncio.to_thread(draw_ad, ad)
        design = None if ad.picture else ad.model_dump_json()
        data = await asyncio.to_thread(encode, image, design, edited_from)
        await stopping.to_its_end(_keep(context, path, data, set_id))
        made.append(
            MadeImage(
                path=path,
                width=image.width,
                height=image.height,
                words=ad.words,
                palette=ad.palette,
                layout=ad.layout,
                contrast=round(contrast, 2),
            )
        )
    await context.progress(len(made), len(made), f"{len(made)} of {len(made)} pictures")
    content: list[dict[str, Any]] = [{"type": "image", "path": path, "media_type": "image/png"} for path in ads]
    return Outcome(content=content, data=ImageSet(images=made).model_dump(), inline=False)


async def _keep(context: ToolContext, path: str, data: bytes, set_id: str) -> None:
    await context.write(path, data, output=(set_id, "image_set"))
    context.charge("picture")


def _key(request: ImageRequest) -> str:
    """Return a hash of all that is drawn: the same request gives the same files."""
    return hashlib.sha256(request.model_dump_json(exclude={"outputs", "sizes"}).encode()).hexdigest()


def _slug(text: str) -> str:
    """Return a file name from a headline: ASCII, short; `ad` when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)[:5])[:40].strip("-") or "ad"
