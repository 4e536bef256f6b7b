"""What a service of a folder would be started with: what the folder keeps, and what is named (docs/decisions/0029)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentsvc_nb.service.config import ServiceConfig, load_config
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.settings import Settings, SettingsError, variable
from tests.unit.service.setting_examples import example

OWN = "http://127.0.0.1:8000/v1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    made = DataFolder(tmp_path / "data")
    made.make()
    return made


class Starter:
    """Starts services of the folder, each from an environment of its own."""

    def __init__(self, folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch

    def config(self, model: str | None = None, **env: str) -> ServiceConfig:
        with self._monkeypatch.context() as here:
            for name, value in env.items():
                here.setenv(name, value)
            return load_config(self.folder.path, model)

    def start(self, model: str | None = None, **env: str) -> Ready:
        """What the service says of itself that it would be."""
        config = self.config(model, **env)
        config.keep.write(self.folder)
        return Ready("i", "http://127.0.0.1:1", 1, "0", config.settings.settings_hash, "", config.settings.model)


@pytest.fixture
def starter(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> Starter:
    return Starter(folder, monkeypatch)


def test_every_setting_is_kept_but_the_folder_and_what_is_secret(
    starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alone, and what is kept reads as it was meant, wherever the next starter is."""
    lost = set()
    for name in Settings.model_fields.keys() - {"data"}:
        env = {variable(name): example(name)}
        starter.start(**env)
        meant = getattr(starter.config(**env).settings, name)
        monkeypatch.chdir(starter.folder.path)
        if getattr(starter.config().settings, name) != meant:
            lost.add(name)
    assert lost == {"model_key", "image_key", "web_search_key", "meta_token", "metrics_token", "secret", "mcp_keys"}


@pytest.mark.parametrize(
    "address", ["http://ada:secret@h.example/v1", "http://h.example/v1?key=secret", "http://h.example/v1#secret"]
)
def test_an_address_that_may_carry_a_secret_is_not_kept(starter: Starter, address: str) -> None:
    for name in ("MODEL", "META", "WEB_SEARCH", "IMAGE", "EMBEDDING"):
        starter.start(**{f"AGENTSVC_{name}_URL": address})
    starter.start("openai-chat:x", OPENAI_BASE_URL=address, AGENTSVC_MODEL_URL="")
    starter.start(AGENTSVC_SMTP_URL="smtp://ada:secret@h.example")
    assert "secret@" not in starter.folder.settings.read_text()
    assert "h.example" not in starter.folder.settings.read_text()
    assert "set OPENAI_BASE_URL" in str(starter.config().fault())


def test_whose_address_it_is(starter: Starter) -> None:
    """A provider's key may go where this environment leads, and not where only the folder does."""
    starter.start("openai-chat:x", AGENTSVC_MODEL_URL=OWN)
    assert starter.config().kept_url == OWN
    assert starter.config(OPENAI_BASE_URL="http://other.example").kept_url == OWN, "it is not asked there"
    assert starter.config(AGENTSVC_MODEL_URL=OWN).kept_url is None
    assert starter.config(AGENTSVC_MODEL_URL="").kept_url is None
    starter.start("openai-chat:x", OPENAI_BASE_URL=OWN, AGENTSVC_MODEL_URL="")
    assert starter.config().kept_url == OWN
    assert starter.config(OPENAI_BASE_URL="").kept_url is None
    assert starter.config("offline").kept_url is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 900_000,
        '{"settings": {"AGENTSVC_MODEL": 1}, "secrets": {}, "provider": ""}',
        '{"settings": {"AGENTSVC_RUN_CAPACITY": "many"}, "secrets": {}, "provider": ""}',
    ],
)
def test_settings_that_can_not_be_used_are_one_sentence_and_not_dropped(starter: Starter, text: str) -> None:
    """With the defaults it would be another service, whose runs end."""
    write_private(starter.folder.settings, text)
    with pytest.raises(SettingsError, match=f"{starter.folder.settings} can't be used: .*delete it"):
        starter.config()
    starter.folder.settings.unlink()
    assert starter.config().settings.model == "offline"
