"""The address and API key of a service, from arguments or the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin, urlsplit

from agentsvc_nb.client.errors import AuthenticationError, StefanBrainError
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.http import is_usable

Revive = Callable[[], tuple[str, str]]
"""Find or start the embedded service, replace a key that it does not know, and return (base URL, key)."""

BASE_URL: Final = "http://127.0.0.1:8787"
KEY_VARIABLE: Final = "SERVICE_API_KEY"
URL_VARIABLE: Final = "AGENTSVC_BASE_URL"


class Origin:
    """The address and key of a service, shared by a client and its `with_options` copies.

    `update` changes both after an embedded service was restarted. Raises `AuthenticationError` without a valid key, and
    `StefanBrainError` for an address that is not http(s).
    """

    def __init__(self, api_key: str | None, base_url: str | None, reconnect: Revive | None = None) -> None:
        self.reconnect = reconnect
        self._secret = Secret("")
        self.update(
            os.environ.get(URL_VARIABLE) or BASE_URL if base_url is None else base_url,
            api_key or os.environ.get(KEY_VARIABLE, ""),
        )

    def update(self, base_url: str, api_key: str) -> None:
        # One statement, so that neither changes if one of them is invalid.
        self.base_url, self._secret.key = _address(base_url), _key(api_key)

    @property
    def key(self) -> str:
        return self._secret.key

    @property
    def secret(self) -> Secret | None:
        """Return the secret that an embedded service must prove on each connection, or None for any other service."""
        return self._secret if self.reconnect else None

    def resolved(self, link: str) -> str | None:
        """Return the address of a link from the service.

        Return None for a link to another origin or a malformed one, because the key must not be sent there.
        """
        if not link.isprintable():
            return None
        if link.startswith("/") and not link.startswith("//"):
            return self.base_url + link
        try:
            whole = urljoin(f"{self.base_url}/", link)
            same = _origin(whole) == _origin(self.base_url)
        except ValueError:
            return None
        return whole if same else None

    def scrubbed(self, content: bytes) -> bytes:
        """Return `content` with `[key]` in place of the API key, because an error may repeat the key."""
        return content.replace(self.key.encode(), b"[key]")


def _origin(url: str) -> tuple[str, str | None, int | None, str | None]:
    """Return scheme, host, port and user. The base URL never has a user, so a link with a user is on another origin."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme), parts.username


def _key(api_key: str) -> str:
    if not api_key:
        raise AuthenticationError(
            f"There is no API key. Set {KEY_VARIABLE}, or pass `api_key`. `agentsvc_nb.local()` needs no key."
        )
    if not isinstance(api_key, str) or not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise AuthenticationError(f"The API key has an invalid character. Check {KEY_VARIABLE} or `api_key`.")
    return api_key


def _address(base_url: str) -> str:
    """Return `base_url` if it is the http(s) address of a host, with at most a path. Raises `StefanBrainError`."""
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and "@" not in parts.netloc
        valid = valid and base_url.isprintable() and not set(base_url) & set(" \\?#") and is_usable(base_url)
    except (ValueError, AttributeError, TypeError):
        valid = False
    if not valid:
        raise StefanBrainError("The base URL must be an address such as https://host or http://127.0.0.1:8787.")
    return base_url.rstrip("/")
