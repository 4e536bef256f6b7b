"""One line in the log for each request that changes something or fails, with the id that its answer carries.

No query, no header and no body: a secret may stand in each of them.
"""

from __future__ import annotations

import logging
from typing import Final

from starlette.types import Scope

from agentsvc_nb.service.logs import fields

log = logging.getLogger(__name__)

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_PATH_CHARS: Final = 300


def note_key(scope: Scope, key_id: str) -> None:
    """The request was made with this key."""
    scope["state"]["key_id"] = key_id


def tell(scope: Scope, status: int | None, seconds: float) -> None:
    """The request was answered with `status`, or with None when the client went away before."""
    method, state = scope["method"], scope["state"]
    if method in _READS and status is not None and status < 400:
        return
    known = {
        "method": method,
        "path": scope["path"][:_PATH_CHARS],
        "status": status or "unanswered",
        "ms": round(seconds * 1000, 1),
        "request": state["request_id"],
        "key": state.get("key_id", "none"),
    }
    log.log(logging.WARNING if status and status >= 500 else logging.INFO, "request", extra=fields(**known))
