"""The service's API keys that a notebook uses, from SERVICE_API_KEY, a hidden prompt, or the system's keyring.

A key is never displayed. It is kept in this process only. On request, it is also stored in the keyring (with the
optional package `keyring`) under the service's address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agentsvc_nb import system_keyring
from agentsvc_nb.extras import pip_install
from agentsvc_nb.notebook.errors import AskError

VARIABLE: Final = "SERVICE_API_KEY"
_KEPT: Final = "the key is from the keyring"


class ServiceKeys:
    """Holds the API keys of one notebook, by the address of the service."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._found: dict[str, tuple[str, str]] = {}

    def __repr__(self) -> str:
        return f"<Keys of {len(self._found)} services>"

    @property
    def given(self) -> str:
        """The value of SERVICE_API_KEY, which is used for every address. Empty if it is not set."""
        return self._environ.get(VARIABLE, "").strip()

    def find(self, url: str) -> tuple[str, str] | None:
        """Return a service's key, and a phrase that says where it comes from. Return None if no key is set."""
        if self.given:
            return self.given, f"{VARIABLE} is set"
        if url not in self._found and (key := system_keyring.get(url)):
            self._found[url] = key, _KEPT
        return self._found.get(url)

    def use_typed(self, url: str, key: str, *, keep: bool = False) -> None:
        """Use a key that the user has typed. With `keep`, also store it in the keyring.

        Raises `AskError` when the key has invalid characters, or the keyring is missing or fails.
        """
        if not key.isascii() or not key.isprintable() or " " in key:
            raise AskError(
                "The key is not valid: it contains spaces or characters that a key cannot have. Nothing was stored.",
                "Copy the key again, and run the cell again.",
            )
        self._found[url] = key, "a typed key"
        if keep:
            _keep(url, key)
            self._found[url] = key, _KEPT


def _keep(url: str, key: str) -> None:
    try:
        system_keyring.store(url, key)
    except system_keyring.NoKeyring:
        missing = "The key is used now, but was not stored, because the package `keyring` is missing."
        raise AskError(missing, f"%{pip_install('keyring')}") from None
    except system_keyring.KeyringRefused as refused:
        raise AskError(f"The key is used now, but the keyring did not store it ({refused}).") from None
