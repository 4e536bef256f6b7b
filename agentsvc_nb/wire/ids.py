"""Patterns of the identifiers, and functions that make new ones (docs/api/conventions.md "Ids")."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Iterable
from typing import Final

from agentsvc_nb.wire.limits import IDEMPOTENCY_KEY_CHARS

_UUID: Final = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_TAIL: Final = r"[A-Za-z0-9_-]{1,64}"

# Patterns for JSON Schema, which searches: the anchors make them match the whole text.
RUN: Final = rf"^{_UUID}$"
CHAT: Final = rf"^(chat_{_TAIL}|{_UUID})$"
CHAT_OR_NEW: Final = rf"^(new|chat_{_TAIL}|{_UUID})$"
PROJECT: Final = rf"^(proj_{_TAIL}|{_UUID})$"
UPLOAD: Final = rf"^upload_{_TAIL}$"
FEEDBACK: Final = rf"^fb_{_TAIL}$"
IDEMPOTENCY_KEY: Final = rf"^[A-Za-z0-9_.:-]{{1,{IDEMPOTENCY_KEY_CHARS}}}$"
CLIENT_TOOL: Final = r"^[a-z][a-z0-9_]{0,63}$"
SHA256: Final = r"^[0-9a-f]{64}$"

_RUN = re.compile(RUN)
_CHAT = re.compile(CHAT)
_PROJECT = re.compile(PROJECT)
_UPLOAD = re.compile(UPLOAD)
_FEEDBACK = re.compile(FEEDBACK)
_IDEMPOTENCY_KEY = re.compile(IDEMPOTENCY_KEY)

KEY_PREFIX: Final = "svc_sk_"
MEMBER_PREFIX: Final = "svc_oat_"


def is_run(text: object) -> bool:
    return isinstance(text, str) and _RUN.fullmatch(text) is not None


RUN_BEGINNING: Final = 8
"""How many characters of a run's id are enough to name it, if no other begins with them."""


def runs_beginning(given: str, known: Iterable[str]) -> set[str]:
    """The runs of which this is the beginning of the id.

    >>> runs_beginning("7a332513", ["7a332513-77d2", "8b332513-77d2"]), runs_beginning("7a3325", ["7a332513-77d2"])
    ({'7a332513-77d2'}, set())
    """
    return {run_id for run_id in known if len(given) >= RUN_BEGINNING and run_id.startswith(given)}


def is_chat(text: object) -> bool:
    return isinstance(text, str) and _CHAT.fullmatch(text) is not None


def is_project(text: object) -> bool:
    return isinstance(text, str) and _PROJECT.fullmatch(text) is not None


def is_upload(text: object) -> bool:
    return isinstance(text, str) and _UPLOAD.fullmatch(text) is not None


def is_feedback(text: object) -> bool:
    return isinstance(text, str) and _FEEDBACK.fullmatch(text) is not None


def is_idempotency_key(text: object) -> bool:
    return isinstance(text, str) and _IDEMPOTENCY_KEY.fullmatch(text) is not None


def new_run() -> str:
    return str(uuid.uuid4())


def new(prefix: str) -> str:
    """A new id such as `chat_...`: the prefix and 96 random bits.

    >>> new("chat").startswith("chat_")
    True
    """
    return f"{prefix}_{secrets.token_hex(12)}"


def new_key(member: bool = False) -> str:
    """A new API key or member token: a prefix and 256 random bits (docs/api/accounts.md "Keys")."""
    return (MEMBER_PREFIX if member else KEY_PREFIX) + secrets.token_urlsafe(32)
