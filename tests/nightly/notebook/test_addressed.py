"""A widget in a real kernel that a page talks to, and then another page (docs/decisions/0025)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.jupyter import Jupyter, jupyter
from tests.support.waiting import until

VIEW = """
from agentsvc_nb.notebook.widgets.front import Front

front, heard = Front("live", "writing", "chat"), []
front.on("press", lambda content, _: (heard.append(content), front.change({"heard": str(len(heard))})))
print(front.comm.comm_id)
"""
PRESS = {"method": "custom", "content": {"do": "press"}}
HEARD = "print(len(heard))"


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Jupyter]:
    with jupyter(tmp_path) as started:
        yield started


def test_a_press_is_heard_when_the_subshell_that_was_answered_is_gone(kernel: Jupyter) -> None:
    view = kernel.run(VIEW).printed.strip()
    pages = [kernel.control("create_subshell_request")["subshell_id"] for _ in range(2)]
    kernel.say_to(view, PRESS, pages[0])
    until(lambda: kernel.run(HEARD).printed.strip() == "1")
    kernel.control("delete_subshell_request", subshell_id=pages[0])
    kernel.say_to(view, PRESS, pages[1])
    assert until(lambda: kernel.run(HEARD).printed.strip() == "2")
    kernel.run("front.close()")
