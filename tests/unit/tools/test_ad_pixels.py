"""Ads measured in their pixels: a brand's colours in their roles, texts within the part that platforms leave free,
words parted at syllables, and nothing cut that a smaller type would hold."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, get_args

import pytest
from PIL import Image, ImageChops

from agentsvc_nb.tools.ads import colors, layout
from agentsvc_nb.tools.ads.colors import color
from agentsvc_nb.tools.ads.creating import designs, produce
from agentsvc_nb.tools.ads.fitting import Fitted, Parting, Type, fit, joints
from agentsvc_nb.tools.ads.fonts import OWN
from agentsvc_nb.tools.ads.models import SIZES, ImageRequest, SizeName
from agentsvc_nb.tools.ads.shapes import frame, whole
from tests.unit.service.tooling import call, made, task
from tests.unit.tools.test_static_ad_measured import drawn, pixels

BRIEF = "Headline: Pack light\nSubline: Tents under two kilos.\nCTA: Shop tents\nBrand: Northpeak\n"
LONG = (
    "Headline: Kraftfahrzeughaftpflichtversicherungsvergleich\n"
    "Subline: Rechtsschutzversicherungsgesellschaften im unabhängigen Vergleich, für die ganze Familie.\n"
    "CTA: Jetzt unverbindliches Angebot anfordern und sofort sparen\nBrand: Sicher AG\n"
)
BRANDS = (
    ["#ffffff", "#14213d", "#fca311"],
    ["#14213d", "#fca311", "#ffffff"],
    ["#d7263d", "#ffffff", "#14151a"],
    ["#808080", "#ff00ff", "#00ff00"],
)


def requested(brief: str, count: int, **more: Any) -> ImageRequest:
    return ImageRequest.model_validate({"brief": brief, "outputs": {"count": count}, **more})


@pytest.mark.parametrize("brand", BRANDS, ids="-".join)
def test_a_brands_colours_are_seen_in_the_order_given(brand: list[str]) -> None:
    """The first is most of each picture, and each of the others is there as it is."""
    for design in designs(requested(BRIEF, 6, brand_colors=brand)):
        shown = pixels(Image.open(io.BytesIO(produce(design).data)).convert("RGB"))
        ground, accent, second = map(color, brand)
        assert shown.most_common(1)[0][0] == ground, design.scene.name
        for one in (accent, second):
            assert shown[one] > 2_000, (design.scene.name, colors.code(one))


@pytest.mark.parametrize(
    ("brief", "ground", "accent", "ink"),
    [
        ("white, then #2456e6 and orange", "#fafafa", "#2456e6", None),
        ("Accent: #fca311. Background: #14213d. Text: #ffffff.", "#14213d", "#fca311", "#ffffff"),
        ("Text: #ffffff\nAccent: #fca311\nBackground: #14213d", "#14213d", "#fca311", "#ffffff"),
        ("A navy background with orange buttons and white text", "#14213d", "#f26b21", "#fafafa"),
        ("Farben: #fca311 als Akzent, #14213d für den Hintergrund", "#14213d", "#fca311", None),
        ("Never use red. No #00ff00 either. Navy, please.", "#14213d", None, None),
        ("---\ncolors:\n  - '#0b6e4f'\n  - '#ffd166'\n---\nOats.", "#0b6e4f", "#ffd166", None),
    ],
)
def test_colours_of_a_brief_by_order_or_by_role(brief: str, ground: str, accent: str | None, ink: str | None) -> None:
    found = colors.palette(brief, 0)
    assert found.ground == color(ground)
    assert accent is None or found.accent == color(accent)
    assert found.ink == (color(ink) if ink else None)


def test_a_colour_for_texts_is_used_where_it_can_be_read() -> None:
    for ink, used in (("#ffe08a", True), ("#1a2a4a", False)):
        (design,) = designs(requested(BRIEF, 1, brand_colors=["#14213d", "#fca311", "#ffffff", ink]))
        before, after, blocks = drawn(design)
        headline = next(block for block in blocks if block.name == "headline")
        left = pixels(after.crop(headline.box)) - pixels(before.crop(headline.box))
        assert (left.most_common(1)[0][0] == color(ink)) is used
        assert produce(design).record.contrast >= colors.CONTRAST_MIN


@pytest.mark.parametrize("brief", [BRIEF, LONG], ids=["short", "long"])
@pytest.mark.parametrize("size", get_args(SizeName))
def test_all_words_are_where_no_platform_covers_them(size: SizeName, brief: str) -> None:
    edges = SIZES[size]
    for design in designs(requested(brief, 6, sizes=[size])):
        before, after, blocks = drawn(design)
        assert [block.name for block in blocks] == ["brand", "headline", "subline", "call to action"]
        assert not any(block.fitted.cut for block in blocks), design.scene.name
        box = ImageChops.difference(before, after).getbbox()
        assert box is not None
        assert edges.left <= box[0] < box[2] <= edges.width - edges.right, design.scene.name
        assert edges.top <= box[1] < box[3] <= edges.height - edges.bottom, design.scene.name


def test_an_edited_story_keeps_what_platforms_cover_free(tmp_path: Path) -> None:
    at = task(tmp_path)
    first = call(made(tmp_path, "create_images"), at, request={"brief": BRIEF, "sizes": ["story"]})
    assert first.data is not None
    again = call(made(tmp_path, "edit_image"), at, request={"path": first.data["images"][0]["path"], "headline": "Go"})
    assert again.data is not None
    assert (again.data["images"][0]["width"], again.data["images"][0]["height"]) == (1080, 1920)
    assert whole(1080, 1920).safe == frame("story").safe


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("Donaudampfschifffahrt", "Donau-dampf-schiff-fahrt"),
        ("Krankenversicherung,", "Kran-ken-ver-si-che-rung,"),
        ("Kfz-Haftpflicht", "Kfz--Haft-pflicht"),
        ("Путешествие", "Путе-ше-ствие"),
    ],
)
def test_words_are_parted_between_syllables(word: str, parts: str) -> None:
    at = joints(word, "de")
    assert "-".join(word[low:high] for low, high in zip([0, *at], [*at, len(word)], strict=True)) == parts


@pytest.mark.parametrize("width", range(260, 1000, 90))
def test_a_long_german_word_breaks_at_syllables_only(width: int) -> None:
    word = "Kraftfahrzeughaftpflichtversicherungsvergleich"
    fitted = fit(word, Type(OWN, bold=True, language="de"), width, 900, (26, 112))
    assert fitted.parting <= Parting.SYLLABLES
    ends = {0}
    for line in fitted.lines:
        ends.add(max(ends) + len(line.removesuffix("-")))
    assert max(ends) == len(word), "nothing is lost"
    assert ends - {0, len(word)} <= set(joints(word, "de"))


def test_text_shrinks_before_it_is_cut_and_a_cut_is_told(tmp_path: Path) -> None:
    headline = "Everything that you always wanted to know about tents and never dared to ask in a shop on a Saturday"
    at = task(tmp_path)
    outcome = call(
        made(tmp_path, "create_images"), at, request={"brief": f"Headline: {headline}", "outputs": {"count": 6}}
    )
    assert outcome.data is not None
    assert [(one["headline"], one["cut"]) for one in outcome.data["images"]] == [(headline, [])] * 6
    assert {block["type"] for block in outcome.content} == {"image"}
    endless = call(made(tmp_path, "create_images"), at, request={"brief": f"Headline: {'unendlich ' * 400}"})
    assert endless.data is not None
    assert endless.data["images"][0]["cut"] == ["headline"]
    assert "does not show all of its headline" in endless.content[-1]["text"]
    tiny = fit("word " * 400, Type(OWN), 300, 200, (26, 112))
    assert tiny.cut
    assert tiny.lines[-1].endswith("…")


@pytest.mark.parametrize(
    "action", ["Go", "Jetzt Angebot anfordern", "Jetzt unverbindliches Angebot anfordern und sparen"]
)
def test_a_button_shows_all_of_its_text(action: str) -> None:
    for design in designs(requested(f"Headline: Go\nCTA: {action}", 6, sizes=["landscape"])):
        words = layout.lay_out(design.scene, design.frame, design.words, "de")
        button = words.blocks[-1]
        assert " ".join(button.fitted.lines) == action
        assert _inside(button.fitted, button.type, button.box)


def _inside(fitted: Fitted, type_: Type, box: tuple[int, int, int, int]) -> bool:
    left, top, right, bottom = box
    return fitted.height <= bottom - top and all(
        type_.width(line, fitted.size) <= right - left for line in fitted.lines
    )
