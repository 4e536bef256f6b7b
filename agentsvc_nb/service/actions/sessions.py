"""Sessions: a browser signs in with the link's token, and out again (contract §7)."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

from agentsvc_nb.service.actions.keys import ACCOUNT
from agentsvc_nb.service.ports.storage import Tx
from agentsvc_nb.service.records import sessions
from agentsvc_nb.service.records.sessions import SessionRecord
from agentsvc_nb.wire.limits import SESSION_SECONDS

_TTL_MS: Final = SESSION_SECONDS * 1000


def open_(tx: Tx, now: int) -> str:
    """A new session's secret, for the cookie. Sessions that are over go at the same time."""
    secret = secrets.token_urlsafe(32)
    sessions.remove_expired(tx, now)
    sessions.insert(tx, digest(secret), ACCOUNT, now, now + _TTL_MS)
    return secret


def find(tx: Tx, secret: str, now: int) -> SessionRecord | None:
    return sessions.get(tx, digest(secret), now)


def digest(secret: str) -> str:
    """What is stored. Without a salt: nobody guesses 256 random bits."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def is_token(given: str, token: str) -> bool:
    """`given` is the sign-in link's token, compared in constant time; without a token nothing is."""
    return bool(token) and secrets.compare_digest(given.encode(errors="surrogateescape"), token.encode())
