"""What connectors do wrong, and what they are told: on the page, at their own address, or by the token endpoint."""

from __future__ import annotations

import asyncio
from typing import Final

import httpx
import pytest

from agentsvc_nb.service.ports import Tx
from agentsvc_nb.wire.routes import AUTHORIZE, TOKEN
from tests.contract.mcp_caller import McpCaller
from tests.contract.service_fixture import operate
from tests.contract.signing import page
from tests.oauth.connector import BACK, Connector, answered, challenge

OTHER: Final = "https://elsewhere.example/api/developers/v1/mcp"

# -- to the user, and nowhere else -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": None},
        {"client_id": "cursor"},
        {"client_id": "http://chat.example/connector.json"},
        {"client_id": "https://chat.example"},
        {"redirect_uri": None},
        {"redirect_uri": "https://chat.example/back/"},
        {"redirect_uri": "https://chat.example/back?x=1"},
        {"redirect_uri": "https://chat.example.evil.example/back"},
        {"redirect_uri": "https://chat.example:444/back"},
        {"redirect_uri": "http://chat.example/back"},
        {"redirect_uri": "http://127.0.0.1/elsewhere"},
        {"redirect_uri": "http://localhost/back"},
        {"redirect_uri": "http://127.0.0.1:80@evil.example/back"},
        {"redirect_uri": "javascript:alert(1)"},
    ],
)
def test_who_is_not_known_is_sent_nowhere(
    connector: Connector, browser: httpx.Client, changed: dict[str, str | None]
) -> None:
    assert "let in" in page(browser, connector.asks(**changed), 400)
    form = {**connector.parameters(**changed), "verdict": "allow"}
    assert browser.post(AUTHORIZE.path, data=form).status_code == 400


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state"])
def test_what_decides_where_to_is_said_once(connector: Connector, browser: httpx.Client, name: str) -> None:
    page(browser, f"{connector.asks()}&{name}=https://chat.example/back", 400)


# -- to the connector --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"scope": "mcp everything"}, "invalid_scope"),
        ({"scope": "runs"}, "invalid_scope"),
        ({"scope": "mcp  runs"}, "invalid_scope"),
        ({"resource": OTHER}, "invalid_target"),
        ({"resource": "no address"}, "invalid_target"),
    ],
)
def test_a_known_connector_is_told_its_mistake(
    connector: Connector, browser: httpx.Client, changed: dict[str, str | None], error: str
) -> None:
    for answer in (
        browser.get(connector.asks(**changed)),
        browser.post(AUTHORIZE.path, data={**connector.parameters(**changed), "verdict": "allow"}),
    ):
        found = answered(answer)
        assert (found["error"], found["iss"]) == (error, connector.service.base_url)
        assert found["state"] == connector.parameters()["state"]
        assert found["error_description"]


def test_two_resources_are_one_too_many(connector: Connector, browser: httpx.Client) -> None:
    found = answered(browser.get(f"{connector.asks()}&resource={OTHER}"))
    assert found["error"] == "invalid_target"
    found = answered(browser.get(f"{connector.asks()}&scope=mcp"))
    assert found["error"] == "invalid_request"


def test_scope_and_resource_and_state_may_be_left_out(connector: Connector, browser: httpx.Client) -> None:
    found = connector.allowed(browser, scope=None, resource=None, state=None)
    assert found.keys() == {"code", "iss"}
    answer = connector.redeems(found["code"], resource=None, redirect_uri=None)
    assert answer.json()["scope"] == "mcp", "and no more was given than asked"


def test_the_users_no_is_not_overruled_by_the_form(connector: Connector, browser: httpx.Client) -> None:
    found = connector.allowed(browser, {"scope_runs": "yes"}, scope="mcp")
    assert connector.redeems(found["code"]).json()["scope"] == "mcp"


# -- the token endpoint ------------------------------------------------------------------------------------------------


def error(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json()["error_description"]
    return answer.status_code, answer.json()["error"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"grant_type": None}, "invalid_request"),
        ({"grant_type": "refresh_token"}, "unsupported_grant_type"),
        ({"code": None}, "invalid_request"),
        ({"code": "unknown"}, "invalid_grant"),
        ({"client_id": None}, "invalid_request"),
        ({"client_id": "https://chat.example/another.json"}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1/back"}, "invalid_grant"),
        ({"code_verifier": None}, "invalid_request"),
        ({"code_verifier": "short"}, "invalid_request"),
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"resource": OTHER}, "invalid_target"),
    ],
)
def test_a_code_is_its_own_clients(
    connector: Connector, browser: httpx.Client, changed: dict[str, str | None], code: str
) -> None:
    found = connector.allowed(browser)
    given = {"code": found["code"], **changed}
    assert error(connector.redeems(**given)) == (400, code)  # type: ignore[arg-type]


def test_what_was_shown_once_wrongly_is_used_up(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]
    assert error(connector.redeems(code, code_verifier="x" * 43)) == (400, "invalid_grant")
    assert error(connector.redeems(code)) == (400, "invalid_grant")


def test_the_challenge_is_no_verifier(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]
    assert error(connector.redeems(code, code_verifier=challenge(connector.verifier))) == (400, "invalid_grant")


def test_a_second_use_takes_back_what_the_first_gave(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]
    token = connector.redeems(code).json()["access_token"]
    with McpCaller(connector.service, token) as mcp:
        assert mcp.send("tools/list").status_code == 200
        assert error(connector.redeems(code)) == (400, "invalid_grant")
        assert mcp.send("tools/list").status_code == 401


def test_of_many_at_once_one_has_the_token_and_none_keeps_it(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]

    async def redeem() -> list[httpx.Response]:
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "client_id": connector.client_id,
            "code_verifier": connector.verifier,
        }
        async with httpx.AsyncClient(base_url=connector.service.base_url, timeout=60) as client:
            return await asyncio.gather(*(client.post(TOKEN.path, data=form) for _ in range(10)))

    found = asyncio.run(redeem())
    (given,) = [answer.json()["access_token"] for answer in found if answer.status_code == 200]
    with McpCaller(connector.service, given) as mcp:
        assert mcp.send("tools/list").status_code == 401


def test_a_code_is_good_for_a_minute(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]

    def stored(tx: Tx) -> tuple[int, int]:
        row = tx.one("SELECT expires_at, token_expires_at FROM oauth_code ORDER BY expires_at DESC LIMIT 1")
        assert row is not None
        return row["expires_at"], row["token_expires_at"]

    expires, token_expires = operate(connector.service, stored)
    assert token_expires - expires == 30 * 86_400_000 - 60_000
    operate(connector.service, lambda tx: tx.run("UPDATE oauth_code SET expires_at = expires_at - 60000"))
    assert error(connector.redeems(code)) == (400, "invalid_grant")


def test_old_codes_go_when_new_ones_come(connector: Connector, browser: httpx.Client) -> None:
    connector.allowed(browser)
    operate(connector.service, lambda tx: tx.run("UPDATE oauth_code SET expires_at = 0"))
    connector.allowed(browser)
    count = operate(connector.service, lambda tx: tx.one("SELECT COUNT(*) AS n FROM oauth_code"))
    assert count is not None
    assert count["n"] == 1


def test_a_secret_is_not_taken(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]
    answer = connector.redeems(code, client_secret="x")
    assert error(answer) == (401, "invalid_client")
    assert answer.headers["www-authenticate"].startswith("Basic")
    url = connector.service.base_url + TOKEN.path
    assert error(httpx.post(url, data={"code": code}, auth=("x", "y"))) == (401, "invalid_client")


@pytest.mark.parametrize(
    "given",
    [
        {"json": {"grant_type": "authorization_code"}},
        {"content": b"grant_type=a&grant_type=b", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
        {"content": b"code=\xff", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
        {"content": b"a=b&" * 200, "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
        {"content": b"a" * 70_000, "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
    ],
)
def test_what_is_no_form_is_an_invalid_request(connector: Connector, given: dict[str, object]) -> None:
    answer = httpx.post(connector.service.base_url + TOKEN.path, **given)  # type: ignore[arg-type]
    assert error(answer) == (400, "invalid_request")


def test_a_head_or_a_look_gives_no_code(connector: Connector, browser: httpx.Client) -> None:
    before = operate(connector.service, lambda tx: tx.one("SELECT COUNT(*) AS n FROM oauth_code"))
    assert browser.head(connector.asks()).status_code == 200
    assert browser.get(connector.asks() + "&verdict=allow").status_code == 200
    assert operate(connector.service, lambda tx: tx.one("SELECT COUNT(*) AS n FROM oauth_code")) == before
    assert BACK not in browser.get(connector.asks()).headers.get("location", "")
