"""The marketing tools over HTTP: their results are stored and found, and no page of a stranger stops the service."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PIL import Image

from agentsvc_nb.testing import running_service
from tests.service.api.conftest import Wire
from tests.service.api.test_jobs_http import ended, submit
from tests.support.waiting import until
from tests.unit.service.site import Answer, Site, html, serving


@pytest.fixture(scope="module")
def running_site() -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture
def site(running_site: Site) -> Site:
    running_site.asked.clear()
    return running_site


@pytest.fixture(scope="module")
def marketing(running_site: Site) -> Iterator[Wire]:
    with contextlib.ExitStack() as stack:
        settings = {
            "fetch_allow": running_site.authority,
            "meta_token": "EAAB",
            "meta_url": f"{running_site.url}/v21.0",
        }
        service = stack.enter_context(running_service(**settings))
        headers = {"Authorization": f"Bearer {service.api_key}"}
        yield Wire(stack.enter_context(httpx.Client(base_url=service.base_url, headers=headers, timeout=60)))


def result(wire: Wire, tool: str, given: dict[str, Any]) -> dict[str, Any]:
    job = submit(wire, tool, input=given)
    assert ended(wire, job)["status"] == "succeeded", ended(wire, job)["error"]
    found: dict[str, Any] = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()
    return found


@pytest.mark.rule("A reviewed page becomes a landing page that can be labelled.")
def test_a_reviewed_page_is_a_landing_page_that_can_be_labelled(marketing: Wire, site: Site) -> None:
    site.pages["/"] = html("<h1>Tents</h1><a class=btn href=/buy>Buy</a>")
    found = result(marketing, "review_funnel", {"url": site.url})
    page = found["data"]["page_id"]
    assert (found["kind"], found["data"]["headings"][0]["text"]) == ("inline", "Tents")
    assert marketing("GET", f"/landing-pages/{page}").json()["url"] == site.url
    body = {"labels": {"urgency": "none"}, "expected_version": 1}
    assert marketing("PUT", f"/landing-pages/{page}/labels", json=body).json()["version"] == 2
    assert result(marketing, "review_funnel", {"url": site.url})["data"]["page_id"] == page


def test_pictures_that_can_not_be_had_are_warnings(marketing: Wire, site: Site) -> None:
    held = io.BytesIO()
    Image.new("RGB", (4, 4)).save(held, "PNG")
    site.pages |= {"/shop/a.png": Answer(held.getvalue()), "/text": html("no picture")}
    urls = [f"{site.url}/shop/a.png?size=2", f"{site.url}/shop/a.png", f"{site.url}/text"]
    body = {"input": {"message": "say done", "image_urls": urls}, "chat": "new"}
    asked = marketing("POST", "/tools/ask_stefanbrain/invoke", json=body).json()
    listed = marketing("GET", "/files", params={"chat_id": asked["chat"]}).json()
    files = listed["files"]
    assert [(file["path"], file["media_type"]) for file in files] == [
        ("uploads/a-2.png", "image/png"), ("uploads/a.png", "image/png"),
    ]  # fmt: skip
    events = marketing.events(asked["data"]["run_id"])
    warned = [event["payload"]["code"] for event in events if event["type"] == "warning"]
    assert warned == ["image_not_fetched", "images_not_seen"]


@pytest.mark.parametrize("charset", ["punycode", "undefined", "utf-16"])
def test_no_charset_of_a_page_stops_the_service(marketing: Wire, site: Site, charset: str) -> None:
    """What follows the last hyphen makes `punycode` insert a character for each byte: quadratic."""
    page = b"<title>Tents</title><h1>Pack light</h1><p>-" + b"a" * 200_000
    site.pages["/"] = Answer(page, headers={"Content-Type": f"text/html; charset={charset}"})
    job = submit(marketing, "review_funnel", input={"url": site.url, "pages": 1, "weigh": False})
    until(lambda: site.asked)
    assert marketing("GET", "/models").status_code == 200
    done = ended(marketing, job)
    assert done["status"] == "succeeded", done["error"]
    reviewed = marketing("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()["data"]
    assert (reviewed["title"] == "Tents") is (charset != "utf-16")
