"""`create_images` and `edit_image`: static ads."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from agentsvc_nb.tools.port import ToolInput, ToolOutput, WorkspacePath

DESIGN: Final = "agentsvc-design"
"""The text chunk of a drawn PNG that holds its design as JSON; `words` are the texts on it."""
EDITED_FROM: Final = "agentsvc-edited-from"
"""The text chunk of a PNG of `edit_image`: `path` and `sha256` of the picture it was made from, as JSON."""
PICTURES_MAX: Final = 20
BRIEF_CHARS: Final = 50_000
SizeName = Literal["square", "portrait", "story", "landscape", "wide"]
SIZES: Final[dict[SizeName, tuple[int, int]]] = {
    "square": (1080, 1080),
    "portrait": (1080, 1350),
    "story": (1080, 1920),
    "landscape": (1200, 628),
    "wide": (1920, 1080),
}
"""Width and height in pixels, as feeds, stories, link previews and video players want them."""
BrandColor = Annotated[str, StringConstraints(pattern=r"^#(?:[0-9a-fA-F]{3}){1,2}$")]
BrandColors = Annotated[
    list[BrandColor],
    Field(max_length=3, description="`#rrggbb`: ground, accent, second accent; those left out follow from the first."),
]
Sizes = Annotated[
    list[SizeName],
    Field(min_length=1, max_length=len(SIZES), description="Each design is drawn in all of them, in this order."),
]


class Outputs(ToolInput):
    mode: Literal["count"] = Field(default="count", description="`count`: exactly `count` pictures.")
    count: int = Field(default=1, ge=1, le=PICTURES_MAX, description="How many pictures are made, of all sizes.")


class ImageRequest(ToolInput):
    kind: Literal["static_ad"] = Field(default="static_ad", description="What is drawn.")
    brief: Annotated[str, StringConstraints(max_length=BRIEF_CHARS)] = Field(
        default="",
        description="What the ad is about. `Headline:`, `Subline:`, `CTA:` and `Brand:` lines are taken as they stand; "
        "colours as names or #rrggbb.",
    )
    outputs: Outputs = Field(default_factory=Outputs)
    sizes: Sizes = Field(default=["square"])
    brand_colors: BrandColors = Field(default_factory=list)
    background: Literal["drawn", "model"] = Field(
        default="drawn", description="`model`: an image model paints the background; words are set on it as always."
    )


class CreateImagesInput(ToolInput):
    request: ImageRequest


class ImageEdit(ToolInput):
    path: WorkspacePath = Field(description="A picture of the workspace.", examples=["images/pack-light-3f2a1c-1.png"])
    headline: str | None = Field(default=None, description="Another text; empty takes it away. Null leaves it.")
    subline: str | None = Field(default=None, description="As `headline`.")
    cta: str | None = Field(default=None, description="As `headline`: the call to action on the button.")
    brand: str | None = Field(default=None, description="As `headline`.")
    brand_colors: BrandColors = Field(default_factory=list)
    sizes: list[SizeName] = Field(
        default_factory=list, max_length=len(SIZES), description="A picture is made in each; none: the size it has."
    )
    instruction: str | None = Field(
        default=None, description="What an image model is to change in the picture itself; needs one."
    )


class EditImageInput(ToolInput):
    request: ImageEdit


class MadeImage(ToolOutput):
    path: str
    width: int
    height: int
    headline: str
    palette: list[str]
    layout: str
    contrast: float = Field(description="The least contrast of a text with what lies under it, by WCAG 2.")


class ImageSet(ToolOutput):
    images: list[MadeImage]
