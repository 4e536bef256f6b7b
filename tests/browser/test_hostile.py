"""What an agent says, and what files are called, is untrusted: nothing executes, nothing is fetched."""

from __future__ import annotations

from tests.browser.conftest import Place
from tests.notebook.test_hostile import HOSTILE as STRINGS
from tests.support.waiting import until


def test_nothing_executes_and_nothing_is_fetched(place: Place) -> None:
    sayable = [text for text in STRINGS if not any("\ud800" <= character <= "\udfff" for character in text)]
    script = "\n".join(f"say {line}" for text in sayable for line in (*text.splitlines(), ""))
    names = "\n".join(f"write {number}/{name} x" for number, name in enumerate(file_names()))
    cell = f"%%ask\n{script}\n{names}\nsay the end"
    notebook = place.lab.open("hostile.ipynb", ["%load_ext agentsvc_nb", cell, "%files"])
    notebook.page.evaluate("() => { window.executed = []; window.alert = text => window.executed.push(text) }")
    notebook.requests.clear()
    notebook.run_all()
    until(lambda: "the end" in notebook.output(1))
    notebook.wait_idle()
    notebook.page.wait_for_load_state("networkidle")
    assert notebook.page.evaluate("window.executed") == []
    assert notebook.page.locator("base").count() == 0
    origin = f"http://127.0.0.1:{place.lab.port}/"
    strangers = [url for url in notebook.requests if not url.startswith((origin, "data:", "blob:"))]
    assert strangers == []
    links = notebook.page.locator(".jp-Cell-outputArea a[href]").evaluate_all("all => all.map(one => one.href)")
    assert [link for link in links if not link.startswith(("http:", "https:", "mailto:"))] == []
    notebook.page.close()


def file_names() -> list[str]:
    """The strings as file names, as far as a path can hold them and a script can name them."""
    flat = (text.replace("/", "_").replace("\\", "_").replace(" ", "_") for text in STRINGS)
    return [name[:80] for name in flat if name.isprintable()]
