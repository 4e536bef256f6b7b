"""voila: a notebook as a page, run anew for each visitor, whose widgets are alive."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

from tests.browser import axe
from tests.browser.gallery import enlarge_and_close, open_the_first
from tests.browser.lab import CHROMIUM
from tests.nightly.hosts.conftest import LOAD, Written
from tests.nightly.hosts.voila import voila

PATIENCE = 60_000
EVIL = "<img src=x onerror='window.bad = 1'>"
BEGUN = f"say The *first* lines {EVIL}\nsay of an answer\nstep 1"
LASTING = {
    "quick": f"%%ask --bg --new-chat -o quick\nsay **soon** {EVIL}",
    "card": f"%%ask --bg --new-chat\n{BEGUN}\nwait 600",
    "first bar": "%%job echo_job --bg\nsteps: 100\nseconds: 600",
    "second bar": "%%job echo_job --bg\nsteps: 50\nseconds: 600",
    "bars": "%jobs watch --bg",
    "waited for": "_ = quick.text",
}
FILES = [
    '%%job create_images -o made\nrequest.brief: "Headline: Pack light"',
    "path = made.files[0].path",
    "%%job edit_image\nrequest.path: {{path}}\nrequest.headline: Travel far",
    "%files gallery",
    "%tools form send_email",
    "%tools form create_images",
]
GALLERY, MAIL, IMAGES = (FILES.index(cell) + 1 for cell in FILES[-3:])
Served = Callable[..., str]


@pytest.fixture
def served(notebook: Written, environ: dict[str, str]) -> Iterator[Served]:
    """Serves a notebook of these cells; gives its address."""
    with ExitStack() as servers:
        yield lambda *cells: servers.enter_context(voila(notebook(*cells), environ))


@pytest.fixture
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium")
    assert executable, "install the chromium package"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM])
        yield opened
        opened.close()


def test_a_visitor_sees_the_answer(served: Served, browser: Browser) -> None:
    asked = f"%%ask\nsay **hello** {EVIL}\nwrite out/a.txt hi"
    chat = "import agentsvc_nb\nagentsvc_nb.Chat(new=True)"
    page = visited(browser, served(LOAD, asked, "%files browse", chat))
    page.wait_for_selector("strong:has-text('hello')", timeout=PATIENCE)
    text = page.inner_text("body")
    assert "✓ completed" in text
    assert "out/a.txt" in text
    assert "opened again" not in text, "that is for saved notebooks"
    assert page.evaluate("window.bad") is None
    files = page.locator(".asvc-files")  # the answer has a table of them, too
    files.get_by_role("row", name="a.txt").click(timeout=PATIENCE)
    expect(files.get_by_role("group", name="Preview of a.txt")).to_contain_text("hi")
    page.get_by_label("Message").fill("say **good** day")
    page.get_by_role("button", name="Send").click()
    page.wait_for_selector("strong:has-text('good')", timeout=PATIENCE)


def test_what_goes_on_is_seen_going_on_and_cancelled(served: Served, browser: Browser) -> None:
    page = visited(browser, served(LOAD, *LASTING.values()))
    place = {name: cell(page, number) for number, name in enumerate(LASTING, 1)}
    expect(place["quick"].locator("strong:has-text('soon')")).to_have_count(1)
    expect(seen(place["quick"], "✓ completed")).to_have_count(1)
    expect(place["quick"].get_by_role("button", name="Cancel")).to_be_hidden()
    expect(place["card"]).to_contain_text("of an answer")
    assert "opened again" not in page.inner_text("body")
    expect(place["bars"].get_by_role("progressbar")).to_have_count(2)
    assert axe.violations(page, ".asvc") == []
    place["card"].get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(seen(place["card"], "■ cancelled")).to_have_count(1)
    expect(place["card"].locator("em:has-text('first')")).to_have_count(1)
    expect(place["card"].get_by_role("button", name="Cancel")).to_be_hidden()
    place["bars"].get_by_role("button", name="Cancel").first.click()
    expect(seen(place["first bar"], "■ cancelled")).to_have_count(1)
    expect(place["second bar"]).to_contain_text("step")
    place["second bar"].get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Space")
    expect(seen(place["bars"], "■ cancelled")).to_have_count(2)
    assert page.evaluate("window.bad") is None


def test_forms_and_pictures_are_used(served: Served, browser: Browser) -> None:
    address = served(LOAD, *FILES)
    page = visited(browser, address)
    _pictures_are_opened(cell(page, GALLERY))
    _a_form_says_what_is_wrong_and_sends_what_is_right(cell(page, MAIL))
    _a_form_starts_a_job(cell(page, IMAGES))
    assert axe.violations(page, ".asvc") == []
    page.set_viewport_size({"width": axe.NARROW, "height": 900})
    for widget in page.locator(".asvc").all():
        assert widget.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
    dark = visited(browser, f"{address}?theme=dark")
    cell(dark, IMAGES).get_by_label("Brief").wait_for(timeout=2 * PATIENCE)
    assert axe.violations(dark, ".asvc") == []


def _pictures_are_opened(gallery: Locator) -> None:
    open_the_first(gallery)
    gallery.locator("img.asvc-after[alt^='Travel far']").wait_for(timeout=PATIENCE)
    expect(gallery.get_by_alt_text("Before: images/")).to_be_visible()
    enlarge_and_close(gallery)
    expect(gallery.get_by_role("searchbox")).to_have_attribute("placeholder", re.compile("2 pictures"))


def _a_form_says_what_is_wrong_and_sends_what_is_right(mail: Locator) -> None:
    page = mail.page
    mail.get_by_label("To 1", exact=True).click()
    page.keyboard.type("nobody")
    page.keyboard.press("Tab")
    expect(mail.get_by_role("alert")).to_contain_text("does not match")
    expect(mail.get_by_role("button", name="Remove To 1")).to_be_focused()
    mail.get_by_role("button", name="Run", exact=True).click()
    expect(mail.get_by_text("This is required.", exact=True)).to_have_count(2)
    mail.get_by_label("To 1", exact=True).fill("ada@example.org")
    mail.get_by_label("Subject").fill("Hello")
    mail.get_by_label("Text *").fill(EVIL)
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(mail.locator("[aria-invalid=true]")).to_have_count(0)
    mail.get_by_role("button", name="Run", exact=True).press("Enter")
    expect(mail).to_contain_text("✓ completed")
    assert page.evaluate("window.bad") is None


def _a_form_starts_a_job(images: Locator) -> None:
    images.get_by_label("Brief").fill("Pack light")
    images.get_by_role("button", name="Create").click()
    expect(images).to_contain_text("✓ succeeded")
    expect(images.locator("figure img")).to_have_count(1)


def visited(browser: Browser, address: str) -> Page:
    page = browser.new_page()
    page.goto(address, timeout=2 * PATIENCE)
    return page


def seen(place: Locator, text: str) -> Locator:
    return place.get_by_text(text).filter(visible=True)


def cell(page: Page, number: int) -> Locator:
    """A code cell, whose outputs and widgets alone are seen."""
    return page.locator(".jp-CodeCell").nth(number)
