"""Pages of strangers: whatever a page says of its encoding and holds, the service answers its other callers."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb.testing import running_service
from tests.service.api.conftest import Wire
from tests.service.api.test_jobs_http import ended, submit
from tests.unit.service.site import Answer, Asked, Site, as_json, serving

PAGE_BYTES = 750_000


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def wire(site: Site) -> Iterator[Wire]:
    settings = {"fetch_allow": site.authority, "meta_token": "EAAB", "meta_url": f"{site.url}/v21.0"}
    with contextlib.ExitStack() as stack:
        service = stack.enter_context(running_service(**settings))
        headers = {"Authorization": f"Bearer {service.api_key}"}
        yield Wire(stack.enter_context(httpx.Client(base_url=service.base_url, headers=headers, timeout=20)))


def while_read(wire: Wire, site: Site, tool: str, given: dict[str, Any], path: str, page: Answer) -> dict[str, Any]:
    """The job of a tool that reads the page. Another caller is answered once the page was asked for."""
    asked_for = threading.Event()

    def answer(asked: Asked) -> Answer:
        asked_for.set()
        return page

    site.pages[path] = answer
    job = submit(wire, tool, input=given)
    assert asked_for.wait(20)
    for _ in range(3):
        assert wire("GET", "/models").status_code == 200
    found: dict[str, Any] = ended(wire, job)
    return found


@pytest.mark.parametrize(
    "charset",
    [
        *("punycode", "idna", "undefined", "utf-7", "base64", "rot13", "hex", "zlib", "bz2", "uu", "quopri"),
        *("unicode_escape", "raw_unicode_escape", "mbcs", "oem", "string_escape", "charmap", "", "*", "x" * 9_000),
        *("hz-gb-2312", "iso-2022-kr", "iso-2022-jp", "x-user-defined", "utf-16", "windows-1252", "shift_jis"),
    ],
)
def test_no_charset_of_a_page_stops_the_service(wire: Wire, site: Site, charset: str) -> None:
    # What follows the last hyphen makes `punycode` insert a character for each byte: quadratic.
    page = b"<title>Tents</title><h1>Pack light</h1><p>-" + b"a" * PAGE_BYTES
    answer = Answer(page, headers={"Content-Type": f"text/html; charset={charset}"})
    job = while_read(wire, site, "review_funnel", {"url": site.url, "pages": 1, "weigh": False}, "/", answer)
    assert job["status"] == "succeeded", job["error"]
    reviewed = wire("GET", f"/jobs/{job['job_id']}/result", params={"chat": job["chat"]}).json()["data"]
    reads_as_ascii = charset not in ("utf-16", "hz-gb-2312", "iso-2022-kr")
    assert (reviewed["title"] == "Tents") is reads_as_ascii


AD = {"id": "1", "page_name": "Northpeak", "ad_snapshot_url": ""}


@pytest.mark.parametrize(
    ("page", "charset"),
    [
        (b"a-" + b"a" * PAGE_BYTES, "punycode"),
        (b'"video_hd_url":"' + b"a" * 4_000_000, "utf-8"),
        (b'"video_hd_url":"' + b"\\a" * 2_000_000, "utf-8"),
        (b'"video_hd_url":"http://["' * 1_000, "utf-8"),
        (b"<img src=http://[>" * 1_000, "utf-8"),
    ],
)
def test_no_snapshot_of_an_ad_stops_the_service(wire: Wire, site: Site, page: bytes, charset: str) -> None:
    ad = AD | {"ad_snapshot_url": f"{site.url}/render_ad/"}
    site.pages["/v21.0/ads_archive"] = as_json({"data": [ad]})
    given = {"search_terms": "tents", "countries": ["DE"]}
    answer = Answer(page, headers={"Content-Type": f"text/html; charset={charset}"})
    job = while_read(wire, site, "get_meta_ad", given, "/render_ad/", answer)
    assert job["status"] == "succeeded", job["error"]


@pytest.mark.parametrize(
    "page",
    [
        "<form><label>" + "a<input name=b>" * 100_000,
        "<img src=http://[><script src=//[></script>",
    ],
)
def test_no_markup_of_a_page_stops_the_service(wire: Wire, site: Site, page: str) -> None:
    answer = Answer(page.encode(), headers={"Content-Type": "text/html"})
    job = while_read(wire, site, "review_funnel", {"url": site.url, "pages": 1}, "/", answer)
    assert job["status"] == "succeeded", job["error"]
