"""Store the settings of a data folder, and configure the folder's next service with them (docs/decisions/03)."""

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
from agentsvc_nb.service.folder import DataFolder, Ready
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
"""The field of `Settings` for each environment variable, without `data`, because a data folder does not store its own
path.
"""
_OF_MODEL: Final = frozenset(variable(name) for name in Settings.model_fields if name.startswith("model_"))


@dataclass(frozen=True)
class KeptSettings:
    """The settings with which a folder's last service was started.

    settings: values as text, by variable: AGENTSVC_* and the address of the model's provider, such as OPENAI_BASE_URL.
    secrets: variables whose values are never stored, and whether the last service had a value for each.
    provider: the provider to whose model the stored address, context length and other model settings belong.
    """

    settings: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, bool] = field(default_factory=dict)
    provider: str = ""

    @classmethod
    def read(cls, folder: DataFolder) -> KeptSettings:
        """Return the folder's stored settings, or none for a new folder.

        Raises `SettingsError` if they can't be read, because the service must not start with different settings.
        """
        try:
            text = folder.settings.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return _of_earlier_version(folder)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"The settings stored in the data folder can't be read ({error}).") from None
        try:
            record = read_json(text)
            kept = cls(dict(record["settings"]), dict(record["secrets"]), str(record["provider"]))
            Settings.from_env(kept.settings, data=folder.path)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            said = str(error) if isinstance(error, SettingsError) else "The file is not a valid settings record."
            raise SettingsError(
                f"{folder.settings} can't be used: {said} Correct it, or delete it to start with the defaults."
            ) from None
        return kept

    def write(self, folder: DataFolder) -> None:
        """Store the settings in the folder, readable by this user only (mode 0600). Raises `OSError`.

        The caller must hold the folder's lock.
        """
        write_private(folder.settings, json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")
        folder.model.unlink(missing_ok=True)

    def beside(self, model: str) -> KeptSettings:
        """Return the settings that still apply to `model`.

        For a model of another provider, leave out the last model's stored address, key and other settings.
        """
        provider = provider_of(model)
        if not provider or not self.provider or provider == self.provider:
            return self
        gone = {*_OF_MODEL, address_variable(self.provider), key_variable(self.provider)}
        left = {name: text for name, text in self.settings.items() if name not in gone}
        return KeptSettings(left, {name: had for name, had in self.secrets.items() if name not in gone})

    def changed(self, named: Mapping[str, str], settings: Settings) -> KeptSettings:
        """Return the settings to store for a service that is started with the variables `named`.

        `settings` are the resulting settings. Remove variables with an empty value.
        """
        texts, secrets = dict(self.settings), dict.fromkeys(self.secrets, False)
        for name, text in named.items():
            texts.pop(name, None)
            secrets.pop(name, None)
            value = getattr(settings, FIELDS[name]) if name in FIELDS else text
            if text and _may_be_kept(name, value):
                texts[name] = _text(value)
            elif text:
                secrets[name] = True
        return KeptSettings(texts, secrets, provider_of(settings.model) or self.provider)

    def shown(self, name: str) -> str:
        """Return the value of a variable for display: `set` for a secret, and `unset` for a variable without a
        value.
        """
        return "set" if self.secrets.get(name) else self.settings.get(name, "unset")

    def missing(self) -> list[str]:
        """Return the variables of secrets that an earlier service of the folder had, but that the last service did not
        have.
        """
        return sorted(name for name, had in self.secrets.items() if not had)


def _may_be_kept(name: str, value: Any) -> bool:
    if name in FIELDS:
        return Settings.is_storable(FIELDS[name], value)
    return name.endswith("_BASE_URL") and not may_hold_secret(value)


def _text(value: Any) -> str:
    """Return the text from which this value can be read again."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _of_earlier_version(folder: DataFolder) -> KeptSettings:
    """Return the settings that earlier versions stored: a file with the model and the model's address on two lines.

    Return no settings if the file or its second line is missing.
    """
    name, line_end, address = "", "", ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        name, line_end, address = folder.model.read_text(encoding="utf-8").partition("\n")
    if not name or not line_end:
        return KeptSettings()
    provider = provider_of(name)
    where = variable("model_url") if on_own_server(name) else address_variable(provider)
    at = {where: address.strip()} if provider and address.strip() else {}
    return KeptSettings({variable("model"): name, **at}, provider=provider)


MODEL: Final = variable("model")
MODELS: Final = variable("models")
MODEL_URL: Final = variable("model_url")
BLOBS: Final = variable("blobs")
DATABASE: Final = variable("database")
SECRET: Final = variable("secret")


@dataclass(frozen=True)
class ServiceConfig:
    """The settings with which a folder's next service starts, and their origin.

    kept: the settings that the folder stores now.
    named: the variables given for this start, with their texts, from the environment and the `model` argument.
    keep: the settings that the folder will store once the next service runs.
    kept_url: the model's address, if only the stored settings name it.
    """

    settings: Settings
    kept: KeptSettings
    named: Mapping[str, str]
    keep: KeptSettings
    kept_url: str | None

    @property
    def model_is_kept(self) -> bool:
        """True if this start names no model. The model is then the folder's last one or the default."""
        return not (self.named.get(MODEL) or self.named.get(MODELS))

    def agent(self) -> Agent:
        """Return the agent of the service.

        If a stored model can't answer, all its runs fail with the reason, but the rest of the service works. Raises
        `ValueError` if this start names a model that can't answer.
        """
        from agentsvc_nb import agents

        fault = self.fault()
        if fault and not self.model_is_kept:
            raise ValueError(fault)
        return agents.Unconfigured(fault) if fault else agents.choose(self.settings.model, self.settings, self.kept_url)

    def others(self) -> dict[str, Agent]:
        """Return the agents of the other offered models by model id. If a model can't answer, its runs fail."""
        from agentsvc_nb import agents

        return {model_id(model): agents.offer(model, self.settings) for model in self.settings.models[1:]}

    def fault(self) -> str | None:
        """Return why the model can't answer and what to do, or None if no reason is known.

        This does not call the model, but imports the library of a hosted model.
        """
        if self.settings.model in WITHOUT_LANGUAGE_MODEL:  # saves 80 ms of imports
            return None
        from agentsvc_nb import agents

        fault = self.address_fault() or agents.fault(self.settings, self.kept_url)
        if fault and self.model_is_kept:
            again, without = (restart_command(self.settings.data, named) for named in ({}, {MODEL: "offline"}))
            asks = f"`agentsvc model {model_id(self.settings.model)}`, in a notebook with a `%` before it, does both"
            return f"{fault} Then restart the service: {again} (or continue without a model: {without}). {asks}."
        return fault

    def address_fault(self) -> str | None:
        """Return why the model's address can't be used, or None.

        Either only a part of the address is stored, or a key in this environment would be sent to a stored address that
        the environment does not name.
        """
        provider = provider_of(self.settings.model)
        its_own = MODEL_URL if self.settings.model_url else address_variable(provider)
        for name in (MODEL_URL, its_own):
            if self.keep.secrets.get(name) is False:
                return (
                    f"The service did not store the address of the model {self.settings.model}, because it contains a "
                    f"password or a query: set {name}."
                )
        if self.kept_url and its_own != MODEL_URL and not on_own_server(self.settings.model):
            return (
                f"The service stores the address {self.kept_url} for the model {self.settings.model}, but sends a "
                f"provider's key only to an address from the environment: set {its_own} to that address, or to an "
                "empty text for the provider's default."
            )
        return None

    def described(self) -> list[str]:
        """Return the stored settings, one line per variable, with the value for the next start if it differs."""
        names = sorted({*self.kept.settings, *self.kept.secrets, *self.keep.settings, *self.keep.secrets})
        return [self._described(name) for name in names]

    def _described(self, name: str) -> str:
        there, here = self.kept.shown(name), self.keep.shown(name)
        beside = ["a secret, which is not kept"] if name in (self.kept.secrets | self.keep.secrets) else []
        beside += [f"here {here}"] if here != there else []
        return f"{name}: {there}" + (f" ({'; '.join(beside)})" if beside else "")

    def notice(self, ready: Ready) -> str | None:
        """Return a line with the named settings that differ from those of the running service, or None.

        The line includes the command that restarts the service.
        """
        running = KeptSettings.read(DataFolder(self.settings.data))
        if ready.model:
            running = replace(running, settings={**running.settings, MODEL: ready.model})
        differing = {name: (running.shown(name), self.keep.shown(name)) for name in self._differing(running, ready)}
        if not differing:
            return None
        told = "; ".join(
            f"{name}: the service has {there}, you have {'another' if here == there else here}"
            for name, (there, here) in differing.items()
        )
        secret = [name for name in differing if self.keep.secrets.get(name)]
        where = f", in a terminal where {' and '.join(secret)} is set" if secret else ""
        texts = {name: self.keep.settings.get(name, "") for name in differing if name not in secret}
        command = restart_command(self.settings.data, texts)
        return f"The running service has other settings than yours ({told}). Restart it with yours{where}: {command}"

    def _differing(self, running: KeptSettings, ready: Ready) -> list[str]:
        """Return the named variables whose values differ from those of the running service."""
        theirs = Settings.from_env(running.settings, data=self.settings.data)
        found = [name for name in self.named if self._differs(name, running, theirs)]
        here, there = _held(self.keep), _held(running)
        if not found and here == there and self.settings.settings_hash != ready.settings_hash:
            return sorted(here)  # secret values are not stored, so only the hash shows a difference
        return found

    def _differs(self, name: str, running: KeptSettings, theirs: Settings) -> bool:
        if self.keep.shown(name) == running.shown(name):
            return False
        if self.keep.secrets.get(name) or running.secrets.get(name) or name not in FIELDS:
            return True
        return bool(getattr(self.settings, FIELDS[name]) != getattr(theirs, FIELDS[name]))


def _held(kept: KeptSettings) -> set[str]:
    """Return the variables of secret settings that had a value. A provider's own key is not a setting."""
    return {name for name, had in kept.secrets.items() if had and name in FIELDS}


def load_config(data: str | Path | None = None, model: str | None = None, *, embedded: bool = False) -> ServiceConfig:
    """Return the configuration of the folder's next service.

    The environment and `model` override the stored settings. An empty variable means the default. An `embedded` service
    stores its database and all contents of files in the folder. Raises `SettingsError`.
    """
    folder = DataFolder(data_folder(os.environ, data))
    environment = for_embedded(os.environ) if embedded else os.environ
    env = environment if model is None else {**environment, MODEL: model}
    kept = KeptSettings.read(folder)
    offered = env.get(MODELS, kept.settings.get(MODELS, "")) if model is None else ""
    default = offered.partition(",")[0] or env.get(MODEL, kept.settings.get(MODEL, ""))
    before = kept.beside(default.strip())
    settings = Settings.from_env({**before.settings, **environment}, data=folder.path, model=model)
    kept_url = _kept_url(settings, before, env)
    named = {name: env[name].strip() for name in _counting(settings, kept_url) if name in env}
    return ServiceConfig(settings, kept, named, before.changed(named, settings), kept_url)


def for_embedded(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without variables that apply only to `agentsvc serve`."""
    return {name: text for name, text in env.items() if name not in (DATABASE, BLOBS, SECRET)}


def folder_of(data: str | Path | None = None) -> DataFolder:
    """Return the data folder with its database: that of AGENTSVC_DATABASE, else the stored database, else the folder's
    own.

    Raises `SettingsError`.
    """
    path = data_folder(os.environ, data)
    address = os.environ.get(DATABASE)
    if address is None:
        with contextlib.suppress(SettingsError):  # commands that need the other settings report their errors
            address = KeptSettings.read(DataFolder(path)).settings.get(DATABASE)
    if not address:
        return DataFolder(path)
    settings = Settings.from_env({DATABASE: address, SECRET: os.environ.get(SECRET, "")}, data=path)
    return DataFolder(path, settings.database, settings.secret)


def _kept_url(settings: Settings, kept: KeptSettings, env: Mapping[str, str]) -> str | None:
    """Return the model's address if it is stored and not named in `env`, or None."""
    provider = provider_of(settings.model)
    name = MODEL_URL if settings.model_url else address_variable(provider)
    return None if not provider or name in env else kept.settings.get(name)


def _counting(settings: Settings, kept_url: str | None) -> Iterator[str]:
    """Yield the variables that apply to a service with these settings.

    Other programs also use the provider's own variables, so yield those only if the model is called with them.
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
    return " ".join([*before, *_program(), "restart", "--data", shlex.quote(str(data)), *model])


def _program() -> list[str]:
    """Return `agentsvc` if that is this installation's command, otherwise this Python with `-m agentsvc_nb`.

    The shell may find no `agentsvc`, or another installation's.
    """
    found = shutil.which("agentsvc")
    if found and Path(found).parent == Path(sys.executable).parent:
        return ["agentsvc"]
    return [shlex.quote(sys.executable), "-m", "agentsvc_nb"]
