"""Read and store the configuration of the MCP servers whose tools runs use.

The operator configures servers in the settings. The user of an embedded service can add more servers. The user's
servers are stored in `mcp.json` in the data folder (mode 0600), and each run reads that file again. The servers' keys
are stored in the operating system's keyring, or in `mcp.json` if the system has no keyring. Keys are never shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from agentsvc_nb import system_keyring
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.settings import Settings
from agentsvc_nb.wire.reading import read_json

_IN_RING: Final = "keyring"
_NOT_IN_RING: Final = "its key is not in the keyring, or the keyring is locked"
_NOT_IN_BACKUP: Final = "backups contain no keys: add the server again, with its key"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Configures an MCP server, which has either a `url` or a `command` that starts it.

    Attributes:
        trusted: True if the service relies on what the server says about the effects of its tools.
        key: the server's key. A server with a `url` receives it as a Bearer token.
        key_as: the environment variable in which a `command` receives the key.
        lacking: why the stored key can't be read, or "" if it can be read.
    """

    name: str
    url: str = field(default="", repr=False)
    command: tuple[str, ...] = field(default=(), repr=False)
    trusted: bool = False
    key: str = field(default="", repr=False)
    key_as: str = ""
    allow: tuple[str, ...] = ()
    lacking: str = ""

    @property
    def place(self) -> str:
        """The server's address without its query, or its command without its arguments, which may contain secrets."""
        if self.command:
            return f"the command {self.command[0]}"
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"


def servers_in_settings(settings: Settings) -> list[ServerConfig]:
    """Return the servers in the setting `AGENTSVC_MCP_SERVERS`."""
    keys = dict(one.split("=", 1) for one in settings.mcp_keys)
    named = (one.split("=", 1) for one in settings.mcp_servers)
    return [
        ServerConfig(name, url, trusted=name in settings.mcp_trusted, key=keys.get(name, ""), allow=settings.mcp_allow)
        for name, url in named
    ]


class OwnServers:
    """Stores the servers that the user of an embedded service added, and the tools that each server last offered."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder

    def read(self, *, keys: bool = True) -> list[ServerConfig]:
        """Return the user's servers, sorted by name. With `keys` False, do not read the keys."""
        return [self._config(name, entry, keys) for name, entry in sorted(self._entries().items())]

    def add(self, server: ServerConfig) -> str:
        """Store a server, or replace the server with the same name.

        Return where the server's key is stored: `keyring`, `file`, or "" for a server without a key.
        """
        entry = {name: value for name, value in asdict(server).items() if name not in ("name", "key", "lacking")}
        where = ""
        if server.key:
            where = _IN_RING if system_keyring.store_checked(self._keyring_name(server.name), server.key) else "file"
            entry |= {"key": server.key if where == "file" else "", "key_in": where}
        self._write({**self._entries(), server.name: entry})
        return where

    def remove(self, name: str) -> bool:
        """Remove the server and its key. Return False if there is no server with this name."""
        entries = self._entries()
        entry = entries.pop(name, None)
        if entry is None:
            return False
        if entry.get("key_in") == _IN_RING:
            system_keyring.remove(self._keyring_name(name))
        self._write(entries)
        return True

    def without_keys(self) -> dict[str, Any]:
        """Return the entries of `mcp.json` without keys, for a backup."""
        return {name: {**entry, "key": ""} for name, entry in self._entries().items()}

    def restore(self, entries: Mapping[str, Any]) -> None:
        """Add the servers of a backup, except those whose names already exist."""
        self._write({**entries, **self._entries()})

    def last_offers(self) -> dict[str, Any]:
        """Return, by server name, what each server last offered to a run: its tools, or why it was unavailable."""
        return _read_object(self._folder.mcp_seen)

    def store_offers(self, found: Mapping[str, Any]) -> None:
        """Store what servers offered to a run, in the form of `last_offers`. Raises `OSError`."""
        write_private(self._folder.mcp_seen, json.dumps({**self.last_offers(), **found}, indent=1, ensure_ascii=False))

    def _config(self, name: str, entry: Mapping[str, Any], keys: bool) -> ServerConfig:
        listed = {field: tuple(map(str, entry.get(field) or ())) for field in ("command", "allow")}
        texts = {field: str(entry.get(field) or "") for field in ("url", "key", "key_as")}
        found = ServerConfig(name, **listed, **texts, trusted=entry.get("trusted") is True)  # type: ignore[arg-type]
        where = entry.get("key_in")
        if not keys or not where:
            return found
        key = system_keyring.get(self._keyring_name(name)) if where == _IN_RING else found.key
        lacking = _NOT_IN_RING if where == _IN_RING else _NOT_IN_BACKUP
        return replace(found, key=key or "", lacking="" if key else lacking)

    def _entries(self) -> dict[str, Any]:
        return {name: entry for name, entry in _read_object(self._folder.mcp).items() if isinstance(entry, dict)}

    def _write(self, entries: Mapping[str, Any]) -> None:
        write_private(self._folder.mcp, json.dumps(entries, indent=1, ensure_ascii=False) + "\n")

    def _keyring_name(self, name: str) -> str:
        return f"mcp:{name}@{self._folder.path}"


def _read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, or `{}` if the file is missing or can't be read."""
    try:
        found = read_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
