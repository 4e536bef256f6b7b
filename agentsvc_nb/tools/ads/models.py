"""`create_images` and `edit_image`: static ads."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

from pydantic import Field, StringConstraints

from agentsvc_nb.tools.port import ToolInput, ToolOutput, WorkspacePath

DESIGN: Final = "agentsvc-design"
"""The text chunk of a drawn PNG that holds its design as JSON; `words` are the texts on it."""
EDITED_FROM: Final = "agentsvc-edited-from"
"""The text chunk of a PNG of `edit_image`: `path` and `sha256` of the picture it was made from, as JSON."""
PICTURES_MAX: Final = 20
BRIEF_CHARS: Final = 50_000
SizeName = Literal["square", "portrait", "story", "reel", "landscape", "wide"]


class Size(NamedTuple):
    """A size of ads in pixels, and how much of each edge may be covered: the platform's own buttons, names and captions
    lie there. Texts, logos and products stand within what is left."""

    width: int
    height: int
    top: int
    right: int
    bottom: int
    left: int


SIZES: Final[dict[SizeName, Size]] = {
    "square": Size(1080, 1080, 54, 54, 54, 54),  # feeds
    "portrait": Size(1080, 1350, 64, 64, 64, 64),  # feeds: 6 % of the width
    "story": Size(1080, 1920, 270, 65, 384, 65),  # stories: 14 % above, 20 % below, 6 % beside
    "reel": Size(1080, 1920, 288, 192, 672, 65),  # Reels, TikTok, Shorts, the widest of each: 35 % below, icons right
    "landscape": Size(1200, 628, 38, 60, 38, 60),  # link previews
    "wide": Size(1920, 1080, 54, 96, 86, 96),  # video players: their bar of progress
}
"""What platforms tell about their placements, checked 2026-11; they change it now and then."""
BrandColor = Annotated[str, StringConstraints(pattern=r"^#(?:[0-9a-fA-F]{3}){1,2}$")]
BrandColors = Annotated[
    list[BrandColor],
    Field(
        max_length=4,
        description="`#rrggbb` in order: ground, accent, second accent, texts; those left out are made of the others.",
    ),
]
Sizes = Annotated[
    list[SizeName],
    Field(min_length=1, max_length=len(SIZES), description="Each design is drawn in all of them, in this order."),
]


class Outputs(ToolInput):
    mode: Literal["count"] = Field(default="count", description="`count`: exactly `count` pictures.")
    count: int = Field(
        default=1,
        ge=1,
        le=PICTURES_MAX,
        description="How many pictures are made in all: 2 for one in each of two sizes.",
    )


class ImageRequest(ToolInput):
    kind: Literal["static_ad"] = Field(default="static_ad", description="What is drawn.")
    brief: Annotated[str, StringConstraints(max_length=BRIEF_CHARS)] = Field(
        default="",
        description="What the ad is about: text, Markdown or HTML. `Headline:`, `Subline:`, `CTA:`, `Brand:` lines are "
        "taken as they stand, instructions are not; colours are names or #rrggbb, in order or with what they are for.",
    )
    outputs: Outputs = Field(default_factory=Outputs)
    sizes: Sizes = Field(default=["square"])
    brand_colors: BrandColors = Field(default_factory=list)
    product: WorkspacePath | None = Field(
        default=None, description="A picture of the workspace: PNG, JPEG, WebP or GIF, with or without transparency."
    )
    product_fit: Literal["auto", "contain", "cover"] = Field(
        default="auto",
        description="`contain`: the product is seen whole; `cover`: it fills its place and is cropped; `auto`: whole "
        "when it is transparent or on a plain ground.",
    )
    logo: WorkspacePath | None = Field(
        default=None,
        description="A picture of the workspace; it stands above the words instead of the brand's name.",
    )
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
    product: list[int] | None = Field(description="Where the product is: left, top, right, bottom, in pixels.")
    logo: list[int] | None = Field(description="Where the logo is.")
    cut: list[str] = Field(description="The texts that are not shown in full: even the smallest type is too large.")


class ImageSet(ToolOutput):
    images: list[MadeImage]
