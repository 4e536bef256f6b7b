"""`review_funnel`: what a page holds, what is wrong with it, and that it takes any page there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.service.site import Answer, Site, html, redirect, serving
from tests.unit.service.tooling import call, made, task

GOOD = """<!doctype html><html lang="en"><head><title>Tents under two kilos - Northpeak</title>
<meta name="description" content="Light tents for families, tested in the Alps, and sent to you within two days.">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="og:title" content="Tents"><meta property="og:image" content="/t.png">
<link rel="stylesheet" href="/s.css"><script src="/s.js"></script></head><body>
<h1>Pack <em>light</em></h1><h2>Why</h2><p>{words}</p><img src="/t.png" alt="A tent">
<a class="btn" href="/buy">Buy now</a><a href="/imprint">Imprint</a>
<form action="/send" method="post"><label for="m">E-mail</label><input id="m" name="mail" type="email" required>
<input type="hidden" name="t" value="1"><button>Sign up</button></form></body></html>"""
POOR = """<html><title>Hi</title><meta name=robots content=noindex><img src=/gone.png>
<form action="http://example.com/send"><input name=a><input name=b><input name=c><input name=d><input name=e>
<textarea name=f></textarea></form></html>"""


@pytest.fixture
def site() -> Iterator[Site]:
    with serving() as made_:
        made_.pages = {
            "/": html(GOOD.replace("{words}", "Carry less and see more. " * 10)),
            "/poor": html(POOR),
            "/s.css": Answer(b"x" * 300),
            "/s.js": Answer(b"x" * 500),
            "/t.png": Answer(b"x" * 7_000),
        }
        yield made_


def review(folder: Path, site: Site, path: str, **more: Any) -> dict[str, Any]:
    outcome = call(made(folder, "review_funnel", fetch_allow=site.authority), task(folder), url=site.url + path, **more)
    assert outcome.error is None
    assert outcome.data is not None
    return outcome.data


def failed(found: dict[str, Any]) -> set[str]:
    return {check["name"] for check in found["checks"] if not check["passed"]}


def test_a_good_page_is_taken_apart_and_passes(site: Site, tmp_path: Path) -> None:
    found = review(tmp_path, site, "/")
    assert failed(found) == {"https", "form_secure"}, "the test's own server has no certificate"
    assert (found["title"], found["language"], found["status"]) == ("Tents under two kilos - Northpeak", "en", 200)
    assert found["headings"] == [{"level": 1, "text": "Pack light"}, {"level": 2, "text": "Why"}]
    assert [action["text"] for action in found["actions"]] == ["Buy now", "Sign up"]
    assert found["forms"][0]["fields"] == [{"name": "mail", "type": "email", "label": "E-mail", "required": True}]
    assert (found["weight"]["measured"], found["weight"]["files"]) == (3, {"script": 1, "style": 1, "image": 1})
    assert found["weight"]["total_bytes"] == found["weight"]["html_bytes"] + 7_800


def test_what_is_wrong_is_named(site: Site, tmp_path: Path) -> None:
    found = review(tmp_path, site, "/poor")
    assert failed(found) >= {
        "title", "description", "viewport", "headline", "actions", "alt", "indexable", "text", "language",
        "form_fields", "form_labels", "form_secure", "unreachable",
    }  # fmt: skip
    assert found["weight"]["unreachable"] == [f"{site.url}/gone.png"]


def linked(*links: str) -> Answer:
    return html("<title>T</title>" + "Carry less and see more. " * 10 + "".join(links))


def test_the_funnels_pages_are_followed_by_their_calls_to_action(site: Site, tmp_path: Path) -> None:
    with serving() as other:
        site.pages = {
            "/": linked(
                "<a href=/about>About us</a><a class=btn href='/offer?size=2#top'>See plans</a>",
                f"<a class=btn href='{other.url}/shop'>Shop elsewhere</a><a class=btn href=/logout>Get out</a>",
                "<a class=btn href=/list.pdf>Download</a><a class=btn href=/gone>Order</a>",
            ),
            "/offer": linked("<a class=btn href=/>Start</a><a class=btn href=/pay>Buy now</a>"),
            "/pay": linked("<form><input name=card><input name=mail></form><a class=btn href=/away>Buy</a>"),
            "/away": redirect(f"{other.url}/landed"),
        }
        found = review(tmp_path, site, "/", weigh=False)
        following = found["following"]
        assert [page["url"].removeprefix(site.url) for page in following] == ["/offer?size=2", "/gone", "/pay", "/away"]
        assert [page["status"] for page in following] == [200, 404, 200, None]
        assert (following[2]["source"], following[2]["fields"]) == (f"{site.url}/offer?size=2", 2)
        assert following[3]["fault"] == "It leads to another site."
        assert other.asked == []
        assert {asked.path for asked in site.asked} == {"/", "/offer?size=2", "/gone", "/pay", "/away"}
