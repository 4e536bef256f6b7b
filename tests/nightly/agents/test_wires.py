"""Every scenario in each provider's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.agents.test_wires import SCENARIOS, play
from tests.unit.agents.wires.providers import LINE, MODELS_PAGE, PROVIDERS


@pytest.mark.parametrize(
    ("form", "name"),
    [(form, name) for form in PROVIDERS for name in SCENARIOS if SCENARIOS[name].but.get(form, {}) is not None],
)
def test_a_run_says_how_it_went(form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(form, name, tmp_path, monkeypatch)


def test_each_recommended_line_is_one_that_is_run() -> None:
    lines = [model.partition(":")[0] for _, model in LINE.findall(MODELS_PAGE.read_text()) if ":" in model]
    assert sorted(set(lines)) == sorted(provider.line for provider in PROVIDERS.values())
