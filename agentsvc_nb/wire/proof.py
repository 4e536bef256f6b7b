"""How an embedded service proves that it holds its folder's key, without showing it (docs/api/embedded.md "The proof").

Whoever took its port can answer what anybody can read, and can ask the real service elsewhere. So the proof is over a
number that the asker made up for this one time, and over the address that the connection goes to, as each end of it
sees it. The key of the proof is derived for this purpose alone: what `/healthz` signs for anybody can be used for
nothing else.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from typing import Final

from agentsvc_nb.wire.limits import NONCE_MAX_CHARS, NONCE_MIN_CHARS

PATH: Final = "/healthz"
PURPOSE: Final = "agentsvc embedded proof v1"
NONCE: Final = rf"^[A-Za-z0-9_-]{{{NONCE_MIN_CHARS},{NONCE_MAX_CHARS}}}$"
_NONCE: Final = re.compile(NONCE)
_INSTANCE: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")


def new_nonce() -> str:
    """256 random bits, never signed before."""
    return secrets.token_urlsafe(32)


def is_nonce(text: object) -> bool:
    return isinstance(text, str) and _NONCE.fullmatch(text) is not None


def is_instance(text: object) -> bool:
    """True if it can name an instance in a proof: it holds no separator."""
    return isinstance(text, str) and _INSTANCE.fullmatch(text) is not None


def address(host: str, port: int) -> str:
    """One end of a connection, from `getsockname` or `getpeername`, in the one way that both ends write it.

    Raises `ValueError` for a host that is no address.

    >>> address("127.0.0.1", 8787), address("::ffff:127.0.0.1", 8787), address("::1", 8787)
    ('127.0.0.1:8787', '127.0.0.1:8787', '[::1]:8787')
    """
    found = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return f"[{found}]:{port}"
        found = found.ipv4_mapped
    return f"{found}:{port}"


def proof(key: str, nonce: str, instance: str, server: str) -> str:
    """What `instance`, at the address `server`, answers to `nonce` when it holds `key`. The parts hold no line end."""
    own = hmac.digest(key.encode(), PURPOSE.encode(), "sha256")
    return hmac.digest(own, "\n".join((PURPOSE, nonce, instance, server)).encode(), "sha256").hex()


def same(one: str, other: str) -> bool:
    """Compare two proofs in constant time."""
    return hmac.compare_digest(one.encode(), other.encode())
