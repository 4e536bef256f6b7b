"""`create_images`: ads drawn from a brief, exactly as many as asked for (contract §5). No model, no network."""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
import unicodedata
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from PIL import Image
from pydantic import BaseModel, Field

from agentsvc_nb.service.ports import Outcome, Task
from agentsvc_nb.service.work.tools.static_ad import colors, drawing, scenes, wording

PICTURES_MAX: Final = 20
STAGES: Final = 3
"""Layout, paint, save: what progress counts for each picture."""


class Outputs(BaseModel):
    mode: Literal["count"] = Field(default="count", description="`count`: exactly `count` pictures.")
    count: int = Field(default=1, ge=1, le=PICTURES_MAX, description="How many pictures are made.")


class ImageRequest(BaseModel):
    kind: Literal["static_ad"] = Field(default="static_ad", description="What is drawn.")
    brief: str = Field(
        default="",
        description="What the ad is about. `Headline:`, `Subline:`, `CTA:` and `Brand:` lines are taken as they stand; "
        "colours as names or #rrggbb.",
    )
    outputs: Outputs = Field(default_factory=Outputs)


class CreateImagesInput(BaseModel):
    request: ImageRequest


@dataclass(frozen=True)
class Design:
    """What one picture is made of."""

    path: str
    scene: scenes.Scene
    palette: colors.Palette
    words: wording.Wording
    seed: int


class CreateImages:
    """Draws static ads with Pillow: 1080 x 1080 PNG files, the same for the same brief."""

    name: ClassVar[str] = "create_images"
    description: ClassVar[str] = "Draws static ads from a brief: exactly `outputs.count` PNG files under images/."
    family: ClassVar[str] = "static_ad"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    effect: ClassVar[bool] = False

    Input: ClassVar[type[BaseModel]] = CreateImagesInput
    Output: ClassVar[type[BaseModel] | None] = None

    def available(self) -> bool:
        return True

    async def run(self, given: CreateImagesInput, task: Task) -> Outcome:
        request = given.request
        output = (f"image_set_{_digest(request.brief)[:16]}", "image_set")
        made = []
        missing: dict[str, None] = {}
        designs = await asyncio.to_thread(design, request.brief, request.outputs.count)
        steps = _Steps(task, len(designs))
        for number, one in enumerate(designs):
            await steps.show(number, 0, f"layout: {one.scene.name}")
            background = await asyncio.to_thread(drawing.paint, one.scene, one.palette, one.seed)
            await steps.show(number, 1, "painting")
            picture = await asyncio.to_thread(drawing.draw, one.scene, background, one.palette, one.words)
            await steps.show(number, 2, f"saving {one.path}")
            await task.write(one.path, await asyncio.to_thread(_png, picture.image), output=output)
            missing |= dict.fromkeys(picture.missing)
            made.append(_record(one, picture))
        await steps.show(len(designs), 0, f"{len(designs)} of {len(designs)} pictures")
        return _outcome(made, list(missing))


class _Steps:
    """Progress over all pictures, `STAGES` to each."""

    def __init__(self, task: Task, pictures: int) -> None:
        self.task, self.pictures = task, pictures

    async def show(self, picture: int, stage: int, message: str) -> None:
        said = message if picture == self.pictures else f"picture {picture + 1} of {self.pictures}: {message}"
        await self.task.progress(STAGES * picture + stage, STAGES * self.pictures, said)


def design(brief: str, count: int) -> list[Design]:
    """The designs of `count` pictures; picture n of a brief is the same however many are asked for."""
    digest = _digest(brief)
    seed = int(digest[:8], 16)
    base = colors.palette(brief, seed)
    words = wording.wordings(brief, count)
    slug = f"{_slug(words[0].headline)}-{digest[:6]}"
    return [
        Design(
            f"images/{slug}-{number + 1}.png",
            scenes.SCENES[(seed + number) % len(scenes.SCENES)],
            base.turned(number // 2 + number),
            words[number],
            seed + number,
        )
        for number in range(count)
    ]


def _record(one: Design, picture: drawing.Picture) -> dict[str, Any]:
    return {
        "path": one.path,
        "width": picture.image.width,
        "height": picture.image.height,
        "headline": one.words.headline,
        "palette": one.palette.names(),
        "layout": one.scene.name,
        "contrast": round(min(picture.contrasts, default=21.0), 2),
    }


def _outcome(made: list[dict[str, Any]], missing: list[str]) -> Outcome:
    content: list[dict[str, Any]] = [{"type": "image", "path": one["path"], "media_type": "image/png"} for one in made]
    if missing:
        lacking = f"No font here draws these characters, so they were left out: {' '.join(missing)}"
        content.append({"type": "text", "text": lacking})
    data = {"images": made, "missing_glyphs": missing}
    return Outcome(content=content, data=data, inline=False, uses={"picture": len(made)})


def _png(image: Image.Image) -> bytes:
    held = io.BytesIO()
    image.save(held, "PNG", compress_level=6)
    return held.getvalue()


def _digest(brief: str) -> str:
    return hashlib.sha256(brief.encode("utf-8", "replace")).hexdigest()


def _slug(text: str) -> str:
    """A file name from a headline: ASCII, short; `ad` when nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain)[:5])[:40].strip("-") or "ad"
