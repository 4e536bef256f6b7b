"""Prove that an embedded service holds its data folder's key, without revealing the key
(docs/api/embedded.md "The proof").

Another process could take the service's port. It could then replay an earlier proof, or forward the request to the real
service on another port. So the proof is a signature of a nonce, which the client creates for each request, and of the
server's address, as client and server each see it. The signing key is derived from the folder's key for this purpose
only, because `/healthz` signs nonces for anyone, so its signatures must be useless for anything else.
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
    """Return a new nonce of 256 random bits."""
    return secrets.token_urlsafe(32)


def is_nonce(text: object) -> bool:
    return isinstance(text, str) and _NONCE.fullmatch(text) is not None


def is_instance(text: object) -> bool:
    """Return True if `text` can be a proof's instance id. Line breaks are not allowed: they separate the parts."""
    return isinstance(text, str) and _INSTANCE.fullmatch(text) is not None


def address(host: str, port: int) -> str:
    """Return the address of one end of a connection as a text that is the same on both ends. `host` and `port` come
    from `getsockname` or `getpeername`.

    Raises `ValueError` for a host that is not an IP address.

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
    """Return the proof, in hexadecimal, that the service `instance` at the address `server` gives for `nonce` if it
    holds `key`.

    `instance` and `nonce` must not contain line breaks, because they separate the parts.
    """
    own = hmac.digest(key.encode(), PURPOSE.encode(), "sha256")
    return hmac.digest(own, "\n".join((PURPOSE, nonce, instance, server)).encode(), "sha256").hex()


def is_same_proof(one: str, other: str) -> bool:
    """Return True if two proofs are equal. The comparison takes constant time."""
    return hmac.compare_digest(one.encode(), other.encode())
