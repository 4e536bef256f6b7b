"""A gallery as it is used by keyboard, in JupyterLab and in voila."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def open_the_first(gallery: Locator) -> None:
    gallery.locator("button.asvc-thumb").first.focus()
    gallery.page.keyboard.press("Enter")
    expect(gallery.locator(".asvc-pair img").first).to_be_visible()


def enlarge_and_close(gallery: Locator) -> None:
    """The picture that is open: large, small again with Escape, closed."""
    popover = gallery.page.locator(":popover-open")
    gallery.get_by_role("button", name="Enlarge").press("Enter")
    expect(popover).to_have_count(1)
    gallery.page.keyboard.press("Escape")
    expect(popover).to_have_count(0)
    gallery.get_by_role("button", name="Close the preview").click()
