"""The files widget in a page that hosts one anywidget under a strict policy: keys, clicks, drops; list and grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.files.workspace import listed_and_staged
from agentsvc_nb.notebook.state.journal import Journal
from agentsvc_nb.notebook.state.session import Session
from agentsvc_nb.notebook.widgets.browser import FileBrowser
from agentsvc_nb.testing import RunningService
from tests.browser import axe
from tests.browser.anyhost import ADDRESS, POLICY, Host, HostComm, hosting
from tests.browser.test_front import LISTED, RAW, nothing_ran, put_files, watched
from tests.notebook.fronts import file
from tests.notebook.images import png
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

SCRIPT: Final = "write out/plan.md # Autumn\nwrite reports/q3.md it rose\nwrite a.csv x,y\nwrite b.html <h1>Page</h1>"
OTHERS: Final = """all => all.filter(one => !one.closest(".asvc-icon") && one.getAttribute("src") !== "")
    .map(one => one.outerHTML.slice(0, 200))"""
"""Of what a page should not have, what is no icon of ours, and no picture without a source."""
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDTHS: Final = (220, 480, 1280)
Opened = Callable[..., Page]


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with hosting() as opened:
        yield opened


@pytest.fixture
def opened(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    """Opens a page with what it is called with: a function that makes a `FileBrowser`."""
    monkeypatch.setattr("comm.create_comm", HostComm)
    made: list[FileBrowser] = []
    pages: list[Page] = []
    host.errors.clear()
    host.requests.clear()

    def shown(make: Callable[[], FileBrowser], policy: str = POLICY) -> Page:
        made.append(make())
        pages.append(host.open(made[-1].front, policy))
        watched(pages[-1])
        return pages[-1]

    yield shown
    for page in pages:
        page.close()


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
    yield made.for_chat("chat_1")
    made.close()


@pytest.fixture
def files(opened: Opened, session: Session) -> Page:
    """A page that shows the files of the chat."""
    return opened(lambda: FileBrowser(session, *listed_and_staged(session)))


def names(page: Page) -> list[str]:
    found: list[str] = page.locator("[data-key]").evaluate_all("all => all.map(one => one.dataset.key)")
    return found


def name(page: Page, key: str) -> Locator:
    return page.locator(f"[data-key='{key}']")


def _looks_right(page: Page) -> None:
    """No rule is broken in light and dark, and nothing stands out at any width."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert axe.violations(page, ".asvc") == []
            wide, room = page.locator(".asvc").evaluate("box => [box.scrollWidth, box.clientWidth]")
            assert wide <= room


def test_files_by_keyboard_under_a_strict_policy(host: Host, files: Page, tmp_path: Path) -> None:
    page = files
    page.get_by_role("button", name="Name").press("Enter")
    assert names(page) == ["a.csv", "b.html", "out/plan.md", "reports/q3.md"]
    page.locator("[data-key][tabindex='0']").focus()
    page.keyboard.press("End")
    expect(name(page, "reports/q3.md")).to_be_focused()
    page.keyboard.press("Home")
    expect(name(page, "a.csv")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Autumn")).to_be_visible()
    expect(name(page, "out/plan.md")).to_be_focused()
    expect(name(page, "out/plan.md")).to_have_attribute("aria-current", "true")
    _looks_right(page)
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


def test_files_are_sorted_and_searched_by_name_and_content(host: Host, files: Page) -> None:
    page = files
    page.get_by_role("button", name="Size").click()
    expect(page.get_by_role("columnheader", name="Size")).to_have_attribute("aria-sort", "descending")
    assert names(page) == ["b.html", "out/plan.md", "reports/q3.md", "a.csv"]
    page.get_by_role("button", name="Size").click()
    assert names(page)[0] == "a.csv"
    search = page.get_by_role("searchbox", name="Search files by name and content")
    search.fill("OUT pl")
    assert names(page) == ["out/plan.md"]

    def found() -> bool:  # what was written is found by its words a moment later
        search.fill("")
        page.wait_for_timeout(500)
        search.fill("rose")
        page.wait_for_timeout(1_000)
        return names(page) == ["reports/q3.md"]

    until(found)
    expect(page.locator("mark")).to_have_text(["rose"])
    search.fill("nothing like it")
    expect(page.locator(".asvc-empty")).to_contain_text("No file has these words")
    nothing_ran(host, page)


def test_a_version_is_opened_and_restored(opened: Opened, session: Session) -> None:
    session.client().runs.start("write out/plan.md # Winter", sync=True, chat=session.address().chat)
    page = opened(lambda: FileBrowser(session, *listed_and_staged(session)))
    page.get_by_role("button", name="plan.md, version 2").click()
    expect(page.get_by_role("heading", name="Winter")).to_be_visible()
    page.get_by_text("2 versions").click()
    page.get_by_role("button", name="v1").click()
    expect(page.get_by_role("heading", name="Autumn")).to_be_visible()
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".asvc-files > [role=status]")).to_have_text("out/plan.md: version 1 is back, as version 3.")
    expect(page.get_by_role("button", name="plan.md, version 3")).to_be_visible()
    expect(page.get_by_text("3 versions")).to_be_visible()


CUT: Final = """cell => [...cell.querySelectorAll(".asvc-cut > span")]
    .map(part => [part.scrollWidth > part.clientWidth, part.textContent])"""
"""Of the parts of a name, which is cut."""


def test_where_there_is_no_room_for_a_name_its_middle_is_cut(host: Host, opened: Opened, session: Session) -> None:
    long = "a-headline-of-the-autumn-sale-that-is-rather-long-and-has-versions-13.png"
    page = opened(lambda: FileBrowser(session, [file(long), file("short.md")]))
    page.set_viewport_size({"width": axe.NARROW, "height": 900})
    assert name(page, long).evaluate(CUT) == [[True, long[:-9]], [False, long[-9:]]]
    assert not any(cut for cut, _ in name(page, "short.md").evaluate(CUT))
    nothing_ran(host, page)


def test_files_are_dropped_pasted_and_chosen_with_progress(host: Host, files: Page) -> None:
    page = files
    said = page.locator(".asvc-files > [role=status]")
    page.evaluate("""() => { window.bars = 0
        new MutationObserver(seen => { window.bars += seen.filter(one => one.addedNodes.length).length })
            .observe(document.querySelector(".asvc-uploads"), { childList: true }) }""")
    put_files(page, "drop", ".asvc-files", "dropped.txt")
    expect(said).to_have_text("1 sent: dropped.txt")
    name(page, "uploads/dropped.txt").focus()
    put_files(page, "paste", "[data-key='uploads/dropped.txt']", "pasted.png")
    expect(said).to_have_text("1 sent: pasted.png")
    expect(name(page, "uploads/dropped.txt")).to_be_focused()
    large = FilePayload(name="large.bin", mimeType="application/octet-stream", buffer=b"x" * 2_500_000)
    empty = FilePayload(name="two.bin", mimeType="application/octet-stream", buffer=b"")
    page.set_input_files("input[type=file]", [large, empty])
    expect(said).to_have_text("1 sent: two.bin")
    expect(page.get_by_role("row", name="large.bin")).to_contain_text("2.5 MB")
    expect(page.get_by_role("row", name="large.bin")).to_contain_text("just now")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    assert page.evaluate("window.bars") == 4
    nothing_ran(host, page)


def test_many_thousands_of_files_are_200_rows_of_the_page(opened: Opened, offline: Session) -> None:
    page = opened(lambda: FileBrowser(offline, [file(f"{number:05}.txt") for number in range(30_000)]))
    expect(page.locator("[data-key]")).to_have_count(200)
    page.get_by_role("button", name="29,800 more").click()
    expect(page.locator("[data-key]")).to_have_count(400)
    page.get_by_role("searchbox").fill("0123")
    expect(page.locator("[data-key]")).to_have_count(13)


def test_nothing_to_list_and_no_connection_are_sentences(opened: Opened, offline: Session) -> None:
    page = opened(lambda: FileBrowser(offline, []))
    expect(page.locator(".asvc-empty")).to_contain_text("No files yet")
    expect(page.get_by_role("table")).to_have_count(0)
    page.get_by_role("button", name="List the files anew").press("Enter")
    expect(page.locator(".asvc-wrong")).to_contain_text("http://127.0.0.1:9")
    expect(page.get_by_role("button", name="List the files anew")).to_be_focused()
    _looks_right(page)


def test_hostile_names_and_previews_are_text(host: Host, opened: Opened, offline: Session) -> None:
    """As if a renderer of ours had failed, in a page that forbids nothing."""
    listed = [file(f"{number:02}-{text.replace('/', '∕')}") for number, text in enumerate(HOSTILE)]
    made = FileBrowser(offline, listed)
    page = opened(lambda: made, policy="")
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
        shown = page.locator(".asvc").locator(LISTED).evaluate_all(OTHERS)
        assert [each for each in shown if not each.startswith(('<a href="http', '<a href="mailto:'))] == []
    page.wait_for_timeout(300)
    assert page.evaluate("window.executed") == []
    own = (ADDRESS, "blob:", "data:", "about:")
    assert [url for url in host.requests if not url.startswith(own)] == []


@pytest.fixture
def gallery(opened: Opened, session: Session) -> Page:
    """A page that shows 14 pictures, the newest edited from the oldest."""
    client, chat = session.client(), session.address().chat
    for number in range(13):
        client.files.upload((f"{number:02}.png", png("navy", (400, 300), words={"headline": "Pack light"})), chat=chat)
    first = next(each for each in client.files.list(chat or "") if each.path == "uploads/00.png")
    edited = png("red", (400, 300), edited_from={"path": first.path, "sha256": first.id})
    client.files.upload(("13.png", edited), chat=chat)
    return opened(lambda: FileBrowser(session, *listed_and_staged(session), pattern="*"))


def test_a_gallery_by_keyboard_under_a_strict_policy(host: Host, gallery: Page) -> None:
    page = gallery
    expect(page.locator("li")).to_have_count(14)
    expect(page.locator("li img").first).to_be_visible()
    page.locator("[data-key][tabindex='0']").focus()
    expect(name(page, "uploads/13.png")).to_be_focused()
    page.keyboard.press("End")
    expect(name(page, "uploads/00.png")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(name(page, "uploads/01.png")).to_be_focused()
    page.keyboard.press("Home")
    _looks_right(page)
    page.keyboard.press("Enter")
    before = page.get_by_alt_text("Before: uploads/00.png")
    expect(before).to_be_visible()
    page.get_by_label("How much of the picture before is shown, %").press("ArrowLeft")
    wiped = "() => getComputedStyle(document.querySelector('.asvc-after')).clipPath"
    until(lambda: page.evaluate(wiped) == "inset(0px 0px 0px 40%)")
    _looks_right(page)
    page.get_by_role("button", name="Enlarge").press("Enter")
    expect(page.locator(":popover-open")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(":popover-open")).to_have_count(0)
    expect(page.get_by_role("button", name="Enlarge")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("group", name="Preview of 12.png")).to_be_visible()
    expect(before).to_have_count(0)
    page.keyboard.press("Escape")
    expect(name(page, "uploads/12.png")).to_be_focused()
    page.get_by_role("button", name="Show as a list").press("Enter")
    expect(page.get_by_role("button", name="Show as a grid")).to_be_focused()
    expect(page.get_by_role("row", name="13.png")).to_be_visible()
    nothing_ran(host, page)


DROPPED: Final = """([element, count]) => {
    const dataTransfer = new DataTransfer();
    for (let at = 0; at < count; at += 1) dataTransfer.items.add(new File(["content"], `${at}.txt`));
    element.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer }));
}"""


def test_many_files_that_are_dropped_at_once_all_come(opened: Opened, session: Session) -> None:
    page = opened(lambda: FileBrowser(session, []))
    page.evaluate(DROPPED, [page.locator(".asvc-files").element_handle(), 25])
    expect(page.locator(".asvc-files > [role=status]")).to_contain_text("1 sent: 24.txt", timeout=60_000)
    listed = session.client().files.list(session.address().chat or "")
    assert {f"uploads/{at}.txt" for at in range(25)} <= {each.path for each in listed}
