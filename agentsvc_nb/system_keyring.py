"""The system's keyring (the optional package `keyring`), where keys are kept that are not to lie in a file."""

from __future__ import annotations

import contextlib
from typing import Final

SERVICE: Final = "agentsvc-nb"
"""The service name of our entries."""


class NoKeyring(Exception):
    """The package is missing."""


class KeyringRefused(Exception):
    """The keyring did not take a key; the message is the kind of its error, which may have the key in its own text."""


def get(name: str) -> str | None:
    """The key of this name; None if there is none, or the keyring is missing, locked or fails."""
    try:
        import keyring

        return keyring.get_password(SERVICE, name)
    except Exception:  # each backend raises errors of its own
        return None


def put(name: str, key: str) -> None:
    """Keep a key. Raises `NoKeyring` and `KeyringRefused`. Some keyrings take a key and do not give it back."""
    try:
        import keyring
    except ImportError:
        raise NoKeyring from None
    try:
        keyring.set_password(SERVICE, name, key)
    except Exception as error:  # each backend raises errors of its own
        raise KeyringRefused(type(error).__name__) from None


def keeps(name: str, key: str) -> bool:
    """Keep a key, if there is a keyring that takes it and gives it back; False otherwise."""
    with contextlib.suppress(NoKeyring, KeyringRefused):
        put(name, key)
    return get(name) == key


def remove(name: str) -> None:
    """Forget a key. One that is gone already, or a keyring that is, is nothing to tell."""
    with contextlib.suppress(Exception):
        import keyring

        keyring.delete_password(SERVICE, name)
