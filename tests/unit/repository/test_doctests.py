"""Run the examples in the docstrings of the package. Examples that need a service are marked `# doctest: +SKIP`."""

from __future__ import annotations

import builtins
import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in ROOT.glob("agentsvc_nb/**/*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_give_the_shown_result(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # doctest leaves this name behind. IPython would then not store its own results in it.
    monkeypatch.setattr(builtins, "_", None, raising=False)
    ran = doctest.testmod(importlib.import_module(name))
    assert ran.failed == 0, f"{ran.failed} of {ran.attempted} examples failed; see the captured output"
