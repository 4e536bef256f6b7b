"""Signing in with the link, the session's cookie, and whose requests it speaks for (docs/api/accounts.md)."""

from __future__ import annotations

from http.cookies import SimpleCookie

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import ROUTES
from tests.service.api.conftest import ACCEPTED, KEYS, code, signed_in
from tests.service.api.service_fixture import operate

FORTNIGHT = 14 * 24 * 3600


@pytest.mark.rule("The sign-in cookie is `HttpOnly` and `SameSite=Strict`.")
def test_the_link_gives_a_cookie_that_no_script_and_no_other_site_has(service: RunningService) -> None:
    answer = httpx.get(service.sign_in_url)
    assert (answer.status_code, answer.headers["location"]) == (303, "/app")
    (cookie,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert cookie.key.endswith(service.base_url.rpartition(":")[2]), "a service on another port has its own"
    assert cookie["httponly"]
    assert (cookie["samesite"], cookie["path"], cookie["domain"]) == ("strict", "/", "")
    assert int(cookie["max-age"]) == FORTNIGHT
    assert len(cookie.value) >= 43


@pytest.mark.parametrize("token", ["wrong", ""])
def test_a_wrong_token_says_how_to_get_the_link(service: RunningService, token: str) -> None:
    answer = httpx.get(f"{service.base_url}/app/sign-in", params={"token": token})
    assert answer.status_code == (401 if token else 200)
    assert "agentsvc sign-in" in answer.text  # the command to type
    assert "set-cookie" not in answer.headers


@pytest.mark.rule("A request with a foreign `Origin` is `403 foreign_origin`.")
@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
def test_another_sites_page_is_refused(service: RunningService, origin: str) -> None:
    with signed_in(service) as browser:
        foreign = {"Origin": origin}
        answer = browser.post(KEYS, headers=foreign, json={"name": "stolen", **ACCEPTED})
        assert (answer.status_code, code(answer)) == (403, "foreign_origin")
        form = {"name": "stolen", "accepted": "yes", "version": ACCEPTED["developerTermsVersion"]}
        page = browser.post("/app/settings/keys", headers=foreign, data=form)
        assert page.status_code == 403
        assert "foreign_origin" in page.text
        assert browser.post("/app/sign-out", headers=foreign).status_code == 403
        assert "stolen" not in browser.get(KEYS).text


def test_behind_a_proxy_links_begin_with_its_address() -> None:
    with running_service(public_url="https://agents.example.com/") as service:
        public = "https://agents.example.com"
        key = {"x-api-key": service.api_key}
        start = {"message": "say x", "sync": True}
        run = httpx.post(service.base_url + ROUTES["runs.start"].path, headers=key, json=start, timeout=60).json()
        assert run["app_url"] == f"{public}/app/chats/{run['chat']}?run={run['run_id']}"
        assert httpx.get(service.base_url + ROUTES["terms.get"].path).json()["url"] == f"{public}/app/terms"
        assert service.sign_in_url.startswith(f"{public}/app/sign-in?token=")
        assert service.base_url.startswith("http://127.0.0.1:"), "programs on this machine need no proxy"
        passed_on = {"Host": "agents.example.com", "X-Forwarded-Proto": "https"}
        with httpx.Client(base_url=service.base_url, headers=passed_on) as browser:
            cookie = browser.get(service.sign_in_url.removeprefix(public)).headers["set-cookie"]
            assert "Secure" in cookie
            named = {"Cookie": cookie.partition(";")[0]}
            assert browser.get("/app", headers=named | {"Origin": public}).status_code == 200
            assert browser.get("/app", headers=named | {"Origin": "https://evil.example"}).status_code == 403


def test_signing_out_ends_the_session_and_no_other(service: RunningService) -> None:
    with signed_in(service) as browser, signed_in(service) as other:
        cookie = dict(browser.cookies)
        answer = browser.post("/app/sign-out")
        assert (answer.status_code, answer.headers["location"]) == (303, "/app/sign-in")
        assert not browser.cookies
        assert httpx.get(service.base_url + KEYS, cookies=cookie).status_code == 401
        assert other.get(KEYS).status_code == 200


def test_sessions_outlive_the_server_but_not_a_fortnight(service: RunningService) -> None:
    with signed_in(service) as browser:
        link = service.sign_in_url
        service.stop()
        service.start()
        assert browser.get(KEYS).status_code == 200
        assert httpx.get(link).status_code == 401, "each start makes its own link"
        sessions = operate(service, lambda tx: tx.all("SELECT * FROM session"))
        assert {each["expires_at"] - each["created_at"] for each in sessions} == {FORTNIGHT * 1000}
        assert not {each["digest"] for each in sessions} & set(dict(browser.cookies).values())
        operate(service, lambda tx: tx.run("UPDATE session SET expires_at = created_at"))
        assert browser.get(KEYS).status_code == 401
