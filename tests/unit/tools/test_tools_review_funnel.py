"""`review_funnel`: what a page holds, what is wrong with it, and that it takes any page there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentsvc_nb.tools.support.landing import facts
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
            "/moved": redirect("/"),
            "/picture": Answer(b"x", headers={"Content-Type": "image/png"}),
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
    assert all(check["message"].endswith((".", "?", "png", "=1.")) for check in found["checks"])


def test_the_page_is_stored_under_the_address_that_was_given(site: Site, tmp_path: Path) -> None:
    at = task(tmp_path)
    outcome = call(
        made(tmp_path, "review_funnel", fetch_allow=site.authority), at, url=f"{site.url}/moved", weigh=False, pages=1
    )
    assert outcome.data is not None
    assert (at.pages, outcome.data["page_id"]) == ([f"{site.url}/moved"], "page_1")
    assert (outcome.data["final_url"], outcome.data["redirects"]) == (f"{site.url}/", [f"{site.url}/moved"])
    assert [asked.path for asked in site.asked] == ["/moved", "/"], "nothing is weighed when it is not asked for"
    assert [step[0] for step in at.steps] == [0, 1, 2, 3]


def linked(*links: str, scripts: int = 0) -> Answer:
    words = "Carry less and see more. " * 10
    return html("<title>T</title>" + words + "".join(links) + "<script></script>" * scripts)


def test_the_funnels_pages_are_followed_by_their_calls_to_action(site: Site, tmp_path: Path) -> None:
    with serving() as other:
        site.pages = {
            "/": linked(
                "<a href=/about>About us</a><a class=btn href='/offer?size=2#top'>See plans</a>",
                f"<a class=btn href='{other.url}/shop'>Shop elsewhere</a><a class=btn href=/logout>Get out</a>",
                "<a class=btn href='/?add=7'>Add to cart</a><a class=btn href=/list.pdf>Download</a>",
                "<a class=btn href=/gone>Order</a><a class=btn href='#x'>Start</a><a class=btn href='http://['>Buy</a>",
            ),
            "/offer": linked("<a class=btn href=/>Start</a><a class=btn href=/pay>Buy now</a>"),
            "/pay": linked("<form><input name=card><input name=mail></form><a class=btn href=/away>Buy</a>"),
            "/away": redirect(f"{other.url}/landed"),
        }
        found = review(tmp_path, site, "/", weigh=False)
        following = found["following"]
        assert [page["url"].removeprefix(site.url) for page in following] == ["/offer?size=2", "/gone", "/pay", "/away"]
        assert [page["said"] for page in following] == ["See plans", "Order", "Buy now", "Buy"]
        assert [page["status"] for page in following] == [200, 404, 200, None]
        assert (following[2]["source"], following[2]["fields"]) == (f"{site.url}/offer?size=2", 2)
        assert following[3]["fault"] == "It leads to another site."
        assert other.asked == []
        assert {asked.path for asked in site.asked} == {"/", "/offer?size=2", "/gone", "/pay", "/away"}


def test_five_pages_are_looked_at_and_fewer_when_asked_for(site: Site, tmp_path: Path) -> None:
    steps = [linked(f"<a class=btn href=/p{step + 1}>Start</a>") for step in range(9)]
    site.pages = {"/": steps[0], **{f"/p{step}": page for step, page in enumerate(steps)}}
    assert len(review(tmp_path, site, "/", weigh=False)["following"]) == 4
    assert len(review(tmp_path, site, "/", weigh=False, pages=2)["following"]) == 1
    outcome = call(made(tmp_path, "review_funnel", fetch_allow=site.authority), task(tmp_path), url=site.url)
    assert f"- page 2, by 'Start': {site.url}/p1: T, 0 fields" in outcome.content[0]["text"]


def test_what_scripts_hide_is_said(site: Site, tmp_path: Path) -> None:
    site.pages = {
        "/": html("<title>App</title><div id=root></div><script src=/a.js></script><a class=btn href='/join'>Join</a>"),
        "/join": linked("<button>Sign up</button>", scripts=2),
        "/plain": linked("<form><input name=mail><button>Join</button></form>", scripts=2),
    }
    found = review(tmp_path, site, "/", weigh=False)
    assert "1 words and 1 scripts" in found["hidden"][0]
    [join] = found["following"]
    assert any("'Sign up'" in sentence for sentence in join["hidden"])
    assert any("no form" in sentence for sentence in join["hidden"])
    assert review(tmp_path, site, "/plain", weigh=False)["hidden"] == []


def test_what_is_no_page_or_not_public_is_refused(site: Site, tmp_path: Path) -> None:
    tool = made(tmp_path, "review_funnel", fetch_allow=site.authority)
    for url, expected in ((f"{site.url}/picture", "fetch_failed"), ("http://127.0.0.1:1/", "address_refused")):
        at = task(tmp_path)
        outcome = call(tool, at, url=url)
        assert outcome.error is not None
        assert (outcome.error[0], at.pages) == (expected, [])


def test_files_of_a_private_network_are_not_weighed(site: Site, tmp_path: Path) -> None:
    with serving() as other:
        site.pages["/"] = html(f"<script src='{other.url}/secret.js'></script>")
        assert review(tmp_path, site, "/")["weight"]["unreachable"] == [f"{other.url}/secret.js"]
        assert other.asked == []


@pytest.mark.parametrize("page", ["", "<", "<a" * 50_000, "<a>" * 50_000, "<!--" * 50_000, "<![x" * 99, "\0</h1></h9>"])
def test_any_page_is_read(page: str) -> None:
    assert len(facts(page).actions) <= 200


@given(
    st.lists(st.sampled_from(["<a>", "</a>", "<h1>", "</h2>", "<label>", "Buy", "<form>", "<input id=x>", "<", '"']))
)
@settings(max_examples=100, deadline=None)
def test_any_order_of_tags_is_read(parts: list[str]) -> None:
    found = facts("".join(parts))
    assert all(heading.text for heading in found.headings)
    assert len(found.headings) <= parts.count("<h1>")
    assert len(found.forms) <= parts.count("<form>")
