"""The page for connectors in a real browser: who is not signed in, who comes from another site, and one click."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.contract.mcp_caller import McpCaller
from tests.oauth.connector import Connector, connected
from tests.service.site import Site, html, serving

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def connector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connector]:
    with connected(tmp_path_factory.mktemp("oauth")) as found:
        yield found


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(color_scheme=request.param)
    yield context.new_page()
    context.close()


@pytest.fixture
def program() -> Iterator[Site]:
    """The connector's side on the user's machine, which waits for the answer."""
    with serving() as found:
        found.pages["/back"] = html("<h1>You are connected</h1>")
        yield found


def asks(connector: Connector, program: Site) -> str:
    return connector.service.base_url + connector.asks(redirect_uri=f"{program.url}/back")


def came(program: Site) -> dict[str, list[str]]:
    (asked,) = [one for one in program.asked if one.path.startswith("/back")]
    assert "Referer" not in asked.headers
    return parse_qs(urlsplit(asked.path).query)


def test_it_is_allowed_by_a_click(connector: Connector, program: Site, page: Page) -> None:
    page.goto(connector.service.sign_in_url)
    page.goto(asks(connector, program))
    expect(page.get_by_role("heading", level=1)).to_contain_text("chat.example")
    assert not Axe().run(page).response["violations"]
    page.get_by_label("It may also answer").check()
    page.get_by_label("Budget of a month").fill("300")
    page.get_by_label("Allow it for").select_option("a day")
    page.get_by_role("button", name="Allow").click()
    expect(page.get_by_role("heading")).to_have_text("You are connected")
    found = came(program)
    assert found["iss"] == [connector.service.base_url]
    given = connector.redeems(found["code"][0], redirect_uri=f"{program.url}/back").json()
    assert given["scope"] == "mcp runs"
    assert 86_000 < given["expires_in"] <= 86_400
    with McpCaller(connector.service, given["access_token"]) as mcp:
        assert mcp.call("ask", message="say hello")["structuredContent"]["output"] == "hello"


def test_it_is_refused_by_a_click(connector: Connector, program: Site, page: Page) -> None:
    page.goto(connector.service.sign_in_url)
    page.goto(asks(connector, program))
    page.get_by_role("button", name="Refuse").click()
    expect(page.get_by_role("heading")).to_have_text("You are connected")
    assert came(program)["error"] == ["access_denied"]


def test_who_is_not_signed_in_comes_back_after_it(connector: Connector, program: Site, page: Page) -> None:
    page.goto(asks(connector, program))
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto(connector.service.sign_in_url)
    expect(page.get_by_role("heading", level=1)).to_contain_text("chat.example")


def test_who_comes_from_another_site_is_still_signed_in(connector: Connector, program: Site, page: Page) -> None:
    """The cookie is not sent with another site's link (`SameSite=Strict`)."""
    page.goto(connector.service.sign_in_url)
    elsewhere = program.url.replace("127.0.0.1", "localhost")

    address = asks(connector, program).replace("&", "&amp;")
    program.pages["/"] = html(f'<a href="{address}">Connect</a>')
    page.goto(elsewhere)
    page.get_by_role("link", name="Connect").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("chat.example")


def test_no_page_shows_it_in_a_frame(connector: Connector, program: Site, page: Page) -> None:
    page.goto(connector.service.sign_in_url)
    address = asks(connector, program).replace("&", "&amp;")
    program.pages["/"] = html(f'<iframe src="{address}"></iframe>')
    page.goto(program.url)
    frame = page.frames[-1]
    assert frame.get_by_role("button", name="Allow").count() == 0
    assert "chat.example" not in frame.content()
