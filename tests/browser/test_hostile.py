"""What an agent says, what files are called and what is in them is untrusted: nothing executes, nothing is fetched."""

from __future__ import annotations

import socket

import pytest

from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.notebook.test_hostile import HOSTILE as STRINGS
from tests.notebook.test_previews import HONEST
from tests.support.waiting import until

SAYABLE = [text for text in STRINGS if not any("\ud800" <= character <= "\udfff" for character in text)]
HOSTILE_PAGE = """<!doctype html><title>x</title>
<meta http-equiv=refresh content="0;url=http://127.0.0.1:{port}/refresh">
<link rel=preconnect href=http://127.0.0.1:{port}><link rel=dns-prefetch href=//127.0.0.1:{port}>
<link rel=stylesheet href=http://127.0.0.1:{port}/style><script src=http://127.0.0.1:{port}/script></script>
<style>@import url(http://127.0.0.1:{port}/import); body {{ background: url(http://127.0.0.1:{port}/back) }}</style>
<img src=http://127.0.0.1:{port}/img srcset="http://127.0.0.1:{port}/srcset 2x">
<video autoplay poster=http://127.0.0.1:{port}/poster src=http://127.0.0.1:{port}/video></video>
<iframe src=http://127.0.0.1:{port}/frame></iframe><object data=http://127.0.0.1:{port}/object></object>
<svg><image href=http://127.0.0.1:{port}/image /><use href="http://127.0.0.1:{port}/use#x" /></svg>
<form action=http://127.0.0.1:{port}/form><input autofocus onfocus="parent.alert(1)"></form>
<script>top.alert(1); fetch("http://127.0.0.1:{port}/fetch")</script><h1>The hostile page</h1>
"""
SHOWN = ("brief.docx", "chart.png", "plan.pdf", "prices.xlsx")
HOSTILE_FILES = ("hostile.html", "hostile.svg", "hostile.png", "hostile.md", "hostile.csv")


def file_names() -> list[str]:
    """The strings as file names, as far as a path can hold them and a script can name them."""
    flat = (text.replace("/", "_").replace("\\", "_").replace(" ", "_") for text in STRINGS)
    return [name[:80] for name in flat if name.isprintable()]


def watched(notebook: Notebook) -> None:
    notebook.page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")
    notebook.requests.clear()


def test_texts_and_names_execute_nothing_and_fetch_nothing(place: Place) -> None:
    script = "\n".join(f"say {line}" for text in SAYABLE for line in (*text.splitlines(), ""))
    names = "\n".join(f"write {number}/{name} x" for number, name in enumerate(file_names()))
    tool = "%%tool ask_stefanbrain\nmessage: say <img src=x onerror=alert(1)> **you**"
    cells = ["%load_ext agentsvc_nb", f"%%ask --new-chat\n{script}\n{names}\nsay the end", "%files", "%runs", tool]
    notebook = place.lab.open("hostile.ipynb", cells)
    watched(notebook)
    for cell in range(len(cells)):
        notebook.run(cell)
        notebook.wait_idle()
    assert "the end" in notebook.output(1)
    assert "onerror=alert(1)" in notebook.output(4), "shown as text"
    notebook.page.wait_for_load_state("networkidle")
    assert notebook.page.evaluate("window.executed") == []
    assert notebook.page.locator("base").count() == 0
    origin = f"http://127.0.0.1:{place.lab.port}/"
    assert [url for url in notebook.requests if not url.startswith((origin, "data:", "blob:"))] == []
    links = notebook.page.locator(".jp-Cell-outputArea a[href]").evaluate_all("all => all.map(one => one.href)")
    assert [link for link in links if not link.startswith(("http:", "https:", "mailto:"))] == []
    notebook.page.close()


def test_previews_show_and_neither_execute_nor_fetch(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _previews_are_harmless(place, listener.getsockname()[1])
        listener.settimeout(0.1)
        with pytest.raises(TimeoutError):
            listener.accept()


def _previews_are_harmless(place: Place, port: int) -> None:
    folder = place.lab.root / "samples"
    folder.mkdir(exist_ok=True)
    for name in SHOWN:
        (folder / name).write_bytes(HONEST[name][0]())
    hostile = HOSTILE_PAGE.format(port=port) + "\n".join(STRINGS[:40]).encode("utf-8", "replace").decode()
    for name in HOSTILE_FILES:
        (folder / name).write_text(hostile)
    names = [*SHOWN, *HOSTILE_FILES]
    first = ["%load_ext agentsvc_nb", "%%ask --new-chat\nsay hello", "%files put samples/*"]
    notebook = place.lab.open("previews.ipynb", [*first, *(f"%files preview uploads/{name}" for name in names)])
    watched(notebook)
    failed: dict[str, str | None] = {}
    notebook.page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
    notebook.run_all()
    until(lambda: notebook.output(len(first) + len(names) - 1))
    notebook.wait_idle()
    shown = {name: notebook.output(len(first) + number) for number, name in enumerate(names)}
    assert "1,200 × 800 pixels" in shown["chart.png"]
    assert "page 3 of 4" in shown["plan.pdf"]
    assert "chair" in shown["prices.xlsx"]
    assert "<h1>The hostile page</h1>" in shown["hostile.html"]
    assert notebook.page.locator(".jp-OutputArea iframe").count() == 0
    natural = "all => all.map(one => one.naturalWidth)"
    assert min(notebook.page.locator(".jp-OutputArea figure img").evaluate_all(natural)) > 100
    assert notebook.page.evaluate("window.executed") == []
    here = f"http://127.0.0.1:{place.lab.port}/"
    foreign = {url for url in notebook.requests if not url.startswith((here, "data:", "blob:", "about:srcdoc"))}

    def failures() -> set[str]:
        notebook.page.evaluate("1")  # what the browser says is heard meanwhile
        return {*failed}

    until(failures, lambda seen: foreign <= seen)
    # Chromium names a request before the page's policy, or its having no origin, stops it.
    assert {failed[url] for url in foreign} <= {"csp", "origin"}
    notebook.page.close()
