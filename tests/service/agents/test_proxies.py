"""A model is reached as the environment says; on loopback no variable is needed (docs/troubleshooting.md)."""

from __future__ import annotations

import pytest

from tests.service.agents.serving import language_service
from tests.unit.agents.chat_server import Reply
from tests.unit.wire.test_proxies import BROKEN, NAMES, setting


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("variables", [BROKEN[0], BROKEN[-1]], ids=lambda variables: ",".join(variables))
def test_a_model_on_this_machine_needs_no_variable(environment: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    setting(environment, variables)
    with language_service(Reply(("Hello.",))) as it:
        run = it.ask("hi")
        assert (run.status, run.output) == ("completed", "Hello.")
