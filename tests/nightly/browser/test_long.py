"""What takes long in JupyterLab: a long answer, a lost service, a page without the extension."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Place, placed
from tests.support.losing import lose_for_good
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"
LINES, PAUSE = 290, 0.08  # some 900 characters a second, 225 tokens
LONG = "\n".join(f"say Line {number} of a *long* answer: {'x' * 50}\nsay\nwait {PAUSE}" for number in range(LINES))


@pytest.fixture(scope="module")
def place(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    yield from placed(tmp_path_factory, chromium, AGENTSVC_APPROVE_EFFECTS="yes")


def test_a_long_answer_leaves_the_page_free_and_the_notebook_small(place: Place) -> None:
    notebook = place.lab.open("long.ipynb", [LOAD, "%%ask\nsay warm", f"%%ask\n{LONG}"])
    for cell in (0, 1):
        notebook.run(cell)
        notebook.wait_idle()
    inspector = notebook.page.context.new_cdp_session(notebook.page)
    inspector.send("Performance.enable", {"timeDomain": "threadTicks"})

    def worked() -> float:
        metrics = {item["name"]: item["value"] for item in inspector.send("Performance.getMetrics")["metrics"]}
        return float(metrics["TaskDuration"])

    before, sent = worked(), notebook.kernel_bytes
    notebook.run(2)
    until(lambda: "Line 30 " in notebook.output(2))
    assert f"Line {LINES - 1} " not in notebook.output(2), "it was not seen growing"
    until(lambda: f"Line {LINES - 1} " in notebook.output(2))
    notebook.wait_idle()
    share = (worked() - before) / (LINES * PAUSE)
    sent = notebook.kernel_bytes - sent
    (answer,) = notebook.save()["cells"][2]["outputs"]
    characters = len("".join(answer["data"]["text/plain"]))
    size = len(json.dumps(answer["data"]))
    print(f"{share:.0%} of the page's thread; {characters} characters in {size} bytes, {sent} on the channel")
    assert characters > 20_000
    assert sent < 80 * characters
    assert size < 3 * characters
    assert share < 0.2
    notebook.page.close()


def test_without_the_extension_a_cell_says_how_to_go_on_and_does(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for place in placed(tmp_path_factory, chromium, extension=False):
        _goes_on_when_it_is_run_again(place)


def _goes_on_when_it_is_run_again(place: Place) -> None:
    notebook = place.lab.open("reload.ipynb", [LOAD, "%%ask\nsay so far\nsay\nwait 25\nsay the end"])
    notebook.run_all()
    until(lambda: "so far" in notebook.output(1) and "run this cell again" in notebook.output(1))
    notebook.save()
    notebook.reload()
    assert "run this cell again" in notebook.output(1)
    notebook.run(1)
    until(lambda: "the end" in notebook.output(1) and "the stored answer of an earlier run" in notebook.output(1))
    assert place.count() == 1, "it went on with its run, and began no other"
    notebook.page.close()


def test_what_was_said_stays_in_its_cells(place: Place) -> None:
    """The service goes away in mid-run and nothing brings it back. (The last test: the service is gone afterwards.)"""
    lines = "\n".join(f"say Line {number} of *many*.\nsay\nwait 0.05" for number in range(40))
    cells = [LOAD, f"%%ask --bg --new-chat\n{lines}\nwait 600", f"%%ask\n{lines}\nwait 600"]
    notebook = place.lab.open("lost.ipynb", cells)
    notebook.run_all()
    until(lambda: "Line 39" in notebook.output(1) and "Line 39" in notebook.output(2))
    lose_for_good(place.data)
    notebook.wait_idle()
    until(lambda: "went away" in notebook.output(1))
    for cell in (1, 2):
        shown = notebook.output(cell)
        assert [shown.count(f"Line {number} of many.") for number in range(40)] == [1] * 40
        assert "The connection to the service was lost before run " in shown
        assert "%runs attach " in shown
    assert "Traceback" not in notebook.output(2)
    saved = json.dumps(notebook.save())
    assert saved.count("<p>Line 39 of <em>many</em>.</p>") == 2, "it is in the saved notebook, once a cell"
    notebook.page.close()
