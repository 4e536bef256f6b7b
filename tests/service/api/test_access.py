"""Who may call (docs/api/accounts.md "Authentication", docs/api/conventions.md)."""

from __future__ import annotations

import hmac

import httpx
import pytest

from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import code

TOOLS = f"{V1}/tools"


@pytest.mark.rule("A request carries its key in `Authorization: Bearer` or `x-api-key`; `Bearer` wins.")
def test_both_headers_carry_the_key(service: RunningService) -> None:
    good, bad = service.api_key, "svc_sk_unknown"
    for headers, status in (
        ({"Authorization": f"Bearer {good}"}, 200),
        ({"x-api-key": good}, 200),
        ({"Authorization": f"Bearer {good}", "x-api-key": bad}, 200),
        ({"Authorization": f"Bearer {bad}", "x-api-key": good}, 401),
        ({}, 401),
        ({"x-api-key": bad}, 401),
        ({"Authorization": "Basic abc"}, 401),
        ({"Authorization": "Bearer"}, 401),
    ):
        assert httpx.get(service.base_url + TOOLS, headers=headers).status_code == status


@pytest.mark.rule("The 401 arrives before the service reads the body.")
def test_a_request_without_a_key_is_answered_before_its_body_is_read(service: RunningService) -> None:
    big = b"\0" * 4_000_000
    answer = httpx.post(service.base_url + f"{V1}/files", files=[("files", ("big", big))])
    assert (answer.status_code, code(answer)) == (401, "unauthorized")


@pytest.mark.rule("`GET /healthz?nonce=N` proves that the service holds the folder's key.")
def test_health_proves_to_a_nonce_that_it_holds_the_key(service: RunningService) -> None:
    """Over exactly this, in this order: clients of other versions check it. It is one answer for one nonce."""
    at = service.base_url.removeprefix("http://")
    own = hmac.digest(service.api_key.encode(), b"agentsvc embedded proof v1", "sha256")
    assert "proof" not in httpx.get(f"{service.base_url}/healthz").json()
    for nonce in ("n" * 16, "-_aZ09" * 21):
        health = httpx.get(f"{service.base_url}/healthz", params={"nonce": nonce}).json()
        parts = f"agentsvc embedded proof v1\n{nonce}\n{health['instance']}\n{at}"
        assert health["proof"] == hmac.digest(own, parts.encode(), "sha256").hex()


@pytest.mark.parametrize("nonce", ["n" * 15, "n" * 129, "n" * 20 + "\n"])
def test_a_nonce_of_other_characters_or_length_is_refused(service: RunningService, nonce: str) -> None:
    """Nothing that could be read as another part of what is proved."""
    refused = httpx.get(f"{service.base_url}/healthz", params={"nonce": nonce})
    assert (refused.status_code, code(refused)) == (400, "invalid_query")
    assert refused.json()["error"]["param"] == "nonce"


def test_keys_are_stored_as_hashes(service: RunningService) -> None:
    key = service.create_key(name="hashed").encode()
    files = [path for path in service.data.rglob("*") if path.is_file()]
    assert [path.name for path in files if key in path.read_bytes()] == []
