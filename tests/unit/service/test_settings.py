"""Settings: read from `AGENTSVC_*`, refused with one sentence, compared by hash (docs/api/embedded.md "Settings")."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb import data_folder, settings
from agentsvc_nb.service.config import load_config
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.settings import Settings, SettingsError, variable

DATA: Final = Path("/srv/agentsvc")
BY_ADVICE: Final = {
    "at least 32 characters": "s" * 32,
    "a name": "n",
    "a number": "7",
    "a whole number": "7",
    "addresses without a path": "https://other.example.com",
    "an address": "http://127.0.0.1:8000",
    "an e-mail address": "a@b.example",
    "e-mail addresses": "@b.example,c@d.example",
    "tool groups": "ads,mail",
    "hosts": "host.example,127.0.0.1:8123",
    "keys of servers": "tickets=secret",
    "models": "scripted,offline",
    "names": "tickets",
    "offline": "scripted",
    "postgresql://": "postgresql:///agents",
    "prices": "ollama:qwen3=20/60",
    "s3://": "s3://files/ours",
    "searxng": "brave",
    "MCP servers": "tickets=https://tickets.example/mcp",
    "smtp://": "smtp://mail.example:25",
    "text or json": "json",
    "the key": "7",
    "the path": "/srv/other",
    "yes or no": "yes",
}


def example(name: str) -> str:
    """Return a valid text for the setting, which is not its default."""
    schema = Settings.model_json_schema()["properties"][name]
    advice: str = schema["advice"] if "advice" in schema else schema["anyOf"][0]["advice"]
    return next(text for start, text in BY_ADVICE.items() if advice.startswith(start))


def read(env: dict[str, str], **overrides: object) -> Settings:
    return Settings.from_env(env, data=DATA, **overrides)


@pytest.mark.rule("Default limits are those of the specification; a limit without a value does not exist.")
def test_defaults_are_the_limits_table() -> None:
    """Nothing set: the documented limits, the offline agent, and no limit that was not configured."""
    given = read({})
    assert (given.model, given.max_file_bytes, given.sync_hold_seconds) == ("offline", 100_000_000, 90)
    assert (given.ask_handle_seconds, given.gateway_seconds, given.upload_ttl_seconds) == (55, 120, 86_400)
    assert given.run_hold_cents == 1
    unset = (given.rate_per_minute, given.rate_per_day, given.run_capacity, given.wallet_cents, given.plan_pool_cents)
    assert unset == (None,) * 5


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_set_by_its_variable_and_read_somewhere(name: str) -> None:
    text = example(name)
    found = getattr(Settings.from_env({variable(name): text}), name)
    shown = ",".join(found) if isinstance(found, tuple) else str(found)
    assert shown.removesuffix(".0") == {"yes": "True"}.get(text, text)
    assert settings.warnings_for({variable(name): text}) == []
    assert re.search(rf"\.{name}\b", code())


@cache
def code() -> str:
    modules = sorted(Path(settings.__file__).parent.rglob("*.py"))
    return "".join(path.read_text() for path in modules if path.name != "settings.py")


def test_a_flag_beats_the_variable_and_an_empty_variable_is_unset() -> None:
    env = {"AGENTSVC_MODEL": "scripted", "AGENTSVC_RUN_CAPACITY": ""}
    assert read(env, model="offline").model == "offline"
    assert (read(env, model=None).model, read(env).run_capacity) == ("scripted", None)
    with pytest.raises(TypeError, match="colour"):
        read(env, colour="blue")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PUBLIC_URL", "https://agents.example.com/agents"),
        ("HOSTS", "a..ü"),
        ("MODEL", "openai-chat:"),
        ("RUN_CAPACITY", "-1"),
        ("WALLET_CENTS", "1.5"),
        ("DAY_CENTS", "1" + "0" * 30),
        ("MAX_FILE_BYTES", "0"),
        ("SYNC_HOLD_SECONDS", "nan"),
        ("FETCH_ALLOW", "http://127.0.0.1/"),
        ("WEB_SEARCH", "altavista"),
        ("MAIL_FROM", "Ana <ana@example.com>"),
        ("MAIL_RECIPIENTS", "everybody"),
        ("MODELS", "offline,offline"),
        ("PRICES", "ollama:x=1/-2"),
    ],
)
def test_bad_value_is_one_sentence_that_names_the_variable(name: str, text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read({f"AGENTSVC_{name}": text})
    message = str(caught.value)
    assert message.startswith(f"AGENTSVC_{name} is {text!r}. Use ")
    assert "\n" not in message


def test_a_secret_is_not_shown_when_it_is_wrong() -> None:
    with pytest.raises(SettingsError, match="AGENTSVC_IMAGE_KEY") as caught:
        read({"AGENTSVC_IMAGE_KEY": "two words"})
    assert "two words" not in str(caught.value)


def test_unknown_variable_is_a_warning() -> None:
    """A misspelt variable is named with its likely meaning; the notebook's own variable is not ours to warn about."""
    env = {"AGENTSVC_MODLE": "x", "AGENTSVC_QZX": "x", "AGENTSVC_BASE_URL": "x", "AGENTSVC_MODEL": "offline"}
    first, second = settings.warnings_for(env | {"HOME": "/"})
    assert "AGENTSVC_MODLE" in first
    assert "AGENTSVC_MODEL?" in first
    assert "AGENTSVC_QZX" in second


def test_default_folder_is_one_for_each_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home shared by two hosts holds two folders; a given folder is taken as it is."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folders = set()
    for host in ("one.example.com", "two.example.com"):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        folders.add(Settings.from_env({}).data)
    assert len(folders) == 2
    assert {folder.parent for folder in folders} == {data_folder.default_data().parent}
    assert Settings.from_env({"AGENTSVC_DATA": "/srv/a"}).data == Path("/srv/a")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataFolder:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name)
    made = DataFolder(tmp_path / "data")
    made.make()
    return made


@pytest.mark.rule("The data folder stores all settings except secrets.")
def test_every_setting_is_kept_but_the_folder_and_what_is_secret(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each alone, and what is kept reads as it was meant, wherever the next starter is."""
    lost = set()
    for name in Settings.model_fields.keys() - {"data"}:
        with monkeypatch.context() as here:
            here.setenv(variable(name), example(name))
            meant = load_config(folder.path)
            meant.to_store.write(folder)
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
    with pytest.raises(SettingsError, match=f"{folder.settings}.*delete"):
        load_config(folder.path)
    folder.settings.unlink()
    assert load_config(folder.path).settings.model == "offline"
