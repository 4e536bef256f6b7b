"""The addresses to which a connector may have its user sent back: https, or http on the user's own machine."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

_REST: Final = r"(?P<rest>(?:[/?][A-Za-z0-9\-._~%!$&'()*+,;=:@/?]*)?)"
_PORT: Final = r"(?::(?P<port>[0-9]{1,5}))?"
_NAME: Final = r"(?P<host>[A-Za-z0-9][A-Za-z0-9.\-]*)"
_PUBLIC: Final = re.compile(rf"https://{_NAME}{_PORT}{_REST}")
_LOOPBACK: Final = re.compile(rf"http://(?P<host>localhost|127\.0\.0\.1|\[::1\]){_PORT}{_REST}")
_CHARS: Final = 2_000


def is_allowed(uri: str) -> bool:
    """Whether a user may be sent there at all.

    >>> [is_allowed(uri) for uri in ("https://chat.example/back", "http://localhost:1/", "http://chat.example/back")]
    [True, True, False]
    """
    return len(uri) <= _CHARS and (_PUBLIC.fullmatch(uri) or _LOOPBACK.fullmatch(uri)) is not None


def is_loopback(uri: str) -> bool:
    """Whether the address is of the user's own machine."""
    return _LOOPBACK.fullmatch(uri) is not None


def is_registered(uri: str, registered: Iterable[str]) -> bool:
    """Whether the address is exactly one of those, but for the port on loopback (RFC 8252, 7.3): a program there takes
    one that is free.

    >>> is_registered("http://127.0.0.1:4567/back", ["http://127.0.0.1/back"])
    True
    >>> is_registered("https://chat.example/back/", ["https://chat.example/back"])
    False
    """
    if not is_allowed(uri):
        return False
    return any(uri == one or (is_loopback(uri) and _portless(uri) == _portless(one)) for one in registered)


def host(uri: str) -> str:
    """The host of an allowed address, with its port if it has one, as the user is shown it."""
    found = _match(uri)
    return found["host"] + (f":{found['port']}" if found["port"] else "")


def place(uri: str) -> str:
    """The address's origin as a Content-Security-Policy names it, which has no form for an IPv6 address."""
    return "http:" if "[" in host(uri) else f"{uri.partition('://')[0]}://{host(uri)}"


def with_answer(uri: str, answer: Mapping[str, str]) -> str:
    """The address with the answer added to its query.

    >>> with_answer("https://chat.example/back?of=1", {"code": "a b"})
    'https://chat.example/back?of=1&code=a+b'
    """
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode(answer)}"


def _portless(uri: str) -> tuple[str, str] | None:
    """Host, path and query of an address on loopback; None for any other."""
    found = _LOOPBACK.fullmatch(uri)
    return None if found is None else (found["host"], found["rest"])


def _match(uri: str) -> re.Match[str]:
    found = _PUBLIC.fullmatch(uri) or _LOOPBACK.fullmatch(uri)
    assert found is not None, "the address was looked at before"
    return found
