"""The patterns of ids, and functions that check ids (docs/api/conventions.md "Ids")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from agentsvc_nb.wire.limits import IDEMPOTENCY_KEY_CHARS

_UUID: Final = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_TAIL: Final = r"[A-Za-z0-9_-]{1,64}"

# These patterns are also used in JSON Schemas, where a pattern may match a part of a text. Hence the anchors.
RUN: Final = rf"^{_UUID}$"
CHAT: Final = rf"^(chat_{_TAIL}|{_UUID})$"
CHAT_OR_NEW: Final = rf"^(new|chat_{_TAIL}|{_UUID})$"
PROJECT: Final = rf"^(proj_{_TAIL}|{_UUID})$"
UPLOAD: Final = rf"^upload_{_TAIL}$"
FEEDBACK: Final = rf"^fb_{_TAIL}$"
IDEMPOTENCY_KEY: Final = rf"^[A-Za-z0-9_.:-]{{1,{IDEMPOTENCY_KEY_CHARS}}}$"
CLIENT_TOOL: Final = r"^[a-z][a-z0-9_]{0,63}$"
SHA256: Final = r"^[0-9a-f]{64}$"


def _matches(pattern: str, text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None


def is_run(text: object) -> bool:
    return _matches(RUN, text)


def is_chat(text: object) -> bool:
    return _matches(CHAT, text)


def is_project(text: object) -> bool:
    return _matches(PROJECT, text)


def is_upload(text: object) -> bool:
    return _matches(UPLOAD, text)


def is_feedback(text: object) -> bool:
    return _matches(FEEDBACK, text)


def is_idempotency_key(text: object) -> bool:
    return _matches(IDEMPOTENCY_KEY, text)


RUN_BEGINNING: Final = 8
"""The minimum number of first characters that can replace a run ID, if no other run ID begins with them."""

CALL_BEGINNING: Final = 13
"""The number of first characters of a tool call's ID that messages show, including `call_`."""


def match_run_ids(given: str, known: Iterable[str]) -> set[str]:
    """Return the run IDs that begin with `given`. Return none if `given` has fewer than 8 characters.

    >>> match_run_ids("7a332513", ["7a332513-77d2", "8b332513-77d2"]), match_run_ids("7a3325", ["7a332513-77d2"])
    ({'7a332513-77d2'}, set())
    """
    return {run_id for run_id in known if len(given) >= RUN_BEGINNING and run_id.startswith(given)}
