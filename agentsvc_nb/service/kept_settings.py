"""The settings that a data folder keeps, for whoever starts its next service (contract §8, docs/decisions/0029).

Keys are never among them, nor addresses that carry one: of these only the names are kept, so that it can be said what
is missing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from agentsvc_nb.service import setting_values as values
from agentsvc_nb.service.folder import DataFolder, write_private
from agentsvc_nb.service.settings import SETTINGS, Settings, SettingsError, variable

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
