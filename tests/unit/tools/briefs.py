"""Briefs that are hard to draw."""

from __future__ import annotations

from typing import Any, Final

from agentsvc_nb.tools.ads.models import SIZES, ImageRequest

BRIEFS: Final[dict[str, dict[str, Any]]] = {
    "plain": {
        "brief": "Headline: Pack light\nSubline: Tents under two kilos.\nCTA: Shop tents\nBrand: Northpeak\nnavy, red"
    },
    "long words": {
        "brief": "Headline: Kraftfahrzeughaftpflichtversicherungsvergleich\n"
        "Subline: Rechtsschutzversicherungsgesellschaften im unabhängigen Vergleich, für die ganze Familie.\n"
        "CTA: Jetzt unverbindliches Angebot anfordern und sofort sparen\nBrand: Sicher AG"
    },
    "right to left": {
        "brief": "Headline: مرحبا بكم في المتجر الجديد\nSubline: خصم خمسين بالمئة على كل شيء\n"
        "CTA: تسوق الآن\nBrand: Northpeak"
    },
    "middle grey": {
        "brief": "Headline: Fog\nSubline: Neither light nor dark.\nCTA: See\nBrand: Northpeak",
        "brand_colors": ["#777777", "#7a7a7a", "#757575"],
    },
    "an essay": {"brief": "Lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor. " * 200},
}
EVERY_SIZE: Final[list[str]] = list(SIZES)


def request(name: str, count: int, sizes: list[str]) -> ImageRequest:
    return ImageRequest.model_validate({**BRIEFS[name], "outputs": {"count": count}, "sizes": sizes})
