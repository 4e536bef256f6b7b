"""The forms of the pages: keys and feedback, as a browser without script sends them (docs/web.md)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.service.app import create_app
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.terms import TERMS_VERSION
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire
from tests.service.api.signing import page, signed_in


@pytest.fixture
def browser(service: RunningService) -> Iterator[httpx.Client]:
    with signed_in(service) as found:
        yield found


def fields(**more: str) -> dict[str, str]:
    return {"name": "from the page", "accepted": "yes", "version": TERMS_VERSION, **more}


def test_the_settings_make_show_and_delete_a_key(service: RunningService, browser: httpx.Client) -> None:
    made = browser.post("/app/settings/keys", data=fields())
    assert (made.status_code, made.headers["location"]) == (303, "/app/settings")
    assert browser.head("/app/settings").status_code == 200
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


def test_a_key_that_was_not_shown_is_forgotten_with_its_session(tmp_path: Path) -> None:
    """Who signs out never sees it, nor who left before the next one signs in."""
    app = create_app(Settings(tmp_path, model="scripted"), instance="test", sign_in_token="token")
    live = app.state.service

    async def browse() -> None:
        transport, link = httpx.ASGITransport(app), "/app/sign-in?token=token"
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://service.test") as browser,
        ):
            for leave in (lambda: browser.post("/app/sign-out"), lambda: live.services.use_case.write(expire)):
                await browser.get(link)
                assert (await browser.post("/app/settings/keys", data=fields())).status_code == 303
                assert len(live.services.fresh_keys) == 1
                await leave()
                await browser.get(link)
                assert not live.services.fresh_keys

    def expire(tx: Tx) -> None:
        tx.run("UPDATE session SET expires_at = created_at")

    asyncio.run(browse())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"accepted": ""}, "The developer terms were not accepted"),
        ({"version": "1999"}, "The accepted terms are not the current ones"),
        ({"name": " "}, "at least 1 character"),
        ({"name": "x" * 101}, "at most 100 characters"),
    ],
)
def test_a_wrong_form_says_why_and_keeps_what_was_typed(
    browser: httpx.Client, wrong: dict[str, str], said: str
) -> None:
    answer = browser.post("/app/settings/keys", data=fields(**wrong))
    assert answer.status_code == 400
    assert said in answer.text
    assert f'value="{fields(**wrong)["name"].strip()}"' in answer.text


def test_a_form_that_is_too_big_or_broken_is_refused(browser: httpx.Client) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert browser.post("/app/feedback", content=b"summary=" + b"x" * 70_000, headers=form).status_code == 413
    assert browser.post("/app/feedback", content=b"summary=\xff\xfe", headers=form).status_code == 400
    assert browser.post("/app/feedback", content=b"&".join([b"a=b"] * 60), headers=form).status_code == 400


def test_usage_is_shown_by_key_and_month() -> None:
    with running_service() as service, signed_in(service) as browser:
        assert "Nothing has been billed yet" in page(browser, "/app/settings")
        secret = service.create_key(name="spender")
        start = {"message": "usage 100000 50000", "sync": True}
        for _ in range(2):
            httpx.post(service.base_url + f"{V1}/runs", json=start, headers={"x-api-key": secret}, timeout=60)
        text = page(browser, "/app/settings")
        (row,) = [row for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL) if "tokens" in row]
        assert re.findall(r"<td[^>]*>([^<]*)</td>", row)[1:] == ["spender", "300,000 tokens", "30.00 cents"]


def test_feedback_is_sent_and_shown_with_its_reply(wire: Wire, browser: httpx.Client) -> None:
    report = {"summary": "The <moving> bar is stuck.", "category": "bug", "impact": "minor", "request_id": "req_7"}
    assert browser.post("/app/feedback", data=report).headers["location"] == "/app/feedback"
    text = page(browser, "/app/feedback")
    assert "The &lt;moving&gt; bar is stuck." in text
    assert "req_7" in text
    stored = wire("GET", "/feedback").json()["data"][0]
    assert stored.items() >= report.items(), "the same reports as over the API"
    wrong = browser.post("/app/feedback", data={"summary": "x", "category": "praises"})
    assert wrong.status_code == 400
    assert "category" in wrong.text
