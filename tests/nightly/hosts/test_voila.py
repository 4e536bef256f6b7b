"""voila: a notebook as a page, run anew for each visitor, whose widgets are alive."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import launched
from tests.nightly.hosts.conftest import LOAD, Written
from tests.nightly.hosts.voila import voila

PATIENCE = 120_000
EVIL = "<img src=x onerror='window.bad = 1'>"
CELLS = [
    LOAD,
    f"%%ask --new-chat\nsay **hello** {EVIL}",
    f"%%ask --bg --new-chat\nsay The *first* lines {EVIL}\nstep 1\nwait 600",
    "%%job echo_job --bg\nsteps: 100\nseconds: 600",
    "%tools form create_images",
]


@pytest.mark.timeout(400)
def test_a_visitor_sees_answers_cards_and_bars_and_uses_them(notebook: Written, environ: dict[str, str]) -> None:
    with voila(notebook(*CELLS), environ) as address, launched() as browser:
        page = browser.new_page()
        page.goto(address, timeout=PATIENCE)
        _used(page)


def _used(page: Page) -> None:
    answer, card, bar, form = (page.locator(".jp-CodeCell").nth(number) for number in range(1, len(CELLS)))
    form.get_by_label("Brief").wait_for(timeout=PATIENCE)
    expect(answer.locator("strong:has-text('hello')")).to_have_count(1)
    for place in (card, bar):
        place.get_by_role("button", name="Cancel").focus()
        page.keyboard.press("Enter")
        expect(place.get_by_text("■ cancelled").filter(visible=True)).to_have_count(1)
    form.get_by_label("Brief").fill(f"Headline: Pack light {EVIL}")
    form.get_by_role("button", name="Create").click()
    expect(form).to_contain_text("✓ succeeded")
    expect(form.locator("figure img")).to_have_count(1)
    assert page.evaluate("window.bad") is None
