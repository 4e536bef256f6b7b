"""A widget in a real kernel that a page talks to, and then another page (docs/decisions/0025)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.jupyter import Jupyter, jupyter
from tests.waiting import until

BUTTON = """
from agentsvc_nb.notebook.widgets import design

def pressed(button):
    button.description += "!"

box, button = design.frame([]), design.button("Press", "")
button.on_click(pressed)
box.children = (*box.children, design.row([button]))
print(button.comm.comm_id)
"""
CLICK = {"method": "custom", "content": {"event": "click"}}


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Jupyter]:
    with jupyter(tmp_path) as started:
        yield started


def test_a_button_is_heard_when_the_subshell_that_it_spoke_to_is_gone(kernel: Jupyter) -> None:
    button = kernel.run(BUTTON).printed.strip()
    pages = [kernel.control("create_subshell_request")["subshell_id"] for _ in range(2)]
    kernel.say_to(button, CLICK, pages[0])
    until(lambda: kernel.run("print(button.description)").printed.strip() == "Press!")
    kernel.control("delete_subshell_request", subshell_id=pages[0])
    kernel.say_to(button, CLICK, pages[1])
    assert until(lambda: kernel.run("print(button.description)").printed.strip() == "Press!!")
