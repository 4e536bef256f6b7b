"""Create and edit ads for `create_images` and `edit_image`: read pictures of the workspace, draw, write PNG files."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
import re
import tempfile
import unicodedata
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from pydantic import Base64Bytes, BaseModel, Field, ValidationError

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.ads.colors import PALETTES, Palette
from agentsvc_nb.tools.ads.drawing import DRAWN, Ad, Design, LayoutName, PictureName, draw_ad
from agentsvc_nb.tools.ads.models import (
    DESIGN,
    EDITED_FROM,
    AdSize,
    ImageEdit,
    ImageRequest,
    ImageSet,
    MadeImage,
    Shape,
)
from agentsvc_nb.tools.port import Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support import stopping
from agentsvc_nb.tools.support.fetching import Fetcher
from agentsvc_nb.tools.support.untrusted import decode_picture
from agentsvc_nb.tools.support.upstream import Upstream

_SIDE: Final = 2_160
"""The maximum side of a picture. Larger pictures are reduced when they are read."""
_SIDE_MIN: Final = 320
_RATIO_MAX: Final = 3.0
_VISIBLE: Final = 8
"""The alpha value above which pixels count as visible."""
_SHOWN: Final = {"words", "palette", "layout"}
_PROMPT: Final = "A picture without any text, as the background of an advertisement. "
_PROMPT_CHARS: Final = 2_000
_MODEL_SECONDS: Final = 180.0


async def create(request: ImageRequest, settings: Settings, context: ToolContext) -> Outcome:
    """Draw the ads of a request. Raise `WorkFailure` before anything is drawn if a text cannot be drawn."""
    placed = await _open_placed(context, {"product": request.product, "logo": request.logo})
    ads = {path: ad.model_copy(update={"pictures": placed}) for path, ad in designs(request).items()}
    painted: dict[Shape, Image.Image] = {}
    for path, ad in ads.items():
        if request.background == "drawn":
            ads[path] = await asyncio.to_thread(_fit_layout, ad)
            continue
        photo, shape = ad.model_copy(update={"layout": "photo"}), ad.frame.shape
        await asyncio.to_thread(photo.blocks)  # raises an error if texts do not fit, before the image model is called
        if shape not in painted:
            await context.progress(0, None, f"painting a {shape} background")
            painted[shape] = await _paint(settings, _PROMPT + request.brief[:_PROMPT_CHARS], shape)
        ads[path] = photo.model_copy(update={"pictures": {**placed, "background": painted[shape]}})
    return await _draw(context, ads, f"image_set_{_key(request)[:16]}")


def designs(request: ImageRequest) -> dict[str, Ad]:
    """Return the requested ads by the paths of their files. The n-th ad is the same however many are requested."""
    key, texts, sizes = _key(request), request.texts(), list(dict.fromkeys(request.sizes))
    seed, codes = int(key[:8], 16), request.colors()
    plain = unicodedata.normalize("NFKD", texts[0].headline).encode("ascii", "ignore").decode().lower()
    stem = "-".join(re.findall(r"[a-z0-9]+", plain)[:5])[:40].strip("-") or "ad"
    made = {}
    for number in range(request.outputs.count):
        turn, size = number // len(sizes), sizes[number % len(sizes)]
        palette = Palette.from_codes(codes) if codes else PALETTES[(seed + turn // len(DRAWN)) % len(PALETTES)]
        layout: LayoutName = "product" if request.product else DRAWN[(seed + turn) % len(DRAWN)]
        suffix = "" if sizes == ["square"] else f"-{size}"
        made[f"images/{stem}-{key[:6]}-{turn + 1}{suffix}.png"] = Ad(
            layout=layout,
            words=texts[turn % len(texts)],
            palette=palette.codes(),
            seed=seed + turn,
            product=request.product,
            logo=request.logo,
            size=size,
        )
    return made


def _key(request: ImageRequest) -> str:
    """Return a hash of the inputs that decide how ads look. File names and random choices derive from it.

    So the same request always gives the same files. The number and the sizes of the ads do not change the hash.
    """
    return hashlib.sha256(request.model_dump_json(exclude={"outputs", "sizes"}).encode()).hexdigest()


def _fit_layout(ad: Ad) -> Ad:
    """Return the ad in its own layout, or in the first other layout in which its texts fit."""
    for layout in (ad.layout, *DRAWN) if ad.layout in DRAWN else ():
        with contextlib.suppress(WorkFailure):
            (turned := ad.model_copy(update={"layout": layout})).blocks()
            return turned
    return ad  # they fit in no layout, so `_draw` raises an error


async def edit(request: ImageEdit, settings: Settings, context: ToolContext) -> Outcome:
    """Edit a picture. Draw an ad of ours again with other texts, colours or sizes. Crop any other picture and put texts
    on it.

    Raises `WorkFailure` before anything is drawn if a text cannot be drawn.
    """
    opened, digest = await _open_picture(context, "request.path", request.path)
    source = _flatten(opened)
    if request.instruction:
        source = await _repaint(settings, source, request.instruction)
    photo = Ad(layout="photo", palette=PALETTES[0].codes(), own_size=_own_size(source))
    ad = (None if request.instruction else _read_design(source)) or photo
    pictures = await _open_placed(context, {"product": ad.product, "logo": ad.logo})
    if ad is photo:
        pictures["background"] = source
    words = ad.words.model_copy(update=request.given_texts())
    palette = Palette.from_codes(request.brand_colors).codes() if request.brand_colors else ad.palette
    ad = ad.model_copy(update={"words": words, "palette": palette, "pictures": pictures})
    mark = hashlib.sha256(source.tobytes() + request.model_dump_json().encode()).hexdigest()
    stem = f"images/{PurePosixPath(request.path).stem[:80]}-edit-{mark[:6]}"
    sizes = [{"size": size, "own_size": None} for size in dict.fromkeys(request.sizes)]
    ads = {f"{stem}-{one['size']}.png": ad.model_copy(update=one) for one in sizes} or {f"{stem}.png": ad}
    return await _draw(context, ads, f"image_set_{mark[:16]}", {"path": request.path, "sha256": digest})


def _read_design(picture: Image.Image) -> Ad | None:
    """Return the ad whose design is stored in the picture. Return None if there is none or its layout is `photo`."""
    try:
        design = Design.model_validate_json(picture.info.get(DESIGN, ""))
    except ValidationError:
        return None
    return None if design.layout == "photo" else Ad(**dict(design))


def _own_size(picture: Image.Image) -> AdSize:
    """Return the size of an edited picture: the picture's own size, scaled to the limits, with margins of 5 %."""
    low, high = sorted(picture.size)
    scale = min(_SIDE / high, max(1.0, _SIDE_MIN / low))
    wide, tall = (max(round(side * scale), _SIDE_MIN, round(high * scale / _RATIO_MAX)) for side in picture.size)
    edge = round(0.05 * min(wide, tall))
    return AdSize(wide, tall, edge, edge, edge, edge)


async def _draw(
    context: ToolContext, ads: Mapping[str, Ad], set_id: str, edited_from: dict[str, str] | None = None
) -> Outcome:
    """Draw all ads in order, and write them into the workspace as one typed output (a group of files).

    Args:
        edited_from: for an edit, the `path` and `sha256` of the original picture.
    """
    for ad in ads.values():
        await asyncio.to_thread(ad.blocks)  # raises an error if texts do not fit, before anything is written
    made: list[MadeImage] = []
    for path, ad in ads.items():
        await context.progress(len(made), len(ads), f"drawing {path}")
        image, contrast = await asyncio.to_thread(draw_ad, ad)
        design = None if ad.layout == "photo" else ad.model_dump_json()
        data = await asyncio.to_thread(encode, image, design, edited_from)
        await stopping.run_to_end(_store(context, path, data, set_id))
        size = {"width": image.width, "height": image.height}
        made.append(MadeImage(path=path, **size, contrast=round(contrast, 2), **ad.model_dump(include=_SHOWN)))
    await context.progress(len(made), len(made), f"{len(made)} of {len(made)} pictures")
    content: list[dict[str, Any]] = [{"type": "image", "path": path, "media_type": "image/png"} for path in ads]
    return Outcome(content=content, data=ImageSet(images=made).model_dump(), inline=False)


async def _store(context: ToolContext, path: str, data: bytes, set_id: str) -> None:
    await context.write(path, data, output=(set_id, "image_set"))
    context.charge("picture")


# ---- files of pictures -----------------------------------------------------------------------------------------------


def encode(image: Image.Image, design: str | None = None, edited_from: dict[str, str] | None = None) -> bytes:
    """Return the picture as a PNG file.

    Its text chunks contain the design and, for an edit, the path and hash of the original picture.
    """
    info, file = PngInfo(), io.BytesIO()
    for name, text in ((DESIGN, design), (EDITED_FROM, json.dumps(edited_from) if edited_from else None)):
        if text is not None:
            info.add_itxt(name, text)
    image.save(file, "PNG", pnginfo=info, compress_level=3)
    return file.getvalue()


async def _open_placed(context: ToolContext, paths: Mapping[PictureName, str | None]) -> dict[PictureName, Image.Image]:
    """Return the pictures in these files of the workspace, by name, without transparent edges.

    Raises `WorkFailure`: `invalid_tool_input` if a picture cannot be read or is fully transparent, `too_much_work` if
    reading takes too long or too much memory.
    """
    found = {}
    for name, path in paths.items():
        if path is not None:
            picture, _ = await _open_picture(context, f"request.{name}", path)
            seen = picture.getchannel("A").point([255 if alpha > _VISIBLE else 0 for alpha in range(256)]).getbbox()
            if seen is None:
                said = f"request.{name}: {path[:200]!r} is fully transparent. Nothing was drawn."
                raise WorkFailure("invalid_tool_input", said)
            found[name] = picture.crop(seen)
    return found


async def _open_picture(context: ToolContext, field: str, path: str) -> tuple[Image.Image, str]:
    """Return the picture in a file of the workspace as RGBA, and the SHA-256 of the file.

    Raises `WorkFailure` with a message that begins with `field`: `invalid_tool_input` if no such file exists or it
    cannot be read, `too_much_work` if reading takes too long or too much memory.
    """
    try:
        async with context.workspace.open(path) as file:
            picture = (await decode_picture(file, f"{field}: {path[:200]!r}", _SIDE)).image
            return picture, hashlib.sha256(await asyncio.to_thread(file.read_bytes)).hexdigest()
    except FileNotFoundError:
        raise WorkFailure("invalid_tool_input", f"{field}: the chat has no file {path[:200]!r}.") from None


def _flatten(picture: Image.Image) -> Image.Image:
    """Return the picture on white, without transparency. Keep its `info`."""
    ground = Image.new("RGB", picture.size, "white")
    ground.paste(picture, (0, 0), picture)
    ground.info = picture.info
    return ground


# ---- the image model: OpenAI-compatible routes -----------------------------------------------------------------------


async def _paint(settings: Settings, prompt: str, shape: Shape) -> Image.Image:
    """Return a picture that the image model painted for a prompt, in about this shape."""
    size = {"tall": "1024x1536", "square": "1024x1024", "wide": "1536x1024"}[shape]
    return await _ask_model(settings, "generations", json={**_model(settings), "prompt": prompt, "n": 1, "size": size})


async def _repaint(settings: Settings, picture: Image.Image, instruction: str) -> Image.Image:
    """Return the picture as changed by the image model according to the instruction."""
    files = {"image": ("picture.png", await asyncio.to_thread(encode, picture), "image/png")}
    return await _ask_model(settings, "edits", data={**_model(settings), "prompt": instruction, "n": "1"}, files=files)


def _model(settings: Settings) -> dict[str, str]:
    return {"model": settings.image_model} if settings.image_model else {}


class _Picture(BaseModel):
    b64_json: Base64Bytes | None = None
    url: str | None = None


class _ImagesResponse(BaseModel):
    data: list[_Picture] = Field(min_length=1)


async def _ask_model(settings: Settings, route: str, **parts: Any) -> Image.Image:
    """Send a request to the image model and return its picture. Raises `WorkFailure`."""
    if settings.image_url is None:
        said = f"No image model is configured. Set {variable('image_url')} to an OpenAI-compatible address."
        raise WorkFailure("not_configured", said)
    headers = {"Authorization": f"Bearer {settings.image_key}"} if settings.image_key else {}
    model = Upstream("The image model", settings.image_url, headers, _MODEL_SECONDS)
    (made,) = (await model.ask(_ImagesResponse, "POST", f"/images/{route}", **parts)).data[:1]
    data = made.b64_json or (await Fetcher(settings.fetch_allow).get(made.url or "")).body
    with tempfile.NamedTemporaryFile(prefix="agentsvc-picture-") as held:
        await asyncio.to_thread(held.write, data)
        held.flush()
        return _flatten((await decode_picture(Path(held.name), "The image model's answer", _SIDE)).image)
