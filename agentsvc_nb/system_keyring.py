"""Store keys in the system's keyring instead of a file. This needs the optional package `keyring`."""

from __future__ import annotations

import contextlib
from typing import Final

SERVICE: Final = "agentsvc-nb"
"""The service name of all our entries in the keyring."""


class NoKeyring(Exception):
    """Raised if the package `keyring` is not installed."""


class KeyringRefused(Exception):
    """Raised if the keyring rejected a key. The message is only the error's class, as its text may contain the key."""


def get(name: str) -> str | None:
    """Return the key with this name. Return None if there is none, or if the keyring is missing, locked or fails."""
    try:
        import keyring

        return keyring.get_password(SERVICE, name)
    except Exception:  # each backend raises its own errors
        return None


def store(name: str, key: str) -> None:
    """Store a key. Raises `NoKeyring` and `KeyringRefused`. Some keyrings accept a key, but do not return it later."""
    try:
        import keyring
    except ImportError:
        raise NoKeyring from None
    try:
        keyring.set_password(SERVICE, name, key)
    except Exception as error:  # each backend raises its own errors
        raise KeyringRefused(type(error).__name__) from None


def store_checked(name: str, key: str) -> bool:
    """Store a key. Return True if the keyring has accepted the key and also returns it."""
    with contextlib.suppress(NoKeyring, KeyringRefused):
        store(name, key)
    return get(name) == key


def remove(name: str) -> None:
    """Delete a key. Do nothing if the key or the keyring is missing."""
    with contextlib.suppress(Exception):
        import keyring

        keyring.delete_password(SERVICE, name)
