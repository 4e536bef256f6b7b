"""A connector gets a token and uses it: metadata, consent, the code, and what the token opens (docs/mcp.md)."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from typing import Any

import httpx
import pytest

from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.routes import AUTHORIZATION_SERVER, MCP, PROTECTED_RESOURCE, TOKEN, V1
from tests.contract.mcp_caller import ELICITS, McpCaller
from tests.contract.service_fixture import operate
from tests.contract.signing import page, signed_in
from tests.oauth.connector import BACK, HOST, Connector, answered, connected
from tests.waiting import until


def caller(connector: Connector, token: str, **more: Any) -> McpCaller:
    return McpCaller(connector.service, token, **more)


def refusal(connector: Connector, token: str) -> tuple[int, str, str]:
    with caller(connector, token) as mcp:
        answer = mcp.send("tools/list")
        return answer.status_code, answer.json()["error"]["code"], answer.headers.get("www-authenticate", "")


# -- what a client is told ---------------------------------------------------------------------------------------------


def test_without_a_token_a_client_is_told_where_there_are_some(connector: Connector) -> None:
    base = connector.service.base_url
    wanted = f'resource_metadata="{base}{PROTECTED_RESOURCE.path}", scope="mcp"'
    assert refusal(connector, "") == (401, "unauthorized", f"Bearer {wanted}")
    assert refusal(connector, "svc_oat_wrong") == (401, "unauthorized", f'Bearer error="invalid_token", {wanted}')
    runs = connector.service.create_key(scopes=("runs",))
    assert refusal(connector, runs) == (403, "api_key_scope_forbidden", f'Bearer error="insufficient_scope", {wanted}')
    elsewhere = httpx.get(f"{base}{V1}/tools")
    assert "www-authenticate" not in elsewhere.headers, "no token of OAuth opens that"


def test_the_metadata_name_each_other(connector: Connector) -> None:
    base = connector.service.base_url
    resource = httpx.get(base + PROTECTED_RESOURCE.path).json()
    assert resource["resource"] == base + MCP.path
    assert resource["authorization_servers"] == [base]
    server = httpx.get(base + AUTHORIZATION_SERVER.path).json()
    assert server["issuer"] == base
    assert server["token_endpoint"] == base + TOKEN.path
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint_auth_methods_supported"] == ["none"]
    assert server["client_id_metadata_document_supported"] is True
    assert server["authorization_response_iss_parameter_supported"] is True


def test_they_name_the_service_as_it_was_asked_for(connector: Connector) -> None:
    named = connector.service.base_url.replace("127.0.0.1", "localhost")
    assert httpx.get(named + PROTECTED_RESOURCE.path).json()["resource"] == named + MCP.path
    assert httpx.get(named + AUTHORIZATION_SERVER.path).json()["issuer"] == named


@pytest.mark.parametrize("path", [PROTECTED_RESOURCE.path, AUTHORIZATION_SERVER.path, TOKEN.path])
def test_another_method_is_405(connector: Connector, path: str) -> None:
    answer = httpx.request("PUT", connector.service.base_url + path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"]


def test_tokens_are_given_by_https_and_on_this_machine_only() -> None:
    with running_service(public_url="http://agents.intra") as service:
        plain = {"Host": "agents.intra"}
        assert httpx.get(service.base_url + AUTHORIZATION_SERVER.path, headers=plain).status_code == 404
        answer = httpx.post(service.base_url + MCP.path, headers=plain)
        assert answer.status_code == 401
        assert "www-authenticate" not in answer.headers
    with running_service(public_url="https://agents.intra") as service:
        found = httpx.get(service.base_url + AUTHORIZATION_SERVER.path, headers={"Host": "agents.intra"})
        assert found.json()["issuer"] == "https://agents.intra"


# -- the user ----------------------------------------------------------------------------------------------------------


def test_the_page_shows_who_asks_and_not_what_it_says_of_itself(connector: Connector, browser: httpx.Client) -> None:
    text = page(browser, connector.asks())
    (heading,) = re.findall("<h1>(.*)</h1>", text)
    assert heading == f"Let {HOST}:{connector.site.port} use this service?"
    assert "calls itself “Chat &lt;b&gt;&amp; more&lt;/b&gt;”" in text
    assert connector.client_id in text
    assert "goes to <strong>chat.example</strong>" in text
    assert "your own computer" not in text


def test_a_program_on_the_users_machine_is_warned_of(connector: Connector, browser: httpx.Client) -> None:
    text = page(browser, connector.asks(redirect_uri="http://127.0.0.1:4711/back"))
    assert "goes to <strong>127.0.0.1:4711</strong>" in text
    assert "any program there can say that it is chat.example" in text


def test_no_page_frames_it_and_its_form_leads_back_only(connector: Connector, browser: httpx.Client) -> None:
    policy = browser.get(connector.asks()).headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' https://chat.example;" in policy
    assert browser.get(connector.asks()).headers["referrer-policy"] == "same-origin"


def test_another_page_can_not_press_the_button(connector: Connector, browser: httpx.Client) -> None:
    form = {**connector.parameters(), "verdict": "allow"}
    for origin in ("https://chat.example", "null", f"{connector.service.base_url}1"):
        assert browser.post("/app/oauth/authorize", data=form, headers={"Origin": origin}).status_code == 403


def test_who_refuses_says_so(connector: Connector, browser: httpx.Client) -> None:
    found = connector.allowed(browser, {"verdict": "refuse"})
    assert found["error"] == "access_denied"
    assert (found["state"], found["iss"]) == (connector.parameters()["state"], connector.service.base_url)
    assert "code" not in found


def test_a_wrong_budget_is_said_on_the_page(connector: Connector, browser: httpx.Client) -> None:
    for budget in ("-1", "1.5", "many", "٣", "9" * 30, "9" * 5_000, "1000000000001"):
        answer = browser.post(
            "/app/oauth/authorize", data={**connector.parameters(), "verdict": "allow", "budget": budget}
        )
        assert answer.status_code == 400
        assert "The budget is a whole number of cents, " in answer.text


def test_who_is_not_signed_in_signs_in_and_comes_back(connector: Connector) -> None:
    with httpx.Client(base_url=connector.service.base_url) as browser:
        connector.site.asked.clear()
        answer = browser.get(connector.asks())
        assert answer.status_code == 401
        assert "asks to use this service" in answer.text
        assert not connector.site.asked, "nothing is fetched for who is not signed in"
        (kept,) = [each for each in browser.cookies.jar if each.name.startswith("agentsvc_return")]
        assert kept.path == "/app/sign-in"
        assert browser.get(connector.service.sign_in_url).headers["location"] == connector.asks()
        assert browser.get(connector.asks()).status_code == 200
        assert browser.get(connector.service.sign_in_url).headers["location"] == "/app", "once"


@pytest.mark.parametrize("path", ["//evil.example/", "https://evil.example/", "/app/settings", "/app/oauth/authorize"])
def test_a_cookie_leads_nowhere_else(connector: Connector, path: str) -> None:
    port = connector.service.base_url.rpartition(":")[2]
    with httpx.Client(base_url=connector.service.base_url, cookies={f"agentsvc_return_{port}": path}) as browser:
        assert browser.get(connector.service.sign_in_url).headers["location"] == "/app"


def test_a_link_of_another_site_is_followed_once_more_with_the_cookie(connector: Connector) -> None:
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    with httpx.Client(base_url=connector.service.base_url) as stranger:
        answer = stranger.get(connector.asks(), headers=elsewhere)
        (again,) = re.findall(r'content="0;url=([^"]*)"', answer.text)
        assert again.replace("&amp;", "&") == connector.asks() + "&again=1"
        assert stranger.get(connector.asks() + "&again=1", headers=elsewhere).status_code == 401, "and only once"


# -- the code and the token --------------------------------------------------------------------------------------------


def test_a_whole_flow(connector: Connector, browser: httpx.Client) -> None:
    found = connector.allowed(browser)
    assert found.keys() == {"code", "state", "iss"}
    assert (found["state"], found["iss"]) == (connector.parameters()["state"], connector.service.base_url)
    answer = connector.redeems(found["code"])
    assert answer.status_code == 200
    assert (answer.headers["cache-control"], answer.headers["content-type"]) == ("no-store", "application/json")
    given = answer.json()
    assert re.fullmatch(r"svc_oat_[\w-]{43}", given["access_token"])
    assert (given["token_type"], given["scope"]) == ("Bearer", "mcp runs")
    assert 29 * 86_400 < given["expires_in"] <= 30 * 86_400
    with caller(connector, given["access_token"]) as mcp:
        assert mcp.call("ask", message="say hello")["structuredContent"]["output"] == "hello"


def test_a_token_opens_mcp_and_two_routes_more(connector: Connector, browser: httpx.Client) -> None:
    with caller(connector, connector.token(browser)) as mcp:
        for path, status in (("/models", 200), ("/feedback", 200), ("/tools", 403), ("/runs/x", 403), ("/files", 403)):
            answer = mcp.http.get(V1 + path)
            assert answer.status_code == status, path
        assert mcp.http.post(f"{V1}/runs", json={"message": "say hello"}).status_code == 403
        assert mcp.http.get("/api/developers/keys").status_code == 401


def test_it_is_good_for_as_long_as_the_user_chose(connector: Connector, browser: httpx.Client) -> None:
    answer = connector.redeems(connector.allowed(browser, {"period": "hour"})["code"])
    assert 3_500 < answer.json()["expires_in"] <= 3_600
    token = answer.json()["access_token"]
    with caller(connector, token) as mcp:
        assert mcp.send("tools/list").status_code == 200

    def pass_time(tx: Tx) -> None:
        tx.run("UPDATE api_key SET expires_at = created_at WHERE prefix = :prefix", prefix=token[:12])

    operate(connector.service, pass_time)
    status, code, said = refusal(connector, token)
    assert (status, code) == (401, "unauthorized")
    assert 'error="invalid_token"' in said
    assert token[:12] not in page(browser, "/app/settings"), "a token that is over is listed no more"


def test_a_token_is_of_the_account_that_allowed_it(connector: Connector, browser: httpx.Client) -> None:
    code, other = connector.allowed(browser)["code"], "acct_of_somebody_else"
    operate(connector.service, lambda tx: tx.run("UPDATE oauth_code SET account = :other", other=other))
    token = connector.redeems(code).json()["access_token"]
    sought = "SELECT account FROM api_key WHERE prefix = :prefix"
    assert operate(connector.service, lambda tx: tx.all(sought, prefix=token[:12]))[0]["account"] == other


def test_a_token_of_another_resource_is_refused(connector: Connector, browser: httpx.Client) -> None:
    token = connector.token(browser)

    def move(tx: Tx) -> None:
        other = "https://elsewhere.example/api/developers/v1/mcp"
        tx.run("UPDATE api_key SET resource = :other WHERE prefix = :prefix", other=other, prefix=token[:12])

    operate(connector.service, move)
    assert refusal(connector, token)[:2] == (401, "unauthorized")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (accounts.suspend_key, (403, "key_suspended")),
        (accounts.revoke_key, (401, "unauthorized")),
    ],
)
def test_an_operator_ends_it_as_any_key(
    connector: Connector, browser: httpx.Client, change: Any, expected: tuple[int, str]
) -> None:
    token = connector.token(browser)
    operate(connector.service, lambda tx: change(tx, token[:12], 1))
    assert refusal(connector, token)[:2] == expected


def test_the_settings_list_it_and_take_it_back(connector: Connector, browser: httpx.Client) -> None:
    token = connector.token(browser, {"budget": "250"})
    rows = re.findall(r"<tr>.*?</tr>", page(browser, "/app/settings"), re.DOTALL)
    (row,) = [row for row in rows if token[:12] in row]
    assert HOST in row
    assert "MCP, until 20" in row
    assert "$2.50 a month" in row
    (link,) = re.findall(r'href="(/app/settings/keys/[^"]+/delete)"', row)
    assert browser.post(link).status_code == 303
    assert refusal(connector, token)[:2] == (401, "unauthorized")


def test_it_approves_only_with_the_users_leave(tmp_path: Any) -> None:
    with connected(tmp_path, approve_effects=True) as careful, signed_in(careful.service) as browser:
        script = 'call echo_job {"steps": 1}'
        for leave, seen in (("no", "working"), ("yes", "input_required")):
            token = careful.token(browser, {"scope_runs": leave})
            with caller(careful, token, capabilities=ELICITS) as mcp:
                task = mcp.call("ask", message=script)["taskId"]
                key = {"x-api-key": careful.service.api_key}
                events = f"{careful.service.base_url}{V1}/runs/{task}/events"
                until(partial(httpx.get, events, headers=key), lambda answer: "approval.requested" in answer.text)
                assert mcp.ask("tasks/get", taskId=task)["status"] == seen
                mcp.ask("tasks/cancel", taskId=task)


def test_nothing_secret_is_in_the_log(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]
    token = connector.redeems(code).json()["access_token"]
    connector.redeems(code)
    log = (connector.service.data / "serve.log").read_text()
    assert "/oauth/token" in log, "it is told"
    for secret in (code, token, connector.verifier, "state="):
        assert secret not in log


@pytest.mark.sqlite("looks into the database's file")
def test_the_database_has_hashes_only(connector: Connector, browser: httpx.Client) -> None:
    code = connector.allowed(browser)["code"]
    token = connector.redeems(code).json()["access_token"]
    stored = b"".join(file.read_bytes() for file in connector.service.data.glob("service.sqlite3*"))
    assert BACK.encode() in stored
    assert code.encode() not in stored
    assert token.encode() not in stored


def test_answers_are_once_each(connector: Connector, browser: httpx.Client) -> None:
    """Parameters that stand in the redirect URI stay, and none is doubled."""
    client_id = connector.describe("/query.json", redirect_uris=["https://chat.example/back?of=1"])
    answer = browser.get(
        connector.asks(client_id=client_id, redirect_uri="https://chat.example/back?of=1", scope="all")
    )
    found = answered(answer)
    assert (found["of"], found["error"]) == ("1", "invalid_scope")


def test_nothing_of_it_is_imported_before_it_is_asked_for(tmp_path: Any) -> None:
    program = """
import pathlib, sys
from agentsvc_nb.service.app import create_app
from agentsvc_nb.settings import Settings
create_app(Settings(pathlib.Path(sys.argv[1]), model="scripted"), instance="x")
print(*sorted(name for name in sys.modules if "oauth" in name or "consent" in name))
"""
    done = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["agentsvc_nb.service.mcp.oauth", "agentsvc_nb.service.mcp.oauth.routing"]
