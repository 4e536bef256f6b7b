"""The pages under /app in a real browser: signing in, keys, a chat that goes on, hostile text, and no script at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect

from agentsvc_nb import AgentService
from agentsvc_nb.client.errors import AuthenticationError
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.routes import ROUTES
from tests.browser.test_hostile import file_names
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

TABLE = "\n".join(f"say |{cell * 12}" for cell in (" a column |", "--:|", " 1 |"))


@pytest.fixture(params=[True, False], ids=["script", "no script"])
def page(request: pytest.FixtureRequest, chromium: Browser, service: RunningService) -> Iterator[Page]:
    """A signed-in browser, with JavaScript and without."""
    context = chromium.new_context(java_script_enabled=request.param)
    yield signed_in(context, service)
    context.close()


@pytest.fixture
def scripted(chromium: Browser, service: RunningService) -> Iterator[Page]:
    """A signed-in browser with JavaScript."""
    context = chromium.new_context()
    yield signed_in(context, service)
    context.close()


def signed_in(context: BrowserContext, service: RunningService) -> Page:
    page = context.new_page()
    page.goto(service.sign_in_url)
    assert page.url == f"{service.base_url}/app", "the token is no longer in the address"
    return page


def test_a_key_is_created_used_deleted_and_refused(page: Page, service: RunningService) -> None:
    """With a report and signing out: what a person does in the settings."""
    page.get_by_role("link", name="Settings", exact=True).click()
    page.get_by_label("Name").fill("No terms")
    page.get_by_role("button", name="Create key").click()
    page.goto(f"{service.base_url}/app/settings")
    assert "No terms" not in page.content(), "without the terms a browser does not send the form"
    page.get_by_label("Name").fill("From a browser")
    page.get_by_label("I accept the developer terms").check()
    page.get_by_role("button", name="Create key").click()
    secret = page.locator("#key").inner_text()
    with AgentService(secret, service.base_url) as client:
        assert client.runs.start("say made with a page's key", sync=True).output == "made with a page's key"
        page.reload()
        assert secret not in page.content(), "shown once"
        row = page.get_by_role("row").filter(has_text=secret[:12])
        expect(row).to_have_count(1)
        row.get_by_role("link", name="Delete").click()
        page.get_by_role("button", name="Delete key").click()
        expect(row).to_have_count(0)
        with pytest.raises(AuthenticationError):
            client.runs.start("say refused")
    page.get_by_role("link", name="Feedback").click()
    page.get_by_label("What happened").fill("Sent from a browser")
    page.get_by_label("Kind").select_option("idea")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("article").first).to_contain_text("Sent from a browser")
    page.get_by_role("button", name="Sign out").click()
    page.goto(f"{service.base_url}/app/settings")
    expect(page.get_by_role("heading", name="Sign in")).to_have_count(1)


def test_a_chat_grows_until_its_end_and_an_address_leads_to_its_turn(page: Page, service: RunningService) -> None:
    """With the script by the stream, without it by refreshes."""
    lines = "\n".join(f"say line {number}\nwait 0.3" for number in range(1, 5))
    notes = "\n".join(f"note {number}\n" for number in range(100))
    source = "say > note 70\nsay\nsay — `uploads/notes.md`, line 141\nsay"
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start(
            f"say **first**\nwait 2\n{lines}\nwrite chart.svg <svg/>\nwait 2", files=[("notes.md", notes.encode())]
        )
        page.goto(str(run.app_url))
        answer = page.locator(".answer")
        until(answer.inner_text, lambda text: "line 1" in text)
        expect(page.locator(".status.running")).to_have_count(1)
        until(answer.inner_text, lambda text: "line 4" in text)
        expect(page.locator(".status.completed")).to_have_count(1)
        expect(answer.locator("strong")).to_have_text("first")
        expect(page.locator(".files").first).to_contain_text("chart.svg")
        middle = client.runs.start(source + "\nsay more" * 40, chat=run.chat, sync=True)
        client.runs.start("say last" + "\nsay more" * 80, chat=run.chat, sync=True)
    page.goto(str(middle.app_url))
    turn = page.locator("article:target")
    expect(turn.get_by_role("heading", name="You")).to_be_in_viewport()
    with page.expect_popup() as opened:
        turn.get_by_role("link", name="uploads/notes.md").click()
    line = opened.value.locator(":target")
    expect(line).to_be_in_viewport()
    assert line.inner_text().strip() == "note 70"
    opened.value.close()


def test_what_waits_is_readable_in_a_narrow_window_and_decided_by_keyboard(
    scripted: Page, service: RunningService
) -> None:
    scripted.set_viewport_size({"width": 420, "height": 900})
    with AgentService(service.api_key, service.base_url) as client:
        project = client.projects.create("Narrow").id
        plan = 'call plan {"steps": [{"text": "Compute the totals", "state": "doing"}]}'
        asks = 'call remember {"rule": "Revenue means gross."}'
        run = client.runs.start(f"{plan}\nusage 41000 0\nstep 1\n{asks}\nsay x", project=project, max_cents=5)
        until(lambda: "approval.requested" in [event.type for event in client.runs.events(run.run_id).data])
        scripted.goto(str(run.app_url))
        scripted.get_by_text("Edit", exact=True).press("Enter")
        edited = scripted.get_by_label("Arguments as JSON")
        expect(edited).to_have_css("font-family", "monospace")
        expect(scripted.locator(".plan")).to_have_css("list-style-type", "none")
        assert scripted.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        assert Axe().run(scripted).response["violations"] == []
        scripted.get_by_role("button", name="Raise to 10 cents").press("Enter")
        until(lambda: client.runs.get(run.run_id).max_cents == 10)
        scripted.get_by_text("Edit", exact=True).press("Enter")
        edited.fill('{"rule": "Revenue means net."}')
        scripted.get_by_role("button", name="Approve as changed").press("Enter")
        until(lambda: client.runs.get(run.run_id).ended)
        assert [each.instructions for each in client.projects.list() if each.id == project] == ["- Revenue means net."]


@pytest.mark.rule("Hostile text, names and files execute nothing and fetch nothing.")
def test_hostile_text_executes_nothing_and_fetches_nothing(scripted: Page, service: RunningService) -> None:
    """While it streams, when it has ended, as a question and as the names of files."""
    sayable = [text for text in HOSTILE if not any("\ud800" <= character <= "\udfff" for character in text)]
    script = "\n".join(f"say {line}" for text in sayable for line in (*text.splitlines(), ""))
    names = "\n".join(f"write {number}/{name} <script>alert(1)</script>" for number, name in enumerate(file_names()))
    executed: list[str] = []
    requests: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        executed.append(dialog.message)
        dialog.dismiss()

    scripted.on("dialog", dismiss)
    scripted.on("request", lambda request: requests.append(request.url))
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start(f"wait 1\n{script}\n{names}\nsay the end\nwait 1")
        scripted.goto(str(run.app_url))
        until(scripted.locator(".answer").inner_text, lambda text: "the end" in text)
        until(lambda: scripted.locator(".status.completed").count() == 1)
        until(lambda: scripted.locator("[data-run]").count() == 0)  # the page is loaded again when the run ends
    scripted.goto(f"{service.base_url}/app")
    scripted.goto(str(run.app_url))
    scripted.wait_for_load_state("networkidle")
    assert executed == []
    assert [url for url in requests if not url.startswith(service.base_url + "/app")] == []
    assert scripted.locator("main :is(script, iframe, style, svg, object, base, img)").count() == 0
    links = scripted.locator("main a[href]").evaluate_all("all => all.map(one => one.href)")
    ours = [link for link in links if urlsplit(link).netloc == urlsplit(service.base_url).netloc]
    assert all(re.match(rf"{service.base_url}/app/chats/", link) for link in ours)
    assert [link for link in links if not link.startswith(("http:", "https:", "mailto:"))] == []


@pytest.mark.rule("Pages run without inline scripts and styles.")
def test_nothing_is_against_the_pages_own_policy(scripted: Page, service: RunningService) -> None:
    """No console message of a blocked style, script or picture; also in a narrow window, which nothing overflows."""
    said: list[str] = []
    scripted.on("console", lambda message: said.append(message.text))
    scripted.on("pageerror", lambda error: said.append(str(error)))
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start(f"{TABLE}\nsay\nsay {'long' * 100}", sync=True)
    scripted.set_viewport_size({"width": 360, "height": 740})
    for path in ("/app", "/app/settings", "/app/feedback", "/app/terms", f"/app/chats/{run.chat}"):
        scripted.goto(service.base_url + path)
        assert scripted.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
    assert said == []
    table = scripted.get_by_role("region", name="Table")
    assert table.evaluate("box => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX == 'auto'")


@pytest.mark.rule("The API page shows every operation and loads nothing from other hosts.")
def test_the_page_of_the_api_shows_every_operation_and_asks_nobody_else(
    chromium: Browser, service: RunningService
) -> None:
    context = chromium.new_context()
    page = context.new_page()
    requests: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{service.base_url}/app/api")
    operations = page.locator(".opblock")
    expect(operations.first).to_be_visible()
    assert operations.count() == len(ROUTES)
    assert all(url.startswith(service.base_url) for url in requests)
    assert said == []
    context.close()
