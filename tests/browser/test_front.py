"""The front end in a page that hosts one anywidget under a strict policy: used by keyboard, and given hostile text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from agentsvc_nb import AgentService, Chat
from agentsvc_nb.client.approvals import WaitingCall
from agentsvc_nb.notebook.files.workspace import listed_and_staged
from agentsvc_nb.notebook.kernel.calls import KernelCall
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import FileBrowser
from agentsvc_nb.notebook.widgets.card import CardScreen, card_front
from agentsvc_nb.notebook.widgets.form import ToolForm
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.tools import ToolDescription
from tests.browser import axe
from tests.browser.anyhost import ADDRESS, POLICY, Host, HostComm
from tests.notebook import fronts
from tests.notebook.screens import Cell, Clock, Script
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

RAW: Final = [
    *(text for text in HOSTILE if not any("\ud800" <= character <= "\udfff" for character in text)),
    "<template><img src=x onerror=alert(1)></template>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<a href="&#x6A;avascript:alert(1)">x</a><a href=" javascript:alert(1)">y</a>',
    '<p style="background:url(http://evil.example/x)" id="place" class="jp-Dialog asvc-card">x</p>',
    '<img src="data:image/svg+xml;base64,PHN2Zz4="><img srcset="http://evil.example/x.png 1x" src="/x.png">',
    "<form id=f><input name=attributes></form><math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    '<button formaction="javascript:alert(1)">x</button><label for=place>y</label>',
]
LISTED: Final = (
    "a[href], img[src], [id], [onerror], [onclick], [onload], script, iframe, form, style, svg, math, base, link"
)

OTHERS: Final = """all => all.filter(one => !one.closest(".asvc-icon") && one.getAttribute("src") !== "")
    .map(one => one.outerHTML.slice(0, 200))"""
"""Of what a page should not have, what is no icon of ours, and no picture without a source."""
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTHS: Final = (220, 1280)
SCRIPT: Final = "write out/plan.md # Autumn\nwrite reports/q3.md it rose\nwrite a.csv x,y"
TABLE: Final = "say\n\n| a channel | cost | what it has earned |\n|---|--:|--:|\n| Search | 67,004 | 560,503 |"
Opened = Callable[..., Page]


@pytest.fixture
def host(chromium: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Host:
    monkeypatch.setattr("comm.create_comm", HostComm)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return Host(chromium)


@pytest.fixture
def opened(host: Host) -> Iterator[Opened]:
    """Opens a page that shows a front end."""
    pages: list[Page] = []

    def shown(front: Front, policy: str = POLICY) -> Page:
        pages.append(page := host.open(front, policy))
        page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")
        return page

    yield shown
    for page in pages:
        page.close()


@pytest.fixture
def page(opened: Opened, service: RunningService, monkeypatch: pytest.MonkeyPatch) -> Page:
    """A page with a new chat with the scripted agent."""
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    front = Chat(new=True)._display_()  # as marimo asks for it
    assert isinstance(front, Front)
    return opened(front)


def nothing_ran(host: Host, page: Page) -> None:
    assert page.evaluate("window.executed") == []
    own = (ADDRESS, "blob:", "data:", "about:")
    assert [url for url in host.requests if not url.startswith(own)] == []
    assert host.errors == []


def foreign(page: Page) -> list[str]:
    """Return the elements that may not be there; links of answers may."""
    found: list[str] = page.locator(".asvc").locator(LISTED).evaluate_all(OTHERS)
    return [each for each in found if not each.startswith(('<a href="http', '<a href="mailto:'))]


def fits(page: Page) -> None:
    """No rule is broken in light and dark, and nothing stands out at any width."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert axe.violations(page, ".asvc") == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        wide, room = page.locator(".asvc").evaluate("box => [box.scrollWidth, box.clientWidth]")
        assert wide <= room


def test_a_chat_by_keyboard_under_a_strict_policy(host: Host, page: Page) -> None:
    for _ in ("Close", "Conversation", "Message"):
        page.keyboard.press("Tab")
    expect(page.get_by_label("Message")).to_be_focused()
    put_files(page, "drop", ".asvc-chat", "dropped.txt")
    put_files(page, "paste", ".asvc-chat textarea", "pasted.png")
    for name in ("dropped.txt", "pasted.png"):
        page.get_by_role("button", name=f"Remove {name}").wait_for()
    page.get_by_role("button", name="Remove pasted.png").press("Enter")
    expect(page.get_by_role("button", name="Remove pasted.png")).to_have_count(0)
    expect(page.get_by_label("Attachments")).to_have_text("dropped.txt")
    page.get_by_label("Message").focus()
    page.keyboard.type("say | a | b |")
    for line in ("say |---|--:|", "say | x | 1,200 |", "wait 1", "say", "say ```python", "say x = 1", "say ```"):
        page.keyboard.press("Shift+Enter")
        page.keyboard.type(line)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.type("typed meanwhile")
    page.keyboard.press("Enter")
    first = page.get_by_role("group", name="Turn 1")
    expect(first).to_contain_text("✓ completed")
    expect(first.get_by_label("Attached")).to_have_text("dropped.txt")
    expect(first.locator("td", has_text="1,200")).to_have_css("text-align", "right")
    expect(page.get_by_label("Message")).to_have_value("typed meanwhile")
    page.get_by_role("button", name="Copy this code").press("Enter")
    expect(page.get_by_label("To copy")).to_have_value("x = 1")
    page.get_by_role("button", name="As a cell").press("Enter")
    expect(page.get_by_label("To copy").last).to_have_value(re.compile(r"^%%ask --chat chat_\w+\nsay \| a \| b \|\n"))
    page.get_by_role("button", name="Ask again").press("Enter")
    expect(page.get_by_role("group", name="Turn 2")).to_contain_text("✓ completed")
    nothing_ran(host, page)
    fits(page)
    page.get_by_role("button", name="Close").press("Enter")
    expect(page.locator(".asvc textarea")).to_have_count(0)
    expect(page.locator(".asvc")).to_contain_text("✓ completed")


def put_files(page: Page, event: str, where: str, name: str) -> None:
    """Drop or paste a file there."""
    script = """([element, event, name]) => {
        const data = new DataTransfer();
        data.items.add(new File(["content"], name));
        const kinds = { drop: DragEvent, paste: ClipboardEvent };
        const more = event === "drop" ? { dataTransfer: data } : { clipboardData: data };
        element.dispatchEvent(new kinds[event](event, { bubbles: true, cancelable: true, ...more }));
    }"""
    page.evaluate(script, [page.locator(where).element_handle(), event, name])


def test_the_reader_stays_where_they_are(page: Page) -> None:
    log = page.get_by_role("region", name="Conversation")
    page.get_by_label("Message").fill("\n".join(f"say Paragraph {number}\nsay" for number in range(60)))
    page.get_by_label("Message").press("Enter")
    expect(log).to_contain_text("✓ completed")
    at_end = "log => log.scrollHeight - log.scrollTop - log.clientHeight < 30"
    page.wait_for_function(f"() => ({at_end})(document.querySelector('.asvc-log'))")
    log.evaluate("log => { log.scrollTop = 200 }")
    expect(page.get_by_role("button", name="Newest")).to_be_visible()
    page.get_by_label("Message").fill("say one\nwait 1\nsay two")
    page.get_by_label("Message").press("Enter")
    page.wait_for_function(f"() => ({at_end})(document.querySelector('.asvc-log'))")  # who asks looks for what comes
    log.get_by_role("group", name="The turn that goes on").get_by_text("one", exact=True).wait_for()
    log.evaluate("log => { log.scrollTop = 200 }")
    expect(log.get_by_role("group", name="Turn 2")).to_contain_text("✓ completed")
    assert log.evaluate("log => log.scrollTop") == 200
    page.get_by_role("button", name="Newest").click()
    assert log.evaluate(at_end)
    # Something more is added between our scrolling to the end and the page's telling of it.
    grown = """async log => {
        const add = height => log.firstElementChild.append(
            Object.assign(document.createElement("div"), { style: `height: ${height}px` }));
        add(100);
        log.scrollTop = log.scrollHeight;
        add(500);
        for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame);
    }"""
    log.evaluate(grown)
    assert log.evaluate(at_end)


def test_the_page_itself_shows_only_what_is_listed_whatever_it_is_sent(host: Host, opened: Opened) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    front = Front("live", "writing", "chat")
    page = opened(front, policy="")
    host.requests.clear()
    for number, text in enumerate(RAW, 1):
        turn: dict[str, Any] = {"asked": text, "files": [text], "answer": text, "cell": text, "again": True}
        card = {"shown": text, "tool": text, "code": text, "failed": text, "yes": [text, text], "no": text}
        front.change({f"turn/{number}": turn, f"live/{number}": text, f"asked/{text}": card, "note": text})
    front.change({"order": [*range(1, len(RAW) + 1)], "ran": "".join(RAW), "steps": "".join(RAW), "heard": RAW[0]})
    front.change({"live": {"asked": RAW[0], "files": [RAW[0]]}, "doing": [RAW[0], 1], "head": [RAW[0], RAW[0]]})
    front.change({"chips": [[RAW[0], RAW[0]]], "files": [[RAW[0], RAW[0]]], "draft": RAW[0]})
    expect(page.get_by_role("button", name="Remove")).to_have_count(1)
    assert foreign(page) == []
    assert page.locator(".asvc [style*='url']").count() == 0
    page.evaluate("() => document.querySelectorAll('.asvc button').forEach(one => one.click())")
    assert page.evaluate("window.executed") == []
    assert host.requests == []


def test_a_message_stays_until_the_kernel_has_it(page: Page, host: Host) -> None:
    message = page.get_by_label("Message")
    send = page.get_by_role("button", name="Send")
    send.evaluate(
        "(_, silent) => { window.kernelWas = window.kernel; window.kernel = silent ? async () => [] : 0 }", True
    )
    message.fill("say one")
    message.press("Enter")
    expect(message).to_have_value("say one")
    message.press("Enter")
    expect(message).to_have_value("say one")
    assert host.errors == []


def test_a_run_is_watched_answered_and_cancelled_by_keyboard(host: Host, opened: Opened) -> None:
    decided: list[Any] = []
    cancelled: list[int] = []
    cell, clock, run = Cell(), Clock(), Script()

    def decide(call: WaitingCall, approved: bool, reason: str) -> None:
        decided.append((call.call_id, approved, reason))

    screen = CardScreen(cell, decide, clock)
    screen.cancels(lambda: cancelled.append(1))
    code = KernelCall("call_2", "run", "n = 1", "to count")
    run.say(TABLE)
    run.event("approval.requested", call_id="call_1", tool="send_email", input={"to": "ada@example.org"})
    run.view.kernel = [code]
    screen.draw(run.view)
    page = opened(fronts.front_of(cell.outputs[1]))
    card = page.get_by_role("group", name="Agent")
    expect(card.get_by_role("status")).to_have_text("running · waits for your approval")
    fits(page)
    number = page.locator("td", has_text="560,503")
    assert number.evaluate("cell => cell.offsetHeight") < 40, "a number is not broken"
    mail = page.get_by_role("group", name="send_email waits")
    mail.get_by_label("Reason to refuse").press_sequentially("Not before Monday")
    mail.get_by_role("button", name="Refuse").press("Enter")
    until(lambda: decided == [("call_1", False, "Not before Monday")])
    kernel = page.get_by_role("group", name="run_in_kernel waits")
    kernel.get_by_role("button", name="Edit").press("Enter")
    page.keyboard.press("End")
    page.keyboard.type("0")
    kernel.get_by_role("button", name="Run as changed").press("Enter")
    until(lambda: (code.state, code.code) == ("approved", "n = 10"))
    card.get_by_role("button", name="Cancel").press("Space")
    expect(card.get_by_role("button", name="Cancelling")).to_be_focused()
    page.keyboard.press("Enter")
    until(lambda: cancelled == [1])
    screen.finish({"text/plain": "done", "text/html": "<p>it was <em>cancelled</em></p>"})
    expect(page.locator(".asvc em")).to_have_text("cancelled")
    expect(page.locator(".asvc")).to_be_focused()
    nothing_ran(host, page)


def test_whatever_is_in_the_parts_executes_and_fetches_nothing(host: Host, opened: Opened) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    front = card_front()
    front.change({"more": "nothing yet"})
    page = opened(front, policy="")
    host.requests.clear()
    work = {"icon": "tool", "percent": 5, "cancelling": False}
    for number, evil in enumerate(RAW):
        call = {"shown": evil, "tool": evil, "yes": ["Approve", evil], "no": evil, "code": evil, "failed": evil}
        bar = {**work, "name": evil, "state": evil, "amounts": evil}
        choice = {"shown": evil, "buttons": [["a", evil, evil, ""]], "busy": False, "wrong": evil}
        parts = {"text": evil, "ran": evil, "asked/1": call, "more": evil, "choice": choice}
        front.change({**parts, "run": bar, f"job/{number}": bar})
        page.wait_for_function("count => document.querySelectorAll('.asvc-bars b').length === count", arg=number + 1)
        assert foreign(page) == []
        front.change({"asked/1": None})
    for number, evil in enumerate(RAW):
        front.change({f"job/{number}": {"end": evil}})
    page.wait_for_function("count => document.querySelectorAll('.asvc-ended').length === count", arg=len(RAW))
    for evil in RAW:
        front.change({"closed": evil})
    page.wait_for_function("() => document.querySelector('.asvc-live').childElementCount === 1")
    assert foreign(page) == []
    assert page.evaluate("window.executed") == []
    assert host.requests == []


@pytest.fixture
def session(service: RunningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Session]:
    """Of a notebook whose chat has three files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start(SCRIPT, sync=True)
    made = Session("plan.ipynb", journal=Journal(None))
    made.move(run.chat or "")
    yield made
    made.close()


def names(page: Page) -> list[str]:
    found: list[str] = page.locator("[data-key]").evaluate_all("all => all.map(one => one.dataset.key)")
    return found


def name(page: Page, key: str) -> Locator:
    return page.locator(f"[data-key='{key}']")


def test_files_by_keyboard_under_a_strict_policy(host: Host, opened: Opened, session: Session, tmp_path: Path) -> None:
    browser = FileBrowser(session, *listed_and_staged(session))
    page = opened(browser.front)
    page.get_by_role("button", name="Name").press("Enter")
    assert names(page) == ["a.csv", "out/plan.md", "reports/q3.md"]
    page.locator("[data-key][tabindex='0']").focus()
    page.keyboard.press("End")
    expect(name(page, "reports/q3.md")).to_be_focused()
    page.keyboard.press("Home")
    expect(name(page, "a.csv")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Autumn")).to_be_visible()
    expect(name(page, "out/plan.md")).to_be_focused()
    expect(name(page, "out/plan.md")).to_have_attribute("aria-current", "true")
    fits(page)
    page.get_by_role("button", name="Download it").press("Enter")
    expect(page.locator(".asvc-files > [role=status]")).to_have_text("It is in plan.md.")
    assert (tmp_path / "plan.md").read_text() == "# Autumn"
    page.get_by_role("button", name="Copy its path").press("Enter")
    expect(page.get_by_label("To copy")).to_have_value("out/plan.md")
    page.get_by_role("region", name="Content of plan.md").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Autumn")).to_have_count(0)
    expect(name(page, "out/plan.md")).to_be_focused()
    page.keyboard.type("q3")
    expect(page.get_by_role("searchbox")).to_have_value("q3")
    assert names(page) == ["reports/q3.md"]
    page.keyboard.press("ArrowDown")
    expect(name(page, "reports/q3.md")).to_be_focused()
    nothing_ran(host, page)


def test_hostile_names_and_previews_are_text(host: Host, opened: Opened, session: Session) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    listed = [fronts.file(f"{number:02}-{text.replace('/', '∕')}") for number, text in enumerate(HOSTILE)]
    made = FileBrowser(session, listed)
    page = opened(made.front, policy="")
    expect(page.locator("[data-key]")).to_have_count(len(HOSTILE))
    for number, text in enumerate(RAW):
        facts = {"key": text, "name": text, "size": 1, "by": text, "changed": text}
        row = [text, text, "image/png", number, text, 2, text, text]
        found = {"words": "", "hits": {text: [[text, True]]}}
        images = [[text, text]] * 2 if number % 2 else []
        pane = {**facts, "html": text, "caption": text, "images": images, "versions": [{**facts, "version": 2}] * 2}
        made.front.change({"files": [row], "found": found, "open": pane, "said": {"html": text, "wrong": True}})
        made.front.change({f"upload/{text}": {"name": text, "at": 1, "size": 2}, f"thumb/{text}": [text, text]})
        made.front.change({"start": {"grid": bool(number % 3)}})
        expect(page.locator(".asvc-uploads > div")).to_have_count(number + 1)
        assert foreign(page) == []
    assert page.evaluate("window.executed") == []
    own = (ADDRESS, "blob:", "data:", "about:")
    assert [url for url in host.requests if not url.startswith(own)] == []


TEXT: Final = {"type": "string", "maxLength": 60}
Act = Callable[[Page], object]


def fill(label: str, text: str) -> Act:
    def act(page: Page) -> None:
        page.get_by_label(label, exact=True).fill(text)
        page.keyboard.press("Tab")

    return act


def press(role: Any, name: str) -> Act:
    return lambda page: page.get_by_role(role, name=name, exact=True).press("Space")


LONG_NUMBER: Final = ({"type": "integer"}, 23851234567890123)
VALUES: Final[list[tuple[dict[str, Any], Any, list[Act], dict[str, Any]]]] = [
    ({**TEXT, "default": "x"}, None, [fill("A", "")], {"a": ""}),
    ({"anyOf": [TEXT, {"type": "null"}], "default": "x"}, None, [fill("A", "")], {"a": None}),
    (*LONG_NUMBER, [fill("A", "23851234567890125")], {"a": 23851234567890125}),
    (*LONG_NUMBER, [fill("B", "x")], {"a": 23851234567890123, "b": "x"}),
    ({"type": "boolean", "default": True}, None, [press("switch", "A")], {"a": False}),
    (
        {"type": "array", "items": {"enum": ["p", "q"]}},
        ["q"],
        [press("checkbox", "p"), press("checkbox", "q")],
        {"a": ["p"]},
    ),
    (
        {"type": "array", "title": "To", "items": TEXT},
        ["one"],
        [press("button", "Add"), fill("To 2", "two"), press("button", "Remove To 1")],
        {"a": ["two"]},
    ),
    ({}, None, [fill("A (JSON)", '{"a": [1, 1e20]}')], {"a": {"a": [1, 1e20]}}),
]


def test_what_is_filled_in_is_the_value(host: Host, opened: Opened) -> None:
    for part, start, acts, expected in VALUES:
        schema = {"type": "object", "properties": {"a": part, "b": {**TEXT, "title": "B"}}}
        tool = ToolDescription(name="demo", input_schema=schema)
        form = ToolForm(tool, None if start is None else {"a": start}, session=Session())
        page = opened(form.front)
        for act in acts:
            act(page)
        until(lambda form=form, expected=expected: form.value == expected)  # type: ignore[misc]
        assert form.problems == {}
        nothing_ran(host, page)
        page.close()


def test_hostile_texts_of_a_form_are_shown_and_not_executed(host: Host, opened: Opened) -> None:
    parts: dict[str, Any] = {
        f"{text} {number}": {"type": "string", "title": text, "description": text, "default": text, "examples": [text]}
        for number, text in enumerate(RAW)
    }
    parts |= {"choice": {"enum": RAW, "title": RAW[0]}, "list": {"type": "array", "items": {"enum": RAW}}}
    parts |= {"group": {"type": "object", "title": RAW[0], "properties": {RAW[0]: TEXT}, "required": [RAW[0]]}}
    schema = {"type": "object", "properties": parts, "required": ["choice"]}
    page = opened(ToolForm(ToolDescription(name="demo", input_schema=schema), None, session=Session()).front)
    page.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.get_by_text("Nothing was sent.")).to_be_visible()
    assert page.locator(".asvc").locator("a, img, script, iframe, form, style, math, base, link, object").count() == 0
    nothing_ran(host, page)
