"""`%%ask` and `%%job` in JupyterLab, seen as a user sees them."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import Any

from agentsvc_nb import embedded
from tests.browser.conftest import Place
from tests.browser.lab import Notebook
from tests.support.waiting import until

LOAD = "%load_ext agentsvc_nb"


def outputs(saved: dict[str, Any]) -> list[list[dict[str, Any]]]:
    return [cell["outputs"] for cell in saved["cells"] if cell["cell_type"] == "code"]


def ask(script: str, line: str = "") -> str:
    return f"%%ask {line}\n{script}"


def test_the_answer_grows_and_one_output_stays(place: Place) -> None:
    script = "say # First\nsay\nsay one **bold** word\nwait 1.5\nsay\nsay second part\nwrite out/a.txt hello"
    notebook = place.lab.open("grows.ipynb", [LOAD, ask(script, "-o kept"), "print(kept.text[:7], _.text[:7])"])
    notebook.run_all()
    seen = until(lambda: notebook.output(1), lambda text: "one bold word" in text)
    assert "second part" not in seen, "the answer was not seen growing"
    notebook.wait_idle()
    assert "second part" in notebook.output(1)
    assert "out/a.txt" in notebook.output(1)
    saved = notebook.save()
    assert [len(cell) for cell in outputs(saved)] == [0, 1, 1]
    assert "widget" not in json.dumps(outputs(saved))
    assert "embedded" in notebook.output(1) or "started" in notebook.output(1), "the first use says what it does"
    notebook.page.close()

    reopened = place.lab.open("grows.ipynb")
    assert "second part" in reopened.output(1)
    assert reopened.errors == []
    reopened.page.close()


def test_stop_cancels_on_the_service_and_run_all_stops(place: Place) -> None:
    notebook = place.lab.open("stop.ipynb", [LOAD, ask("say before\nwait 60"), "print('never')"])
    notebook.run_all()
    until(lambda: "before" in notebook.output(1))
    notebook.stop()
    pressed = time.monotonic()
    notebook.wait_idle()
    print(f"idle {time.monotonic() - pressed:.2f} s after Stop")
    with place.client() as client:
        assert client.runs.get(place.last_run()).status == "cancelled"
    assert embedded.status(place.data) is not None, "the service must live on"
    assert "never" not in notebook.output(2)
    assert "cancelled" in notebook.output(1)
    assert "Traceback" not in notebook.output(1)
    notebook.page.close()


def test_restart_and_run_all_starts_nothing_and_running_again_does(place: Place) -> None:
    cells = [LOAD, ask("say first answer"), ask("say second answer")]
    notebook = place.lab.open("again.ipynb", cells)
    notebook.run_all()
    until(lambda: "second answer" in notebook.output(2))
    notebook.wait_idle()
    before = place.count()
    notebook.restart_and_run_all()
    until(lambda: "Shown again" in notebook.output(2))
    notebook.wait_idle()
    assert "first answer" in notebook.output(1)
    assert "second answer" in notebook.output(2)
    assert place.count() == before
    notebook.run(1)
    until(lambda: place.count() == before + 1)
    notebook.wait_idle()
    notebook.page.close()


def test_a_changed_file_is_never_answered_from_the_past(place: Place) -> None:
    (place.lab.root / "facts.txt").write_text("one")
    notebook = place.lab.open("changed.ipynb", [LOAD, "%files put facts.txt", ask("say about the file")])
    notebook.run_all()
    until(lambda: "about the file" in notebook.output(2))
    notebook.wait_idle()
    before = place.count()
    notebook.restart_and_run_all()
    until(lambda: "Shown again" in notebook.output(2))
    notebook.wait_idle()
    assert place.count() == before
    (place.lab.root / "facts.txt").write_text("two")
    notebook.restart_and_run_all()
    until(lambda: place.count() == before + 1)
    notebook.wait_idle()
    notebook.page.close()


def test_the_stream_goes_on_after_kill_9_and_nothing_is_doubled(place: Place) -> None:
    lines = [f"Line {number} of *many*, ü 漢 😀." for number in range(60)]
    script = "say alpha\nstep 1\nsay beta\nrewind\nsay gamma\n" + "\n".join(f"say {line}\nwait 0.05" for line in lines)
    notebook = place.lab.open("killed.ipynb", [LOAD, ask(f"{script}\nsay omega", "-o answer"), "print(answer.text)"])
    notebook.run_all()
    until(lambda: "Line 20" in notebook.output(1))
    found = embedded.status(place.data)
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    until(lambda: "omega" in notebook.output(1))
    notebook.wait_idle()
    for word in ("alpha", "beta", "gamma", "omega", *(f"Line {number} " for number in range(60))):
        assert notebook.output(1).count(word) == 1, word
    said = [line.strip() for line in notebook.output(2).splitlines() if line.strip()]
    assert said == ["alpha", "beta", "gamma", *lines, "omega"], "no character lost or twice"
    with place.client() as client:
        events = list(client.runs.iterate_events(place.last_run()))
    assert [event.id for event in events] == list(range(1, len(events) + 1))
    notebook.page.close()


def percent(notebook: Notebook) -> set[str]:
    return set(re.findall(r"\b\d+ ?%", notebook.output(1)))


def test_the_bar_of_a_job_moves_and_then_its_pictures_show(place: Place) -> None:
    echo = "%%job echo_job\nsteps: 20\nseconds: 3\nfiles: {}"
    images = "%%job create_images\nrequest.kind: static_ad\nrequest.brief: Autumn sale\n"
    images += 'request.outputs: {"mode": "count", "count": 4}'
    notebook = place.lab.open("job.ipynb", [LOAD, echo, images])
    notebook.run_all()
    seen: set[str] = set()

    def look() -> bool:
        seen.update(percent(notebook))
        return not notebook.busy() and "image" in notebook.output(2)

    until(look)
    assert len(seen) >= 3, f"the bar did not move: {seen}"
    pictures = notebook.page.locator(".jp-Cell-outputArea img")
    assert pictures.count() == 4
    assert all(src.startswith("data:image/") for src in pictures.evaluate_all("all => all.map(one => one.src)"))
    assert [len(cell) for cell in outputs(notebook.save())] == [0, 1, 1]
    notebook.page.close()


def test_the_key_is_in_its_file_and_nowhere_else(place: Place) -> None:
    cells = [LOAD, ask("say hello"), "%agentsvc", "%runs", ask("fail no_luck It did not work."), "%tb"]
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
