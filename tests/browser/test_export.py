"""Pages that nbconvert makes of a saved notebook: money is text there, too, and formulas that are meant are typeset.

They load MathJax 2 from a server of its own; here it comes from the package jupyter-server-mathjax.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route

from tests.browser.conftest import Place
from tests.support.waiting import until

MONEY: Final = "The media budget is $240,000 net; production has $55,000"
CELLS = [
    "%load_ext agentsvc_nb",
    f"%%ask -o answer\nsay {MONEY}\nsay\nsay So \\(e^x\\), not $5 or `$y$`.\nsay\nsay $$\nsay a = b\nsay $$\n"
    f"write out/$5-$6.md {MONEY}",
    "answer.run",
    "%files",
    "from IPython.display import HTML\nHTML('<p>others: $z$</p>')",
]
MATHJAX: Final = "https://mathjax.example"
TYPESET: Final = "all => all.map(one => one.textContent.trim())"


@pytest.fixture(scope="module")
def saved(place: Place) -> Path:
    notebook = place.lab.open("export.ipynb", CELLS)
    for cell in range(len(CELLS)):
        notebook.run(cell)
        notebook.wait_idle()
    notebook.save()
    notebook.page.close()
    return notebook.path


def _serve(route: Route) -> None:
    """MathJax, and nothing else of the net."""
    url = urlsplit(route.request.url)
    file = files("jupyter_server_mathjax") / "static" / url.path.lstrip("/")
    if url.scheme == "file":
        route.continue_()
    elif url.netloc == urlsplit(MATHJAX).netloc and file.is_file():
        route.fulfill(body=file.read_bytes(), content_type="text/javascript" if url.path.endswith(".js") else None)
    else:
        route.abort()


def _open(page: Page, exported: Path) -> Page:
    page.route("**/*", _serve)
    page.goto(exported.as_uri())
    return page


@pytest.mark.parametrize("template", ["lab", "classic"])
def test_an_exported_page_typesets_what_is_meant_and_no_money(saved: Path, place: Place, template: str) -> None:
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--to",
        "html",
        "--template",
        template,
        "--output",
        f"{template}.html",
    ]
    command += [f"--HTMLExporter.mathjax_url={MATHJAX}/MathJax.js?config=TeX-AMS-MML_HTMLorMML-full,Safe"]
    done = subprocess.run([*command, str(saved)], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    with place.lab.page() as page:
        _open(page, saved.with_name(f"{template}.html"))
        scripts = page.locator("script[type^='math/tex']")
        assert until(lambda: scripts.evaluate_all(TYPESET), lambda found: "z" in found) == ["e^x", "a = b", "z"]
        shown = page.locator("body").inner_text()
    assert shown.count(MONEY) >= 3, "the answer, its record and the cell"
    assert "not $5 or $y$." in shown
    assert "out/$5-$6.md" in shown
