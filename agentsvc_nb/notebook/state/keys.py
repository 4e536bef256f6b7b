"""Where a service's key comes from: SERVICE_API_KEY, what was typed at a hidden prompt, or the system's keyring.

A key is shown nowhere, and kept nowhere but in this process and, when asked to, in the keyring (the optional package
`keyring`), under the service's address.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agentsvc_nb.notebook.errors import AskError

VARIABLE: Final = "SERVICE_API_KEY"
RING: Final = "agentsvc-nb"
_KEPT: Final = "the key is from the keyring"


class Keys:
    """The keys of one notebook, by address of the service."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._found: dict[str, tuple[str, str]] = {}

    def __repr__(self) -> str:
        return f"<Keys of {len(self._found)} services>"

    @property
    def given(self) -> str:
        """SERVICE_API_KEY, for whatever service is named; empty when it is not set."""
        return self._environ.get(VARIABLE, "").strip()

    def of(self, url: str) -> tuple[str, str] | None:
        """(the key to a service, where it is from in words), if any."""
        if self.given:
            return self.given, f"{VARIABLE} is set"
        if url not in self._found and (key := _from_ring(url)):
            self._found[url] = key, _KEPT
        return self._found.get(url)

    def typed(self, url: str, key: str, *, keep: bool = False) -> None:
        """Take a key that was typed; `keep` puts it into the keyring, too. Raises `AskError` when that can't be."""
        if not key.isascii() or not key.isprintable() or " " in key:
            raise AskError("That is no key: it holds blanks or characters that no key has.", "Copy it once more.")
        self._found[url] = key, "a typed key"
        if keep:
            _into_ring(url, key)
            self._found[url] = key, _KEPT


def _ring() -> Any:
    try:
        import keyring
    except ImportError:
        return None
    return keyring


def _from_ring(url: str) -> str | None:
    ring = _ring()
    try:
        return ring.get_password(RING, url) if ring else None
    except Exception:  # each system's keyring has errors of its own, and one that is locked or missing has no key
        return None


def _into_ring(url: str, key: str) -> None:
    ring = _ring()
    if ring is None:
        raise AskError("The key is used, but not kept: the package `keyring` is missing.", "%pip install keyring")
    try:
        ring.set_password(RING, url, key)
    except Exception as error:  # as above
        raise AskError(f"The key is used, but the keyring did not take it ({type(error).__name__}).") from None
