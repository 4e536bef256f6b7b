"""Store a service's settings, and merge them with environment variables at the next start (docs/decisions/03)."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.model_names import (
    WITHOUT_LANGUAGE_MODEL,
    address_variable,
    key_variable,
    model_id,
    on_own_server,
    provider_of,
)
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.setting_types import may_hold_secret
from agentsvc_nb.settings import (
    Settings,
    SettingsError,
    variable,
)
from agentsvc_nb.wire.reading import read_json

if TYPE_CHECKING:
    from agentsvc_nb.agents.port import Agent


FIELDS: Final = {variable(name): name for name in Settings.model_fields if name != "data"}
"""The names of `Settings` fields, by environment variable. `data` is missing: a folder does not store its own path."""
_MODEL_VARIABLES: Final = frozenset(variable(name) for name in Settings.model_fields if name.startswith("model_"))


@dataclass(frozen=True)
class StoredSettings:
    """The stored settings: those with which the folder's service was last started."""

    settings: dict[str, str] = field(default_factory=dict)
    """Values by variable, as text: AGENTSVC_* and the address of the model's provider, such as OPENAI_BASE_URL."""
    secrets: dict[str, bool] = field(default_factory=dict)
    """Whether the last service had a value, by secret variable. The values of these variables are never stored."""
    provider: str = ""
    """The model provider to which the stored address, context length and other model settings belong."""

    @classmethod
    def read(cls, folder: DataFolder) -> StoredSettings:
        """Return the stored settings, empty for a new folder. Raises `SettingsError` if they can't be read."""
        try:
            text = folder.settings.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return _read_old_file(folder)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"{folder.settings} can't be read ({error}). Make it readable, or delete it to start with the defaults."
            ) from None
        try:
            record = read_json(text)
            kept = cls(dict(record["settings"]), dict(record["secrets"]), str(record["provider"]))
            Settings.from_env(kept.settings, data=folder.path)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            said = str(error) if isinstance(error, SettingsError) else "The file is not a valid settings record."
            raise SettingsError(
                f"{folder.settings} can't be used: {said} Correct the file, or delete it to start with the defaults."
            ) from None
        return kept

    def write(self, folder: DataFolder) -> None:
        """Store these settings (mode 0600) in the folder, whose lock the caller must hold. Raises `OSError`."""
        write_private(folder.settings, json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")
        folder.model.unlink(missing_ok=True)

    def for_model(self, model: str) -> StoredSettings:
        """Return these settings for use with `model`.

        If the provider of `model` is not the stored `provider`, leave out the model settings, the address and the key
        of the stored provider.
        """
        provider = provider_of(model)
        if not provider or not self.provider or provider == self.provider:
            return self
        gone = {*_MODEL_VARIABLES, address_variable(self.provider), key_variable(self.provider)}
        left = {name: text for name, text in self.settings.items() if name not in gone}
        return StoredSettings(left, {name: had for name, had in self.secrets.items() if name not in gone})

    def merge(self, named: Mapping[str, str], settings: Settings) -> StoredSettings:
        """Return the settings to store after a start that sets the variables `named`.

        `settings` is the complete configuration of that start. A variable with an empty value is no longer stored.
        """
        texts, secrets = dict(self.settings), dict.fromkeys(self.secrets, False)
        for name, text in named.items():
            texts.pop(name, None)
            secrets.pop(name, None)
            value = getattr(settings, FIELDS[name]) if name in FIELDS else text
            if text and _is_storable(name, value):
                texts[name] = _to_text(value)
            elif text:
                secrets[name] = True
        return StoredSettings(texts, secrets, provider_of(settings.model) or self.provider)

    def display(self, name: str) -> str:
        """Return a variable's value for display: `set` for a secret, and `unset` for a variable without a value."""
        return "set" if self.secrets.get(name) else self.settings.get(name, "unset")


def _is_storable(name: str, value: Any) -> bool:
    if name in FIELDS:
        return Settings.is_storable(FIELDS[name], value)
    return name.endswith("_BASE_URL") and not may_hold_secret(value)


def _to_text(value: Any) -> str:
    """Return the value as text from which `Settings` parses the same value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _read_old_file(folder: DataFolder) -> StoredSettings:
    """Read the model and its address from the two-line file of earlier versions, or return empty settings."""
    name, line_end, address = "", "", ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        name, line_end, address = folder.model.read_text(encoding="utf-8").partition("\n")
    if not name or not line_end:
        return StoredSettings()
    provider = provider_of(name)
    where = variable("model_url") if on_own_server(name) else address_variable(provider)
    at = {where: address.strip()} if provider and address.strip() else {}
    return StoredSettings({variable("model"): name, **at}, provider=provider)


MODEL: Final = variable("model")
MODELS: Final = variable("models")
MODEL_URL: Final = variable("model_url")
BLOBS: Final = variable("blobs")
DATABASE: Final = variable("database")
SECRET: Final = variable("secret")


@dataclass(frozen=True)
class ServiceConfig:
    """The settings for the next start of a folder's service, and their origin."""

    settings: Settings
    stored: StoredSettings
    """The settings that the folder stores now."""
    named: Mapping[str, str]
    """The values, as text by variable, that this start sets with the environment or with the argument `model`."""
    to_store: StoredSettings
    """The settings that the folder will store once the next service runs."""
    stored_url: str | None
    """The model's stored address, or None if none is stored or the environment names an address."""

    @property
    def model_is_stored(self) -> bool:
        """True if this start names no model, so that the service uses the stored model or the default model."""
        return not (self.named.get(MODEL) or self.named.get(MODELS))

    def agent(self) -> Agent:
        """Return the agent of the default model.

        If this start names a model that can't answer, raise `ValueError`. If the model is a stored one that can't
        answer, return an agent whose runs fail with the reason, so that the rest of the service works.
        """
        from agentsvc_nb import agents

        fault = self.fault()
        if fault and not self.model_is_stored:
            raise ValueError(fault)
        if fault:
            return agents.Unconfigured(fault)
        return agents.choose(self.settings.model, self.settings, self.stored_url)

    def others(self) -> dict[str, Agent]:
        """Return the agents of other offered models, by id. Runs fail with the reason if their model can't answer."""
        from agentsvc_nb import agents

        return {model_id(model): agents.offer(model, self.settings) for model in self.settings.models[1:]}

    def fault(self) -> str | None:
        """Return why the model can't answer and what to do, or None if no reason is known. This calls no model."""
        if self.settings.model in WITHOUT_LANGUAGE_MODEL:  # avoids an import of 80 ms
            return None
        from agentsvc_nb import agents

        fault = self.address_fault() or agents.why_not_configured(self.settings, self.stored_url)
        if fault and self.model_is_stored:
            again, without = (restart_command(self.settings.data, named) for named in ({}, {MODEL: "offline"}))
            asks = f"`agentsvc model {model_id(self.settings.model)}`, in a notebook with a `%` before it, does both"
            return f"{fault} Then restart the service: {again} (or continue without a model: {without}). {asks}."
        return fault

    def address_fault(self) -> str | None:
        """Return why the model's address can't be used, or None if it can be used.

        There are two possible reasons:

        - The service did not store the address, because it contains a password or a query.
        - The service stored the address, but the environment does not name it. A provider's key is never sent there.
        """
        provider = provider_of(self.settings.model)
        its_own = MODEL_URL if self.settings.model_url else address_variable(provider)
        for name in (MODEL_URL, its_own):
            if self.to_store.secrets.get(name) is False:
                return (
                    f"The service did not store the address of the model {self.settings.model}, because it contains a "
                    f"password or a query: set {name}."
                )
        if self.stored_url and its_own != MODEL_URL and not on_own_server(self.settings.model):
            return (
                f"The service stores the address {self.stored_url} for the model {self.settings.model}, but sends a "
                f"provider's key only to an address from the environment: set {its_own} to that address, or to an "
                "empty text for the provider's default."
            )
        return None

    def describe(self) -> list[str]:
        """Return one line per stored variable, with its value and, if different, its value at the next start."""
        names = sorted({*self.stored.settings, *self.stored.secrets, *self.to_store.settings, *self.to_store.secrets})
        return [self._describe(name) for name in names]

    def _describe(self, name: str) -> str:
        there, here = self.stored.display(name), self.to_store.display(name)
        beside = ["a secret, which is not stored"] if name in (self.stored.secrets | self.to_store.secrets) else []
        beside += [f"at the next start: {here}"] if here != there else []
        return f"{name}: {there}" + (f" ({'; '.join(beside)})" if beside else "")

    def notice(self, ready: ReadyFile) -> str | None:
        """Return a line that says how the running service's settings differ from these, or None if they are equal.

        The line contains the command that restarts the service with these settings.
        """
        running = StoredSettings.read(DataFolder(self.settings.data))
        if ready.model:
            running = replace(running, settings={**running.settings, MODEL: ready.model})
        differing = {
            name: (running.display(name), self.to_store.display(name))
            for name in self._differing_variables(running, ready)
        }
        if not differing:
            return None
        told = "; ".join(
            f"{name}: the service has {there}, you have {'another value' if here == there else here}"
            for name, (there, here) in differing.items()
        )
        secret = [name for name in differing if self.to_store.secrets.get(name)]
        where = f", in a terminal where {' and '.join(secret)} is set" if secret else ""
        texts = {name: self.to_store.settings.get(name, "") for name in differing if name not in secret}
        command = restart_command(self.settings.data, texts)
        return f"The running service has other settings than yours ({told}). Restart it with yours{where}: {command}"

    def _differing_variables(self, running: StoredSettings, ready: ReadyFile) -> list[str]:
        """Return the named variables whose values differ from those of the running service."""
        theirs = Settings.from_env(running.settings, data=self.settings.data)
        found = [name for name in self.named if self._differs(name, running, theirs)]
        here, there = _secret_settings(self.to_store), _secret_settings(running)
        if not found and here == there and self.settings.settings_hash != ready.settings_hash:
            return sorted(here)  # secret values are not stored, so only the hash of all settings shows a difference
        return found

    def _differs(self, name: str, running: StoredSettings, theirs: Settings) -> bool:
        if self.to_store.display(name) == running.display(name):
            return False
        if self.to_store.secrets.get(name) or running.secrets.get(name) or name not in FIELDS:
            return True
        return bool(getattr(self.settings, FIELDS[name]) != getattr(theirs, FIELDS[name]))


def _secret_settings(kept: StoredSettings) -> set[str]:
    """Return the variables of secret settings that have a value. Providers' keys are not settings and are left out."""
    return {name for name, had in kept.secrets.items() if had and name in FIELDS}


def load_config(data: str | Path | None = None, model: str | None = None, *, embedded: bool = False) -> ServiceConfig:
    """Return the configuration for the next start of the folder's service.

    The environment and `model` override the stored settings. An empty variable means the default. An `embedded` service
    ignores the variables for another database or blob store, because it stores everything in the folder. Raises
    `SettingsError`.
    """
    folder = DataFolder(data_folder(os.environ, data))
    environment = embedded_environment(os.environ) if embedded else os.environ
    env = environment if model is None else {**environment, MODEL: model}
    kept = StoredSettings.read(folder)
    offered = env.get(MODELS, kept.settings.get(MODELS, "")) if model is None else ""
    default = offered.partition(",")[0] or env.get(MODEL, kept.settings.get(MODEL, ""))
    before = kept.for_model(default.strip())
    settings = Settings.from_env({**before.settings, **environment}, data=folder.path, model=model)
    kept_url = _stored_url(settings, before, env)
    named = {name: env[name].strip() for name in _relevant_variables(settings, kept_url) if name in env}
    return ServiceConfig(settings, kept, named, before.merge(named, settings), kept_url)


def embedded_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that apply only to `agentsvc serve`."""
    return {name: text for name, text in env.items() if name not in (DATABASE, BLOBS, SECRET)}


def find_folder(data: str | Path | None = None) -> DataFolder:
    """Return the data folder, with the address of its PostgreSQL database, if any. Raises `SettingsError`."""
    path = data_folder(os.environ, data)
    address = os.environ.get(DATABASE)
    if address is None:
        with contextlib.suppress(SettingsError):  # a command that needs the other stored settings reports their errors
            address = StoredSettings.read(DataFolder(path)).settings.get(DATABASE)
    if not address:
        return DataFolder(path)
    settings = Settings.from_env({DATABASE: address, SECRET: os.environ.get(SECRET, "")}, data=path)
    return DataFolder(path, settings.database, settings.secret)


def _stored_url(settings: Settings, kept: StoredSettings, env: Mapping[str, str]) -> str | None:
    """Return the stored address of the model, or None if `env` names an address or none is stored."""
    provider = provider_of(settings.model)
    name = MODEL_URL if settings.model_url else address_variable(provider)
    return None if not provider or name in env else kept.settings.get(name)


def _relevant_variables(settings: Settings, kept_url: str | None) -> Iterator[str]:
    """Yield the variables that apply to a service with these settings.

    A provider's own variables, such as OPENAI_API_KEY, are included only if the service uses them to call the model,
    because other programs use them too.
    """
    yield from FIELDS
    if provider := provider_of(settings.model):
        if not settings.model_url:
            yield address_variable(provider)
        if not kept_url and not settings.model_key:
            yield key_variable(provider)


def restart_command(data: Path, named: Mapping[str, str] | None = None) -> str:
    """Return the shell command that restarts a folder's service with the variables `named`."""
    env = dict(named or {})
    model = ["--model", shlex.quote(env.pop(MODEL))] if env.get(MODEL) else []
    before = [f"{name}={shlex.quote(text) if text else ''}" for name, text in env.items()]
    return " ".join([*before, *_command(), "restart", "--data", shlex.quote(str(data)), *model])


def _command() -> list[str]:
    """Return the words that run this installation: `agentsvc` if the shell finds it, else Python with `-m`."""
    found = shutil.which("agentsvc")
    if found and Path(found).parent == Path(sys.executable).parent:
        return ["agentsvc"]
    return [shlex.quote(sys.executable), "-m", "agentsvc_nb"]
