"""Keys and terms over HTTP, with a browser's session (docs/api/accounts.md "Keys")."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import ACCEPTED, KEYS, Wire, code, page, signed_in


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


@pytest.mark.rule("A signed-in browser creates, lists, replaces and deletes keys.")
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


@pytest.mark.rule("An API key cannot create, list or delete keys.")
@pytest.mark.parametrize(("method", "path"), [("POST", ""), ("GET", ""), ("DELETE", "/key_000000000000000000000000")])
def test_a_key_does_not_make_keys(service: RunningService, method: str, path: str) -> None:
    for headers in ({}, {"x-api-key": service.api_key}):
        body = {"name": "made", **ACCEPTED}
        answer = httpx.request(method, service.base_url + KEYS + path, headers=headers, json=body)
        assert (answer.status_code, code(answer)) == (401, "unauthorized")


REFUSED = [
    ({"developerTermsAccepted": "true"}, "developer_terms_not_accepted"),
    ({"developerTermsVersion": "1999-01-01"}, "developer_terms_version_mismatch"),
    ({"scopes": ["runs", "everything"]}, "invalid_scope"),
    ({"name": "  "}, "invalid_json"),
    ({"name": "\u202eevil"}, "invalid_json"),
    ({"monthly_budget_cents": -1}, "invalid_json"),
]


@pytest.mark.rule("A wrong terms version is a 400 with `requiredDeveloperTermsVersion`.")
@pytest.mark.parametrize(("body", "expected"), REFUSED, ids=str)
def test_a_wrong_body_makes_no_key(browser: httpx.Client, body: dict[str, Any], expected: str) -> None:
    before = listed(browser)
    answer = browser.post(KEYS, json={"name": "made", **ACCEPTED, **body})
    assert (answer.status_code, code(answer)) == (400, expected)
    required = answer.json().get("requiredDeveloperTermsVersion")
    assert required == (TERMS_VERSION if expected.startswith("developer_terms") else None)
    assert listed(browser) == before


def fields(**more: str) -> dict[str, str]:
    return {"name": "from the page", "accepted": "yes", "version": TERMS_VERSION, **more}


@pytest.mark.rule("The settings page creates, shows once, lists and deletes keys.")
def test_the_settings_make_show_and_delete_a_key(service: RunningService, browser: httpx.Client) -> None:
    made = browser.post("/app/settings/keys", data=fields())
    assert (made.status_code, made.headers["location"]) == (303, "/app/settings")
    with signed_in(service) as another:
        assert 'id="key"' not in page(another, "/app/settings"), "it is shown to whom it was made for"
    (secret,) = re.findall(r'id="key">(svc_sk_[\w-]{43})<', page(browser, "/app/settings"))
    tools = f"{service.base_url}{V1}/tools"
    assert httpx.get(tools, headers={"x-api-key": secret}).status_code == 200
    text = page(browser, "/app/settings")
    assert secret not in text
    (row,) = [row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if secret[:12] in row]
    (link,) = re.findall(r'href="(/app/settings/keys/[^"]+/delete)"', row)
    assert "from the page" in page(browser, link), "it asks first"
    assert browser.post(link).headers["location"] == "/app/settings"
    assert httpx.get(tools, headers={"x-api-key": secret}).status_code == 401
    page(browser, link, 404)


def test_usage_is_shown_by_key_and_month(service: RunningService, browser: httpx.Client) -> None:
    name = f"spender {uuid.uuid4()}"
    secret = service.create_key(name=name)
    start = {"message": "usage 100000 50000", "sync": True}
    for _ in range(2):
        httpx.post(service.base_url + f"{V1}/runs", json=start, headers={"x-api-key": secret}, timeout=60)
    rows = re.findall(r"<tr>.*?</tr>", page(browser, "/app/settings"), re.DOTALL)
    (row,) = [row for row in rows if name in row and "tokens" in row]
    assert re.findall(r"<td[^>]*>([^<]*)</td>", row)[1:] == [name, "300,000 tokens", "30.00 cents"]


@pytest.mark.rule("A user sends feedback and reads the reply on a page.")
def test_feedback_is_sent_and_shown_with_its_reply(wire: Wire, browser: httpx.Client) -> None:
    report = {"summary": "The <moving> bar is stuck.", "category": "bug", "impact": "minor", "request_id": "req_7"}
    assert browser.post("/app/feedback", data=report).headers["location"] == "/app/feedback"
    text = page(browser, "/app/feedback")
    assert "The &lt;moving&gt; bar is stuck." in text
    assert "req_7" in text
    stored = wire("GET", "/feedback").json()["data"][0]
    assert stored.items() >= report.items(), "the same reports as over the API"
    assert browser.post("/app/feedback", data={"summary": "x", "category": "praises"}).status_code == 400
