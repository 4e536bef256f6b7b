"""`web_search`: providers on a real server that speaks their answers; what they get wrong is theirs, and said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.tools.port import Outcome
from tests.unit.service.site import Answer, Site, as_json, serving
from tests.unit.service.tooling import call, made, task

FOUND = [
    {"title": "Tents\n2026", "url": "https://example.com/a", "content": "Light   tents."},
    {"title": "", "url": "https://example.com/b", "content": None},
    {"title": "A trap", "url": "javascript:alert(1)", "content": "x"},
    {"title": "Long", "url": "https://example.com/c", "content": "word " * 500},
    "nonsense",
]


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made_:
        yield made_


def search(folder: Path, query: str = "light tents", count: int = 8, billed: int = 1, **settings: Any) -> Outcome:
    """Its outcome, billed so often: what failed is not."""
    hand = task(folder)
    outcome = call(made(folder, "web_search", **settings), hand, query=query, count=count)
    assert hand.charges.get("web_search", 0) == billed
    return outcome


def urls(outcome: Outcome) -> list[str]:
    assert outcome.data is not None
    return [one["url"] for one in outcome.data["results"]]


def test_searxng_is_asked_for_json(site: Site, tmp_path: Path) -> None:
    site.pages["/search"] = as_json({"results": FOUND})
    outcome = search(tmp_path, "zelte & co", web_search="searxng", web_search_url=f"{site.url}/")
    assert urls(outcome) == ["https://example.com/a", "https://example.com/b", "https://example.com/c"]
    assert outcome.data is not None
    first, second, third = outcome.data["results"]
    assert (first["title"], first["snippet"]) == ("Tents 2026", "Light tents.")
    assert (second["title"], second["snippet"], len(third["snippet"])) == ("https://example.com/b", "", 500)
    assert site.asked[0].path == "/search?q=zelte+%26+co&format=json"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(b"Forbidden", 403), "SearXNG (with `json` among its search.formats) answered 403"),
        (as_json({"error": "too many requests"}, 429), "answered 429: too many requests"),
        (Answer(b"<html>"), "what is no JSON"),
    ],
)
def test_what_goes_wrong_there_is_said(answer: Answer, said: str, site: Site, tmp_path: Path) -> None:
    site.pages["/search"] = answer
    outcome = search(tmp_path, billed=0, web_search="searxng", web_search_url=site.url)
    assert outcome.error is not None
    assert outcome.error[0] == "upstream_failed"
    assert said in outcome.error[1]


@pytest.mark.parametrize(
    ("settings", "wants"),
    [
        ({}, "AGENTSVC_WEB_SEARCH "),
        ({"web_search": "brave"}, "AGENTSVC_WEB_SEARCH_KEY"),
    ],
)
def test_without_settings_it_says_which(settings: dict[str, Any], wants: str, tmp_path: Path) -> None:
    tool = made(tmp_path, "web_search", **settings)
    outcome = search(tmp_path, billed=0, **settings)
    assert outcome.error is not None
    assert (tool.available(), outcome.error[0]) == (False, "not_configured")
    assert wants in outcome.error[1]
