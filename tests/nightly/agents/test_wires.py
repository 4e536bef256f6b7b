"""Every scenario in each provider's form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.agents.wires.providers import LINE, MODELS_PAGE, PROVIDERS
from tests.unit.agents.wires.scenarios import SCENARIOS, Scenario, play


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("form", PROVIDERS)
def test_a_run_says_how_it_went(form: str, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(form, scenario, tmp_path, monkeypatch)


def test_each_recommended_line_is_one_that_is_run() -> None:
    lines = [model.partition(":")[0] for _, model in LINE.findall(MODELS_PAGE.read_text()) if ":" in model]
    assert sorted(set(lines)) == sorted(provider.line for provider in PROVIDERS.values())
