"""Store the providers' keys that users have typed for the service of a data folder (docs/models.md).

A key is stored in the system's keyring. If no keyring exists, it is stored in the file `model-keys.json` in the data
folder (mode 0600). A stored key is used only if the environment has no key, and is sent only to the address for which
the user typed it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from agentsvc_nb import system_keyring
from agentsvc_nb.model_names import address_variable, provider_of
from agentsvc_nb.service.config import ServiceConfig, load_config
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.settings import variable
from agentsvc_nb.wire.reading import read_json

MODEL_KEY: Final = variable("model_key")
"""The environment variable with the key of a self-hosted server, whichever provider's API the server has."""
_IN_RING: Final = "keyring"
PLACES: Final = {_IN_RING: "in the system's keyring", "file": "in a file that only you can read"}


class ModelKeys:
    """The stored keys of a data folder, by the environment variable from which providers' libraries would read them."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder

    def store(self, name: str, key: str, provider: str, address: str) -> str:
        """Store a key for the environment variable `name`, for models of a provider at an address. An empty address
        means the provider's own address.

        Returns the place where the key was stored, as a key of `PLACES`. Raises `OSError` if it can't be stored.
        """
        where = _IN_RING if system_keyring.store_checked(self._ring_name(name), key) else "file"
        entry = {"provider": _family(provider), "address": address, "key_in": where}
        self._write({**self._entries(), name: {**entry, "key": key if where == "file" else ""}})
        return where

    def place(self, name: str) -> str:
        """Return the place where the variable's key is stored, as a key of `PLACES`, or "" if no key is stored."""
        return str(self._entries().get(name, {}).get("key_in", ""))

    def has_key_for(self, name: str, address: str) -> bool:
        """Return True if a key is stored for this variable and this address."""
        entry = self._entries().get(name)
        return entry is not None and str(entry.get("address") or "") == address

    def places(self) -> dict[str, str]:
        """Return, for each variable with a stored key, where the key is stored."""
        return {name: self.place(name) for name in sorted(self._entries())}

    def variables(self, config: ServiceConfig) -> dict[str, str]:
        """Return the stored keys for a service's models, and the addresses for which they were typed, as environment
        variables. Leave out keys for addresses that the service does not use, and keys that the environment sets.
        """
        families = {_family(provider_of(model)) for model in config.settings.models or (config.settings.model,)}
        found: dict[str, str] = {}
        for name, entry in self._entries().items():
            family, address = str(entry.get("provider")), str(entry.get("address") or "")
            if family not in families or os.environ.get(name) or address != address_of(config, family):
                continue
            if key := self._key(name, entry):
                found[name] = key
                if address and name != MODEL_KEY:
                    found[address_variable(family)] = address
        return found

    def _key(self, name: str, entry: Mapping[str, Any]) -> str:
        kept = system_keyring.get(self._ring_name(name)) if entry.get("key_in") == _IN_RING else entry.get("key")
        return str(kept or "")

    def _entries(self) -> dict[str, dict[str, Any]]:
        found = _read_object(self._folder.model_keys)
        return {name: entry for name, entry in found.items() if isinstance(entry, dict)}

    def _write(self, entries: Mapping[str, Any]) -> None:
        write_private(self._folder.model_keys, json.dumps(entries, indent=1, sort_keys=True) + "\n")

    def _ring_name(self, name: str) -> str:
        return f"model:{name}@{self._folder.path}"


def address_of(config: ServiceConfig, provider: str) -> str:
    """Return the address at which the service calls this provider's models, or "" for the provider's own address."""
    own = config.settings.model_url if _family(provider_of(config.settings.model)) == _family(provider) else None
    name = address_variable(provider)
    return own or config.to_store.settings.get(name) or os.environ.get(name) or ""


def config_with_keys(data: str | Path | None = None, model: str | None = None) -> ServiceConfig:
    """Load the configuration for the process that calls the models. Also put the stored keys for these models into this
    process's environment, where the providers' libraries read them. Raises `SettingsError`.
    """
    config = load_config(data, model)
    kept = ModelKeys(DataFolder(config.settings.data)).variables(config)
    os.environ.update(kept)
    return load_config(data, model) if kept else config


def _family(provider: str) -> str:
    """Return the part of a provider's name that providers with the same key share: `openai` for `openai-chat`."""
    return provider.partition("-")[0]


def _read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or an empty object if the file is missing or unreadable."""
    try:
        found = read_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
