"""A series of pictures: drawn two at a time, written into the workspace in their order."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from agentsvc_nb.service.ports.tools import Outcome, Task
from agentsvc_nb.service.work.tools.static_ad import drawing, png
from agentsvc_nb.service.work.tools.static_ad.colors import Palette
from agentsvc_nb.service.work.tools.static_ad.frames import Frame
from agentsvc_nb.service.work.tools.static_ad.layout import layout
from agentsvc_nb.service.work.tools.static_ad.scenes import Scene
from agentsvc_nb.service.work.tools.static_ad.wording import Wording
from agentsvc_nb.wire.toolset.images import ImageSet, MadeImage

AT_ONCE: Final = 2
"""Pictures in work at a time: more would hold more memory, and no machine draws them faster."""
STAGES: Final = 3
"""Layout, paint, save: what progress counts for each picture."""


@dataclass(frozen=True)
class Design:
    """What one picture is made of."""

    path: str
    scene: Scene
    frame: Frame
    palette: Palette
    words: Wording
    seed: int
    edited_from: dict[str, str] | None = None
    """`path` and `sha256` of the picture before."""

    def kept(self) -> dict[str, Any]:
        """What a picture carries in its file, to be drawn again."""
        return {
            "scene": self.scene.name,
            "palette": self.palette.names(),
            "words": asdict(self.words),
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Made:
    """A picture as a file, and what there is to say about it."""

    data: bytes
    record: MadeImage


def produce(design: Design) -> Made:
    """Draw one picture."""
    words = layout(design.scene, design.frame, design.words)
    background = design.scene.paint(design.frame, design.palette, random.Random(design.seed))
    picture = drawing.draw(background, design.palette, words)
    record = MadeImage(
        path=design.path,
        width=design.frame.width,
        height=design.frame.height,
        headline=design.words.headline,
        palette=design.palette.names(),
        layout=design.scene.name,
        contrast=round(min(picture.contrasts, default=21.0), 2),
    )
    kept = None if design.scene.name == "photo" else design.kept()
    return Made(png.encode(picture.image, kept, design.edited_from), record)


async def make(task: Task, designs: list[Design], set_id: str) -> Outcome:
    """Draw and write all of them."""
    made: list[MadeImage] = []
    total = STAGES * len(designs)
    waiting = iter(designs)
    drawn = deque(map(_begin, islice(waiting, AT_ONCE)))
    for number, design in enumerate(designs):
        said = f"picture {number + 1} of {len(designs)}"
        await task.progress(STAGES * number, total, f"{said}: layout {design.scene.name}")
        await task.progress(STAGES * number + 1, total, f"{said}: painting")
        one = await drawn.popleft()
        drawn.extend(map(_begin, islice(waiting, 1)))
        await task.progress(STAGES * number + 2, total, f"{said}: saving {design.path}")
        await task.write(design.path, one.data, output=(set_id, "image_set"))
        made.append(one.record)
    await task.progress(total, total, f"{len(made)} of {len(made)} pictures")
    return _outcome(made)


def _begin(design: Design) -> asyncio.Task[Made]:
    return asyncio.create_task(asyncio.to_thread(produce, design))


def _outcome(made: list[MadeImage]) -> Outcome:
    content: list[dict[str, Any]] = [{"type": "image", "path": one.path, "media_type": "image/png"} for one in made]
    data = ImageSet(images=made).model_dump()
    return Outcome(content=content, data=data, inline=False, uses={"picture": len(made)})
