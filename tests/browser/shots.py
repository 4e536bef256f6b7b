"""Take pictures of everything that people see, in each look, to look at: nothing is judged here.

    python -m tests.browser.shots FOLDER [NAME ...]

A picture is a whole notebook, or a page of the service: light, dark and of high contrast, 1,280 and 400 pixels wide.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from unittest import mock

from playwright.sync_api import Browser, Page, sync_playwright

from agentsvc_nb import AgentService, embedded
from agentsvc_nb.testing import running_service
from docs.notebooks import NOTEBOOKS
from tests.browser import axe
from tests.browser.lab import CHROMIUM, CURRENT, Lab, Notebook
from tests.browser.surfaces import CHATTED, PAGES, SURFACES, Surface
from tests.notebook import samples
from tests.support.waiting import until

WIDE: Final = 1280
SIDE_HEIGHT: Final = 900
"""Of a picture with more than the notebook in it."""
PATIENCE: Final = 900.0
_HEIGHT: Final = """() => {
    const shown = document.querySelector('.jp-NotebookPanel .jp-WindowedPanel-outer');
    shown.scrollTop = 0;
    const last = [...shown.querySelectorAll('.jp-Cell')].at(-1);
    return Math.ceil(last.getBoundingClientRect().bottom) + 30;
}"""


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name: surface for name, surface in SURFACES.items() if not names or name in names}
    for model in dict.fromkeys(surface.model for surface in wanted.values()):
        with _lab(model) as lab:
            for name, surface in wanted.items():
                if surface.model == model:
                    _take_notebook(lab, name, surface, folder)
    if not names or "pages" in names:
        _take_pages(folder)


@contextmanager
def _lab(model: str) -> Iterator[Lab]:
    """JupyterLab in a folder with files to look at, with an agent that asks before it has an effect."""
    with tempfile.TemporaryDirectory() as place:
        root, data, homes = (Path(place) / name for name in ("root", "data", "homes"))
        shutil.copytree(NOTEBOOKS, root, ignore=shutil.ignore_patterns("*.ipynb"))
        for each in (data, homes, root / "samples"):
            each.mkdir()
        for name, make in samples.HONEST.items():
            (root / "samples" / name).write_bytes(make())
        env = {"AGENTSVC_DATA": str(data), "AGENTSVC_MODEL": model, "AGENTSVC_APPROVE_EFFECTS": "yes"}
        env |= {"XDG_DATA_HOME": str(homes), "XDG_STATE_HOME": str(homes)}
        try:
            _start(data, env)
            with Lab(root, env) as lab:
                yield lab
        finally:
            embedded.stop(data)


def _start(data: Path, env: dict[str, str]) -> None:
    """Start the service beforehand: a busy machine may take longer for it than a cell waits."""
    end = time.monotonic() + PATIENCE
    with mock.patch.dict(os.environ, env):
        while True:
            try:
                embedded.find_or_start(data)
                return
            except embedded.EmbeddedError:
                if time.monotonic() > end:
                    raise


def _take_notebook(lab: Lab, name: str, surface: Surface, folder: Path) -> None:
    notebook = lab.open(f"{name}.ipynb", list(surface.cells), width=WIDE)
    notebook.page.set_default_timeout(PATIENCE * 1000)
    for cell in range(len(surface.cells)):
        notebook.run(cell)
        if cell != surface.blocks:
            notebook.wait_idle(PATIENCE)
    for cell, words in surface.shows.items():
        until(lambda cell=cell: notebook.output(cell), lambda text, words=words: words in text, PATIENCE)  # type: ignore[misc]
    if surface.chats:
        _talk(notebook)
    notebook.page.evaluate(f"() => {{ {CURRENT}.content.activeCellIndex = 0 }}")  # is kept in view
    for theme in axe.THEMES:
        axe.theme(notebook.page, theme)
        look = theme.removeprefix("JupyterLab ").lower().replace(" ", "-")
        _shot(notebook.page, surface.panel, folder / f"{name}-{look}-{WIDE}.png")
        with axe.narrow(notebook.page):
            _shot(notebook.page, surface.panel, folder / f"{name}-{look}-{axe.NARROW}.png")
    notebook.page.close()


def _shot(page: Page, panel: str, path: Path) -> None:
    """The whole notebook, in a window as high as it."""
    size = page.viewport_size
    assert size is not None
    height: int = page.evaluate(_HEIGHT)
    height = height if panel == Surface.panel else max(height, SIDE_HEIGHT)
    page.set_viewport_size({"width": size["width"], "height": height})
    page.wait_for_timeout(500)
    page.evaluate(_HEIGHT)
    page.locator(panel).screenshot(path=str(path))
    page.set_viewport_size(size)
    print(f"took {path.name}", flush=True)


def _talk(notebook: Notebook) -> None:
    chat = notebook.page.locator(".asvc-chat").first
    for words, message in CHATTED.items():
        chat.get_by_label("Message").fill(message)
        chat.get_by_role("button", name="Send").click()
        chat.get_by_text(words).first.wait_for(timeout=PATIENCE * 1000)
    chat.get_by_label("Message").fill("What is written next.")


def _take_pages(folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=[*CHROMIUM])
        with running_service(model="scripted", approve_effects=True) as service:
            with AgentService(service.api_key, service.base_url) as client:
                chats = [client.runs.start(script, sync=True, files=list(files)) for script, files in PAGES]
                waiting = client.runs.start('say Before it is sent:\ncall echo_job {"steps": 0}\nsay done')
                until(lambda: client.runs.get(waiting.run_id).chat)
                client.feedback.send("The search could also look into sheets.", category="idea")
            base = f"{service.base_url}/app"
            paths = {name: f"{base}/{name}" for name in ("settings", "feedback", "terms", "missing")}
            paths |= {f"chat-{number}": f"{base}/chats/{run.chat}" for number, run in enumerate(chats, 1)}
            paths |= {"chats": base, "asked": f"{base}/chats/{waiting.chat}"}
            paths |= {"sent": f"{base}/runs/{chats[0].run_id}/sent"}
            _shoot(browser, service.sign_in_url, paths, folder)
            _shoot(browser, f"{base}/sign-in", {"sign-in": f"{base}/sign-in"}, folder)
        browser.close()


def _shoot(browser: Browser, begin: str, paths: dict[str, str], folder: Path) -> None:
    for look, wide in ((look, wide) for look in ("light", "dark", "forced") for wide in (WIDE, axe.NARROW)):
        context = browser.new_context(
            color_scheme="dark" if look == "dark" else "light",
            forced_colors="active" if look == "forced" else "none",
            viewport={"width": wide, "height": 900},
        )
        page = context.new_page()
        page.goto(begin)
        for name, address in paths.items():
            page.goto(address)
            page.screenshot(path=folder / f"page-{name}-{look}-{wide}.png", full_page=True)
            over: int = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if over > 0:
                print(f"{name} at {wide}: {over} pixels too wide")
        context.close()
        print(f"took pages, {look} {wide}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
