"""Dollars stay dollars in whatever we show, and what is written as mathematics is marked for the host's typesetter."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any

import ipywidgets
import pytest

import agentsvc_nb
from agentsvc_nb import AgentService
from agentsvc_nb.client.cards import IGNORED, Showing
from agentsvc_nb.documents.markdown import FORMULAS, MEANT
from agentsvc_nb.notebook.display.markdown import to_html
from agentsvc_nb.testing import RunningService
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
        "It costs $5, $6 or $7.",
        "$5$6",
        "$x$",
        "Costs $$5 and $$10",
        "From $$ to $$$ a night, or $$ - $$",
        "$$$ and $$$",
        "$$\n\nx = 1\n\n$$",
        r"\$5 and \$10",
        r"\[citation needed\] and \[and/or\]",
        r"- \[x\] done",
        r"\\(x\\)",
        "`$$x = 1$$`, ``\\(x\\)`` and $5 `x` $6",
        "    $$x = 1$$",
        "```\n$$x = 1$$\n```",
        "```python\n\\(x\\)\n```",
        r"\( \) and $$ $$",
        r"\(a `b\)` c",
        "| $5 | $6 |\n|---|---|\n| $7 | $8 |",
        "![$$](x) and [$$](y)",
    ],
)
def test_money_and_code_are_no_mathematics(said: str) -> None:
    assert formulas(to_html(said)) == []


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (r"Euler: \(e^{i\pi}+1=0\), and $5 or $6.", [r"\(e^{i\pi}+1=0\)"]),
        (r"\(a_1*b_1\) and \(c_2*d_2\)", [r"\(a_1*b_1\)", r"\(c_2*d_2\)"]),
        (r"so \[x^2\] it is", [r"\[x^2\]"]),
        ("$$E=mc^2$$", ["$$E=mc^2$$"]),
        ("with $$x_1 < y_1$$ in it", ["$$x_1 < y_1$$"]),
        ("$$\na\n+ b\n= c\n$$", ["$$\na\n+ b\n= c\n$$"]),
        ("We get:\n\\[\n  x \\\\ y\n\\]\nand so on", ["\\[\n  x \\\\ y\n\\]"]),
        ("- a\n\n  $$\n  x = 1\n  $$\n- b", ["$$\nx = 1\n$$"]),
        ("> \\[\n> a = b\n> \\]", ["\\[\na = b\n\\]"]),
        ("```math\n\\frac{a}{b}\n```", ["\\[\\frac{a}{b}\n\\]"]),
        (r"$$\text{\$5}$$", [r"$$\text{\$5}$$"]),
        (r"\(<script>alert(1)</script>\)", [r"\(<script>alert(1)</script>\)"]),
        ("| a |\n|---|\n| \\(x\\) |", [r"\(x\)"]),
    ],
)
def test_what_is_written_as_mathematics_is_meant_as_it_stands(said: str, meant: list[str]) -> None:
    shown = to_html(said)
    assert formulas(shown) == meant
    assert "<script" not in shown
    assert "<em>" not in shown


@pytest.mark.parametrize("command", ["href{https://x.example}", "class{jp-Dialog}", "def", "newcommand", "require{a}"])
def test_a_formula_that_does_more_than_that_is_text(command: str) -> None:
    written = rf"$$\{command}\x{{y}} = 1$$"
    shown = to_html(written)
    assert formulas(shown) == []
    assert text(shown).strip() == written


def test_so_many_are_typeset_and_no_more() -> None:
    shown = to_html(r"\(x\) " * (FORMULAS + 10))
    assert len(formulas(shown)) == FORMULAS
    assert text(shown).count(r"\(x\)") == FORMULAS + 10


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


def test_the_judge_sees_bare_dollars() -> None:
    assert bare_dollars(f'<div class="{IGNORED}"><p>$5<br>$6</p></div><p>$7</p>') == ["$7"]
    assert bare_dollars(f'<div class="{IGNORED}">$5 <span class="{MEANT}">$$x$$</span> $6</div>') == ["$$x$$"]


def classes() -> Iterator[type]:
    """All classes of the package."""
    for module in pkgutil.walk_packages(agentsvc_nb.__path__, "agentsvc_nb."):
        if not module.name.endswith("__main__"):
            found = importlib.import_module(module.name)
            yield from (one for one in vars(found).values() if isinstance(one, type) and one.__module__ == module.name)


def test_whatever_shows_itself_does_so_in_one_place() -> None:
    shows = [one for one in classes() if hasattr(one, "_repr_mimebundle_") and not issubclass(one, ipywidgets.Widget)]
    assert len(shows) > 10
    assert [one for one in shows if one._repr_mimebundle_ is not Showing._repr_mimebundle_] == []
    assert {one.__name__ for one in classes() if "_repr_html_" in vars(one)} == set()


CELLS = [
    f"%%ask\nsay {MONEY}\nsay\nsay so \\\\(x^2\\\\)\nwrite out/$5-$6.md # {MONEY}\nwrite out/$1.csv $a,$b",
    f"%%ask --no-raise-error\nsay {MONEY}\nfail agent_error {MONEY}",
    f"%%ask --each df\nsay {MONEY} {{{{a}}}}",
    f"%%ask --bg\nsay {MONEY}",
    "%files",
    "%files preview out/$5-$6.md",
    "%files preview out/$1.csv",
    "%files put $pictures",
    "%files gallery",
    "%search budget",
    "%runs",
    "%runs show last",
    f"%%job echo_job\nsteps: 1\nseconds: 0\nmessage: {MONEY}",
    "%jobs",
    "%tools",
    "%tools create_images",
    f"%%tool ask_stefanbrain\nmessage: say {MONEY}",
    f"%feedback send '{MONEY}'",
    "%feedback",
    "%agentsvc",
    "agentsvc_nb.ToolForm('echo_job')",
    "agentsvc_nb.Chat()",
]


@pytest.mark.parametrize("cell_id", ["", "c1"], ids=["static", "live"])
@pytest.mark.usefixtures("connected")
def test_no_magic_leaves_a_dollar_to_the_typesetter(kernel: Any, tmp_path: Any, cell_id: str) -> None:
    import pandas as pd

    (tmp_path / "$5 and $6.png").write_bytes(png())
    kernel.user_ns |= {"df": pd.DataFrame({"a": ["$1", "$2"]}), "agentsvc_nb": agentsvc_nb}
    seen = ""
    for cell in CELLS:
        session = kernel.find_line_magic("runs").__self__.session
        known = [row["run_id"] for row in session.journal.runs(None) if row["run_id"]]
        cell = cell.replace("{runs[0]}", str(known[:1])[2:-2]).replace("{runs[1]}", str(known[-1:])[2:-2])
        for bundle in _bundles(kernel, cell.replace("$pictures", "'$5 and $6.png'"), cell_id):
            assert set(bundle) <= set(TAKEN), cell
            assert [one for one in bare_dollars(bundle.get("text/html", "")) if "x^2" not in one] == [], cell
            seen += bundle.get("text/html", "")
    assert seen.count(MONEY) > 10
    assert "$5-$6.md" in seen
    assert "$5 and $6.png" in seen


def _bundles(kernel: Any, cell: str, cell_id: str) -> list[dict[str, str]]:
    """All that the cell published, at any time, and what its value shows."""
    published: list[dict[str, str]] = []

    class Noting(Cell):
        def _sent(self, bundle: dict[str, str]) -> None:
            published.append(bundle)
            super()._sent(bundle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.notebook.shells.Cell", Noting)
        value = kernel.cell(cell, cell_id=cell_id)
    if hasattr(value, "wait"):
        value.wait()
        until(value.done)
    return [*published, value._repr_mimebundle_()] if hasattr(value, "_repr_mimebundle_") else published


@pytest.mark.usefixtures("connected")
def test_no_result_of_the_client_leaves_one(client: AgentService, service: RunningService) -> None:
    done = client.runs.start(f"say {MONEY}\nwrite out/$5-$6.md {MONEY}", sync=True)
    chat = str(done.chat)
    shows: list[Callable[[], Any]] = [
        lambda: done,
        lambda: client.runs.events(done.run_id),
        lambda: client.files.list(chat).all(),
        lambda: client.files.search("$5", chat=chat),
        lambda: client.ask(f"say {MONEY}"),
        lambda: client.tools.list(),
        lambda: client.jobs.submit_and_wait("echo_job", {"steps": 1, "seconds": 0}, chat=chat),
    ]
    seen = ""
    for show in shows:
        bundle = show()._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/html"}
        assert bare_dollars(bundle["text/html"]) == []
        seen += bundle["text/html"]
    assert "$240,000" in seen
    assert "$5-$6.md" in seen
    assert bare_dollars(client.history._repr_mimebundle_()["text/html"]) == []
