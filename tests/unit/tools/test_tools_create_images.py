"""`create_images`: exactly the pictures that were asked for, readable, and the same each time
(docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import asyncio
import io
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError

from agentsvc_nb.tools.ads import colors, creating, fitting, fonts, pictures, scenes, wording
from agentsvc_nb.tools.ads.creating import Design, designs
from agentsvc_nb.tools.ads.fonts import OWN, families
from agentsvc_nb.tools.ads.models import SIZES, CreateImagesInput, ImageRequest
from agentsvc_nb.tools.ads.shapes import frame
from agentsvc_nb.tools.create_images import CreateImages
from agentsvc_nb.tools.port import Outcome
from tests.unit.service.agents_harness import MemoryToolContext, MemoryWorkspace
from tests.unit.service.tooling import made
from tests.unit.tools import briefs


def make(brief: str, count: int, folder: Path) -> tuple[Outcome, MemoryToolContext]:
    task = MemoryToolContext(MemoryWorkspace(folder))
    tool = made(folder, "create_images")
    request = {"kind": "static_ad", "brief": brief, "outputs": {"mode": "count", "count": count}}
    given_ = CreateImagesInput.model_validate({"request": request})
    return asyncio.run(tool.run(given_, task)), task


def images(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.data is not None
    found = outcome.data["images"]
    assert isinstance(found, list)
    return found


BRIEFS = {
    "plain": "Headline: Pack light\nSubline: Tents under two kilos.\nCTA: Shop tents\nBrand: Northpeak\nnavy, orange",
    "empty": "",
    "blank": " \n\t ",
    "unseen": "Soft\u00adly \ufe0f now\u200d\ufeff",
    "greek": "Ελαφριές σκηνές για όλους. " * 20,
    "long": "Lorem ipsum dolor sit amet consectetur " * 257,
    "word": "x" * 10_000,
    "control": "Bell\x07 and\x00 null #fff #ffffff #000",
}


@pytest.mark.parametrize("brief", BRIEFS.values(), ids=BRIEFS.keys())
def test_any_brief_gives_readable_pictures_of_the_right_size(brief: str, tmp_path: Path) -> None:
    outcome, task = make(brief, 6, tmp_path)
    assert outcome.error is None
    assert outcome.inline is False
    assert len(images(outcome)) == len(task.files.outputs) == 6
    for one in images(outcome):
        picture = Image.open(io.BytesIO(task.files.bytes(one["path"])))
        assert (picture.format, picture.size) == ("PNG", (1080, 1080))
        assert one["contrast"] >= colors.CONTRAST_MIN
        assert len(picture.convert("RGB").resize((64, 64)).getcolors(4096) or []) > 8


def test_names_outputs_and_content(tmp_path: Path) -> None:
    outcome, task = make(BRIEFS["plain"], 2, tmp_path)
    paths = [one["path"] for one in images(outcome)]
    assert [path.rsplit("-", 1)[1] for path in paths] == ["1.png", "2.png"]
    assert all(path.startswith("images/pack-light-") for path in paths)
    assert outcome.content == [{"type": "image", "path": path, "media_type": "image/png"} for path in paths]
    [(output_id, type_)] = {output for output in task.files.outputs.values() if output}
    assert output_id.startswith("image_set_")
    assert type_ == "image_set"


def test_the_same_brief_gives_the_same_bytes_and_more_pictures_change_none(tmp_path: Path) -> None:
    few, many = make("Summer sale", 2, tmp_path / "few")[1], make("Summer sale", 3, tmp_path / "many")[1]
    assert all(few.files.bytes(path) == many.files.bytes(path) for path in few.files.outputs)
    assert len({many.files.bytes(path) for path in many.files.outputs}) == 3


def test_progress_moves_several_times_for_each_picture(tmp_path: Path) -> None:
    _, task = make("Summer sale", 3, tmp_path)
    done = [step[0] for step in task.steps]
    assert done == [float(n) for n in range(10)]
    assert {step[1] for step in task.steps} == {9}


@pytest.mark.parametrize(
    "request_",
    [
        {"brief": "x", "outputs": {"mode": "count", "count": 0}},
        {"brief": "x", "outputs": {"mode": "count", "count": 21}},
        {"brief": "x", "outputs": {"mode": "best"}},
        {"brief": 3},
    ],
)
def test_bad_input_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CreateImages.Input.model_validate({"request": request_})


def test_wording_follows_the_brief() -> None:
    made = wording.wordings(BRIEFS["plain"], 1)[0]
    assert made == wording.Wording("Pack light", "Tents under two kilos.", "Shop tents", "Northpeak")
    assert wording.wordings('# Brief\n\nThe line is "Sleep under stars".', 1)[0].headline == "Sleep under stars"
    assert wording.wordings("Die Zelte für die ganze Familie und mit Rabatt.", 1)[0].action == "Mehr erfahren"


def test_a_brief_of_one_line_with_a_colon_is_not_lost() -> None:
    sale = "Autumn sale: save $5 on oats, now $4.99"
    assert wording.wordings(sale, 1)[0].headline == sale
    for brief in ("Audience: families", "Colours: #112233", "Autumn oats are here.\nAutumn sale: $5"):
        assert "sale" not in wording.wordings(brief, 1)[0].headline


@given(st.text(max_size=200), st.integers(60, 900), st.integers(60, 500))
@example("½", 60, 80)
@settings(max_examples=60, deadline=None)
def test_fitted_text_never_leaves_its_box(text: str, width: int, height: int) -> None:
    shown = " ".join("".join(char for char in fonts.tidy(text) if fonts.draws(OWN, char)).split())
    if not shown:
        return
    type_ = fitting.Type(OWN, bold=True)
    fitted = fitting.fit(shown, type_, width, height, (20, 90))
    assert fitted.height <= height
    assert all(type_.width(line, fitted.size) <= width for line in fitted.lines)


@given(st.tuples(*[st.integers(0, 255)] * 3))
def test_a_readable_colour_is_found_on_any_ground(ground: tuple[int, int, int]) -> None:
    assert colors.contrast(colors.readable(ground, colors.WHITE, colors.INK), ground) >= colors.CONTRAST_MIN


@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.name)
@pytest.mark.parametrize("size", SIZES)
def test_the_zone_of_a_scene_lies_within_the_frame(scene: scenes.Scene, size: Any) -> None:
    left, top, right, bottom = scene.zone(frame(size))
    width, height = SIZES[size][:2]
    assert 0.03 * width < left < right < 0.97 * width
    assert 0.03 * height < top < bottom < 0.97 * height
    assert scene.paint(frame(size), colors.PALETTES[0], random.Random(1)).size == (width, height)


def test_sizes_are_drawn_in_turn_of_each_design() -> None:
    made = designs(briefs.request("plain", 5, ["square", "story"]))
    assert [(one.frame.width, one.frame.height) for one in made] == [(1080, 1080), (1080, 1920)] * 2 + [(1080, 1080)]
    assert [one.scene.name for one in made[:4]] == [made[0].scene.name] * 2 + [made[2].scene.name] * 2
    assert len({one.path for one in made}) == 5


def test_brand_colours_come_before_those_of_the_brief() -> None:
    given_ = ImageRequest.model_validate({"brief": "all in red", "brand_colors": ["#0b6e4f", "#ffd166"]})
    palette = designs(given_)[0].palette
    assert (palette.ground, palette.accent) == (colors.color("#0b6e4f"), colors.color("#ffd166"))


def test_a_picture_carries_its_design_and_any_reader_reads_it(tmp_path: Path) -> None:
    outcome, task = make(BRIEFS["plain"], 1, tmp_path)
    with Image.open(tmp_path / images(outcome)[0]["path"]) as picture:
        picture.load()
        found = pictures.design(picture)
    assert found is not None
    assert found["words"]["headline"] == "Pack light"
    assert task.files.outputs


@given(st.integers(1, 40), st.integers(1, 40), st.binary(min_size=3, max_size=60))
@settings(max_examples=40, deadline=None)
def test_a_written_file_is_the_picture(width: int, height: int, data: bytes) -> None:
    image = Image.frombytes("RGB", (width, height), (data * (width * height))[: width * height * 3])
    assert Image.open(io.BytesIO(pictures.encode(image, {"words": "ü"}))).convert("RGB").tobytes() == image.tobytes()


def test_the_shipped_family_draws_latin_greek_and_cyrillic_with_its_license_beside_it() -> None:
    assert families()[0] == OWN
    for alphabet in ("ABCXYZabcxyzÄÖÜßĄĘŁŻŞĞİ", "ΑΒΓΔΩαβγδωάέή", "АБВГДЯабвгдяЇїЄєҐ", "0123456789€£¥%&@!?…—“”"):
        assert all(fonts.draws(OWN, char) for char in alphabet)
    assert "SIL OPEN FONT LICENSE" in (Path(fonts.__file__).parent / "faces" / "OFL.txt").read_text()


def test_pictures_of_a_cancelled_call_that_were_not_begun_are_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Design] = []
    free = threading.Event()
    monkeypatch.setattr(creating, "produce", drawn.append)

    async def cancelled() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        busy = asyncio.create_task(asyncio.to_thread(free.wait, 60))
        await asyncio.sleep(0)
        context = MemoryToolContext(MemoryWorkspace(tmp_path))
        call = asyncio.create_task(creating.make(context, designs(briefs.request("plain", 5, ["square"])), "set"))
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(context.steps) == 2, "it waits for its first picture"
        call.cancel()
        await asyncio.wait([call])
        free.set()
        await busy

    asyncio.run(cancelled())
    assert drawn == []


def test_a_picture_whose_writing_a_cancel_met_is_written_and_charged(tmp_path: Path) -> None:
    writing, free = asyncio.Event(), asyncio.Event()

    class Slow(MemoryToolContext):
        async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
            writing.set()
            await free.wait()
            await super().write(path, data, output=output)

    async def cancelled() -> None:
        context = Slow(MemoryWorkspace(tmp_path))
        call = asyncio.create_task(creating.make(context, designs(briefs.request("plain", 2, ["square"])), "set"))
        await writing.wait()
        call.cancel()
        await asyncio.sleep(0)
        free.set()
        await asyncio.wait([call])
        assert call.cancelled()
        assert context.charges == {"picture": len(await context.workspace.list())} == {"picture": 1}

    asyncio.run(cancelled())
