"""Dollars stay dollars in whatever we show, and what is written as mathematics is marked for the host's typesetter."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

import agentsvc_nb
from agentsvc_nb.client.cards import IGNORED
from agentsvc_nb.documents.markdown import MEANT
from agentsvc_nb.notebook.display.markdown import to_html
from tests.notebook.images import png
from tests.notebook.screens import Cell
from tests.support.waiting import until

MONEY = "The media budget is $240,000 net; production has $55,000"
TAKEN = ("text/plain", "text/html", "application/vnd.jupyter.widget-view+json")


def formulas(markup: str) -> list[str]:
    """What is marked as mathematics."""
    return [unescape(found) for found in re.findall(rf'class="{MEANT}">(.*?)</', markup, re.DOTALL)]


def text(markup: str) -> str:
    return unescape(re.sub("<[^>]*>", "", markup))


@pytest.mark.parametrize(
    "said",
    [
        MONEY,
        "$x$",
        "Costs $$5 and $$10",
        "$$\n\nx = 1\n\n$$",
        r"\$5 and \$10",
        r"$$\href{https://x.example}\x{y} = 1$$",
        r"$$\def\x{y} = 1$$",
        r"\[citation needed\] and \[and/or\]",
        "`$$x = 1$$`, ``\\(x\\)`` and $5 `x` $6",
        "```\n$$x = 1$$\n```",
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
        (r"$$\text{\$5}$$", [r"$$\text{\$5}$$"]),
        (r"\(<script>alert(1)</script>\)", [r"\(<script>alert(1)</script>\)"]),
    ],
)
def test_what_is_written_as_mathematics_is_meant_as_it_stands(said: str, meant: list[str]) -> None:
    shown = to_html(said)
    assert formulas(shown) == meant
    assert "<script" not in shown
    assert "<em>" not in shown


class _Dollars(HTMLParser):
    """Finds dollars that a typesetter would look at."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[tuple[str, bool | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        ignored = (
            True if set(IGNORED.split()) <= set(classes) else False if set(MEANT.split()) <= set(classes) else None
        )
        if tag not in ("img", "br", "hr"):
            self._open.append((tag, ignored))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        ignored = next((said for _, said in reversed(self._open) if said is not None), False)
        if "$" in data and not ignored:
            self.found.append(data)


def bare_dollars(markup: str) -> list[str]:
    judge = _Dollars()
    judge.feed(markup)
    return judge.found


CELLS = [
    f"%%ask\nsay {MONEY}\nsay\nsay so \\\\(x^2\\\\)\nwrite out/$5-$6.md # {MONEY}\nwrite out/$1.csv $a,$b",
    f"%%ask --no-raise-error\nsay {MONEY}\nfail agent_error {MONEY}",
    f"%%ask --each df\nsay {MONEY} {{{{a}}}}",
    "%files",
    "%files preview out/$5-$6.md",
    "%files put $pictures",
    "%files gallery",
    "%search budget",
    "%runs",
    f"%%job echo_job\nsteps: 1\nseconds: 0\nmessage: {MONEY}",
    "%tools create_images",
    "agentsvc_nb.ToolForm('echo_job')",
]


@pytest.mark.usefixtures("connected")
def test_no_magic_leaves_a_dollar_to_the_typesetter(kernel: Any, tmp_path: Any) -> None:
    import pandas as pd

    (tmp_path / "$5 and $6.png").write_bytes(png())
    kernel.user_ns |= {"df": pd.DataFrame({"a": ["$1", "$2"]}), "agentsvc_nb": agentsvc_nb}
    seen = ""
    for cell in CELLS:
        for bundle in _bundles(kernel, cell.replace("$pictures", "'$5 and $6.png'")):
            assert set(bundle) <= set(TAKEN), cell
            assert [one for one in bare_dollars(bundle.get("text/html", "")) if "x^2" not in one] == [], cell
            seen += bundle.get("text/html", "")
    assert seen.count(MONEY) > 5
    assert "$5-$6.md" in seen
    assert "$5 and $6.png" in seen


def _bundles(kernel: Any, cell: str) -> list[dict[str, str]]:
    """All that the cell published, at any time, and what its value shows."""
    published: list[dict[str, str]] = []

    class Noting(Cell):
        def _sent(self, bundle: dict[str, str]) -> None:
            published.append(bundle)
            super()._sent(bundle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.notebook.shells.Cell", Noting)
        value = kernel.cell(cell, cell_id="c1")
    if hasattr(value, "wait"):
        value.wait()
        until(value.done)
    return [*published, value._repr_mimebundle_()] if hasattr(value, "_repr_mimebundle_") else published
