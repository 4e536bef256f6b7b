"""Money stays text and formulas are typeset, in JupyterLab and in exported HTML: judged after MathJax was there.

Exported pages load MathJax 2 from a server of its own; here it comes from the package jupyter-server-mathjax.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Route, expect

from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.support.waiting import until

MONEY: Final = "The media budget is $240,000 net; production has $55,000"
SAID: Final = f"""say {MONEY}
say
say So \\(e^x\\), not $5 or `$y$`.
say
say $$
say a_1
say + b
say = c
say $$
say
say | $7 | $8 |
say |---|---|
say | $1 | $2 |
say
say ```
say $code$ and \\(code\\)
say ```
say
say ```math
say \\frac{{a}}{{b}}
say ```"""
FORMULAS: Final = 3
CELLS = [
    "%load_ext agentsvc_nb\nimport agentsvc_nb",
    f"%%ask --new-chat -o answer\n{SAID}\nusage 3000 1200\nwrite out/budget_$5_and_$6.md # {MONEY}",
    "%files preview out/budget_$5_and_$6.md",
    "%search budget",
    "%files",
    f"%%ask --bg --new-chat\n{SAID}",
    "answer.run",
    "answer",
    f"%%tool ask_stefanbrain\nmessage: say {MONEY}",
    "%tools",
    "agentsvc_nb.Chat(new=True)",
    "%runs",
    "from IPython.display import HTML\nHTML(r'<p>$z$</p>')",
]
MADE: Final = {1: FORMULAS, 5: FORMULAS, 7: FORMULAS, 10: 0}
"""By cell, how many formulas are meant there; none in others. A chat has none before anybody has asked."""
CHAT, RUNS, LAST = 10, 11, 12
MATHJAX: Final = "https://mathjax.example"
TYPESET: Final = "all => all.map(one => one.textContent.trim())"


def test_only_what_is_meant_is_typeset(place: Place, chromium: Browser) -> None:
    notebook = place.lab.open("money.ipynb", CELLS)
    for cell in range(len(CELLS)):
        notebook.run(cell)
        notebook.wait_idle()
    expect(_outputs(notebook, LAST).locator("mjx-container")).to_have_count(1)
    until(lambda: "completed" in notebook.output(5))
    _cells_are_typeset(notebook)
    assert "0.42 cents" in notebook.output(RUNS)
    _a_chat_is_typeset_as_it_is_written(notebook)
    saved = notebook.save()
    notebook.page.close()
    _an_exported_page_is_typeset(notebook.path, chromium)
    saved["metadata"]["changed"] = saved["cells"][0]["source"] = "other than what was signed"
    (place.lab.root / "stranger.ipynb").write_text(json.dumps(saved))
    stranger = place.lab.open("stranger.ipynb")
    expect(_outputs(stranger, LAST).locator("mjx-container")).to_have_count(1)
    _cells_are_typeset(stranger)
    stranger.page.close()


def _outputs(notebook: Notebook, cell: int) -> Locator:
    return notebook.page.locator(".jp-NotebookPanel .jp-CodeCell").nth(cell).locator(".jp-Cell-outputArea")


def _in_order(notebook: Notebook, cell: int, formulas: int) -> None:
    shown = _outputs(notebook, cell)
    expect(shown.locator("mjx-container")).to_have_count(formulas)
    for formula in shown.locator("mjx-container").all():
        assert "$" not in (formula.text_content() or "")
        assert formula.locator("mjx-merror").count() == 0


def _as_said(shown: Locator) -> None:
    """The sentence, the table and the code, to the letter, with the formulas beside them."""
    expect(shown.get_by_text(MONEY, exact=True).first).to_be_visible()
    expect(shown.locator("th").filter(has_text="$").first).to_have_text("$7")
    expect(shown.locator("td").filter(has_text="$2").first).to_have_text("$2")
    expect(shown.get_by_text("$code$ and \\(code\\)", exact=True).first).to_be_visible()
    sentence = shown.locator("p").filter(has_text="not $5").first
    assert sentence.locator("mjx-container").count() == 1
    assert sentence.inner_text().endswith(", not $5 or $y$.")


def _cells_are_typeset(notebook: Notebook) -> None:
    for cell in range(1, CHAT):
        _in_order(notebook, cell, MADE.get(cell, 0))
    _as_said(_outputs(notebook, 1))
    said = {2: MONEY, 3: "out/budget_$5_and_$6.md", 4: "out/budget_$5_and_$6.md", 6: MONEY, 8: MONEY}
    for cell, words in said.items():
        assert words in " ".join(notebook.output(cell).split())


def _a_chat_is_typeset_as_it_is_written(notebook: Notebook) -> None:
    chat = _outputs(notebook, CHAT)
    chat.get_by_label("Message").fill(f"{SAID}\nwait 3\nsay\nsay the end of $9 and $10")
    chat.get_by_role("button", name="Send").click()
    until(lambda: "the end of $9 and $10" in notebook.output(CHAT) and "completed" in notebook.output(CHAT))
    _in_order(notebook, CHAT, FORMULAS)
    _as_said(chat)
    chat.get_by_role("button", name="Close").click()
    until(lambda: "closed" in notebook.output(CHAT))
    _in_order(notebook, CHAT, FORMULAS)


def _an_exported_page_is_typeset(path: Path, chromium: Browser) -> None:
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--output", "money.html", str(path)]
    command += [f"--HTMLExporter.mathjax_url={MATHJAX}/MathJax.js?config=TeX-AMS-MML_HTMLorMML-full,Safe"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    page = chromium.new_page()
    page.route("**/*", _serve)
    page.goto(path.with_name("money.html").as_uri())
    scripts = page.locator("script[type^='math/tex']")
    found = until(lambda: scripts.evaluate_all(TYPESET), lambda found: "z" in found)
    assert {"e^x", "z"} <= set(found)
    assert not [formula for formula in found if "$" in formula or "budget" in formula]
    shown = page.locator("body").inner_text()
    assert shown.count(MONEY) >= 3, "the answer, its record and the cell"
    assert "not $5 or $y$." in shown
    page.close()


def _serve(route: Route) -> None:
    """Serve MathJax, and nothing else of the net."""
    url = urlsplit(route.request.url)
    file = files("jupyter_server_mathjax") / "static" / url.path.lstrip("/")
    if url.scheme == "file":
        route.continue_()
    elif url.netloc == urlsplit(MATHJAX).netloc and file.is_file():
        route.fulfill(body=file.read_bytes(), content_type="text/javascript" if url.path.endswith(".js") else None)
    else:
        route.abort()
