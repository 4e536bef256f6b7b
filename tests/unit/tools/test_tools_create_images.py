"""`create_images`: exactly the pictures that were asked for, readable, and the same each time
(docs/api/tools-and-jobs.md)."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic import ValidationError

from agentsvc_nb.tools.ads import colors, creating, fonts
from agentsvc_nb.tools.ads.creating import designs
from agentsvc_nb.tools.ads.fonts import OWN, families
from agentsvc_nb.tools.ads.models import CreateImagesInput
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
    "word": "x" * 10_000,
    "control": "Bell\x07 and\x00 null #fff #ffffff #000",
}


@pytest.mark.parametrize("brief", BRIEFS.values(), ids=BRIEFS.keys())
def test_any_brief_gives_readable_pictures_of_the_right_size(brief: str, tmp_path: Path) -> None:
    outcome, task = make(brief, 2, tmp_path)
    assert outcome.error is None
    assert outcome.inline is False
    assert len(images(outcome)) == len(task.files.outputs) == 2
    for one in images(outcome):
        picture = Image.open(io.BytesIO(task.files.bytes(one["path"])))
        assert (picture.format, picture.size) == ("PNG", (1080, 1080))
        assert one["contrast"] >= colors.CONTRAST_MIN
        assert len(picture.convert("RGB").resize((64, 64)).getcolors(4096) or []) > 8


def test_the_same_brief_gives_the_same_bytes_and_more_pictures_change_none(tmp_path: Path) -> None:
    few, many = make("Summer sale", 2, tmp_path / "few")[1], make("Summer sale", 3, tmp_path / "many")[1]
    assert all(few.files.bytes(path) == many.files.bytes(path) for path in few.files.outputs)
    assert len({many.files.bytes(path) for path in many.files.outputs}) == 3


@pytest.mark.parametrize(
    "request_",
    [
        {"brief": "x", "outputs": {"mode": "count", "count": 0}},
        {"brief": "x", "outputs": {"mode": "count", "count": 21}},
        {"brief": 3},
    ],
)
def test_bad_input_is_refused(request_: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CreateImages.Input.model_validate({"request": request_})


def test_the_shipped_family_draws_latin_greek_and_cyrillic_with_its_license_beside_it() -> None:
    assert families()[0] == OWN
    for alphabet in ("ABCXYZabcxyzÄÖÜßĄĘŁŻŞĞİ", "ΑΒΓΔΩαβγδωάέή", "АБВГДЯабвгдяЇїЄєҐ", "0123456789€£¥%&@!?…—“”"):
        assert all(fonts.draws(OWN, char) for char in alphabet)
    assert "SIL OPEN FONT LICENSE" in (Path(fonts.__file__).parent / "faces" / "OFL.txt").read_text()


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
