"""voila: a notebook as a page, run anew for each visitor, whose widgets are alive."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import axe
from tests.browser.gallery import enlarge_and_close, open_the_first
from tests.browser.lab import launched
from tests.nightly.hosts.conftest import LOAD, Written
from tests.nightly.hosts.voila import voila

PATIENCE = 60_000
pytestmark = pytest.mark.timeout(400)
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
USED = {
    "answer": f"%%ask --new-chat\nsay **hello** {EVIL}\nwrite out/a.txt hi",
    "job": '%%job create_images -o made\nrequest.brief: "Headline: Pack light"',
    "path": "path = made.files[0].path",
    "edited": "%%job edit_image\nrequest.path: {{path}}\nrequest.headline: Travel far",
    "files": "%files browse",
    "gallery": "%files gallery",
    "form": "%tools form create_images",
    "chat": "import agentsvc_nb\nagentsvc_nb.Chat(new=True)",
}


@pytest.fixture
def browser() -> Iterator[Browser]:
    with launched() as opened:
        yield opened


def test_a_visitor_sees_answers_cards_and_bars_and_uses_them(
    notebook: Written, environ: dict[str, str], browser: Browser
) -> None:
    with voila(notebook(LOAD, *LASTING.values(), *USED.values()), environ) as address:
        page = visited(browser, address)
        place = {name: cell(page, number) for number, name in enumerate([*LASTING, *USED], 1)}
        _what_goes_on_is_seen_and_cancelled(page, place)
        _answers_and_files_are_looked_at(place)
        _pictures_are_opened(place["gallery"])
        _a_form_says_what_is_wrong_and_starts_a_job(place["form"])
        assert axe.violations(page, ".asvc") == []
        page.set_viewport_size({"width": axe.NARROW, "height": 900})
        for widget in page.locator(".asvc").all():
            assert widget.evaluate("one => one.getBoundingClientRect().right <= innerWidth")
        assert page.evaluate("window.bad") is None


def _what_goes_on_is_seen_and_cancelled(page: Page, place: dict[str, Locator]) -> None:
    place["form"].get_by_label("Brief").wait_for(timeout=2 * PATIENCE)
    expect(place["quick"].locator("strong:has-text('soon')")).to_have_count(1)
    expect(seen(place["quick"], "✓ completed")).to_have_count(1)
    expect(place["card"]).to_contain_text("of an answer")
    assert "opened again" not in page.inner_text("body"), "that is for saved notebooks"
    expect(place["bars"].get_by_role("progressbar")).to_have_count(2)
    place["card"].get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Enter")
    expect(seen(place["card"], "■ cancelled")).to_have_count(1)
    place["bars"].get_by_role("button", name="Cancel").first.click()
    expect(seen(place["first bar"], "■ cancelled")).to_have_count(1)
    place["second bar"].get_by_role("button", name="Cancel").focus()
    page.keyboard.press("Space")
    expect(seen(place["bars"], "■ cancelled")).to_have_count(2)


def _answers_and_files_are_looked_at(place: dict[str, Locator]) -> None:
    expect(place["answer"].locator("strong:has-text('hello')")).to_have_count(1)
    expect(seen(place["answer"], "✓ completed")).to_have_count(1)
    files = place["files"].locator(".asvc-files")
    files.get_by_role("row", name="a.txt").click()
    expect(files.get_by_role("group", name="Preview of a.txt")).to_contain_text("hi")
    place["chat"].get_by_label("Message").fill("say **good** day")
    place["chat"].get_by_role("button", name="Send").click()
    expect(place["chat"].locator("strong:has-text('good')")).to_have_count(1)


def _pictures_are_opened(gallery: Locator) -> None:
    open_the_first(gallery)
    gallery.locator("img.asvc-after[alt^='Travel far']").wait_for(timeout=PATIENCE)
    expect(gallery.get_by_alt_text("Before: images/")).to_be_visible()
    enlarge_and_close(gallery)


def _a_form_says_what_is_wrong_and_starts_a_job(form: Locator) -> None:
    form.get_by_label("Count").fill("0")
    form.page.keyboard.press("Tab")
    expect(form.get_by_text("At least 1.", exact=True)).to_be_visible()
    form.get_by_label("Count").fill("1")
    form.get_by_label("Brief").fill(f"Pack light {EVIL}")
    form.get_by_role("button", name="Create").click()
    expect(form).to_contain_text("✓ succeeded")
    expect(form.locator("figure img")).to_have_count(1)


def visited(browser: Browser, address: str) -> Page:
    page = browser.new_page()
    page.goto(address, timeout=2 * PATIENCE)
    return page


def seen(place: Locator, text: str) -> Locator:
    return place.get_by_text(text).filter(visible=True)


def cell(page: Page, number: int) -> Locator:
    """A code cell, whose outputs and widgets alone are seen."""
    return page.locator(".jp-CodeCell").nth(number)
