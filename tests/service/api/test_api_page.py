"""The page of the API, for people: open to everybody, with scripts of the service alone."""

from __future__ import annotations

import re

import httpx

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import ROUTES


def test_the_page_loads_a_viewer_and_the_document_from_the_service(service: RunningService) -> None:
    with httpx.Client(base_url=service.base_url) as stranger:
        page = stranger.get("/app/api")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert f'data-document="{ROUTES["service.openapi"].path}"' in page.text
        for address in re.findall(r'<(?:script src|link [^>]*href)="([^"]+)"', page.text):
            answer = stranger.get(address)
            assert answer.is_success, address
            assert answer.headers["content-type"].startswith(("text/javascript", "text/css", "image/svg+xml")), address
