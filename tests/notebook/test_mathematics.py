"""Dollars stay dollars in whatever we show, and what is written as mathematics is marked for the host's typesetter."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from agentsvc_nb.client.cards import IGNORED
from agentsvc_nb.documents.markdown import MEANT
from agentsvc_nb.notebook.display.markdown import to_html
from tests.notebook.shells import bundle_of

MONEY = "The media budget is $240,000 net; production has $55,000"


def formulas(markup: str) -> list[str]:
    """What is marked as mathematics."""
    return [unescape(found) for found in re.findall(rf'class="{MEANT}">(.*?)</', markup, re.DOTALL)]


@pytest.mark.parametrize(
    "said",
    [
        MONEY,
        "Costs $$5 and $$10",
        "$$\n\nx = 1\n\n$$",
        r"$$\href{https://x.example}\x{y} = 1$$",
        r"\[citation needed\] and \[and/or\]",
        "`$$x = 1$$`, ``\\(x\\)`` and $5 `x` $6",
    ],
)
def test_money_and_code_are_no_mathematics(said: str) -> None:
    assert formulas(to_html(said)) == []


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (r"Euler: \(e^{i\pi}+1=0\), and $5 or $6.", [r"\(e^{i\pi}+1=0\)"]),
        ("$$E=mc^2$$", ["$$E=mc^2$$"]),
        ("We get:\n\\[\n  x \\\\ y\n\\]\nand so on", ["\\[\n  x \\\\ y\n\\]"]),
        ("```math\n\\frac{a}{b}\n```", ["\\[\\frac{a}{b}\n\\]"]),
        (r"\(<script>alert(1)</script>\)", [r"\(<script>alert(1)</script>\)"]),
    ],
)
def test_what_is_written_as_mathematics_is_meant_as_it_stands(said: str, meant: list[str]) -> None:
    shown = to_html(said)
    assert formulas(shown) == meant
    assert "<script" not in shown
    assert "<em>" not in shown


CELLS = [
    f"%%ask\nsay {MONEY}\nwrite out/$5-$6.md # {MONEY}",
    f"%%ask --no-raise-error\nsay {MONEY}\nfail agent_error {MONEY}",
    "%files",
    "%files preview out/$5-$6.md",
    "%runs",
    f"%%job echo_job\nsteps: 1\nseconds: 0\nmessage: {MONEY}",
]


@pytest.mark.usefixtures("connected")
def test_no_magic_leaves_a_dollar_to_the_typesetter(kernel: Any) -> None:
    for cell in CELLS:
        value = kernel.cell(cell)
        for bundle in (*kernel.shown.outputs, bundle_of(value)):
            assert bundle["text/html"].startswith(f'<div class="{IGNORED}">'), cell
