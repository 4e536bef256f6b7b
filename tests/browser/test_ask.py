"""`%%ask` in JupyterLab: it streams, stops, is kept, is not asked again, and goes on when something dies."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import nbformat
from nbconvert import HTMLExporter

from agentsvc_nb import embedded
from tests.browser.conftest import Place
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"


def outputs(saved: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [cell["outputs"] for cell in saved["cells"]]


def test_an_answer_grows_is_kept_and_is_not_asked_again(place: Place) -> None:
    script = "say # First\nsay\nsay one **bold** word\nwait 3\nsay\nsay second part\nwrite out/a.txt hello"
    cells = [LOAD, f"%%ask -o kept\n{script}", "print(kept.text[:7], _.text[:7])", "%%ask\nsay **next**"]
    notebook = place.lab.open("grows.ipynb", cells)
    notebook.run_all()
    seen = until(lambda: notebook.output(1), lambda text: "one bold word" in text)
    assert "second part" not in seen, "the answer was not seen growing"
    until(lambda: "next" in notebook.output(3))
    notebook.wait_idle()
    assert "second part" in notebook.output(1)
    assert "out/a.txt" in notebook.output(1)
    saved = notebook.save()
    assert [len(cell) for cell in outputs(saved)] == [0, 1, 1, 1]
    assert "widget" not in json.dumps(saved)
    document = nbformat.read(notebook.path, as_version=4)
    nbformat.validate(document)
    assert HTMLExporter().from_notebook_node(document)[0].count("<strong>bold</strong>") == 1
    before = place.count()
    notebook.restart()
    notebook.run_all()
    until(lambda: "stored answer" in notebook.output(3))
    notebook.wait_idle()
    assert "second part" in notebook.output(1)
    assert place.count() == before
    notebook.run(1)
    until(lambda: place.count() == before + 1)
    notebook.wait_idle()
    notebook.save()
    notebook.page.close()
    reopened = place.lab.open("grows.ipynb")
    assert "second part" in reopened.output(1)
    assert reopened.errors == []
    reopened.page.close()


def test_stop_cancels_the_run_and_the_cells_after_it(place: Place) -> None:
    notebook = place.lab.open("stop.ipynb", [LOAD, "%%ask\nsay before\nwait 60", "print('never')"])
    notebook.run_all()
    until(lambda: "before" in notebook.output(1))
    notebook.stop()
    notebook.wait_idle()
    assert "RunStopped" in notebook.output(1)
    assert "Traceback" not in notebook.output(1)
    assert "never" not in notebook.output(2)
    with place.client() as client:
        assert client.runs.wait(place.last_run(), poll=0.05).status == "cancelled"
    assert embedded.status(place.data) is not None, "the service must live on"
    notebook.page.close()


def test_an_answer_goes_on_after_kill_9_and_nothing_is_lost_or_twice(place: Place) -> None:
    lines = [f"Line {number} of *many*, ü 漢 😀." for number in range(60)]
    script = "say alpha\nstep 1\nsay beta\nrewind\nsay gamma\n" + "\n".join(f"say {line}\nwait 0.05" for line in lines)
    cells = [LOAD, f"%%ask -o answer\n{script}\nsay omega", "print(answer.text)"]
    notebook = place.lab.open("killed.ipynb", cells)
    notebook.run_all()
    until(lambda: "Line 20" in notebook.output(1))
    found = embedded.status(place.data)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    until(lambda: "omega" in notebook.output(1))
    notebook.wait_idle()
    shown = notebook.output(1)
    words = ("alpha", "beta", "gamma", "omega", *(f"Line {number} " for number in range(60)))
    assert {word: shown.count(word) for word in words} == dict.fromkeys(words, 1)
    said = [line.strip() for line in notebook.output(2).splitlines() if line.strip()]
    assert said == ["alpha", "beta", "gamma", *lines, "omega"]
    with place.client() as client:
        events = list(client.runs.iterate_events(place.last_run()))
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    notebook.page.close()


def test_a_reload_in_the_middle_loses_nothing(place: Place) -> None:
    """Nor does a restart of the kernel: both go on with the same run."""
    ask = "%%ask\nsay so far\nsay\nwait 20\nsay the end"
    notebook = place.lab.open("goes_on.ipynb", [LOAD, ask, "%%ask\nsay next\nwait 3\nsay after"])
    before = place.count()
    notebook.run_all()
    until(lambda: "so far" in notebook.output(1))
    notebook.reload()
    until(lambda: "so far" in notebook.output(1) and "running" in notebook.output(1))
    until(lambda: "after" in notebook.output(2))
    assert [notebook.output(1).count(word) for word in ("so far", "the end", "completed")] == [1, 1, 1]
    until(lambda: [prompt.strip() for prompt in notebook.prompts()[1:3]] == ["[2]:", "[3]:"])
    assert place.count() == before + 2
    (answer,) = notebook.save()["cells"][1]["outputs"]
    assert "transient" not in answer
    notebook.run(1)  # asked anew: it ran in this kernel
    until(lambda: place.count() == before + 3 and "so far" in notebook.output(1))
    notebook.restart()
    notebook.run(0)
    notebook.run(1)
    until(lambda: "the end" in notebook.output(1) and "completed" in notebook.output(1))
    assert [notebook.output(1).count(word) for word in ("so far", "the end")] == [1, 1]
    assert place.count() == before + 3
    notebook.page.close()


def test_the_key_is_in_its_file_and_nowhere_else(place: Place) -> None:
    cells = [LOAD, "%%ask\nsay hello", "%agentsvc", "%runs", "%%ask\nfail no_luck It did not work.", "%tb"]
    notebook = place.lab.open("secrets.ipynb", cells)
    for number in range(len(cells)):
        notebook.run(number)
        notebook.wait_idle()
    notebook.save()
    notebook.page.close()
    key = place.key.encode()
    assert oct((place.data / "key").stat().st_mode)[-3:] == "600"
    folders = (place.lab.root, place.data, place.homes, place.lab.homes)
    holders = [path for folder in folders for path in folder.rglob("*") if path.is_file() and key in path.read_bytes()]
    assert holders == [place.data / "key"]
