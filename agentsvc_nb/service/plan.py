"""Which service a folder has: the settings that it keeps, and what is to be done when others are wanted."""

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

from agentsvc_nb import settings as values
from agentsvc_nb.service.folder import DataFolder, Ready, write_private
from agentsvc_nb.settings import SETTINGS, Settings, SettingsError, data_folder, variable

if TYPE_CHECKING:
    from agentsvc_nb.agents.port import Agent


OPENAI_SHAPED: Final = ("openai", "openai-chat", "ollama")
"""Providers whose address may be that of any server that speaks OpenAI's chat completions."""
FIELDS: Final = {variable(name): name for name in SETTINGS if name != "data"}
"""The field of `Settings` of each variable; the folder itself is where all this lies."""
_OF_MODEL: Final = frozenset(variable(name) for name in SETTINGS if name.startswith("model_"))


@dataclass(frozen=True)
class KeptSettings:
    """What a folder's last service was started with.

    settings: texts by variable, which are AGENTSVC_* and the address of the model's provider, such as OPENAI_BASE_URL.
    secrets: variables whose values are never written, and whether the last service had them.
    provider: of the model that the address, the context, ... are about.
    """

    settings: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, bool] = field(default_factory=dict)
    provider: str = ""

    @classmethod
    def read(cls, folder: DataFolder) -> KeptSettings:
        """Those of the folder. Raises `SettingsError` when they can't be read: without them the next service would be
        another one."""
        try:
            text = folder.settings.read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError):
            return _of_earlier_version(folder)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"The settings that the folder keeps can't be read ({error}).") from None
        try:
            record = json.loads(text)
            kept = cls(dict(record["settings"]), dict(record["secrets"]), str(record["provider"]))
            Settings.from_env(kept.settings, data=folder.path)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            said = str(error) if isinstance(error, SettingsError) else "It is no record of settings."
            raise SettingsError(
                f"{folder.settings} can't be used: {said} Correct it, or delete it to start with the defaults."
            ) from None
        return kept

    def write(self, folder: DataFolder) -> None:
        """Make them the folder's, for this user alone. Only for who holds its lock. Raises `OSError`."""
        write_private(folder.settings, json.dumps(asdict(self), indent=1, sort_keys=True) + "\n")
        folder.model.unlink(missing_ok=True)

    def beside(self, model: str) -> KeptSettings:
        """What still counts with this model: one of another provider is not asked at the address of the last one."""
        provider = provider_of(model)
        if not provider or not self.provider or provider == self.provider:
            return self
        gone = {*_OF_MODEL, address_variable(self.provider), key_variable(self.provider)}
        left = {name: text for name, text in self.settings.items() if name not in gone}
        return KeptSettings(left, {name: had for name, had in self.secrets.items() if name not in gone})

    def changed(self, named: Mapping[str, str], settings: Settings) -> KeptSettings:
        """What is to be kept of a service that is started with these variables named, of which `settings` came.
        An empty one is forgotten."""
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
        """The value of a variable, for people: `set` for a secret."""
        return "set" if self.secrets.get(name) else self.settings.get(name, "unset")

    def missing(self) -> list[str]:
        """Secrets that an earlier service of the folder had and the last one had not."""
        return sorted(name for name, had in self.secrets.items() if not had)


def provider_of(model: str) -> str:
    """
    >>> provider_of("openai-chat:qwen3"), provider_of("offline")
    ('openai-chat', '')
    """
    return model.partition(":")[0] if ":" in model else ""


def address_variable(provider: str) -> str:
    """The variable in which providers' libraries look for another address, as most of them call it.

    >>> address_variable("openai-chat")
    'OPENAI_BASE_URL'
    """
    return f"{provider.partition('-')[0].upper()}_BASE_URL"


def key_variable(provider: str) -> str:
    """The variable in which providers' libraries look for the key, as most of them call it."""
    return f"{provider.partition('-')[0].upper()}_API_KEY"


def _may_be_kept(name: str, value: Any) -> bool:
    if name in FIELDS:
        return SETTINGS[FIELDS[name]].keep(value)
    return name.endswith("_BASE_URL") and values.without_secrets(value)


def _text(value: Any) -> str:
    """What reads as this value again."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _of_earlier_version(folder: DataFolder) -> KeptSettings:
    """The model and its address, in a file of two lines; nothing when there is none, or it lacks the address."""
    name, line_end, address = "", "", ""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        name, line_end, address = folder.model.read_text(encoding="utf-8").partition("\n")
    if not name or not line_end:
        return KeptSettings()
    provider = provider_of(name)
    where = variable("model_url") if provider in OPENAI_SHAPED else address_variable(provider)
    at = {where: address.strip()} if provider and address.strip() else {}
    return KeptSettings({variable("model"): name, **at}, provider=provider)


MODEL: Final = variable("model")
MODEL_URL: Final = variable("model_url")


@dataclass(frozen=True)
class ServicePlan:
    """What a service of a folder would be started with.

    kept: what the folder keeps now.
    named: the variables that count from here, with their texts; a model that was given as an argument is one.
    keep: what the folder keeps once that service runs.
    kept_url: where its model is asked when only the folder says so.
    """

    settings: Settings
    kept: KeptSettings
    named: Mapping[str, str]
    keep: KeptSettings
    kept_url: str | None

    @property
    def model_is_kept(self) -> bool:
        """Nobody named the model here: it is the folder's last, or the default."""
        return not self.named.get(MODEL)

    def agent(self) -> Agent:
        """What will answer. Raises `ValueError` for a model that is named and can't; in the place of a kept one all
        asking fails with the reason, and the rest of the service works."""
        from agentsvc_nb import agents

        fault = self.fault()
        if fault and not self.model_is_kept:
            raise ValueError(fault)
        return agents.Unconfigured(fault) if fault else agents.choose(self.settings.model, self.settings, self.kept_url)

    def fault(self) -> str | None:
        """What is seen to keep its model from answering, and what to do. It loads the library of a hosted one."""
        if not provider_of(self.settings.model):  # that is asked nowhere: 80 ms for the imports saved
            return None
        from agentsvc_nb import agents

        fault = self._address_fault() or agents.fault(self.settings, self.kept_url)
        if fault and self.model_is_kept:
            again, without = (restart_command(self.settings.data, named) for named in ({}, {MODEL: "offline"}))
            return f"{fault} Then restart the service there: {again} (or go on without the model: {without})."
        return fault

    def _address_fault(self) -> str | None:
        """Its address is kept in part only, or a key of this environment would be sent where that does not lead."""
        provider = provider_of(self.settings.model)
        its_own = MODEL_URL if self.settings.model_url else address_variable(provider)
        for name in (MODEL_URL, its_own):
            if self.keep.secrets.get(name) is False:
                return (
                    f"The model {self.settings.model} was asked at an address with a password or a query, which is "
                    f"not kept: set {name}."
                )
        if self.kept_url and its_own != MODEL_URL and provider not in OPENAI_SHAPED:
            return (
                f"The model {self.settings.model} was asked at {self.kept_url}, and no provider's key goes to an "
                f"address that is not named beside it: set {its_own} to that (or to nothing, for the provider's own)."
            )
        return None

    def described(self) -> list[str]:
        """What the folder keeps, a variable each, and what is otherwise here."""
        names = sorted({*self.kept.settings, *self.kept.secrets, *self.keep.settings, *self.keep.secrets})
        return [self._described(name) for name in names]

    def _described(self, name: str) -> str:
        there, here = self.kept.shown(name), self.keep.shown(name)
        beside = ["a secret, which is not kept"] if name in (self.kept.secrets | self.keep.secrets) else []
        beside += [f"here {here}"] if here != there else []
        return f"{name}: {there}" + (f" ({'; '.join(beside)})" if beside else "")

    def notice(self, ready: Ready) -> str | None:
        """One line when something that is named here is otherwise in the running service, with the command to copy."""
        running = KeptSettings.read(DataFolder(self.settings.data))
        if ready.model:
            running = replace(running, settings={**running.settings, MODEL: ready.model})
        differing = {name: (running.shown(name), self.keep.shown(name)) for name in self._differing(running, ready)}
        if not differing:
            return None
        told = "; ".join(
            f"{name}: there {there}, here {'another' if here == there else here}"
            for name, (there, here) in differing.items()
        )
        secret = [name for name in differing if self.keep.secrets.get(name)]
        where = f", in a terminal that has {' and '.join(secret)}" if secret else ""
        texts = {name: self.keep.settings.get(name, "") for name in differing if name not in secret}
        command = restart_command(self.settings.data, texts)
        return f"The running service has other settings than yours ({told}); to restart it with yours{where}: {command}"

    def _differing(self, running: KeptSettings, ready: Ready) -> list[str]:
        theirs = Settings.from_env(running.settings, data=self.settings.data)
        found = [name for name in self.named if self._differs(name, running, theirs)]
        here, there = _held(self.keep), _held(running)
        if not found and here == there and self.settings.settings_hash != ready.settings_hash:
            return sorted(here)  # of the values of secrets only the hash can tell
        return found

    def _differs(self, name: str, running: KeptSettings, theirs: Settings) -> bool:
        if self.keep.shown(name) == running.shown(name):
            return False
        if self.keep.secrets.get(name) or running.secrets.get(name) or name not in FIELDS:
            return True
        return bool(getattr(self.settings, FIELDS[name]) != getattr(theirs, FIELDS[name]))


def _held(kept: KeptSettings) -> set[str]:
    """The secrets of settings that it had; a provider's key is none."""
    return {name for name, had in kept.secrets.items() if had and name in FIELDS}


def plan_of(data: str | Path | None = None, model: str | None = None) -> ServicePlan:
    """What a service of the folder would be started with from here: what it keeps, and what is named in the environment
    or by `model`, where an empty variable stands for the default. Raises `SettingsError`."""
    folder = DataFolder(data_folder(os.environ, data))
    env = os.environ if model is None else {**os.environ, MODEL: model}
    kept = KeptSettings.read(folder)
    before = kept.beside(env.get(MODEL, kept.settings.get(MODEL, "")).strip())
    settings = Settings.from_env({**before.settings, **os.environ}, data=folder.path, model=model)
    kept_url = _kept_url(settings, before, env)
    named = {name: env[name].strip() for name in _counting(settings, kept_url) if name in env}
    return ServicePlan(settings, kept, named, before.changed(named, settings), kept_url)


def _kept_url(settings: Settings, kept: KeptSettings, env: Mapping[str, str]) -> str | None:
    provider = provider_of(settings.model)
    name = MODEL_URL if settings.model_url else address_variable(provider)
    return None if not provider or name in env else kept.settings.get(name)


def _counting(settings: Settings, kept_url: str | None) -> Iterator[str]:
    """The variables that such a service reads. Those of the model's provider are for other programs, too: they count
    where it is asked with them."""
    yield from FIELDS
    if provider := provider_of(settings.model):
        if not settings.model_url:
            yield address_variable(provider)
        if not kept_url and not settings.model_key:
            yield key_variable(provider)


def restart_command(data: Path, named: Mapping[str, str] | None = None) -> str:
    """What to type in a terminal to restart a folder's service, with these variables."""
    env = dict(named or {})
    model = ["--model", shlex.quote(env.pop(MODEL))] if env.get(MODEL) else []
    before = [f"{name}={shlex.quote(text) if text else ''}" for name, text in env.items()]
    return " ".join([*before, *_program(), "restart", "--data", shlex.quote(str(data)), *model])


def _program() -> list[str]:
    """`agentsvc`, where that is this installation's; a terminal may know none, or another."""
    found = shutil.which("agentsvc")
    if found and Path(found).parent == Path(sys.executable).parent:
        return ["agentsvc"]
    return [shlex.quote(sys.executable), "-m", "agentsvc_nb"]
