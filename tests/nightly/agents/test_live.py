"""`python -m tests.nightly.live` asks questions, stays within its cents, and says what it lacks; here of a stand-in."""

from __future__ import annotations

import re

import pytest

from tests.nightly.live import scenarios
from tests.nightly.live.__main__ import main
from tests.nightly.live.standing_in import KnowingServer
from tests.unit.agents.wires.providers import PROVIDERS


def test_without_a_key_it_says_which(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert main(["--provider", "anthropic"]) == 2
    assert capsys.readouterr().err == "Anthropic needs a key: set ANTHROPIC_API_KEY.\n"


@pytest.mark.timeout(400)  # twelve services
@pytest.mark.parametrize("name", ["anthropic", "responses"])
def test_of_a_model_that_answers_all_twelve_are_as_they_should_be(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    provider = PROVIDERS[name]
    model = provider.recommended()[0]
    server = KnowingServer(provider.form)
    monkeypatch.setenv(provider.key, "any")
    monkeypatch.setenv(provider.address, server.url + provider.path)
    try:
        ended = main(["--provider", name, "--model", model, "--max-cents", "50"])
    finally:
        server.close()
    *lines, last = capsys.readouterr().out.splitlines()
    assert (server.refused, server.faults) == ([], [])
    assert lines == [f"ok   {each.name}" for each in scenarios.SCENARIOS]
    assert re.fullmatch(r"12 of 12 as they should be, for \d+\.\d\d cents\.", last)
    assert ended == 0
