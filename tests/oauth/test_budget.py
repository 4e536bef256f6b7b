"""What a connector's budget counts (docs/mcp.md "Sign in by OAuth")."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from agentsvc_nb.service.accounts import usage_records
from agentsvc_nb.service.accounts.accounts import ACCOUNT
from tests.contract.mcp_caller import McpCaller
from tests.contract.service_fixture import operate
from tests.contract.signing import signed_in
from tests.oauth.connector import Connector, connected
from tests.service.site import Answer, Asked, as_json, serving

PICTURE: Final[dict[str, Any]] = {
    "request": {"kind": "static_ad", "brief": "Sale", "outputs": {"mode": "count", "count": 1}}
}


def caller(connector: Connector, token: str) -> McpCaller:
    return McpCaller(connector.service, token)


def at_once(connector: Connector, token: str, tool: str, **given: Any) -> list[dict[str, Any]]:
    """The results of eight calls at one moment."""

    def call(_: int) -> dict[str, Any]:
        with caller(connector, token) as mcp:
            return mcp.call(tool, **given)

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(call, range(8)))


def code_of(found: dict[str, Any]) -> str:
    """The code of a call that failed."""
    code: str = found["structuredContent"]["error"]["code"]
    return code


def test_its_budget_is_of_the_plans_pool(tmp_path: Any) -> None:
    limits = {"wallet_cents": 0, "plan_pool_cents": 100, "run_hold_cents": 0}
    with connected(tmp_path, **limits) as poor, signed_in(poor.service) as browser:
        with caller(poor, poor.token(browser, {"budget": "2"})) as mcp:
            assert not mcp.call("ask", message="usage 30000 0\nsay paid by the plan")["isError"]
            assert code_of(mcp.call("ask", message="say no more")) == "api_key_budget_exhausted"
        with caller(poor, poor.token(browser)) as other:
            assert not other.call("ask", message="say another connector may")["isError"]


def test_its_budget_counts_pictures_and_is_not_new_after_signing_in_again(tmp_path: Any) -> None:
    with connected(tmp_path, run_hold_cents=0) as poor, signed_in(poor.service) as browser:
        with caller(poor, poor.token(browser, {"budget": "1"})) as mcp:
            assert not mcp.call("create_images", **PICTURE)["isError"]
            assert code_of(mcp.call("create_images", **PICTURE)) == "api_key_budget_exhausted"
            assert code_of(mcp.call("ask", message="say no more")) == "api_key_budget_exhausted"
        with caller(poor, poor.token(browser, {"budget": "1"})) as again:
            assert code_of(again.call("create_images", **PICTURE)) == "api_key_budget_exhausted"
        with caller(poor, poor.token(browser, {"budget": "3"})) as more:
            assert not more.call("create_images", **PICTURE)["isError"]
        other = poor.describe("/other.json")
        code = poor.allowed(browser, {"budget": "1"}, client_id=other)["code"]
        token = poor.redeems(code, client_id=other).json()["access_token"]
        with caller(poor, token) as another:
            assert not another.call("create_images", **PICTURE)["isError"], "each connector has its own"


def test_two_pictures_at_once_do_not_pass_its_budget(tmp_path: Any) -> None:
    with connected(tmp_path, run_hold_cents=0) as poor, signed_in(poor.service) as browser:
        found = at_once(poor, poor.token(browser, {"budget": "1"}), "create_images", **PICTURE)
    assert [one["isError"] for one in found].count(False) == 1
    assert {code_of(one) for one in found if one["isError"]} == {"api_key_budget_exhausted"}


def test_direct_searches_at_once_do_not_pass_its_budget(tmp_path: Any) -> None:
    def slow(asked: Asked) -> Answer:
        time.sleep(0.3)
        return as_json({"results": []})

    with serving() as searx:
        searx.pages["/search"] = slow
        limits = {"web_search": "searxng", "web_search_url": searx.url, "run_hold_cents": 0}
        with connected(tmp_path, **limits) as poor, signed_in(poor.service) as browser:
            token = poor.token(browser, {"budget": "1"})
            found = at_once(poor, token, "web_search", query="tea")
    assert [one["isError"] for one in found].count(False) == 1
    assert {code_of(one) for one in found if one["isError"]} == {"api_key_budget_exhausted"}


def test_a_run_stops_where_its_connectors_budget_ends(tmp_path: Any) -> None:
    """The pictures of a run are held before they are drawn."""
    picture = f"call create_images {json.dumps(PICTURE)}"
    with connected(tmp_path, run_hold_cents=0) as poor, signed_in(poor.service) as browser:
        with caller(poor, poor.token(browser, {"budget": "2"})) as mcp:
            found = mcp.call("ask", message="\n".join([picture] * 4))
        assert code_of(found) == "limit_reached"
        lines = operate(poor.service, lambda tx: usage_records.by_key_and_month(tx, ACCOUNT))
        assert [(line.kind, line.quantity) for line in lines] == [("picture", 2)]
