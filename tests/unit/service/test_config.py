"""What a service of a folder would be started with: what the folder keeps, and what is named (docs/decisions/0029)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentsvc_nb.service.config import load_config
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.settings import Settings, SettingsError, variable
from tests.unit.service.test_settings import example


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    made = DataFolder(tmp_path / "data")
    made.make()
    return made


def test_every_setting_is_kept_but_the_folder_and_what_is_secret(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alone, and what is kept reads as it was meant, wherever the next starter is."""
    lost = set()
    for name in Settings.model_fields.keys() - {"data"}:
        with monkeypatch.context() as here:
            here.setenv(variable(name), example(name))
            meant = load_config(folder.path)
            meant.keep.write(folder)
        monkeypatch.chdir(folder.path)
        if getattr(load_config(folder.path).settings, name) != getattr(meant.settings, name):
            lost.add(name)
    assert lost == {"model_key", "image_key", "web_search_key", "meta_token", "metrics_token", "secret", "mcp_keys"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[" * 900_000,
        '{"settings": {"AGENTSVC_MODEL": 1}, "secrets": {}, "provider": ""}',
        '{"settings": {"AGENTSVC_RUN_CAPACITY": "many"}, "secrets": {}, "provider": ""}',
    ],
)
def test_settings_that_can_not_be_used_are_one_sentence_and_not_dropped(folder: DataFolder, text: str) -> None:
    """With the defaults it would be another service, whose runs end."""
    write_private(folder.settings, text)
    with pytest.raises(SettingsError, match=f"{folder.settings} can't be used: .*delete it"):
        load_config(folder.path)
    folder.settings.unlink()
    assert load_config(folder.path).settings.model == "offline"
