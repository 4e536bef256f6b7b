"""Store keys in the system's keyring (the optional package `keyring`) instead of a file."""

from __future__ import annotations

import contextlib
from typing import Final

SERVICE: Final = "agentsvc-nb"
"""The service name of our entries."""


class NoKeyring(Exception):
    """The package `keyring` is not installed."""


class KeyringRefused(Exception):
    """The keyring rejected a key. The message is only the error's type, because its text may contain the key."""


def get(name: str) -> str | None:
    """Return the key of this name, or None if it does not exist, or if the keyring is missing, locked or fails."""
    try:
        import keyring

        return keyring.get_password(SERVICE, name)
    except Exception:  # each backend raises its own errors
        return None


def put(name: str, key: str) -> None:
    """Store a key. Raises `NoKeyring` and `KeyringRefused`. Some keyrings accept a key and never return it."""
    try:
        import keyring
    except ImportError:
        raise NoKeyring from None
    try:
        keyring.set_password(SERVICE, name, key)
    except Exception as error:  # each backend raises its own errors
        raise KeyringRefused(type(error).__name__) from None


def keeps(name: str, key: str) -> bool:
    """Store a key. Return False unless a keyring accepts it and returns it again."""
    with contextlib.suppress(NoKeyring, KeyringRefused):
        put(name, key)
    return get(name) == key


def remove(name: str) -> None:
    """Delete a key. A missing key or a missing keyring is not an error."""
    with contextlib.suppress(Exception):
        import keyring

        keyring.delete_password(SERVICE, name)
