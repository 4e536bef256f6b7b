"""Define the inputs and outputs of `create_images` and `edit_image`, and read texts of ads from a brief."""

from __future__ import annotations

import math
import re
import unicodedata
from itertools import product
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator
from pydantic_core import PydanticCustomError

from agentsvc_nb.tools.port import Filled, WorkspacePath

# ---- the brief -------------------------------------------------------------------------------------------------------

LABELS: Final = ("headline", "text", "cta", "brand")
"""The labels with which lines of a brief give texts to print, such as `Headline: Pack light`. Case does not matter."""
_LINE: Final = re.compile(
    rf"(?i)[ \t>*_#•-]*(?:\d+[.)][ \t]+)?[*_]*({'|'.join(LABELS)}|colou?rs?)[*_]*[ \t]*[:：][*_]*[ \t]*(\S.*)"
)
_HEX: Final = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}\b")
_LABEL_WITHIN: Final = re.compile(r"\b(?:Headline|Text|CTA|Brand|Colou?rs):")
JOINERS: Final = "\u200c\u200d"
_QUOTES: Final = "\"'“”„«»"


class Texts(BaseModel):
    """Holds the texts of an ad. Empty texts are not printed."""

    model_config = ConfigDict(frozen=True)

    headline: str = ""
    text: str = ""
    cta: str = ""
    brand: str = ""


def labelled_lines(brief: str) -> dict[str, list[str]]:
    """Return the texts after each label in a brief, in order. Labels must be at the start of a line.

    >>> labelled_lines("Budget EUR 240,000\\n**Headline:** Pack light\\n- CTA: “Shop tents”")
    {'headline': ['Pack light'], 'cta': ['Shop tents']}
    """
    found: dict[str, list[str]] = {}
    for line in brief.splitlines():
        if (match := _LINE.match(line)) and (text := one_line(match[2])):
            name = "colors" if match[1].lower().startswith("colo") else match[1].lower()
            found.setdefault(name, []).append(_without_marks(text))
    return found


def _without_marks(text: str) -> str:
    """Return a text without the emphasis marks and quotation marks around it."""
    for marks in ("*_", "*_", "*_", _QUOTES):
        if len(text) > 2 and text[0] in marks and text[-1] in marks:
            text = text[1:-1].strip()
    return text


def one_line(text: str) -> str:
    """Return a text on one line, with composed letters (NFC) and without invisible characters.

    >>> one_line("Fu\u0308r\\x00 alle\\n ")
    'Für alle'
    """
    composed = unicodedata.normalize("NFC", text)
    return " ".join("".join(char for char in composed if char.isspace() or not _is_invisible(char)).split())


def _is_invisible(char: str) -> bool:
    """Return True for controls, direction marks and variation selectors, but not for joiners, which shape letters."""
    return "\ufe00" <= char <= "\ufe0f" or (unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in JOINERS)


# ---- inputs and outputs ----------------------------------------------------------------------------------------------

DESIGN: Final = "agentsvc-design"
"""The name of the PNG text chunk with an ad's design as JSON. Its member `words` has the ad's texts."""
EDITED_FROM: Final = "agentsvc-edited-from"
"""The name of the PNG text chunk in which `edit_image` stores the original picture's `path` and `sha256` as JSON."""
PICTURES_MAX: Final = 20
BRIEF_CHARS: Final = 50_000
TEXT_CHARS: Final = 500
SizeName = Literal["square", "portrait", "story", "reel", "landscape", "wide"]
Shape = Literal["tall", "square", "wide"]
Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""
Parts = tuple[float, float, float, float]
"""A box in fractions of another box."""


class AdSize(NamedTuple):
    """The size of an ad in pixels, and the margins that a platform may cover with buttons, names and captions."""

    width: int
    height: int
    top: int
    right: int
    bottom: int
    left: int

    @property
    def safe(self) -> Box:
        """Return the box that no platform covers."""
        return self.left, self.top, self.width - self.right, self.height - self.bottom

    @property
    def unit(self) -> float:
        """Return the unit of font sizes, in pixels. It is 1 for a square of 1080 x 1080 pixels."""
        return math.sqrt(self.width * self.height) / 1080

    @property
    def shape(self) -> Shape:
        ratio = self.width / self.height
        return "tall" if ratio < 0.7 else "wide" if ratio > 1.3 else "square"

    def part(self, parts: Parts) -> Box:
        """Convert a box in fractions of the safe part to pixels."""
        left, top, right, bottom = self.safe
        x, y, x_end, y_end = (round(part * (right - left, bottom - top)[at % 2]) for at, part in enumerate(parts))
        return left + x, top + y, left + x_end, top + y_end


SIZES: Final[dict[SizeName, AdSize]] = {
    "square": AdSize(1080, 1080, 54, 54, 54, 54),  # feeds
    "portrait": AdSize(1080, 1350, 64, 64, 64, 64),  # feeds: 6 % of the width
    "story": AdSize(1080, 1920, 270, 65, 384, 65),  # stories: 14 % at the top, 20 % at the bottom, 6 % at the sides
    # Reels, TikTok and Shorts, the largest margins of each: 35 % at the bottom, icons on the right
    "reel": AdSize(1080, 1920, 288, 192, 672, 65),
    "landscape": AdSize(1200, 628, 38, 60, 38, 60),  # link previews
    "wide": AdSize(1920, 1080, 54, 96, 86, 96),  # the progress bar of video players
}
"""The sizes of ads. Source: the platforms' help pages in November 2026, which change occasionally."""
BrandColor = Annotated[str, StringConstraints(pattern=r"^#(?:[0-9a-fA-F]{3}){1,2}$")]
BrandColors = Annotated[
    list[BrandColor],
    Field(max_length=4, description="Colours as `#rrggbb`, in this order: background, accent, second accent, texts."),
]
Printed = Annotated[str | None, Field(max_length=TEXT_CHARS)]
_HEADLINE: Final = "The text to print instead of the headline of the brief or the ad. An empty text prints no headline."


class AdInput(BaseModel):
    """Base class of inputs. It rejects unknown fields: a misspelt `headline` would give an ad without a headline."""

    model_config = ConfigDict(extra="forbid")

    def given_texts(self) -> dict[str, str]:
        """Return the texts that the input gives as fields. They replace those of the brief or of the edited ad."""
        return {label: one_line(text) for label in LABELS if (text := getattr(self, label, None)) is not None}


class Outputs(AdInput):
    mode: Literal["count"] = Field(default="count", description="`count`: exactly `count` pictures.")
    count: int = Field(
        default=1,
        ge=1,
        le=PICTURES_MAX,
        description="The total number of pictures, such as 2 for one picture in each of two sizes.",
    )


class ImageRequest(AdInput):
    kind: Literal["static_ad"] = Field(default="static_ad", description="The kind of picture.")
    brief: Annotated[Filled, StringConstraints(max_length=BRIEF_CHARS)] = Field(
        description="Text or Markdown. Only lines `Headline:`, `Text:`, `CTA:` and `Brand:` are printed, and `Colors: "
        "#rrggbb` sets colours. Put each label and its text on one line. Two headlines give two ads.",
        examples=["Headline: Pack light"],
    )
    headline: Printed = Field(default=None, description=_HEADLINE)
    text: Printed = Field(default=None, description="As `headline`, but for the text below it.")
    cta: Printed = Field(default=None, description="As `headline`, but for the button (call to action).")
    brand: Printed = Field(default=None, description="As `headline`, but for the brand's name.")
    outputs: Outputs = Field(default_factory=Outputs)
    sizes: Annotated[list[SizeName], Field(min_length=1, max_length=len(SIZES))] = Field(
        default=["square"], description="The sizes of each ad, in this order."
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
        """Return the texts of each ad. Each headline gives one ad.

        The n-th `Text:`, `CTA:` and `Brand:` of the brief belong to its n-th `Headline:`. If there are fewer of these
        lines than headlines, they are used again from the first.
        """
        lines = labelled_lines(self.brief) | {label: [text] for label, text in self.given_texts().items()}
        return [
            Texts(headline=head, **{name: lines[name][at % len(lines[name])] for name in LABELS[1:] if name in lines})
            for at, head in enumerate(filter(None, lines.get("headline", [])))
        ]

    def colors(self) -> list[str]:
        """Return the colours in `brand_colors`, else those in the brief's `Colors:` lines."""
        codes = [code for line in labelled_lines(self.brief).get("colors", []) for code in _HEX.findall(line)]
        return self.brand_colors or codes[:4]

    @model_validator(mode="after")
    def _has_a_headline(self) -> Self:
        texts = self.texts()
        if not texts:
            raise PydanticCustomError(
                "no_headline",
                "The ad needs a headline. Add a line such as `Headline: Pack light` to the brief, or pass "
                "`headline`. Lines `Text:`, `CTA:` and `Brand:` are optional, and nothing else of the brief "
                "is printed.",
            )
        for label, one in product([label for label in LABELS if label not in self.given_texts()], texts):
            if other := _LABEL_WITHIN.search(getattr(one, label)):
                said = "Put `{other}` on a line of its own. Otherwise, it would be printed as a part of the {label}."
                raise PydanticCustomError("labels_on_one_line", said, {"other": other[0], "label": label})
        return self


class CreateImagesInput(AdInput):
    request: ImageRequest


class ImageEdit(AdInput):
    path: WorkspacePath = Field(description="A picture of the workspace.", examples=["images/pack-light-3f2a1c-1.png"])
    headline: Printed = Field(default=None, description=_HEADLINE)
    text: Printed = Field(default=None, description="As `headline`, but for the text below it.")
    cta: Printed = Field(default=None, description="As `headline`, but for the button (call to action).")
    brand: Printed = Field(default=None, description="As `headline`, but for the brand's name.")
    brand_colors: BrandColors = Field(default_factory=list)
    sizes: list[SizeName] = Field(
        default_factory=list, max_length=len(SIZES), description="The sizes to create. If left out, the current size."
    )
    instruction: str | None = Field(
        default=None, description="What an image model should change in the picture. Needs an image model."
    )


class EditImageInput(AdInput):
    request: ImageEdit


class MadeImage(BaseModel):
    path: str
    width: int
    height: int
    words: Texts = Field(description="The texts on the picture. Empty texts are not printed.")
    palette: list[str]
    layout: str
    contrast: float = Field(description="The lowest contrast of a text with its background, by WCAG 2.")


class ImageSet(BaseModel):
    images: list[MadeImage]
