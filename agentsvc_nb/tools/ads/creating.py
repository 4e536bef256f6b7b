"""`create_images`: makes designs from a brief, and from these exactly as many pictures as asked for."""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import unicodedata
from collections import deque
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.tools.ads import colors, layout, pictures, scenes, wording
from agentsvc_nb.tools.ads.colors import Palette
from agentsvc_nb.tools.ads.layout import drawable
from agentsvc_nb.tools.ads.models import ImageRequest, ImageSet, MadeImage
from agentsvc_nb.tools.ads.pictures import (
    FITS,
    Fit,
    ImageModel,
    Placed,
    has_transparency,
    place_product,
    read_picture,
    trimmed,
)
from agentsvc_nb.tools.ads.scenes import Scene, photo_scene
from agentsvc_nb.tools.ads.shapes import Frame, Shape, frame
from agentsvc_nb.tools.ads.wording import Wording
from agentsvc_nb.tools.port import Outcome, ToolContext, WorkFailure
from agentsvc_nb.tools.support import stopping

AT_ONCE: Final = 2
"""Pictures drawn at the same time: more would take more memory, and be no faster."""
STAGES: Final = 3
"""Steps of progress for each picture: layout, paint, save."""


@dataclass(frozen=True)
class Design:
    """Everything that one picture is drawn from."""

    path: str
    scene: Scene
    frame: Frame
    palette: Palette
    words: Wording
    seed: int
    product: Placed | None = None
    logo: Placed | None = None
    language: str = ""
    """The code of the language of its words; empty when it is not known."""
    edited_from: dict[str, str] | None = None
    """`path` and `sha256` of the picture that an edit was made from."""

    def kept(self) -> dict[str, Any]:
        """The design as it is stored in the picture's file, for `edit_image` to draw it again."""
        return {
            "scene": self.scene.name,
            "palette": self.palette.names(),
            "words": asdict(self.words),
            "seed": self.seed,
            "language": self.language,
            "brand_colors": self.palette.given,
            "ink": colors.code(self.palette.ink) if self.palette.ink else None,
            "product": self.product.named() if self.product else None,
            "logo": self.logo.named() if self.logo else None,
        }


@dataclass(frozen=True)
class Made:
    """A picture's PNG file, and its entry in the tool's answer."""

    data: bytes
    record: MadeImage


def produce(design: Design) -> Made:
    """Draw one picture. Takes processor time, so call it in a thread."""
    stopping.check()
    logo = design.logo.picture if design.logo else None
    words = layout.lay_out(design.scene, design.frame, design.words, design.language, logo)
    stopping.check()
    background = design.scene.paint(design.frame, design.palette, random.Random(design.seed))
    stopping.check()
    stand = None
    if design.product and design.scene.stands:
        stand = place_product(background, design.product, design.scene.stand(design.frame), design.frame)
    picture = layout.draw(background, design.palette, words, logo)
    record = MadeImage(
        path=design.path,
        width=design.frame.width,
        height=design.frame.height,
        headline=design.words.headline,
        palette=design.palette.names(),
        layout=design.scene.name,
        contrast=round(min(picture.contrasts, default=21.0), 2),
        cut=list(words.cut),
        product=list(stand) if stand else None,
        logo=list(words.logo) if words.logo else None,
    )
    kept = None if design.scene.name == "photo" else design.kept()
    return Made(pictures.encode(picture.image, kept, design.edited_from), record)


async def make(context: ToolContext, designs: list[Design], set_id: str) -> Outcome:
    """Draw all designs and write them into the workspace, in order, as one typed output."""
    waiting = iter(designs)
    drawn = deque(map(_begin, islice(waiting, AT_ONCE)))
    made: list[MadeImage] = []
    total = STAGES * len(designs)
    try:
        for number, design in enumerate(designs):
            said = f"picture {number + 1} of {len(designs)}"
            await context.progress(STAGES * number, total, f"{said}: layout {design.scene.name}")
            await context.progress(STAGES * number + 1, total, f"{said}: painting")
            one = await drawn[0]
            drawn.popleft()
            drawn.extend(map(_begin, islice(waiting, 1)))
            await context.progress(STAGES * number + 2, total, f"{said}: saving {design.path}")
            await stopping.to_its_end(_keep(context, one, set_id))
            made.append(one.record)
    finally:
        for left in drawn:  # after a cancel or a failure
            left.cancel()
    await context.progress(total, total, f"{len(made)} of {len(made)} pictures")
    return _outcome(made)


async def _keep(context: ToolContext, one: Made, set_id: str) -> None:
    await context.write(one.record.path, one.data, output=(set_id, "image_set"))
    context.charge("picture")


def _begin(design: Design) -> asyncio.Task[Made]:
    return asyncio.create_task(asyncio.to_thread(produce, design))


def _outcome(made: list[MadeImage]) -> Outcome:
    content: list[dict[str, Any]] = [{"type": "image", "path": one.path, "media_type": "image/png"} for one in made]
    content += [{"type": "text", "text": _told(one)} for one in made if one.cut]
    data = ImageSet(images=made).model_dump()
    return Outcome(content=content, data=data, inline=False)


def _told(one: MadeImage) -> str:
    return f"{one.path} does not show all of its {' and '.join(one.cut)}: the text is too long, shorten it."


PROMPT: Final = "A picture without any text, as the background of an advertisement. "
PROMPT_CHARS: Final = 2_000


async def create(request: ImageRequest, model: ImageModel, context: ToolContext) -> Outcome:
    """Make the pictures of a request. Raises `WorkFailure`; `missing_glyphs` before anything is painted."""
    made = [replace(design, words=drawable(design.words)) for design in designs(request)]
    product = await placed(context, "request.product", request.product, FITS[request.product_fit])
    logo = await placed(context, "request.logo", request.logo)
    made = [replace(design, product=product, logo=logo) for design in made]
    if request.background == "model":
        made = await _painted(made, request.brief, model, context)
    return await make(context, made, f"image_set_{_key(request)[:16]}")


async def placed(context: ToolContext, field: str, path: str | None, fit: Fit | None = None) -> Placed | None:
    """A picture of the workspace that is to be placed; None without a `path`. `field` is named by what it raises,
    `WorkFailure("invalid_tool_input")`."""
    if path is None:
        return None
    try:
        async with context.workspace.open(path) as file:
            whole, digest = await read_picture(file, f"{field}: {path[:200]!r}"), await asyncio.to_thread(sha256, file)
    except FileNotFoundError:
        raise WorkFailure("invalid_tool_input", f"{field}: the chat has no file {path[:200]!r}.") from None
    picture = trimmed(whole)
    if picture is None:
        raise WorkFailure("invalid_tool_input", f"{field}: nothing can be seen of {path[:200]!r}: it is transparent.")
    return Placed(path, digest, picture, has_transparency(whole), fit)


async def _painted(made: list[Design], brief: str, model: ImageModel, context: ToolContext) -> list[Design]:
    """The designs on backgrounds from the image model, which paints one for each shape of frame."""
    scene_of: dict[Shape, Scene] = {}
    for design in made:
        if design.frame.shape not in scene_of:
            await context.progress(0, None, f"painting a {design.frame.shape} background")
            picture = await model.paint(f"{PROMPT}{brief[:PROMPT_CHARS]}", design.frame)
            scene_of[design.frame.shape] = photo_scene(picture, True, design.product is not None)
    return [replace(design, scene=scene_of[design.frame.shape]) for design in made]


def designs(request: ImageRequest) -> list[Design]:
    """The designs of the pictures; picture n of a brief is the same however many pictures are asked for."""
    key = _key(request)
    seed, sizes = int(key[:8], 16), list(dict.fromkeys(request.sizes))
    base = colors.brand(request.brand_colors) if request.brand_colors else colors.palette(request.brief, seed)
    words = wording.wordings(request.brief, -(-request.outputs.count // len(sizes)))
    stem = f"images/{slug(words[0].headline)}-{key[:6]}"
    spoken = wording.language(request.brief)
    drawn = scenes.PRODUCT_SCENES if request.product else scenes.SCENES
    made = []
    for number in range(request.outputs.count):
        turn, size = number // len(sizes), sizes[number % len(sizes)]
        scene = drawn[(seed + turn) % len(drawn)]
        palette = base.turned(turn // 2 + turn)
        path = f"{stem}-{turn + 1}.png" if sizes == ["square"] else f"{stem}-{turn + 1}-{size}.png"
        made.append(
            Design(path, scene, frame(size), palette, words[turn], seed + turn, language=spoken.code if spoken else "")
        )
    return made


def _key(request: ImageRequest) -> str:
    """Stands for the brief, and for the pictures placed: the same request gives the same files."""
    return digest("\0".join(filter(None, (request.brief, request.product, request.logo))))


def digest(brief: str) -> str:
    return hashlib.sha256(brief.encode("utf-8", "replace")).hexdigest()


def sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def slug(text: str) -> str:
    """A file name from a headline: ASCII, short; `ad` when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)[:5])[:40].strip("-") or "ad"
