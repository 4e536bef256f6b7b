"""The front end in a page that hosts one anywidget under a strict policy: used by keyboard, and given hostile text."""

from __future__ import annotations

import base64
import json
import re
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from comm.base_comm import BaseComm
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, expect

from agentsvc_nb import Chat
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import FileBrowser
from agentsvc_nb.notebook.widgets.card import card_front
from agentsvc_nb.notebook.widgets.form import ToolForm
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.tools import ToolDescription
from tests.browser import axe
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

ADDRESS: Final = "http://host.example/"
POLICY: Final = (
    "default-src 'none'; script-src 'nonce-host' blob:; style-src 'nonce-host'; img-src data:;"
    " require-trusted-types-for 'script'; trusted-types agentsvc-nb; base-uri 'none'; form-action 'none'"
)
_PAGE: Final = """<!doctype html><html lang="en"><head><title>A host of widgets</title>
<style nonce="host">:root { color-scheme: light dark } body { background: Canvas; color: CanvasText }</style></head>
<body><main id="place"></main><script type="module" nonce="host">
const { state } = await kernel({ do: "state" });
const heard = new Set();
const encoded = (buffer) => btoa([...new Uint8Array(buffer)].map((byte) => String.fromCharCode(byte)).join(""));
const model = {
  get: (name) => state[name],
  set: (name, value) => { state[name] = value },
  on: (event, act) => event === "msg:custom" && heard.add(act),
  off: (event, act) => heard.delete(act),
  send: (content, callbacks, buffers = []) => { kernel({ do: "send", content, buffers: buffers.map(encoded) }) },
};
const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
const widget = (await import(url)).default;
const leave = await widget.render({ model, el: document.getElementById("place") });
window.drawAgain = async () => {
  leave();
  const place = document.createElement("main");
  document.getElementById("place").replaceWith(place);
  await widget.render({ model, el: place });
};
for (;;) {
  for (const content of await kernel({ do: "receive" })) for (const act of [...heard]) act(content, []);
  await new Promise((wake) => setTimeout(wake, 30));
}
</script></body></html>"""


class HostComm(BaseComm):
    """A comm whose messages are queued for the page."""

    def __init__(self, *args: Any, **keys: Any) -> None:
        self.queue: deque[Any] = deque()
        super().__init__(*args, **keys)

    def publish_msg(self, msg_type: str, data: Any = None, *_: Any, **__: Any) -> None:
        if isinstance(data, dict) and data.get("method") == "custom":
            self.queue.append(json.loads(json.dumps(data["content"])))


class Host:
    """A browser with pages that host widgets whose comms are `HostComm`s."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.silent = False
        """Whether pages wait for the kernel's messages."""

    def _note(self, said: ConsoleMessage) -> None:
        if said.type == "error":
            self.errors.append(said.text)

    def open(self, front: Any, policy: str = POLICY) -> Page:
        """A page that shows this widget."""
        page: Page = self._browser.new_page(viewport={"width": 1000, "height": 900})
        page.expose_function("kernel", lambda message: self._answer(front, message))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.route("**/*", lambda route: self._serve(route, policy))
        page.goto(ADDRESS)
        page.wait_for_selector(".asvc")
        return page

    def _serve(self, route: Route, policy: str) -> None:
        if route.request.url == ADDRESS:
            headers = {"Content-Security-Policy": policy}
            route.fulfill(body=_PAGE, content_type="text/html; charset=utf-8", headers=headers)
        else:
            route.abort()

    def _answer(self, front: Any, message: dict[str, Any]) -> Any:
        match message["do"]:
            case "state":
                return {"state": {name: front.get_state()[name] for name in ("_esm", "base", "sheet")}}
            case "send":
                buffers = [memoryview(base64.b64decode(each)) for each in message["buffers"]]
                data = {"method": "custom", "content": message["content"]}
                front.comm.handle_msg({"content": {"data": data}, "buffers": buffers})
                return None
        received = []
        while front.comm.queue and not self.silent:
            received.append(front.comm.queue.popleft())
        return received


RAW: Final = [
    *(text for text in HOSTILE if not any("\ud800" <= character <= "\udfff" for character in text)),
    "<template><img src=x onerror=alert(1)></template>",
    '<a href="&#x6A;avascript:alert(1)">x</a><a href=" javascript:alert(1)">y</a>',
    '<p style="background:url(http://evil.example/x)" id="place" class="jp-Dialog asvc-card">x</p>',
    '<img src="data:image/svg+xml;base64,PHN2Zz4="><img srcset="http://evil.example/x.png 1x" src="/x.png">',
    "<form id=f><input name=attributes></form><math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
]
LISTED: Final = (
    "a[href], img[src], [id], [onerror], [onclick], [onload], script, iframe, form, style, svg, math, base, link"
)

OTHERS: Final = """all => all.filter(one => !one.closest(".asvc-icon") && one.getAttribute("src") !== "")
    .map(one => one.outerHTML.slice(0, 200))"""
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTHS: Final = (220, 1280)
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
    return new_chat(opened, service, monkeypatch)


def new_chat(opened: Opened, service: RunningService, monkeypatch: pytest.MonkeyPatch) -> Page:
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


def test_a_message_stays_until_the_kernel_has_it(page: Page, host: Host) -> None:
    message = page.get_by_label("Message")
    page.evaluate("window.kernel = async () => []")  # it is silent from now on
    for _ in range(2):
        message.fill("say one")
        message.press("Enter")
        expect(message).to_have_value("say one")
    assert host.errors == []


def test_what_is_typed_stays_when_the_kernel_is_heard_and_when_it_is_drawn_again(
    host: Host, opened: Opened, service: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.silent = True
    page = new_chat(opened, service, monkeypatch)
    message = page.get_by_label("Message")
    message.click()
    page.keyboard.type("say o")
    host.silent = False
    expect(page.locator(".asvc-title")).not_to_be_empty()
    expect(message).to_be_focused()
    page.keyboard.type("ne")
    page.evaluate("window.drawAgain()")
    expect(message).to_have_value("say one")
    message.press("Enter")
    expect(page.get_by_role("group", name="Turn 1")).to_contain_text("✓ completed")
    expect(message).to_have_value("")


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
    log.get_by_role("group", name="The current turn").get_by_text("one", exact=True).wait_for()
    log.evaluate("log => { log.scrollTop = 200 }")
    expect(log.get_by_role("group", name="Turn 2")).to_contain_text("✓ completed")
    assert log.evaluate("log => log.scrollTop") == 200
    page.get_by_role("button", name="Newest").click()
    assert log.evaluate(at_end)


def test_the_page_itself_shows_only_what_is_listed_whatever_it_is_sent(host: Host, opened: Opened) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    front = Front("live", "writing", "chat")
    page = opened(front, policy="")
    host.requests.clear()
    for number, text in enumerate(RAW, 1):
        turn: dict[str, Any] = {"asked": text, "files": [text], "answer": text, "cell": text, "again": True}
        card: dict[str, Any] = {"shown": text, "tool": text, "failed": text, "yes": [text, text], "no": text}
        card["edit"] = dict.fromkeys(("label", "text", "tip", "yes"), text)
        card["scopes"] = [["", text]]
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


def test_whatever_is_in_the_parts_executes_and_fetches_nothing(host: Host, opened: Opened) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    front = card_front()
    front.change({"more": "nothing yet"})
    page = opened(front, policy="")
    host.requests.clear()
    work = {"icon": "tool", "percent": 5, "cancelling": False}
    for number, evil in enumerate(RAW):
        call: dict[str, Any] = {"shown": evil, "tool": evil, "yes": ["Approve", evil], "no": evil, "failed": evil}
        call["edit"] = dict.fromkeys(("label", "text", "tip", "yes"), evil)
        call["scopes"] = [["", evil]]
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


def test_hostile_names_and_previews_are_text(host: Host, opened: Opened) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    made = FileBrowser(Session("plan.ipynb", journal=Journal(None)), [])
    page = opened(made.front, policy="")
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


@pytest.mark.parametrize(
    ("label", "typed", "expected"),
    [("A", "23851234567890125", {"a": 23851234567890125}), ("B", "x", {"a": 23851234567890123, "b": "x"})],
)
def test_long_numbers_of_a_form_are_exact(
    host: Host, opened: Opened, label: str, typed: str, expected: dict[str, object]
) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {**TEXT, "title": "B"}}}
    tool = ToolDescription(name="demo", input_schema=schema)
    form = ToolForm(tool, {"a": 23851234567890123}, session=Session())
    page = opened(form.front)
    page.get_by_label(label, exact=True).fill(typed)
    page.keyboard.press("Tab")
    until(lambda: form.value == expected)
    assert form.problems == {}
    nothing_ran(host, page)
