"""A model is reached as the environment says; on loopback no variable is needed (docs/questions.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentsvc_nb import agents
from agentsvc_nb.settings import Settings
from tests.service.agents.serving import language_service
from tests.unit.agents.chat_server import Reply
from tests.unit.service.tooling import call, made, task
from tests.unit.wire.test_proxies import BROKEN, NAMES, setting


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("variables", [BROKEN[0], BROKEN[-1]], ids=lambda variables: ",".join(variables))
def test_a_model_on_this_machine_needs_no_variable(
    environment: pytest.MonkeyPatch, variables: dict[str, str], tmp_path: Path
) -> None:
    setting(environment, variables)
    with language_service(Reply(("Hello.",))) as it:
        run = it.ask("hi")
        assert (run.status, run.output) == ("completed", "Hello.")


@pytest.mark.parametrize("variables", BROKEN[:4], ids=lambda variables: ",".join(variables))
def test_a_variable_that_keeps_a_provider_away_is_named(
    environment: pytest.MonkeyPatch, variables: dict[str, str], tmp_path: Path
) -> None:
    environment.setenv("OPENAI_API_KEY", "sk-x")
    environment.delenv("OPENAI_BASE_URL", raising=False)
    settings = Settings(tmp_path, model="openai:gpt-5.2")
    assert agents.fault(settings) is None
    setting(environment, variables)
    fault = agents.fault(settings) or ""
    assert fault.startswith("The model's server can't be reached. ")
    assert any(name in fault for name in variables)


def test_a_variable_that_keeps_a_search_away_is_named(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("SSL_CERT_FILE", "/nowhere/company.pem")
    tool = made(tmp_path, "web_search", web_search="searxng", web_search_url="https://search.test")
    code, said = call(tool, task(tmp_path), query="tents").error or ("", "")
    assert (code, "can't be reached. SSL_CERT_FILE names '/nowhere/company.pem'" in said) == ("upstream_failed", True)
