"""What no font draws is said before anything is drawn: no picture comes out blank, with boxes, or in part."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, Final

import pytest
from PIL import Image, ImageChops

from agentsvc_nb import AgentService, JobFailedError
from agentsvc_nb.tools.ads import fonts, pictures
from agentsvc_nb.tools.ads.fitting import Type, fit
from agentsvc_nb.tools.ads.fonts import OWN
from agentsvc_nb.tools.port import Outcome
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.site import serving
from tests.unit.service.tooling import call, made, task

MISSING: Final = {
    "Japanese": ("家族向けのテント", "家", "CJK", "Noto Sans CJK"),
    "Korean": ("가벼운 텐트", "가", "Hangul", "Noto Sans CJK"),
    "Hindi": ("नया साल", "न", "Devanagari", "Noto Sans Devanagari"),
    "Thai": ("ลดราคา", "ล", "Thai", "Noto Sans Thai"),
    "Arabic": ("خصم خمسين", "خ", "Arabic", "Noto Sans Arabic"),
    "Hebrew": ("אוהל קל", "א", "Hebrew", "Noto Sans Hebrew"),
    "Tamil": ("புதிய கூடாரம்", "பு"[0], "Tamil", "Leave them out"),
    "emoji": ("Party 🎉🔥 time", "🎉", "symbols", "Leave them out"),
    "a family of emoji": ("For 👩‍👩‍👧", "👩", "symbols", "Leave them out"),
    "one letter of many": ("Pack light in 東 and go", "東", "CJK", "Noto Sans CJK"),
    "nobody's": ("Hello \ue123", "U+E123", "symbols", "Leave them out"),
}
DRAWN: Final = {
    "English": "Pack light — “Tents” for £99…",
    "German": "Größer, schöner: 50 % Übermaß",
    "Polish": "Zażółć gęślą jaźń",
    "Turkish": "İğne ıspanak şöför",
    "Vietnamese": "Lều nhẹ cho cả gia đình, giảm giá ngỡ ngàng",
    "Vietnamese, decomposed": "Le\u0302\u0300u nhe\u0323 cho ca\u0309 gia \u0111i\u0300nh",
    "Greek": "Ελαφριές σκηνές για όλους",
    "Russian": "Лёгкие палатки",
    "Ukrainian": "Їжак і ґудзик",
    "what is not seen": "Pack\u00ad light\ufe0f\u200b \u200dnow\u2060 \ufeff100\u00a0%",
}


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no fonts but ours."""
    monkeypatch.setattr(fonts, "families", lambda: (OWN,))


def create(folder: Path, brief: str, at: MemoryToolContext | None = None, **more: Any) -> Outcome:
    return call(made(folder, "create_images"), at or task(folder), request={"brief": brief, **more})


def refused(outcome: Outcome) -> str:
    assert outcome.error is not None
    code, message = outcome.error
    assert code == "missing_glyphs"
    return message


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("label", ["Headline", "Subline", "CTA", "Brand"])
def test_a_script_that_no_font_has_is_refused_in_any_text(name: str, label: str, tmp_path: Path) -> None:
    text, first, script, remedy = MISSING[name]
    at = task(tmp_path)
    brief = f"{label}: {text}" if label == "Headline" else f"Headline: Travel far\n{label}: {text}"
    message = refused(create(tmp_path, brief, at, outputs={"count": 3}))
    assert f" {first}" in message
    assert script in message
    assert remedy in message
    assert {"CTA": "call to action"}.get(label, label.lower()) in message
    assert at.files.outputs == {}, "nothing was drawn"


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("name", DRAWN)
def test_a_script_that_the_shipped_font_has_is_drawn(name: str, tmp_path: Path) -> None:
    at = task(tmp_path)
    outcome = create(tmp_path, f"Headline: {DRAWN[name]}\nCTA: {DRAWN[name][:20]}", at)
    assert outcome.error is None
    assert outcome.data is not None
    (path,) = at.files.outputs
    with Image.open(io.BytesIO(at.files.bytes(path))) as picture:
        picture.load()
        words = (pictures.design(picture) or {})["words"]
    assert words["headline"] == outcome.data["images"][0]["headline"] == fonts.tidy(DRAWN[name])
    assert not set(words["headline"]) & set("\u00ad\ufe0f\u200b\u200d\u2060\ufeff")


@pytest.mark.usefixtures("shipped")
def test_an_edit_is_refused_and_neither_drawn_nor_asked_of_a_model(tmp_path: Path) -> None:
    at = task(tmp_path)
    assert create(tmp_path, "Headline: Pack light", at).error is None
    ((path, _),) = at.files.outputs.items()
    with serving() as site:
        tool = made(tmp_path, "edit_image", image_url=f"{site.url}/v1", fetch_allow="127.0.0.1")
        for field in ("headline", "subline", "cta", "brand"):
            for more in ({}, {"instruction": "Make it blue"}):
                message = refused(call(tool, at, request={"path": path, field: "ลดราคา", **more}))
                assert "Thai" in message
        assert site.asked == []
    assert list(at.files.outputs) == [path]


@pytest.mark.usefixtures("shipped")
def test_a_background_is_not_painted_for_what_can_not_be_drawn(tmp_path: Path) -> None:
    with serving() as site:
        tool = made(tmp_path, "create_images", image_url=f"{site.url}/v1", fetch_allow="127.0.0.1")
        refused(call(tool, task(tmp_path), request={"brief": "Headline: ลดราคา", "background": "model"}))
        assert site.asked == []


@pytest.mark.usefixtures("shipped")
def test_long_lists_of_characters_are_cut(tmp_path: Path) -> None:
    message = refused(create(tmp_path, "Headline: 一二三四五六七八九十百千"))
    assert "一, 二, 三, 四, 五 and 7 more" in message
    assert len(message) < 400


@pytest.mark.parametrize("char", ["א", "خ", "न", "ก\u0e49", "q\u0323"])
def test_letters_that_must_be_shaped_are_refused_where_nothing_shapes(
    char: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A font that has them is not enough: unjoined and unplaced letters are no text."""
    monkeypatch.setattr(fonts, "_SHAPED", False)
    monkeypatch.setattr(fonts, "_has", lambda family, char: True)
    fonts.draws.cache_clear()
    try:
        message = refused(create(tmp_path, f"Headline: {char}{char}"))
        assert create(tmp_path, "Headline: Déjà vu").error is None
    finally:
        fonts.draws.cache_clear()
    assert "FriBiDi" in message


def test_a_mark_stays_with_its_letter_when_a_word_is_parted() -> None:
    word = "q\u0323" * 40
    lines = fit(word, Type(OWN, True), 200, 2_000, (40, 60)).lines
    assert len(lines) > 1
    assert not any(line.startswith("\u0323") for line in lines)


def test_each_drawn_letter_leaves_ink(tmp_path: Path) -> None:
    """The check says what is so: a letter that passes it is another picture than the sign for none."""
    for char in "aßŻЯΩ€ộ":
        assert fonts.draws(OWN, char)
    for char in "家नลخ🎉\ue123":
        assert not fonts.draws(OWN, char)
    at = task(tmp_path)
    paths = [(create(tmp_path, f"Headline: {text}", at).data or {})["images"][0]["path"] for text in ("Pack", "Pock")]
    first, second = (Image.open(io.BytesIO(at.files.bytes(path))).convert("RGB") for path in paths)
    assert ImageChops.difference(first, second).getbbox() is not None


def test_a_job_of_the_service_fails(client: AgentService) -> None:
    with pytest.raises(JobFailedError) as failed:
        client.jobs.submit_and_wait("create_images", {"request": {"brief": "Headline: Hello \ue123"}}, chat="new")
    assert failed.value.code == "missing_glyphs"
    assert "U+E123" in str(failed.value)
    assert client.files.list(failed.value.job.chat).all() == []
