"""Inputs and outputs of `create_images` and `edit_image`."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from agentsvc_nb.tools.ads.brief import LABELS, Texts, ad_texts, second_label
from agentsvc_nb.tools.port import Filled, ToolInput, ToolOutput, WorkspacePath

DESIGN: Final = "agentsvc-design"
"""The text chunk of a drawn PNG that holds its design as JSON; `words` are the texts on it."""
EDITED_FROM: Final = "agentsvc-edited-from"
"""The text chunk of a PNG of `edit_image`: `path` and `sha256` of the picture it was made from, as JSON."""
PICTURES_MAX: Final = 20
BRIEF_CHARS: Final = 50_000
TEXT_CHARS: Final = 500
SizeName = Literal["square", "portrait", "story", "reel", "landscape", "wide"]


class Size(NamedTuple):
    """A size of ads in pixels, and how much of each edge the platform may cover with buttons, names and captions."""

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
"""From the platforms' help pages, checked 2026-11. They change now and then."""
BrandColor = Annotated[str, StringConstraints(pattern=r"^#(?:[0-9a-fA-F]{3}){1,2}$")]
BrandColors = Annotated[
    list[BrandColor],
    Field(max_length=4, description="`#rrggbb` in order: ground, accent, second accent, texts."),
]
Printed = Annotated[str | None, Field(max_length=TEXT_CHARS)]
_HEADLINE: Final = "Printed instead of the headline of the brief or the ad; empty prints none."


class AdInput(ToolInput):
    """Refuses unknown fields: a misspelt `headline` would otherwise give an ad without it."""

    model_config = ConfigDict(extra="forbid")

    def given_texts(self) -> dict[str, str]:
        return {label: text for label in LABELS if (text := getattr(self, label, None)) is not None}


class Outputs(AdInput):
    mode: Literal["count"] = Field(default="count", description="`count`: exactly `count` pictures.")
    count: int = Field(
        default=1,
        ge=1,
        le=PICTURES_MAX,
        description="How many pictures are made in all: 2 for one in each of two sizes.",
    )


class ImageRequest(AdInput):
    kind: Literal["static_ad"] = Field(default="static_ad", description="What is drawn.")
    brief: Annotated[Filled, StringConstraints(max_length=BRIEF_CHARS)] = Field(
        description="Text or Markdown. Only lines `Headline:`, `Text:`, `CTA:` and `Brand:` are printed, and "
        "`Colors: #rrggbb` sets colours; each label and its text are on one line, and two headlines give two ads.",
        examples=["Headline: Pack light"],
    )
    headline: Printed = Field(default=None, description=_HEADLINE)
    text: Printed = Field(default=None, description="As `headline`.")
    cta: Printed = Field(default=None, description="As `headline`: the call to action on the button.")
    brand: Printed = Field(default=None, description="As `headline`.")
    outputs: Outputs = Field(default_factory=Outputs)
    sizes: Annotated[list[SizeName], Field(min_length=1, max_length=len(SIZES))] = Field(
        default=["square"], description="Each ad is drawn in all of them, in this order."
    )
    brand_colors: BrandColors = Field(default_factory=list)
    product: WorkspacePath | None = Field(
        default=None, description="A picture of the workspace, shown whole: PNG, JPEG, WebP or GIF."
    )
    logo: WorkspacePath | None = Field(
        default=None, description="A picture of the workspace, shown instead of the brand's name."
    )
    background: Literal["drawn", "model"] = Field(
        default="drawn", description="`model`: an image model paints the background from the brief."
    )

    def texts(self) -> list[Texts]:
        return ad_texts(self.brief, self.given_texts())

    @model_validator(mode="after")
    def _has_a_headline(self) -> Self:
        texts = self.texts()
        if not texts:
            raise PydanticCustomError(
                "no_headline",
                "The ad needs a headline: add a line such as `Headline: Pack light` to the brief, or pass `headline`; "
                "lines `Text:`, `CTA:` and `Brand:` are optional, and nothing else of the brief is printed.",
            )
        for label, text in ((label, getattr(one, label)) for one in texts for label in LABELS):
            if label not in self.given_texts() and (other := second_label(text)):
                said = "Put `{other}` on a line of its own: it would be printed as a part of the {label}."
                raise PydanticCustomError("labels_on_one_line", said, {"other": other, "label": label})
        return self


class CreateImagesInput(AdInput):
    request: ImageRequest


class ImageEdit(AdInput):
    path: WorkspacePath = Field(description="A picture of the workspace.", examples=["images/pack-light-3f2a1c-1.png"])
    headline: Printed = Field(default=None, description=_HEADLINE)
    text: Printed = Field(default=None, description="As `headline`.")
    cta: Printed = Field(default=None, description="As `headline`: the call to action on the button.")
    brand: Printed = Field(default=None, description="As `headline`.")
    brand_colors: BrandColors = Field(default_factory=list)
    sizes: list[SizeName] = Field(
        default_factory=list, max_length=len(SIZES), description="A picture is made in each; none: the size it has."
    )
    instruction: str | None = Field(
        default=None, description="What an image model changes in the picture itself; needs such a model."
    )


class EditImageInput(AdInput):
    request: ImageEdit


class MadeImage(ToolOutput):
    path: str
    width: int
    height: int
    words: Texts = Field(description="The texts on the picture; empty ones are not there.")
    palette: list[str]
    layout: str
    contrast: float = Field(description="The lowest contrast of a text with its background, by WCAG 2.")


class ImageSet(ToolOutput):
    images: list[MadeImage]
