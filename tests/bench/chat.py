"""A chat of 200 turns in JupyterLab: whether kernel and page stay as large and as quick as they were at its beginning.

Memory of the kernel is its resident set; of the page what its objects hold after a collection, and its elements. Work
is the time of the page's main thread for a turn of some 1,000 characters, without what this program asks the page; the
question is put into its field at once, because a browser lays a field out anew for each line that is typed.

python -m tests.bench.chat [--quick]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

from agentsvc_nb import embedded
from tests.bench.process import resident_mb
from tests.browser.lab import Lab, Notebook
from tests.support.waiting import until

TURNS: Final = 200
ANSWER: Final = "\n".join(f"say Some words of a *paragraph* {'and more of it ' * 8}\nsay" for _ in range(7))
LONG: Final = "\n".join(f"say Line {number} of a *long* answer: {'x' * 60}\nsay\nwait 0.05" for number in range(250))
_CELL: Final = "import agentsvc_nb, os\nprint(os.getpid())\nagentsvc_nb.Chat()"


def main(quick: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, data, homes = (Path(folder) / name for name in ("root", "data", "homes"))
        for each in (root, data, homes):
            each.mkdir()
        env = {"AGENTSVC_DATA": str(data), "AGENTSVC_MODEL": "scripted"}
        env |= {"XDG_DATA_HOME": str(homes), "XDG_STATE_HOME": str(homes)}
        try:
            with Lab(root, env) as lab:
                _measure(lab.open("chat.ipynb", [_CELL]), 60 if quick else TURNS)
        finally:
            embedded.stop(data)


def _measure(notebook: Notebook, turns: int) -> None:
    page = notebook.page
    notebook.run(0)
    page.get_by_label("Message").wait_for(timeout=60_000)
    kernel = int(notebook.output(0).split()[0])
    inspector = page.context.new_cdp_session(page)
    inspector.send("Performance.enable", {"timeDomain": "threadTicks"})
    print(f"{'turns':>6}{'kernel MB':>11}{'page MB':>9}{'elements':>10}{'ms a turn':>11}{'B a turn':>10}")
    worked, sent, last = _worked(inspector), notebook.kernel_bytes, 0
    for turn in range(1, turns + 1):
        _ask(notebook, f"{ANSWER}\nsay end {turn}.", f"end {turn}.\n")
        if turn in (1, 10, 35) or turn % 50 == 0:
            inspector.send("HeapProfiler.collectGarbage")
            now = _metrics(inspector)
            work = (_worked(inspector) - worked) * 1000 / (turn - last)
            weight = (notebook.kernel_bytes - sent) / (turn - last)
            megabytes = resident_mb(kernel), now["JSHeapUsedSize"] / 1e6
            print(f"{turn:6}{megabytes[0]:11.1f}{megabytes[1]:9.1f}{now['Nodes']:10.0f}{work:11.0f}{weight:10.0f}")
            worked, sent, last = _worked(inspector), notebook.kernel_bytes, turn
    before, sent, began = _worked(inspector), notebook.kernel_bytes, time.monotonic()
    _ask(notebook, f"{LONG}\nsay the last.", "the last.\n")
    share = (_worked(inspector) - before) / (time.monotonic() - began)
    cost = (notebook.kernel_bytes - sent) / 21_000
    print(f"20,000 characters then: {share:.0%} of the page's thread, {cost:.0f} B/char")


def _ask(notebook: Notebook, script: str, last: str) -> None:
    notebook.page.get_by_label("Message").evaluate("(field, script) => { field.value = script; }", script)
    notebook.page.get_by_role("button", name="Send").click()
    read = "last => document.querySelector('.asvc-log').textContent.slice(-300).includes(last.trim())"
    until(lambda: notebook.page.evaluate(f"({read})({last!r})"))
    notebook.page.get_by_role("button", name="Stop").wait_for(state="hidden")


def _metrics(inspector: Any) -> dict[str, float]:
    return {item["name"]: float(item["value"]) for item in inspector.send("Performance.getMetrics")["metrics"]}


def _worked(inspector: Any) -> float:
    now = _metrics(inspector)
    return now["TaskDuration"] - now["DevToolsCommandDuration"]


if __name__ == "__main__":
    main("--quick" in sys.argv)
