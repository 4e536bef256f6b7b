"""`edit_image`, and backgrounds by an image model: a real server speaks its routes."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agentsvc_nb.tools.ads import pictures
from agentsvc_nb.tools.ads.models import EDITED_FROM
from agentsvc_nb.tools.port import Outcome
from tests.unit.service.agents_harness import MemoryToolContext
from tests.unit.service.site import Answer, Asked, Site, as_json, serving
from tests.unit.service.tooling import call, made, task

BRIEF = {"brief": "Headline: Pack light\nSubline: Two kilos.\nCTA: Shop tents\nnavy, orange"}


def picture(width: int, height: int, color: Any = (200, 60, 40), kind: str = "PNG") -> bytes:
    held = io.BytesIO()
    Image.new("RGB", (width, height), color).save(held, kind)
    return held.getvalue()


def edit(folder: Path, at: MemoryToolContext, path: str, **changes: Any) -> Outcome:
    return call(made(folder, "edit_image"), at, request={"path": path, **changes})


def only(outcome: Outcome) -> dict[str, Any]:
    assert outcome.error is None
    assert outcome.data is not None
    (found,) = outcome.data["images"]
    assert isinstance(found, dict)
    return found


def shown(at: MemoryToolContext, found: dict[str, Any]) -> Image.Image:
    return Image.open(io.BytesIO(at.files.bytes(found["path"])))


def test_an_ad_of_ours_is_drawn_again_with_other_words(tmp_path: Path) -> None:
    at = task(tmp_path)
    first = only(call(made(tmp_path, "create_images"), at, request=BRIEF))
    found = only(edit(tmp_path, at, first["path"], headline="Travel far", cta=""))
    assert (found["headline"], found["layout"], found["palette"]) == ("Travel far", first["layout"], first["palette"])
    again = pictures.design(shown(at, found))
    assert again is not None
    assert again["words"] == {"headline": "Travel far", "subline": "Two kilos.", "action": "", "brand": ""}
    before = at.files.bytes(first["path"])
    assert before != at.files.bytes(found["path"])
    source = json.loads(shown(at, found).info[EDITED_FROM])
    assert source == {"path": first["path"], "sha256": hashlib.sha256(before).hexdigest()}
    assert EDITED_FROM not in shown(at, first).info
    story = only(edit(tmp_path, at, first["path"], sizes=["story"], brand_colors=["#0b6e4f"]))
    assert (story["width"], story["height"], story["palette"][0]) == (1080, 1920, "#0b6e4f")


@pytest.mark.parametrize("design", [{"words": 3}, {"palette": ["red"] * 4, "scene": "card"}])
def test_a_design_that_somebody_else_wrote_is_only_a_picture(design: Any, tmp_path: Path) -> None:
    at = task(tmp_path, {"a.png": pictures.encode(Image.new("RGB", (400, 400), (9, 9, 9)), design)})
    assert only(edit(tmp_path, at, "a.png", headline="Hello"))["layout"] == "photo"


def test_without_an_image_model_it_says_what_to_set(tmp_path: Path) -> None:
    at = task(tmp_path, {"a.png": picture(400, 400)})
    for outcome in (
        edit(tmp_path, at, "a.png", instruction="Make it blue"),
        call(made(tmp_path, "create_images"), at, request={**BRIEF, "background": "model"}),
    ):
        assert outcome.error is not None
        assert outcome.error[0] == "not_configured"
        assert "AGENTSVC_IMAGE_URL" in outcome.error[1]


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made_:
        yield made_


def test_an_image_model_paints_the_background(site: Site, tmp_path: Path) -> None:
    painted = base64.b64encode(picture(64, 64, (30, 90, 160))).decode()
    site.pages["/v1/images/generations"] = as_json({"data": [{"b64_json": painted}]})
    at = task(tmp_path)
    tool = made(tmp_path, "create_images", image_url=f"{site.url}/v1/", image_key="k-1", image_model="flux")
    outcome = call(
        tool, at, request={**BRIEF, "background": "model", "sizes": ["square", "story"], "outputs": {"count": 2}}
    )
    assert outcome.data is not None
    assert [one["layout"] for one in outcome.data["images"]] == ["photo"] * 2
    asked = site.asked[0]
    assert asked.headers["Authorization"] == "Bearer k-1"
    assert b'"model":"flux"' in asked.body
    assert b"Pack light" in asked.body
    assert b"1024x1536" in site.asked[1].body


def test_an_image_model_changes_a_picture(site: Site, tmp_path: Path) -> None:
    site.pages["/v1/images/edits"] = as_json({"data": [{"url": f"{site.url}/made.png"}]})
    site.pages["/made.png"] = Answer(picture(500, 500, (1, 2, 250)))
    at = task(tmp_path, {"a.png": picture(500, 500)})
    tool = made(tmp_path, "edit_image", image_url=f"{site.url}/v1", fetch_allow=site.authority)
    found = only(call(tool, at, request={"path": "a.png", "instruction": "Make it blue"}))
    assert shown(at, found).getcolors() == [(250_000, (1, 2, 250))]
    assert b"Make it blue" in site.asked[0].body


def refuse(asked: Asked) -> Answer:
    return as_json({"error": {"message": "Bad key k-1."}}, 401)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (refuse, "The image model answered 401: Bad key ...."),
        (as_json({"data": [{"b64_json": "bm8gcGljdHVyZQ=="}]}), "is no picture"),
        (as_json({"data": [{"url": "http://127.0.0.1:1/x"}]}), "is not fetched"),
    ],
)
def test_what_goes_wrong_there_is_said_without_the_key(page: Any, said: str, site: Site, tmp_path: Path) -> None:
    site.pages["/images/edits"] = page
    tool = made(tmp_path, "edit_image", image_url=site.url, image_key="k-1")
    outcome = call(tool, task(tmp_path, {"a.png": picture(9, 9)}), request={"path": "a.png", "instruction": "x"})
    assert outcome.error is not None
    assert said in outcome.error[1]
    assert "k-1" not in outcome.error[1]
