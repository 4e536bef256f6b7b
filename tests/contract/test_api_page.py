"""The page of the API, for people: open to everybody, whole, and without script."""

from __future__ import annotations

import re

import httpx

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.routes import ROUTES


def test_the_page_has_every_operation_and_its_links_lead_somewhere(service: RunningService) -> None:
    answer = httpx.get(f"{service.base_url}/app/api")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<script" not in answer.text
    ids = re.findall(r' id="([^"]+)"', answer.text)
    assert len(set(ids)) == len(ids)
    assert {route.operation_id for route in ROUTES.values()} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', answer.text)) <= set(ids)
    elsewhere = {row.code for row in CODES.values() if row.unreached} | {"request_too_large"}  # docs/mcp.md has that
    assert {code for code in CODES if f"<code>{code}</code>" not in answer.text} == elsewhere
    assert answer.text.count("httpx.") >= len(ROUTES)
    assert answer.text.count("curl -X") == len(ROUTES)


def test_the_page_and_the_document_name_each_other(service: RunningService) -> None:
    page = httpx.get(f"{service.base_url}/app/api").text
    path = ROUTES["service.openapi"].path
    assert f'href="{path}"' in page
    document = httpx.get(service.base_url + path).json()
    assert document["info"]["title"] in page
