"""A key that is typed in the place of a name is repeated in no output, and it is said what to type."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.language_models.switch import Dialogue, SwitchError, switch
from agentsvc_nb.notebook.errors import AskError
from agentsvc_nb.settings import Settings, SettingsError
from agentsvc_nb.testing import RunningService

SECRET = "Qq7Zz0Qq7Zz0Qq7Zz0"
KEY = f"sk-ant-api03-{SECRET}"
NO_SHAPE = f"{SECRET}0f3a9c0f3a9c"
IN_PLACE_OF_A_MODEL = (KEY, f"anthropic:{KEY}", f"{KEY}…", NO_SHAPE)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVICE_API_KEY", "AGENTSVC_BASE_URL", "AGENTSVC_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTSVC_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("typed", IN_PLACE_OF_A_MODEL)
def test_a_switch_asks_for_the_name(typed: str) -> None:
    with pytest.raises(SwitchError) as refused:
        switch(typed, Dialogue(None, None, lambda line: None, "agentsvc model"))
    assert "looks like a key" in str(refused.value)
    assert "Give the model's name" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "line",
    [
        f"%agentsvc model {KEY}",
        f"%agentsvc connect {KEY}",
        f"%agentsvc connect {NO_SHAPE}",
        f"%%ask --model {KEY}\nHello",
        f"%%ask --fast={KEY}\nHello",
    ],
)
def test_a_notebook_does_not_repeat_it(terminal: Any, line: str) -> None:
    with pytest.raises(AskError) as refused:
        terminal.run_cell(line).raise_error()
    assert "key" in str(refused.value) or "[redacted]" in str(refused.value)
    assert SECRET not in str(refused.value)
    assert SECRET not in repr(refused.value)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "words",
    [("model", KEY), ("model", "pull", KEY), (KEY,), ("ask", "Hello", "--model", KEY), ("serve", "--model", KEY)],
)
def test_a_command_does_not_repeat_it(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.suppress(SystemExit):
        assert main(words)
    said = "".join(capsys.readouterr())
    assert "looks like a key" in said or "[redacted]" in said
    assert SECRET not in said


@pytest.mark.parametrize(
    "variables",
    [{"AGENTSVC_MODEL": KEY}, {"AGENTSVC_MODELS": f"offline,{KEY}"}, {"AGENTSVC_MODEL_URL": KEY}],
)
def test_a_setting_does_not_repeat_it(variables: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match="looks like a key") as refused:
        Settings.from_env(variables)
    assert SECRET not in str(refused.value)


def test_a_service_does_not_repeat_it(client: AgentService, service: RunningService) -> None:
    with pytest.raises(StefanBrainError, match="looks like a key") as refused:
        client.runs.start("Hello", model=KEY)
    assert refused.value.code == "invalid_model"
    assert SECRET not in str(refused.value)
