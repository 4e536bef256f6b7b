"""A dozen briefs that are hard to draw, to be measured and looked at.

python -m tests.unit.tools.briefs SHEET.png
"""

from __future__ import annotations

import io
import sys
from typing import Any, Final

from PIL import Image

from agentsvc_nb.tools.ads.creating import designs, produce
from agentsvc_nb.tools.ads.models import SIZES, ImageRequest

BRIEFS: Final[dict[str, dict[str, Any]]] = {
    "plain": {
        "brief": "Headline: Pack light\nSubline: Tents under two kilos.\nCTA: Shop tents\nBrand: Northpeak\nnavy, red"
    },
    "long words": {
        "brief": "Headline: Donaudampfschifffahrtsgesellschaftskapitänsmützenversicherung\n"
        "Subline: Rechtsschutzversicherungsgesellschaften und Kraftfahrzeughaftpflichtversicherung.\n"
        "CTA: Jetzt abschließen"
    },
    "one endless word": {"brief": "x" * 10_000},
    "right to left": {
        "brief": "Headline: مرحبا بكم في المتجر الجديد\nSubline: خصم خمسين بالمئة على كل شيء\nCTA: تسوق الآن"
    },
    "Hebrew": {
        "brief": "Headline: אוהל קל לכל המשפחה\nSubline: משלוח חינם עד סוף החודש\nCTA: קנו עכשיו\nBrand: Northpeak"
    },
    "CJK": {"brief": "Headline: 家族向けの軽いテント\nSubline: 二キロ未満。\nCTA: 今すぐ購入\nBrand: Northpeak 東京"},
    "Cyrillic and Greek": {
        "brief": "Headline: Лёгкие палатки для всей семьи\nSubline: Ελαφριές σκηνές για όλους.\nCTA: Купить"
    },
    "no colour": {"brief": "#ffffff #808080 #000000\nHeadline: Black and white"},
    "light on light": {
        "brief": "Headline: Whisper quiet\nSubline: Paper, linen, milk.\nCTA: See the collection",
        "brand_colors": ["#ffffff", "#fafafa", "#fffef0"],
    },
    "middle grey": {
        "brief": "Headline: Fog\nSubline: Neither light nor dark.",
        "brand_colors": ["#777777", "#7a7a7a", "#757575"],
    },
    "neon": {
        "brief": "Headline: LOUDER\nSubline: For those who can't be overheard in any crowd at all, ever, anywhere.",
        "brand_colors": ["#39ff14", "#ff00ff", "#ffff00"],
    },
    "nothing": {"brief": ""},
    "an essay": {"brief": "Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor. " * 200},
    "accents": {"brief": "Headline: Ållergrößte Żółć ÀÉÎÕÜ Ǻ\nSubline: gjpqy ÄÖÜ ĄĘ ŠŽ Ňř\nCTA: Ça y est\nBrand: Ægir"},
}
EVERY_SIZE: Final[list[str]] = list(SIZES)


def request(name: str, count: int, sizes: list[str]) -> ImageRequest:
    return ImageRequest.model_validate({**BRIEFS[name], "outputs": {"count": count}, "sizes": sizes})


def sheet(side: int = 300) -> Image.Image:
    """A row a brief: six scenes as squares, then one of them in the other sizes."""
    canvas = Image.new("RGB", (side * 10, side * len(BRIEFS)), (120, 120, 120))
    for row, name in enumerate(BRIEFS):
        squares = designs(request(name, 6, ["square"]))
        others = designs(request(name, 4 * (row % 5 + 1), EVERY_SIZE[1:]))[-4:]
        for column, design in enumerate([*squares, *others]):
            picture = Image.open(io.BytesIO(produce(design).data))
            picture.thumbnail((side - 6, side - 6))
            canvas.paste(picture, (column * side + 3, row * side + 3))
    return canvas


if __name__ == "__main__":
    sheet().save(sys.argv[1])
