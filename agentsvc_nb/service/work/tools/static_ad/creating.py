"""A brief becomes designs, and these a series of pictures: exactly as many as asked for."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import replace
from typing import Final

from agentsvc_nb.service.ports.tools import Outcome, Task
from agentsvc_nb.service.work.tools.static_ad import colors, scenes, wording
from agentsvc_nb.service.work.tools.static_ad.frames import Shape, frame
from agentsvc_nb.service.work.tools.static_ad.image_model import ImageModel
from agentsvc_nb.service.work.tools.static_ad.layout import drawable
from agentsvc_nb.service.work.tools.static_ad.photos import photo_scene
from agentsvc_nb.service.work.tools.static_ad.scenes import Scene
from agentsvc_nb.service.work.tools.static_ad.series import Design, make
from agentsvc_nb.wire.toolset.images import ImageRequest

PROMPT: Final = "A picture without any text, as the background of an advertisement. "
PROMPT_CHARS: Final = 2_000


async def create(request: ImageRequest, model: ImageModel, task: Task) -> Outcome:
    """Draw what is asked for. Raises `AgentFailure("missing_glyphs")` before anything is painted."""
    made = [replace(design, words=drawable(design.words)) for design in designs(request)]
    if request.background == "model":
        made = await _painted(made, request.brief, model, task)
    return await make(task, made, f"image_set_{digest(request.brief)[:16]}")


async def _painted(made: list[Design], brief: str, model: ImageModel, task: Task) -> list[Design]:
    """The designs on backgrounds by the image model: one for each shape of frame."""
    scene_of: dict[Shape, Scene] = {}
    for design in made:
        if design.frame.shape not in scene_of:
            await task.progress(0, None, f"painting a {design.frame.shape} background")
            picture = await model.paint(f"{PROMPT}{brief[:PROMPT_CHARS]}", design.frame)
            scene_of[design.frame.shape] = photo_scene(picture, with_words=True)
    return [replace(design, scene=scene_of[design.frame.shape]) for design in made]


def designs(request: ImageRequest) -> list[Design]:
    """The designs of the pictures; picture n of a brief is the same however many are asked for."""
    key = digest(request.brief)
    seed, sizes = int(key[:8], 16), list(dict.fromkeys(request.sizes))
    base = colors.palette(" ".join(request.brand_colors) or request.brief, seed)
    words = wording.wordings(request.brief, -(-request.outputs.count // len(sizes)))
    stem = f"images/{slug(words[0].headline)}-{key[:6]}"
    made = []
    for number in range(request.outputs.count):
        turn, size = number // len(sizes), sizes[number % len(sizes)]
        scene = scenes.SCENES[(seed + turn) % len(scenes.SCENES)]
        palette = base.turned(turn // 2 + turn)
        path = f"{stem}-{turn + 1}.png" if sizes == ["square"] else f"{stem}-{turn + 1}-{size}.png"
        made.append(Design(path, scene, frame(size), palette, words[turn], seed + turn))
    return made


def digest(brief: str) -> str:
    return hashlib.sha256(brief.encode("utf-8", "replace")).hexdigest()


def slug(text: str) -> str:
    """A file name from a headline: ASCII, short; `ad` when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)[:5])[:40].strip("-") or "ad"
