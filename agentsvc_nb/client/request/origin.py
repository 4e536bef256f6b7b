"""Where the service is, and the key that is sent there and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.client.errors import AuthenticationError, StefanBrainError
from agentsvc_nb.client.transport.health import Secret

Revive = Callable[[], tuple[str, str]]
"""Starts or finds the embedded service again, and replaces a key that it does not know: its (base URL, key)."""

BASE_URL: Final = "http://127.0.0.1:8787"
KEY_VARIABLE: Final = "SERVICE_API_KEY"


class Origin:
    """Shared by all that talk to one service; an embedded service that was started again has a new address.

    Raises `AuthenticationError` when there is no usable key, `StefanBrainError` for an address that is not http(s).
    """

    def __init__(self, api_key: str | None, base_url: str, revive: Revive | None = None) -> None:
        self.revive, self._secret = revive, Secret("")
        self.adopt(base_url, api_key or os.environ.get(KEY_VARIABLE, ""))

    def adopt(self, base_url: str, api_key: str) -> None:
        self.base_url, self._secret.key = _address(base_url), _key(api_key)

    @property
    def key(self) -> str:
        return self._secret.key

    @property
    def secret(self) -> Secret | None:
        """What a connection has to prove to know, with the embedded service; any other proves nothing."""
        return self._secret if self.revive else None

    @property
    def tls(self) -> bool:
        return self.base_url.startswith("https:")

    def scrubbed(self, content: bytes) -> bytes:
        """`content` without the key, should the service have sent it back."""
        return content.replace(self.key.encode(), b"[key]")


def _key(api_key: str) -> str:
    if not api_key:
        message = f"There is no API key: set {KEY_VARIABLE}, or give api_key; `agentsvc_nb.local()` needs none."
        raise AuthenticationError(message, code=None)
    if not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise AuthenticationError(f"The API key holds a character that no key has; check {KEY_VARIABLE} or api_key.")
    return api_key


def _address(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        sound = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or not base_url.isprintable() or " " in base_url:
        raise StefanBrainError("The base URL must be an address such as https://host or http://127.0.0.1:8787.")
    return base_url.rstrip("/")
