"""Settings: read from `AGENTSVC_*`, refused with one sentence, compared by hash (docs/api/embedded.md "Settings")."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentsvc_nb import data_folder, model_names, settings
from agentsvc_nb.agents import choose
from agentsvc_nb.settings import Settings, SettingsError
from tests.unit.service.setting_examples import example

DATA = Path("/srv/agentsvc")


def read(env: dict[str, str], **overrides: object) -> Settings:
    return Settings.from_env(env, data=DATA, **overrides)


def test_defaults_are_the_limits_table() -> None:
    """Nothing set: the documented limits, the offline agent, and no limit that was not configured."""
    given = read({})
    assert (given.model, given.max_file_bytes, given.sync_hold_seconds) == ("offline", 100_000_000, 90)
    assert (given.ask_handle_seconds, given.gateway_seconds, given.upload_ttl_seconds) == (55, 120, 86_400)
    assert given.run_hold_cents == 1
    unset = (given.rate_per_minute, given.rate_per_day, given.run_capacity, given.wallet_cents, given.plan_pool_cents)
    assert unset == (None,) * 5


def test_every_field_is_read_somewhere() -> None:
    package = Path(settings.__file__).parent
    code = "".join(path.read_text() for path in package.rglob("*.py") if path.name != "settings.py")
    assert [name for name in Settings.model_fields if not re.search(rf"\.{name}\b", code)] == []


def test_every_field_can_be_set_by_its_variable() -> None:
    """Each field has a variable that changes it, and no variable stands without a field."""
    for name in Settings.model_fields:
        text = example(name)
        found = getattr(Settings.from_env({settings.variable(name): text}), name)
        shown = ",".join(found) if isinstance(found, tuple) else str(found)
        assert shown.removesuffix(".0") == {"yes": "True"}.get(text, text)


def test_overrides_win_and_none_is_absent() -> None:
    """A flag beats the variable; a flag that was not given leaves it."""
    env = {"AGENTSVC_MODEL": "scripted"}
    assert read(env, model="offline").model == "offline"
    assert read(env, model=None).model == "scripted"
    with pytest.raises(TypeError, match="no such setting: colour"):
        read(env, colour="blue")


def test_empty_variable_is_unset() -> None:
    """`AGENTSVC_RUN_CAPACITY=` in a compose file means no limit, not an error."""
    assert read({"AGENTSVC_RUN_CAPACITY": ""}).run_capacity is None


def test_a_secret_is_not_shown_when_it_is_wrong() -> None:
    with pytest.raises(SettingsError) as caught:
        read({"AGENTSVC_IMAGE_KEY": "two words"})
    assert "two words" not in str(caught.value)
    assert str(caught.value).startswith("AGENTSVC_IMAGE_KEY is not usable: give ")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("PUBLIC_URL", "agents.example.com"),
        ("PUBLIC_URL", "https://agents.example.com/agents"),
        ("PUBLIC_URL", "ftp://agents.example.com"),
        ("PUBLIC_URL", "https://a@agents.example.com"),
        ("PUBLIC_URL", "https://a..ü"),
        ("HOSTS", "a..ü"),
        ("HOSTS", f"{'ü' * 64}.example:80"),
        ("MODEL", "gpt"),
        ("MODEL", "openai-chat:"),
        ("MODEL", ":x"),
        ("RUN_CAPACITY", "many"),
        ("RUN_CAPACITY", "-1"),
        ("WALLET_CENTS", "1.5"),
        ("MAX_FILE_BYTES", "0"),
        ("MAX_FILE_BYTES", "100 MB"),
        ("SYNC_HOLD_SECONDS", "nan"),
        ("SYNC_HOLD_SECONDS", "inf"),
        ("GATEWAY_SECONDS", "-1"),
        ("UPLOAD_TTL_SECONDS", "a day"),
        ("FETCH_ALLOW", "http://127.0.0.1/"),
        ("IMAGE_URL", "localhost:8080"),
        ("WEB_SEARCH", "altavista"),
        ("MAIL_FROM", "Ana <ana@example.com>"),
        ("MAIL_RECIPIENTS", "everybody"),
    ],
)
def test_bad_value_is_one_sentence_that_names_the_variable(name: str, text: str) -> None:
    """The sentence says which variable, what stands in it, and what to give."""
    with pytest.raises(SettingsError) as caught:
        read({f"AGENTSVC_{name}": text})
    message = str(caught.value)
    assert message.startswith(f"AGENTSVC_{name} is {text!r}: give ")
    assert message.endswith(".")
    assert "\n" not in message


def test_what_was_typed_is_named() -> None:
    """A bad model that was given, not set, is not blamed on a variable; only models that are there are offered."""
    with pytest.raises(SettingsError) as caught:
        read({"AGENTSVC_MODEL": "offline"}, model="gpt-4")
    message = str(caught.value)
    assert message.startswith("model is 'gpt-4': give offline, scripted, gguf:FILE or PROVIDER:MODEL")


def test_every_model_that_is_offered_has_an_agent() -> None:
    """What the settings let through, the service can start with."""
    for model in model_names.WITHOUT_LANGUAGE_MODEL:
        assert choose(read({}, model=model).model)


def test_folder_alone_needs_no_other_setting() -> None:
    """A service can be looked at and ended whatever stands in the variables of the next one."""
    assert data_folder.data_folder({"AGENTSVC_MODEL": "typo", "AGENTSVC_DATA": " /srv/a"}) == Path("/srv/a")
    assert data_folder.data_folder({"AGENTSVC_DATA": "/srv/a"}, "/srv/b") == Path("/srv/b")


def test_unknown_variable_is_a_warning() -> None:
    """A misspelt variable is named with its likely meaning; the notebook's own variable is not ours to warn about."""
    env = {
        "AGENTSVC_MODLE": "x",
        "AGENTSVC_QZX": "x",
        "AGENTSVC_BASE_URL": "x",
        "AGENTSVC_MODEL": "offline",
        "HOME": "/",
    }
    assert settings.warnings_for(env) == [
        "AGENTSVC_MODLE is not a setting and is ignored: did you mean AGENTSVC_MODEL?",
        "AGENTSVC_QZX is not a setting and is ignored.",
    ]


def test_every_setting_has_its_effect() -> None:
    assert settings.warnings_for({settings.variable(name): "1" for name in Settings.model_fields}) == []


def test_default_given_explicitly_is_the_same_service() -> None:
    """Saying the default aloud is not another configuration."""
    assert read({"AGENTSVC_SYNC_HOLD_SECONDS": "90"}).settings_hash == read({}).settings_hash


def test_hash_tells_behaviour_and_not_place() -> None:
    """The same service in another folder has the same hash; another model or limit has another."""
    here = Settings.from_env({}, data="/a").settings_hash
    assert here == Settings.from_env({}, data="/b").settings_hash
    others = {
        Settings.from_env({}, data="/a", **{name: "7"}).settings_hash for name in ("run_capacity", "max_file_bytes")
    }
    others.add(read({}, model="scripted").settings_hash)
    assert len(others | {here}) == 4


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


def test_the_first_of_several_models_is_the_default() -> None:
    several = {"AGENTSVC_MODELS": "ollama:qwen3, offline, gguf:/srv/small.gguf", "AGENTSVC_MODEL": "scripted"}
    given = read(several)
    assert (given.model, given.offered) == ("ollama:qwen3", ("ollama:qwen3", "offline", "gguf:small.gguf"))
    given = read(several, model="offline")
    assert (given.model, given.offered) == ("offline", ("offline", "ollama:qwen3", "gguf:small.gguf"))
    assert read({"AGENTSVC_MODEL": "gguf:/srv/small.gguf"}).offered == ("gguf:small.gguf",)
    with pytest.raises(SettingsError, match="AGENTSVC_MODELS does not name"):
        read(several, model="scripted")


@pytest.mark.parametrize("models", ["x", "offline,offline", "gguf:/a/x.gguf,gguf:/b/x.gguf", ","])
def test_models_are_named_once(models: str) -> None:
    with pytest.raises(SettingsError, match="each once"):
        read({"AGENTSVC_MODELS": models})


@pytest.mark.parametrize(
    "prices", ["x", "ollama:x=1", "ollama:x=1/-2", "ollama:x=1/2/3", "ollama:x=a/b", "ollama:x=1e9/2"]
)
def test_a_price_has_two_numbers(prices: str) -> None:
    with pytest.raises(SettingsError, match="cents a million tokens"):
        read({"AGENTSVC_PRICES": prices})
