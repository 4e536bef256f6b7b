"""Take the pictures of the web pages, light and dark, of a service with something in it (needs the chromium package).

    python -m docs.web_pictures [FOLDER]

Without a folder the two that docs/team.md shows are written to docs/images; with one, every page goes there.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.browser.lab import CHROMIUM

IMAGES = Path(__file__).parent / "images"
SIZE = ViewportSize(width=1000, height=1250)
NOTES = """Spring campaign, notes

The price of the travel kettle is 39 euros until the end of March. Returns went down after the new lid; the
complaints that are left name the cable, which is too short.
"""
SALES = "region,month,units\nnorth,January,120\nnorth,February,150\nsouth,January,90\nsouth,February,75\n"


def main() -> None:
    everything = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with running_service(model="offline") as service, sync_playwright() as playwright:
        chat = fill(service)
        executable = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=executable, args=[*CHROMIUM])
        for scheme in ("light", "dark"):
            take(browser, service, scheme, {f"web-{scheme}": f"/app/chats/{chat}"}, IMAGES)
            if everything:
                names = ("", "/settings", "/feedback", "/terms", "/missing", "/sign-in", f"/chats/{chat}")
                paths = {f"{scheme}{name.replace('/', '-')[:8]}": f"/app{name}" for name in names}
                take(browser, service, scheme, paths, everything)
        browser.close()


def fill(service: RunningService) -> str:
    """A few chats, and one with a question, its files, and pictures."""
    with AgentService(service.api_key, service.base_url) as client:
        client.runs.start("Which of the two headlines is shorter?", sync=True)
        question = "What do the notes say of the price of the travel kettle?"
        run = client.runs.start(question, files=[("notes.md", NOTES.encode())], sync=True)
        assert run.chat
        client.runs.start("total units by region", chat=run.chat, files=[("sales.csv", SALES.encode())], sync=True)
        client.feedback.send("The search could also look into sheets.", category="idea")
        return run.chat


def take(
    browser: Browser, service: RunningService, scheme: Literal["light", "dark"], paths: dict[str, str], to: Path
) -> None:
    to.mkdir(parents=True, exist_ok=True)
    context = browser.new_context(color_scheme=scheme, viewport=SIZE)
    page = context.new_page()
    page.goto(service.sign_in_url)
    for name, path in paths.items():
        page.goto(service.base_url + path)
        page.wait_for_load_state("networkidle")
        page.screenshot(path=to / f"{name}.png", full_page=True)
        print(f"took {name}.png")
    context.close()


if __name__ == "__main__":
    main()
