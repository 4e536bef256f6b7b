"""The file browser and the gallery in a page that hosts one anywidget under a strict policy: keys, clicks, drops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.files.gallery import Pictures
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import Browser
from agentsvc_nb.notebook.widgets.gallery import Gallery
from agentsvc_nb.testing import RunningService
from tests.browser import axe
from tests.browser.anyhost import ADDRESS, POLICY, Host, HostComm, hosting
from tests.browser.test_front import LISTED, RAW, nothing_ran, put_files, watched
from tests.notebook.images import png
from tests.notebook.test_folders import file
from tests.notebook.test_gallery import picture
from tests.notebook.test_hostile import HOSTILE
from tests.waiting import until

pytestmark = pytest.mark.browser

SCRIPT: Final = "write out/plan.md # Autumn\nwrite reports/q3.md it rose\nwrite a.csv x,y\nwrite b.html <h1>Page</h1>"
OTHERS: Final = """all => all.filter(one => !one.closest(".asvc-icon") && !one.matches("iframe[sandbox='']"))
    .map(one => one.outerHTML.slice(0, 200))"""
"""Of what a page should not have, what is none of our own icons or sandboxes."""
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTHS: Final = (axe.NARROW, 1280)
Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosting() as opened:
        yield opened


@pytest.fixture
def opened(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens a page with what it is called with: a function that makes a `Browser` or a `Gallery`."""
    monkeypatch.setattr("comm.create_comm", HostComm)
    made: list[Any] = []
    pages: list[Page] = []
    host.errors.clear()
    host.requests.clear()

    def shown(make: Callable[[], Any], policy: str = POLICY) -> Page:
        made.append(make())
        pages.append(host.open(made[-1].front, policy))
        watched(pages[-1])
        return pages[-1]

    yield shown
    for page in pages:
        page.close()
    for each in made:
        each._worker._pool.shutdown()


@pytest.fixture
def session(service: RunningService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Session]:
    """Of a notebook whose chat has four files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SERVICE_API_KEY", service.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", service.base_url)
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.start(SCRIPT, sync=True)
    made = Session("plan.ipynb", journal=Journal(None))
    made.move(run.chat or "")
    yield made
    made.close()


@pytest.fixture
def offline() -> Iterator[Session]:
    """Of a service that nobody reaches."""
    made = Session("plan.ipynb", environ={"SERVICE_API_KEY": "x"}, journal=Journal(None))
    made.connect("http://127.0.0.1:9")
    yield made
    made.close()


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row", name=name)


def _looks_right(page: Page) -> None:
    """No rule is broken in light and dark, and nothing stands out at any width."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert axe.violations(page, ".asvc") == []
            wide, room = page.locator(".asvc").evaluate("box => [box.scrollWidth, box.clientWidth]")
            assert wide <= room


def test_files_by_keyboard_under_a_strict_policy(host: Host, opened: Opened, session: Session, tmp_path: Path) -> None:
    page = opened(lambda: Browser(session, list(session.client().files.list(session.address().chat or ""))))
    first = row(page, "out")
    first.focus()
    page.keyboard.press("End")
    expect(row(page, "b.html")).to_be_focused()
    page.keyboard.press("Home")
    expect(first).to_be_focused()
    page.keyboard.press("r")
    expect(row(page, "reports")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(row(page, "plan.md")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Autumn")).to_be_visible()
    expect(row(page, "plan.md")).to_be_focused()
    _looks_right(page)
    page.get_by_role("region", name="Preview of out/plan.md").focus()
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Autumn")).to_have_count(0)
    expect(row(page, "plan.md")).to_be_focused()
    page.get_by_role("button", name="Get").press("Enter")
    expect(page.get_by_role("status")).to_have_text("It is in plan.md.")
    assert (tmp_path / "plan.md").read_text() == "# Autumn"
    page.get_by_role("button", name="Attach").press("Enter")
    expect(page.get_by_label("To copy")).to_have_value("out/plan.md")
    row(page, "plan.md").focus()
    page.keyboard.press("Backspace")
    expect(first).to_be_focused()
    nothing_ran(host, page)


CUT: Final = """cell => [...cell.querySelectorAll(".asvc-cut > span")]
    .map(part => [part.scrollWidth > part.clientWidth, part.textContent])"""
"""Of the parts of a name, which is cut."""


def test_where_there_is_no_room_for_a_name_its_middle_is_cut(host: Host, opened: Opened, session: Session) -> None:
    name = "a-headline-of-the-autumn-sale-that-is-rather-long-and-has-versions-13.png"
    page = opened(lambda: Browser(session, [file(name), file("short.md")]))
    page.set_viewport_size({"width": axe.NARROW, "height": 900})
    whole, short = (page.get_by_role("gridcell", name=each) for each in (name, "short.md"))
    assert whole.evaluate(CUT) == [[True, name[:-9]], [False, name[-9:]]]
    assert not any(cut for cut, _ in short.evaluate(CUT))
    expect(page.get_by_role("button", name="Next")).to_be_hidden()
    nothing_ran(host, page)


def test_files_by_mouse_sorted_and_a_page_in_its_sandbox(host: Host, opened: Opened, session: Session) -> None:
    page = opened(lambda: Browser(session, list(session.client().files.list(session.address().chat or ""))))
    page.get_by_role("button", name="Size").click()
    head = page.get_by_role("columnheader", name="Size")
    expect(head).to_have_attribute("aria-sort", "descending")
    names = page.locator("[role=row] bdi")
    expect(names.nth(2)).to_have_text("b.html")
    page.get_by_role("button", name="Size").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_role("button", name="Size")).to_be_focused()
    expect(names.nth(2)).to_have_text("a.csv")
    row(page, "out").dblclick()
    expect(names).to_have_text(["plan.md"])
    page.get_by_role("navigation").get_by_role("button", name="Files").click()
    expect(page.get_by_role("navigation").get_by_role("button", name="Files")).to_be_focused()
    row(page, "b.html").dblclick()
    frame = page.locator("iframe")
    expect(frame).to_have_attribute("sandbox", "")
    expect(page.frame_locator("iframe").get_by_role("heading", name="Page")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(row(page, "b.html")).to_be_focused()
    nothing_ran(host, page)


def test_files_are_dropped_pasted_and_chosen_with_progress(host: Host, opened: Opened, session: Session) -> None:
    page = opened(lambda: Browser(session, list(session.client().files.list(session.address().chat or ""))))
    page.evaluate("""() => { window.bars = 0
        new MutationObserver(seen => { window.bars += seen.filter(one => one.addedNodes.length).length })
            .observe(document.querySelector(".asvc-uploads"), { childList: true }) }""")
    put_files(page, "drop", ".asvc-files", "dropped.txt")
    expect(page.get_by_role("status")).to_have_text("1 sent: dropped.txt")
    row(page, "uploads").dblclick()
    row(page, "dropped.txt").focus()
    put_files(page, "paste", ".asvc-rows [tabindex='0']", "pasted.png")
    expect(page.get_by_role("status")).to_have_text("1 sent: pasted.png")
    expect(row(page, "dropped.txt")).to_be_focused()
    large = FilePayload(name="large.bin", mimeType="application/octet-stream", buffer=b"x" * 2_500_000)
    empty = FilePayload(name="two.bin", mimeType="application/octet-stream", buffer=b"")
    page.set_input_files("input[type=file]", [large, empty])
    expect(page.get_by_role("status")).to_have_text("1 sent: two.bin")
    expect(page.locator("[role=row] bdi")).to_have_text(["dropped.txt", "large.bin", "pasted.png", "two.bin"])
    expect(row(page, "large.bin")).to_contain_text("2.5 MB")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    assert page.evaluate("window.bars") == 4
    nothing_ran(host, page)


def test_many_thousands_of_files_are_200_rows_of_the_page(opened: Opened, offline: Session) -> None:
    files = [file(f"{number:05}.txt") for number in range(30_000)]
    page = opened(lambda: Browser(offline.for_chat("chat_1"), files, own=False))
    rows = page.locator(".asvc-rows [role=row]")
    expect(rows).to_have_count(200)
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "30001")
    rows.first.focus()
    page.keyboard.press("End")
    expect(row(page, "29999.txt")).to_be_focused()
    expect(row(page, "29999.txt")).to_have_attribute("aria-rowindex", "30001")
    page.keyboard.press("Home")
    expect(row(page, "00000.txt")).to_be_focused()
    page.get_by_role("button", name="Next").press("Enter")
    expect(row(page, "00200.txt")).to_be_visible()
    row(page, "00200.txt").focus()
    page.keyboard.press("ArrowUp")
    expect(row(page, "00199.txt")).to_be_focused()
    page.keyboard.type("0123")
    expect(row(page, "01230.txt")).to_be_focused()
    expect(rows).to_have_count(200)


def test_nothing_to_list_and_no_connection_are_sentences(opened: Opened, offline: Session) -> None:
    page = opened(lambda: Browser(offline.for_chat("chat_1"), [], own=False))
    expect(page.locator(".asvc-empty")).to_contain_text("No files yet")
    expect(page.get_by_role("grid")).to_have_count(0)
    page.get_by_role("button", name="Refresh").press("Enter")
    expect(page.locator(".asvc-wrong")).to_contain_text("http://127.0.0.1:9")
    expect(page.get_by_role("button", name="Refresh")).to_be_focused()
    _looks_right(page)


def test_hostile_names_and_previews_are_text(host: Host, opened: Opened, offline: Session) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    files = [file(f"{number:02}-{text.replace('/', '∕')}") for number, text in enumerate(HOSTILE)]
    made = Browser(offline.for_chat("chat_1"), files, own=False)
    page = opened(lambda: made, policy="")
    expect(page.locator(".asvc-rows [role=row]")).to_have_count(len(HOSTILE))
    for number, text in enumerate(RAW):
        rows = {"list": 9, "total": 1, "rows": [[text] * 6], "label": text, "empty": text}
        made.front.change({"rows": rows, "folder": [text], "find": text, "tocopy": text})
        made.front.change({"pane": {"name": text, "html": text}, "said": {"html": text, "wrong": True}})
        made.front.change({f"upload/{text}": {"name": text, "at": 1, "size": 2}, "narrow": f"{number}"})
        expect(page.get_by_label("Names")).to_have_value(f"{number}")
        found = page.locator(".asvc").locator(LISTED).evaluate_all(OTHERS)
        assert [each for each in found if not each.startswith(('<a href="http', '<a href="mailto:'))] == []
    _nothing_happened(host, page)


def _nothing_happened(host: Host, page: Page) -> None:
    page.wait_for_timeout(300)
    assert page.evaluate("window.executed") == []
    own = (ADDRESS, "blob:", "data:", "about:")
    assert [url for url in host.requests if not url.startswith(own)] == []


def test_a_gallery_by_keyboard_under_a_strict_policy(host: Host, opened: Opened) -> None:
    source = {"path": "00.png", "sha256": "1"}
    old, new = png("navy", (400, 300), words={"headline": "Pack light"}), png("red", (400, 300), edited_from=source)
    files = [picture(f"{number:02}.png", day=number + 1) for number in range(14)]
    made = Pictures(files, lambda file: new if file.path == "13.png" else old)
    page = opened(lambda: Gallery(made))
    expect(page.locator("li img")).to_have_count(12)
    page.locator("li button[tabindex='0']").focus()
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="00.png")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("button", name="01.png")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.get_by_role("button", name="13.png")).to_be_focused()
    _looks_right(page)
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="Picture 1 of 14: 13.png")).to_be_focused()
    expect(page.get_by_alt_text("Before: Pack light")).to_be_visible()
    page.get_by_label("Of the picture before, %").press("ArrowLeft")
    wiped = "() => getComputedStyle(document.querySelector('.asvc-after')).clipPath"
    until(lambda: page.evaluate(wiped) == "inset(0px 0px 0px 40%)")
    _looks_right(page)
    page.get_by_role("button", name="Enlarge").press("Enter")
    expect(page.locator(":popover-open")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("group", name="Picture 2 of 14: 12.png")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(":popover-open")).to_have_count(0)
    expect(page.get_by_role("button", name="Enlarge")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="12.png")).to_be_focused()
    nothing_ran(host, page)


def test_hostile_pictures_are_text(host: Host, opened: Opened) -> None:
    made = Gallery(Pictures([picture("a.png")], lambda file: png()))
    page = opened(lambda: made, policy="")
    page.locator("li img").wait_for()
    for number, text in enumerate(RAW):
        thumb = {"name": text, "size": text, "caption": text, "alt": text, "uri": text}
        view = {"at": number, "total": 99, "name": text, "images": [[text, text]] * 2, "caption": text, "empty": text}
        made.front.change({"thumb/0": thumb, "view": view, "said": {"html": text, "wrong": False}})
        page.locator(f"[aria-label^='Picture {number + 1} of 99']").wait_for()
        assert page.locator(".asvc img[src]:not([src=''])").count() == 0
    _nothing_happened(host, page)


DROPPED: Final = """([element, count]) => {
    const dataTransfer = new DataTransfer();
    for (let at = 0; at < count; at += 1) dataTransfer.items.add(new File(["content"], `${at}.txt`));
    element.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
}"""


def test_many_files_that_are_dropped_at_once_all_come(opened: Opened, session: Session) -> None:
    page = opened(lambda: Browser(session, []))
    page.evaluate(DROPPED, [page.locator(".asvc-files").element_handle(), 25])
    expect(page.get_by_role("status")).to_contain_text("1 sent: 24.txt", timeout=60_000)
    listed = session.client().files.list(session.address().chat or "")
    assert {f"uploads/{at}.txt" for at in range(25)} <= {each.path for each in listed}


def test_a_field_that_had_the_focus_follows_another_page(opened: Opened, session: Session) -> None:
    browser = Browser(session, [file("plan.md"), file("a.csv")])
    page = opened(lambda: browser)
    names = page.get_by_label("Names")
    names.fill("plan")
    expect(page.get_by_role("row", name="a.csv")).to_have_count(0)
    browser.front._handle_custom_msg({"do": "narrow", "words": ""}, [])  # as another page of it would
    row(page, "a.csv").click()
    expect(names).to_have_value("")
