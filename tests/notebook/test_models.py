"""The model that a cell asks, and how much thought it gives (docs/api/models.md "Models by choice")."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.testing import RunningService, running_service

SEVERAL = {"models": "scripted,offline,openai-chat:gone", "model_url": "http://127.0.0.1:1"}


@pytest.fixture(scope="module")
def several() -> Iterator[RunningService]:
    with running_service("scripted", **SEVERAL) as service:
        yield service


@pytest.fixture(autouse=True)
def connected(several: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", several.api_key)
    monkeypatch.setenv("AGENTSVC_BASE_URL", several.base_url)


def shown(kernel: Any) -> str:
    return str(kernel.shown.outputs[-1]["text/plain"])


def test_a_cell_names_its_model_and_the_status_line_does_too(kernel: Any) -> None:
    answer = kernel.cell("%%ask --model offline --effort low\nHello")
    assert answer.run.model == "offline"
    assert " · offline, " in shown(kernel)
    answer = kernel.cell("%%ask --model scripted\nsay x")
    assert answer.run.model == "scripted"
    assert " · scripted, " in shown(kernel)
    assert kernel.cell("%%ask\nsay x").run.model == "scripted"


def test_an_unknown_model_is_said_with_those_that_there_are(terminal: Any) -> None:
    with pytest.raises(AskError, match="'nonsense' is not offered: scripted, offline, openai-chat:gone"):
        terminal.cell("%%ask --model nonsense\nsay x")
    with pytest.raises(AskError, match="effort"):
        terminal.cell("%%ask --effort huge\nsay x")


def test_all_ways_of_asking_name_it(terminal: Any, several: RunningService) -> None:
    with AgentService(several.api_key, several.base_url) as client:

        def model(run_id: str) -> str:
            return client.runs.get(run_id).model or ""

        waiting = terminal.cell("%%ask --bg --model offline\nHello")
        assert model(waiting.wait().run_id) == "offline"
        terminal.user_ns["table"] = pd.DataFrame({"a": ["x"]})
        rows = terminal.cell("%%ask --each table --model offline --effort high\nHello {{a}}").frame
        assert "offline agent" in rows["answer"][0]
        scripted = terminal.cell("%%ask --each table\nsay Hello {{a}}").frame
        assert list(scripted["answer"]) == ["Hello x"], "what another model answered is not it"


def test_connected_it_is_the_default_of_the_notebook_that_is_chosen(
    terminal: Any, several: RunningService, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.cell("%agentsvc model offline")
    told = capsys.readouterr().out
    assert "offline answers in this notebook from now on" in told
    assert "operator" in told
    assert terminal.cell("%%ask\nHello").run.model == "offline"
    terminal.cell("%agentsvc")
    assert "model    offline (\x1b[1m%config Ask.model\x1b[0m)" in capsys.readouterr().out
    with pytest.raises(AskError, match=f"{several.base_url} does not offer nonsense, but scripted, offline"):
        terminal.cell("%agentsvc model nonsense")
    with pytest.raises(AskError, match=r"openai-chat:gone can't answer at .* now \(unreachable\)"):
        terminal.cell("%agentsvc model openai-chat:gone")
    assert terminal.cell("%%ask\nHello").run.model == "offline"
    terminal.cell("%agentsvc model scripted")
    assert terminal.cell("%%ask\nsay x").run.model == "scripted"
