"""The front end in a page that hosts one anywidget under a strict policy: used by keyboard, and given hostile text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from agentsvc_nb import Chat
from agentsvc_nb.notebook.widgets.front import Front
from agentsvc_nb.testing import RunningService
from tests.browser import axe
from tests.browser.anyhost import ADDRESS, Host, HostComm, hosting
from tests.notebook.test_hostile import HOSTILE

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


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosting() as opened:
        yield opened


@pytest.fixture(autouse=True)
def comms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("comm.create_comm", HostComm)
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.fixture
def page(host: Host, service: RunningService, monkeypatch: pytest.MonkeyPatch) -> Iterator[Page]:
    """A page with a new chat with the scripted agent."""
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    opened = host.open(Chat(new=True)._display_())
    watched(opened)
    yield opened
    opened.close()


def watched(page: Page) -> None:
    page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")


def nothing_ran(host: Host, page: Page) -> None:
    assert page.evaluate("window.executed") == []
    assert [url for url in host.requests if url != ADDRESS and not url.startswith(("blob:", "data:"))] == []
    assert host.errors == []


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
    assert axe.violations(page, ".asvc") == []
    page.emulate_media(color_scheme="dark")
    assert axe.violations(page, ".asvc") == []
    page.set_viewport_size({"width": axe.NARROW, "height": 900})
    wide, room = page.locator(".asvc").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert wide <= room
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


def test_a_chip_that_is_pressed_stays_while_another_comes_and_the_focus_goes_on(page: Page) -> None:
    for name in ("one.txt", "two.txt"):
        put_files(page, "drop", ".asvc-chat", name)
    one, two, three = (page.get_by_role("button", name=f"Remove {name}.txt") for name in ("one", "two", "three"))
    one.hover()
    page.mouse.down()
    put_files(page, "drop", ".asvc-chat", "three.txt")
    three.wait_for()
    expect(one).to_be_focused()
    page.mouse.up()
    expect(one).to_have_count(0)
    expect(two).to_be_focused()
    page.keyboard.press("Enter")
    expect(three).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Message")).to_be_focused()


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


def test_a_wide_table_scrolls_by_itself_and_its_words_stay_whole(page: Page) -> None:
    row = " | ".join(["46,800.00"] * 12)
    page.get_by_label("Message").fill(f"say | {row} |\nsay |{'---:|' * 12}\nsay | {row} |")
    page.get_by_label("Message").press("Enter")
    expect(page.get_by_role("group", name="Turn 1")).to_contain_text("✓ completed")
    page.set_viewport_size({"width": axe.NARROW, "height": 900})
    table = page.get_by_role("group", name="Table").first
    assert table.evaluate("box => box.scrollWidth > box.clientWidth")
    lines = table.get_by_role("cell").first.evaluate(
        "cell => { const range = document.createRange();"
        " range.selectNodeContents(cell); return range.getClientRects().length }"
    )
    assert lines == 1
    assert page.locator(".asvc-log").evaluate("log => log.scrollWidth <= log.clientWidth")


def test_what_grows_below_the_end_is_no_scrolling_by_the_reader(page: Page) -> None:
    log = page.get_by_role("region", name="Conversation")
    page.get_by_label("Message").fill("\n".join(f"say Paragraph {number}\nsay" for number in range(60)))
    page.get_by_label("Message").press("Enter")
    expect(log).to_contain_text("✓ completed")
    # Scrolled to the end, and longer before that is told: as where a picture or a formula is drawn later.
    log.evaluate(
        """log => new Promise(done => {
            log.scrollTop = log.scrollHeight - 40 - log.clientHeight;
            log.scrollTop = log.scrollHeight;
            log.firstElementChild.style.paddingBottom = "500px";
            setTimeout(done, 300);
        })"""
    )
    assert log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight < 30")
    expect(page.get_by_role("button", name="Newest")).to_be_hidden()


def test_a_turn_that_is_read_later_takes_its_place(host: Host) -> None:
    front = Front("live", "writing", "chat")
    page = host.open(front)
    turn = {"asked": "asked", "files": [], "answer": "", "cell": "", "again": False}
    front.change({"turn/1": turn, "turn/2": turn, "order": [1, 2]})
    front.change({"turn/1": {**turn, "answer": "read"}})
    expect(page.get_by_role("group", name="Turn 1")).to_contain_text("read")
    names = page.get_by_role("group").evaluate_all("all => all.map(one => one.ariaLabel)")
    assert names == ["Turn 1", "Turn 2"]
    page.close()


def test_hostile_text_of_an_agent_runs_nothing_and_fetches_nothing(host: Host, page: Page) -> None:
    lines = [f"say {line}" for text in RAW for line in (*text.splitlines(), "") if line.isprintable()]
    page.get_by_label("Message").fill("\n".join([*lines, "say the end"]))
    page.get_by_label("Message").press("Enter")
    expect(page.get_by_role("group", name="Turn 1")).to_contain_text("the end")
    nothing_ran(host, page)


def test_the_page_itself_shows_only_what_is_listed_whatever_it_is_sent(host: Host) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    front = Front("live", "writing", "chat")
    page = host.open(front, policy="")
    watched(page)
    host.requests.clear()
    for number, text in enumerate(RAW, 1):
        turn: dict[str, Any] = {"asked": text, "files": [text], "answer": text, "cell": text, "again": True}
        card = {"shown": text, "tool": text, "code": text, "failed": text, "yes": [text, text], "no": text}
        front.change({f"turn/{number}": turn, f"live/{number}": text, f"asked/{text}": card, "note": text})
    front.change({"order": [*range(1, len(RAW) + 1)], "ran": "".join(RAW), "steps": "".join(RAW), "heard": RAW[0]})
    front.change({"live": {"asked": RAW[0], "files": [RAW[0]]}, "doing": [RAW[0], 1], "head": [RAW[0], RAW[0]]})
    front.change({"chips": [[RAW[0], RAW[0]]], "files": [[RAW[0], RAW[0]]], "draft": RAW[0]})
    expect(page.get_by_role("button", name="Remove")).to_have_count(1)
    page.wait_for_timeout(300)
    found = page.locator(".asvc").locator(LISTED).evaluate_all("all => all.map(one => one.outerHTML.slice(0, 200))")
    known = ('<a href="http', '<a href="mailto:', '<svg viewBox="0 0 16 16" class="asvc-icon"')
    links = [each for each in found if not each.startswith(known)]
    assert links == []
    styled = page.locator(".asvc [style*='url']").count()
    assert styled == 0
    page.evaluate("() => document.querySelectorAll('.asvc button').forEach(one => one.click())")
    page.wait_for_timeout(200)
    assert page.evaluate("window.executed") == []
    assert host.requests == []
    page.close()


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


def test_a_folder_that_is_dropped_is_said_and_the_files_beside_it_come(page: Page, host: Host) -> None:
    page.evaluate(
        """element => {
            const data = new DataTransfer();
            for (const name of ["folder", "file.txt"]) data.items.add(new File(["content"], name));
            const slice = File.prototype.slice;  // a browser says so of a folder only when it is read
            File.prototype.slice = function (...given) {
                if (this.name === "folder") throw new DOMException("a folder", "NotFoundError");
                return slice.apply(this, given);
            };
            element.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data }));
        }""",
        page.locator(".asvc-chat").element_handle(),
    )
    page.get_by_role("button", name="Remove file.txt").wait_for()
    expect(page.locator(".asvc-chat")).to_contain_text("folder can't be read. Drop the files of a folder")
    assert host.errors == []
