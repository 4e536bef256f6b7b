"""`web_search`: providers on a real server that speaks their answers; what they get wrong is theirs, and said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.tools.port import Outcome
from tests.unit.service.site import Answer, Site, as_json
from tests.unit.service.tooling import call, made, task

FOUND = [
    {"title": "Tents\n2026", "url": "https://example.com/a", "content": "Light   tents."},
    {"title": "A trap", "url": "javascript:alert(1)", "content": "x"},
    {"title": "Long", "url": "https://example.com/c", "content": "word " * 500},
    "nonsense",
]


def search(folder: Path, query: str = "light tents", billed: int = 1, **settings: Any) -> Outcome:
    """Its outcome, billed so often: what failed is not."""
    hand = task(folder)
    outcome = call(made(folder, "web_search", **settings), hand, query=query, count=8)
    assert hand.charges.get("web_search", 0) == billed
    return outcome


def urls(outcome: Outcome) -> list[str]:
    assert outcome.data is not None
    return [one["url"] for one in outcome.data["results"]]


def test_searxng_is_asked_for_json(site: Site, tmp_path: Path) -> None:
    site.pages["/search"] = as_json({"results": FOUND})
    outcome = search(tmp_path, "zelte & co", web_search="searxng", web_search_url=f"{site.url}/")
    assert urls(outcome) == ["https://example.com/a", "https://example.com/c"]
    assert outcome.data is not None
    first, second = outcome.data["results"]
    assert (first["title"], first["snippet"]) == ("Tents 2026", "Light tents.")
    assert len(second["snippet"]) == 500
    assert site.asked[0].path == "/search?q=zelte+%26+co&format=json"


@pytest.mark.rule("`web_search` reports a provider's error without its key.")
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (as_json({"error": "too many requests"}, 429), "429"),
        (Answer(b"<html>"), "JSON"),
    ],
)
def test_what_goes_wrong_there_is_said(answer: Answer, said: str, site: Site, tmp_path: Path) -> None:
    site.pages["/search"] = answer
    outcome = search(tmp_path, billed=0, web_search="searxng", web_search_url=site.url)
    assert outcome.error is not None
    assert outcome.error[0] == "upstream_failed"
    assert said in outcome.error[1]


def test_without_settings_it_says_which(tmp_path: Path) -> None:
    outcome = search(tmp_path, billed=0, web_search="brave")
    assert outcome.error is not None
    assert outcome.error[0] == "not_configured"
    assert "AGENTSVC_WEB_SEARCH_KEY" in outcome.error[1]
