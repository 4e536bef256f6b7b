"""Who may call (docs/api/accounts.md "Authentication", docs/api/conventions.md)."""

from __future__ import annotations

import hmac
import re

import httpx
import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import ROUTES, V1
from tests.service.api.conftest import Wire, code

TOOLS = f"{V1}/tools"


def test_both_headers_carry_the_key(service: RunningService) -> None:
    good, bad = service.api_key, "svc_sk_unknown"
    for headers, status in (
        ({"Authorization": f"Bearer {good}"}, 200),
        ({"x-api-key": good}, 200),
        ({"Authorization": f"Bearer {good}", "x-api-key": bad}, 200),
        ({"Authorization": f"Bearer {bad}", "x-api-key": good}, 401),
    ):
        assert httpx.get(service.base_url + TOOLS, headers=headers).status_code == status


@pytest.mark.parametrize(
    "headers",
    [{}, {"x-api-key": "svc_sk_wrong"}, {"Authorization": "Basic abc"}, {"Authorization": "Bearer"}],
)
def test_every_wrong_key_is_the_same_401(service: RunningService, headers: dict[str, str]) -> None:
    answer = httpx.get(service.base_url + TOOLS, headers=headers)
    assert (answer.status_code, code(answer)) == (401, "unauthorized")


def test_a_request_without_a_key_is_answered_before_its_body_is_read(service: RunningService) -> None:
    big = b"\0" * 20_000_000
    answer = httpx.post(service.base_url + f"{V1}/files", files=[("files", ("big", big))])
    assert (answer.status_code, code(answer)) == (401, "unauthorized")


def test_an_unknown_path_and_a_wrong_method_are_envelopes(wire: Wire) -> None:
    unknown = wire("GET", "/nothing/here")
    assert (unknown.status_code, code(unknown)) == (404, "not_found")
    wrong = wire("DELETE", "/files")
    assert (wrong.status_code, code(wrong)) == (405, "method_not_allowed")
    assert wrong.headers["allow"] == "GET, HEAD, PATCH, POST"


def test_health_proves_to_a_nonce_that_it_holds_the_key(service: RunningService) -> None:
    """Over exactly this, in this order: clients of other versions check it. It is one answer for one nonce."""
    at = service.base_url.removeprefix("http://")
    own = hmac.digest(service.api_key.encode(), b"agentsvc embedded proof v1", "sha256")
    assert "proof" not in httpx.get(f"{service.base_url}/healthz").json()
    for nonce in ("n" * 16, "-_aZ09" * 21):
        health = httpx.get(f"{service.base_url}/healthz", params={"nonce": nonce}).json()
        parts = f"agentsvc embedded proof v1\n{nonce}\n{health['instance']}\n{at}"
        assert health["proof"] == hmac.digest(own, parts.encode(), "sha256").hex()


@pytest.mark.parametrize("nonce", ["", "n" * 15, "n" * 129, "n" * 20 + "\n", "n.n" * 10])
def test_a_nonce_of_other_characters_or_length_is_refused(service: RunningService, nonce: str) -> None:
    """Nothing that could be read as another part of what is proved."""
    refused = httpx.get(f"{service.base_url}/healthz", params={"nonce": nonce})
    assert (refused.status_code, code(refused)) == (400, "invalid_query")
    assert refused.json()["error"]["param"] == "nonce"


SCOPES = {
    "runs": {"runs.get", "files.list"},
    "tools": {"tools.list", "jobs.status", "files.list"},
    "jobs": {"tools.list", "jobs.status", "files.list"},
    "mcp": set(),
}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_scope_opens_its_routes_and_no_others(service: RunningService, scope: str) -> None:
    headers = {"x-api-key": service.create_key(name=scope, scopes=(scope,))}
    opened = set()
    for name in ("runs.get", "tools.list", "jobs.status", "files.list"):
        url = service.base_url + ROUTES[name].url(run_id="x", job_id="x", name="x")
        answer = httpx.request(ROUTES[name].method, url, headers=headers)
        if answer.status_code == 200 or code(answer) != "api_key_scope_forbidden":
            opened.add(name)
    assert opened == SCOPES[scope]


def test_keys_are_stored_as_hashes(service: RunningService) -> None:
    key = service.create_key(name="hashed").encode()
    files = [path for path in service.data.rglob("*") if path.is_file()]
    assert [path.name for path in files if key in path.read_bytes()] == []


def test_the_page_loads_a_viewer_and_the_document_from_the_service(service: RunningService) -> None:
    with httpx.Client(base_url=service.base_url) as stranger:
        page = stranger.get("/app/api")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert f'data-document="{ROUTES["service.openapi"].path}"' in page.text
        for address in re.findall(r'<(?:script src|link [^>]*href)="([^"]+)"', page.text):
            answer = stranger.get(address)
            assert answer.is_success, address
            assert answer.headers["content-type"].startswith(("text/javascript", "text/css", "image/svg+xml")), address
