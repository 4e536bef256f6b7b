"""Read the address and the API key of a service from arguments or environment variables, and check them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin, urlsplit

from agentsvc_nb.client.errors import AuthenticationError, StefanBrainError
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.http import is_usable

Revive = Callable[[], tuple[str, str]]
"""A function that finds or starts the embedded service, and returns its (base URL, key).

If the service does not know the key, the function creates a new key.
"""

BASE_URL: Final = "http://127.0.0.1:8787"
KEY_VARIABLE: Final = "SERVICE_API_KEY"
URL_VARIABLE: Final = "AGENTSVC_BASE_URL"


class Origin:
    """The address and API key of a service. A client shares this object with its `with_options` copies.

    After a restart of the embedded service, `update` changes both. Raises `AuthenticationError` if the key is missing
    or malformed, and `StefanBrainError` if the address is not an http(s) address.
    """

    def __init__(self, api_key: str | None, base_url: str | None, reconnect: Revive | None = None) -> None:
        self.reconnect = reconnect
        self._secret = Secret("")
        self.update(
            os.environ.get(URL_VARIABLE) or BASE_URL if base_url is None else base_url,
            api_key or os.environ.get(KEY_VARIABLE, ""),
        )

    def update(self, base_url: str, api_key: str) -> None:
        # Assign both in one statement, so that neither changes if one is invalid.
        self.base_url, self._secret.key = _address(base_url), _key(api_key)

    @property
    def key(self) -> str:
        return self._secret.key

    @property
    def secret(self) -> Secret | None:
        """Return the key that the embedded service must prove to know, or None for a service that is not embedded."""
        return self._secret if self.reconnect else None

    def resolve_link(self, link: str) -> str | None:
        """Return a link's URL, or None if it is malformed or has another origin, which must not receive the key."""
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

    def remove_key(self, content: bytes) -> bytes:
        """Replace the API key in `content` with `[key]`, because an error response may repeat the key."""
        return content.replace(self.key.encode(), b"[key]")


def _origin(url: str) -> tuple[str, str | None, int | None, str | None]:
    """Return scheme, host, port and user of a URL. The base URL has no user, so a link with one has another origin."""
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
    """Return `base_url` without a final slash. Raises `StefanBrainError` if it is not an http(s) URL of a host."""
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and "@" not in parts.netloc
        valid = valid and base_url.isprintable() and not set(base_url) & set(" \\?#") and is_usable(base_url)
    except (ValueError, AttributeError, TypeError):
        valid = False
    if not valid:
        raise StefanBrainError("The base URL must be an address such as https://host or http://127.0.0.1:8787.")
    return base_url.rstrip("/")
