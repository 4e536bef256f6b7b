"""Create ids and secrets (docs/api/conventions.md "Ids")."""

from __future__ import annotations

import secrets
import uuid
from typing import Final

KEY_PREFIX: Final = "svc_sk_"
MEMBER_PREFIX: Final = "svc_oat_"


def new_run_id() -> str:
    return str(uuid.uuid4())


def new_id(prefix: str) -> str:
    """Return a new id such as `chat_...`: the prefix and 96 random bits.

    >>> new_id("chat").startswith("chat_")
    True
    """
    return f"{prefix}_{secrets.token_hex(12)}"


def new_key(member: bool = False) -> str:
    """Return a new API key or member token: a prefix and 256 random bits (docs/api/accounts.md "Keys")."""
    return (MEMBER_PREFIX if member else KEY_PREFIX) + secrets.token_urlsafe(32)
