"""Keys and terms over HTTP, with a browser's session (docs/api/accounts.md "Keys")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import code
from tests.service.api.signing import ACCEPTED, KEYS, signed_in


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with signed_in(service) as found:
        yield found


def create(browser: httpx.Client, **body: Any) -> dict[str, Any]:
    answer = browser.post(KEYS, json={"name": "made", **ACCEPTED, **body})
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def listed(browser: httpx.Client) -> dict[str, dict[str, Any]]:
    return {key["id"]: key for key in browser.get(KEYS).json()["data"]}


def use(service: RunningService, secret: str, path: str = "/tools") -> httpx.Response:
    return httpx.get(service.base_url + V1 + path, headers={"Authorization": f"Bearer {secret}"})


def test_anybody_reads_the_terms(service: RunningService) -> None:
    found = httpx.get(service.base_url + "/api/developers/terms").json()
    assert found == {
        "object": "developer_terms",
        "version": TERMS_VERSION,
        "url": f"{service.base_url}/app/terms",
    }
    assert TERMS_VERSION in httpx.get(found["url"]).text


def test_a_key_is_created_used_listed_and_deleted(service: RunningService, browser: httpx.Client) -> None:
    made = create(browser, name="  My laptop ", scopes=["tools", "runs", "tools"], monthly_budget_cents=250)
    secret = made.pop("key")
    assert secret.startswith("svc_sk_")
    assert (
        made.items()
        >= {
            "object": "api_key",
            "name": "My laptop",
            "prefix": secret[: len(made["prefix"])],
            "scopes": ["tools", "runs"],
            "monthly_budget_cents": 250,
        }.items()
    )
    assert use(service, secret).status_code == 200
    assert listed(browser)[made["id"]] == made, "without the secret"
    deleted = browser.delete(f"{KEYS}/{made['id']}")
    assert (deleted.status_code, deleted.json()) == (200, {"object": "api_key", "id": made["id"], "deleted": True})
    assert made["id"] not in listed(browser)
    assert code(use(service, secret)) == "unauthorized"
    assert code(browser.delete(f"{KEYS}/{made['id']}")) == "key_not_found"


@pytest.mark.parametrize("scopes", [{}, {"scopes": []}, {"scopes": None}])
def test_no_scopes_are_full_access(service: RunningService, browser: httpx.Client, scopes: dict[str, Any]) -> None:
    made = create(browser, **scopes)
    assert made["scopes"] == []
    assert made["monthly_budget_cents"] is None
    assert [use(service, made["key"], path).status_code for path in ("/tools", "/projects", "/feedback")] == [200] * 3


@pytest.mark.parametrize(
    ("method", "path"), [("POST", KEYS), ("GET", KEYS), ("DELETE", f"{KEYS}/key_000000000000000000000000")]
)
def test_a_key_does_not_make_keys(service: RunningService, method: str, path: str) -> None:
    for headers in ({}, {"Authorization": f"Bearer {service.api_key}"}, {"x-api-key": service.api_key}):
        body = {"name": "made", **ACCEPTED}
        answer = httpx.request(method, service.base_url + path, headers=headers, json=body)
        assert (answer.status_code, code(answer)) == (401, "unauthorized")


REFUSED = [
    ({"developerTermsAccepted": False}, "developer_terms_not_accepted"),
    ({"developerTermsAccepted": "true"}, "developer_terms_not_accepted"),
    ({"developerTermsAccepted": None}, "developer_terms_not_accepted"),
    ({"developerTermsVersion": "1999-01-01"}, "developer_terms_version_mismatch"),
    ({"developerTermsVersion": None}, "developer_terms_version_mismatch"),
    ({"developerTermsVersion": 7}, "developer_terms_version_mismatch"),
    ({"scopes": ["runs", "everything"]}, "invalid_scope"),
    ({"scopes": "runs"}, "invalid_scope"),
    ({"scopes": [["runs"]]}, "invalid_scope"),
    ({"name": None}, "invalid_json"),
    ({"name": "  "}, "invalid_json"),
    ({"name": "x" * 101}, "invalid_json"),
    ({"name": "two\nlines"}, "invalid_json"),
    ({"name": "\u202eevil"}, "invalid_json"),
    ({"name": 5}, "invalid_json"),
    ({"monthly_budget_cents": -1}, "invalid_json"),
    ({"monthly_budget_cents": 1.5}, "invalid_json"),
    ({"monthly_budget_cents": True}, "invalid_json"),
    ({"monthly_budget_cents": 10**13}, "invalid_json"),
]


@pytest.mark.parametrize(("body", "expected"), REFUSED, ids=str)
def test_a_wrong_body_makes_no_key(browser: httpx.Client, body: dict[str, Any], expected: str) -> None:
    before = listed(browser)
    answer = browser.post(KEYS, json={"name": "made", **ACCEPTED, **body})
    assert (answer.status_code, code(answer)) == (400, expected)
    required = answer.json().get("requiredDeveloperTermsVersion")
    assert required == (TERMS_VERSION if expected.startswith("developer_terms") else None)
    assert listed(browser) == before


def test_a_replacement_has_the_scopes_and_the_budget_of_the_old_key(
    service: RunningService, browser: httpx.Client
) -> None:
    old = create(browser, name="old", scopes=["tools"], monthly_budget_cents=100)
    same = {name: old[name] for name in ("scopes", "monthly_budget_cents")}
    new = create(browser, name="new", **same)
    assert {name: new[name] for name in same} == same
    browser.delete(f"{KEYS}/{old['id']}")
    assert [use(service, key["key"]).status_code for key in (old, new)] == [401, 200]
