"""Where requests go, and with which key: from arguments, else from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin, urlsplit

from agentsvc_nb.client.errors import AuthenticationError, StefanBrainError
from agentsvc_nb.client.transport.health import Secret
from agentsvc_nb.client.transport.http import is_usable

Revive = Callable[[], tuple[str, str]]
"""Finds or starts the embedded service, replaces a key that it does not know, and returns (base URL, key)."""

BASE_URL: Final = "http://127.0.0.1:8787"
KEY_VARIABLE: Final = "SERVICE_API_KEY"
URL_VARIABLE: Final = "AGENTSVC_BASE_URL"


class Origin:
    """Address and key of a service, shared by a client and those made from it with `with_options`.

    Both change with `update` when an embedded service was restarted. Raises `AuthenticationError` when there is no
    usable key, `StefanBrainError` for an address that is not http(s).
    """

    def __init__(self, api_key: str | None, base_url: str | None, reconnect: Revive | None = None) -> None:
        self.reconnect = reconnect
        self._secret = Secret("")
        self.update(
            os.environ.get(URL_VARIABLE) or BASE_URL if base_url is None else base_url,
            api_key or os.environ.get(KEY_VARIABLE, ""),
        )

    def update(self, base_url: str, api_key: str) -> None:
        # In one statement, so that neither changes if one of them is refused.
        self.base_url, self._secret.key = _address(base_url), _key(api_key)

    @property
    def key(self) -> str:
        return self._secret.key

    @property
    def secret(self) -> Secret | None:
        """The secret that each connection to the embedded service must prove to hold; None for any other service."""
        return self._secret if self.reconnect else None

    def resolved(self, link: str) -> str | None:
        """The address of a link that the service sent; None for one on another origin, where the key is not sent, and
        for what is no address."""
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
        """`content` with the API key replaced by `[key]`, in case the service repeats it in an error."""
        return content.replace(self.key.encode(), b"[key]")


def _origin(url: str) -> tuple[str, str | None, int | None, str | None]:
    """Scheme, host and port; and a user, whose name no address of ours has."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme), parts.username


def _key(api_key: str) -> str:
    if not api_key:
        message = f"There is no API key: set {KEY_VARIABLE}, or give api_key; `agentsvc_nb.local()` needs none."
        raise AuthenticationError(message, code=None)
    if not isinstance(api_key, str) or not (api_key.isascii() and api_key.isprintable() and " " not in api_key):
        raise AuthenticationError(f"The API key holds a character that no key has; check {KEY_VARIABLE} or api_key.")
    return api_key


def _address(base_url: str) -> str:
    if not isinstance(base_url, str) or not _is_origin(base_url):
        raise StefanBrainError("The base URL must be an address such as https://host or http://127.0.0.1:8787.")
    return base_url.rstrip("/")


def _is_origin(base_url: str) -> bool:
    """True for the http(s) address of a host, with a path at most."""
    try:
        parts = urlsplit(base_url)
        sound = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    plain = base_url.isprintable() and not set(base_url) & set(" \\?#")
    return bool(sound and plain and is_usable(base_url))
