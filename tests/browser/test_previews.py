"""Previews in JupyterLab, and what is left of them where the notebook is not trusted: nothing executes, nothing is
fetched, not even a connection made."""

from __future__ import annotations

import json
import socket
import threading

from tests.browser.conftest import Place
from tests.notebook import samples
from tests.notebook.test_hostile import HOSTILE
from tests.support.waiting import until

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


SOUND = """# Uploads may be no sound, but what a run writes may.
from pathlib import Path
from IPython.display import display
from agentsvc_nb.notebook.previews.preview import preview_bundle
from agentsvc_nb.wire.files import WorkspaceFile
data = Path("jingle.wav").read_bytes()
display(preview_bundle(WorkspaceFile(id="", path="jingle.wav", size_bytes=len(data)), data), raw=True)"""


class Listener:
    """A port on which nobody should knock."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.knocks = 0
        self.heard: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                found, _ = self._socket.accept()
            except OSError:
                return
            self.knocks += 1
            found.settimeout(2)
            try:
                self.heard.append(found.recv(500))
            except OSError:
                self.heard.append(b"(nothing)")
            found.close()

    def close(self) -> None:
        self._socket.close()


def test_previews_show_and_neither_execute_nor_fetch(place: Place) -> None:
    listener = Listener()
    folder = place.lab.root / "samples"
    folder.mkdir()
    for name, make in samples.HONEST.items():
        (place.lab.root / name if name == "jingle.wav" else folder / name).write_bytes(make())
    hostile = HOSTILE_PAGE.format(port=listener.port) + "\n".join(HOSTILE[:40]).encode("utf-8", "replace").decode()
    for name in ("hostile.html", "hostile.svg", "hostile.png", "hostile.md", "hostile.csv"):
        (folder / name).write_text(hostile)
    names = [file.name for file in sorted(folder.iterdir())]
    first = ["%load_ext agentsvc_nb", "%%ask\nsay hello", "%files put samples/*", SOUND]
    notebook = place.lab.open("previews.ipynb", [*first, *(f"%files preview uploads/{name}" for name in names)])
    notebook.page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")
    notebook.requests.clear()
    failed: dict[str, str | None] = {}
    notebook.page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
    notebook.run_all()
    notebook.wait_idle()
    shown = {name: notebook.output(len(first) + number) for number, name in enumerate(names)}
    assert "1,200 × 800 pixels" in shown["chart.png"]
    assert "page 3 of 4" in shown["plan.pdf"]
    assert "chair" in shown["prices.xlsx"]
    assert "<h1>The hostile page</h1>" in shown["hostile.html"]
    assert notebook.page.locator(".jp-OutputArea iframe").count() == 0
    natural = "all => all.map(one => one.naturalWidth)"
    assert min(notebook.page.locator(".jp-OutputArea figure img").evaluate_all(natural)) > 100
    sounds = notebook.page.locator(".jp-OutputArea audio")
    until(lambda: sounds.evaluate_all("all => all.map(one => one.duration)") == [0.5])
    assert notebook.page.evaluate("window.executed") == []
    here = f"http://127.0.0.1:{place.lab.port}/"
    foreign = {url for url in notebook.requests if not url.startswith((here, "data:", "blob:", "about:srcdoc"))}
    until(lambda: foreign <= failed.keys())
    # Chromium names a request before the page's policy, or its having no origin, stops it.
    assert {failed[url] for url in foreign} <= {"csp", "origin"}
    document = notebook.save()
    notebook.page.close()

    _look_untrusted(place, document, len(first) + names.index("chart.png"))
    assert listener.knocks == 0, listener.heard
    socket.create_connection(("127.0.0.1", listener.port)).close()
    until(lambda: listener.knocks == 1)
    listener.close()


def _look_untrusted(place: Place, document: dict[str, object], chart: int) -> None:
    """Another machine's notebook: JupyterLab's sanitiser drops players, and leaves words and pictures."""
    document["metadata"]["copied"] = True  # type: ignore[index]
    (place.lab.root / "copied.ipynb").write_text(json.dumps(document).replace("uploads/", "elsewhere/"))
    notebook = place.lab.open("copied.ipynb")
    assert "1,200 × 800 pixels" in notebook.output(chart)
    assert notebook.page.locator(".jp-OutputArea iframe").count() == 0
    alternatives = notebook.page.locator(".jp-OutputArea figure img").evaluate_all("all => all.map(one => one.alt)")
    assert alternatives[0] == "elsewhere/chart.png, 1,200 × 800 pixels"
    notebook.page.close()
