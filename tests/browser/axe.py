"""axe-core over what we show in an opened notebook: in the themes of JupyterLab, with forced colours, and narrow.

Only our part of the page is judged, what stands in the outputs, never JupyterLab's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.lab import Notebook
from tests.support.waiting import until

OURS: Final = ".jp-NotebookPanel .jp-OutputArea-output > *"
THEMES: Final = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")
FORCED: Final = "forced colours"
NARROW: Final = 400  # pixels
_OPTIONS: Final = {
    "resultTypes": ["violations"],
    "iframes": False,  # a sandboxed page runs no script, axe-core's neither
    "rules": {"heading-order": {"enabled": False}},  # the agent's headings are the agent's
}


def check(notebook: Notebook, selector: str = OURS) -> None:
    """Fail where what `selector` finds violates a rule, in any look; the first theme stays."""
    found: dict[str, list[str]] = {}
    for look in looks(notebook):
        for line in violations(notebook.page, selector):
            found.setdefault(line, []).append(look)
    assert not found, "\n".join(f"[{', '.join(seen)}] {line}" for line, seen in found.items())


def looks(notebook: Notebook) -> Iterator[str]:
    """Put the page into each look, one after the other: the themes, forced colours, 400 pixels."""
    for name in THEMES:
        theme(notebook.page, name)
        yield name
    theme(notebook.page, THEMES[0])
    notebook.page.emulate_media(forced_colors="active")
    _drawn(notebook.page)
    yield FORCED
    notebook.page.emulate_media(forced_colors="none")
    with narrow(notebook.page):
        yield f"{NARROW} pixels"


def theme(page: Page, name: str) -> None:
    """Change JupyterLab's theme, as its menu does."""
    page.evaluate("theme => { window.jupyterapp.commands.execute('apputils:change-theme', { theme }) }", name)
    page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
    _drawn(page)


def _drawn(page: Page) -> None:
    """JupyterLab hides itself for some frames when its theme changes, and fades its splash."""
    for _ in range(3):
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.locator(".jp-NotebookPanel-notebook").wait_for(state="visible")
    page.locator("#jupyterlab-splash").wait_for(state="detached")


@contextmanager
def narrow(page: Page) -> Iterator[None]:
    """A window of 400 pixels, with JupyterLab's side bar folded away."""
    size = page.viewport_size
    assert size is not None
    page.evaluate("() => { const shell = window.jupyterapp.shell; shell.collapseLeft && shell.collapseLeft() }")
    page.set_viewport_size({"width": NARROW, "height": size["height"]})
    _drawn(page)
    try:
        yield
    finally:
        page.set_viewport_size(size)


def violations(page: Page, selector: str = OURS) -> list[str]:
    """Each element that violates a rule, after what is folded or scrolls was opened: at its edge text seems covered."""
    # JupyterLab's body is 0 pixels high and hides what overflows it: axe-core takes all of the page for invisible.
    page.evaluate("() => { document.body.style.minHeight = '100vh' }")
    page.evaluate("() => document.querySelectorAll('.jp-OutputArea-output details').forEach(one => one.open = true)")
    unfold = "all => document.querySelectorAll(all).forEach(one => one.style.cssText += ';height:auto;max-height:none')"
    page.evaluate(unfold, ".asvc-log, .asvc-list, .asvc-pane")
    told: dict[str, Any] = {}

    def covered() -> list[str]:
        told.update(Axe().run(page, selector, _OPTIONS).response)
        return _covered(told)

    until(covered, lambda found: not found)
    judged = {rule["id"] for kind in ("passes", "violations", "incomplete") for rule in told[kind]}
    assert "color-contrast" in judged, f"axe-core sees no text in {selector}"
    return [_told(rule, node) for rule in told["violations"] for node in rule["nodes"]]


def _covered(told: dict[str, Any]) -> list[str]:
    """Texts that something lies over. For a moment that is so while the page is laid out anew."""
    nodes = [node for rule in told["incomplete"] if rule["id"] == "color-contrast" for node in rule["nodes"]]
    keys = {node["html"]: [(check["data"] or {}).get("messageKey") for check in node["any"]] for node in nodes}
    return [html for html, found in keys.items() if "bgOverlap" in found]


def _told(rule: dict[str, Any], node: dict[str, Any]) -> str:
    why = str(node["failureSummary"]).replace("\n", "\n    ")
    return f"{rule['id']} ({rule['impact']}): {rule['help']}\n    {node['html'][:300]}\n    {why}"
