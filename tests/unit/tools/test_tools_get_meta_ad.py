"""`get_meta_ad`: a real server speaks what the library's documentation shows, and the snapshot pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from agentsvc_nb.tools.port import Outcome
from tests.support.tool_server import PIXEL
from tests.unit.service.site import Answer, Site, as_json, html, serving
from tests.unit.service.tooling import call, made, task

TOKEN = "EAAB-secret"


def ad(site: Site, number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "page_id": "77",
        "page_name": "Northpeak",
        "ad_creative_bodies": ["Pack light"],
        "ad_creative_link_titles": ["Tents"],
        "ad_delivery_start_time": "2026-05-01",
        "publisher_platforms": ["facebook", "instagram"],
        "languages": ["en"],
        "ad_snapshot_url": f"{site.url}/render_ad/?id={number}&access_token={TOKEN}",
    }


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made_:
        made_.pages = {
            "/v21.0/ads_archive": as_json({"data": [ad(made_, 1), ad(made_, 2)], "paging": {"next": "https://x"}}),
            "/render_ad/": html(
                rf'<script>{{"video_hd_url":"{made_.url}\/v.mp4","original_image_url":"\/p.png"}}</script>'
                "<img src=/no.png>"
            ),
            "/v.mp4": Answer(b"\0\0\0\x18ftypisom\0\0\0\0isom" + bytes(100)),
            "/p.png": Answer(PIXEL),
        }
        yield made_


def ask(folder: Path, site: Site, at: Any = None, allow: bool = True, **given: Any) -> Outcome:
    settings = {"meta_token": TOKEN, "meta_url": f"{site.url}/v21.0"} | (
        {"fetch_allow": site.authority} if allow else {}
    )
    return call(made(folder, "get_meta_ad", **settings), at or task(folder), countries=["DE", "AT"], **given)


def ads(outcome: Outcome) -> list[dict[str, Any]]:
    assert outcome.error is None, outcome.error
    assert outcome.data is not None
    found = outcome.data["ads"]
    assert isinstance(found, list)
    return found


def test_the_library_is_asked_as_its_documentation_has_it(site: Site, tmp_path: Path) -> None:
    outcome = ask(tmp_path, site, search_terms="tents", page_ids=["77"], count=2, media=False)
    query = parse_qs(urlsplit(site.asked[0].path).query)
    assert json.loads(query["ad_reached_countries"][0]) == ["DE", "AT"]
    assert (query["search_terms"], query["search_page_ids"], query["limit"]) == (["tents"], ['["77"]'], ["2"])
    assert "ad_creative_link_titles" in query["fields"][0].split(",")
    assert site.asked[0].headers["Authorization"] == f"Bearer {TOKEN}"
    first, second = ads(outcome)
    assert (first["titles"], first["platforms"]) == (["Tents"], ["facebook", "instagram"])
    assert (second["id"], second["started"], second["stopped"]) == ("2", "2026-05-01", None)
    assert outcome.data is not None
    assert (outcome.data["more"], len(site.asked)) == (True, 1)
    ask(tmp_path, site, search_terms="tents", media=False)
    assert "search_page_ids" not in site.asked[1].path


@pytest.mark.rule("No answer of `get_meta_ad` contains the token.")
def test_the_token_is_nowhere_in_the_answer(site: Site, tmp_path: Path) -> None:
    outcome = ask(tmp_path, site, search_terms="tents")
    assert TOKEN not in outcome.model_dump_json()
    site.pages["/v21.0/ads_archive"] = as_json({"error": {"message": f"Bad token {TOKEN}"}}, 400)
    outcome = ask(tmp_path, site, search_terms="tents")
    assert outcome.error == ("upstream_failed", "The Meta Ad Library answered 400: Bad token ....")


def test_an_answer_of_another_form_is_the_librarys_fault(site: Site, tmp_path: Path) -> None:
    site.pages["/v21.0/ads_archive"] = as_json({"data": "none"})
    assert ask(tmp_path, site, search_terms="tents").error == (
        "upstream_failed", "The Meta Ad Library answered 200: the response is not the expected JSON.",
    )  # fmt: skip


def test_a_snapshot_in_a_private_network_is_not_fetched(site: Site, tmp_path: Path) -> None:
    outcome = ask(tmp_path, site, allow=False, search_terms="tents")
    assert [one["media_ids"] for one in ads(outcome)] == [[], []]
    assert outcome.data is not None
    assert outcome.data["without_media"] == ["1", "2"]
    assert [asked.path.partition("?")[0] for asked in site.asked] == ["/v21.0/ads_archive"]
