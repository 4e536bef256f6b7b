"""Query parameters and headers, checked; each wrong one is one clear sentence."""

from __future__ import annotations

from agentsvc_nb.service.actions.chats import Where
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import EVENT_ID_MAX


def text(call: Call, name: str) -> str:
    value = call.request.query_params.get(name)
    if not value:
        raise Fail("invalid_query", f"The query parameter {name!r} is required.", param=name)
    return value


def integer(call: Call, name: str, default: int, low: int, high: int) -> int:
    value = call.request.query_params.get(name)
    if value is None:
        return default
    if not _is_integer(value) or not low <= int(value) <= high:
        raise Fail("invalid_query", f"{name!r} must be an integer from {low} to {high}.", param=name)
    return int(value)


def where(call: Call) -> Where:
    """The chat of a job lookup: `chat`, or `project` and `session` (contract §5)."""
    query = call.request.query_params
    if not any(query.get(name) for name in ("chat", "project", "session")):
        raise Fail(
            "invalid_query", "Give the job's `chat`, or the `project` and `session` of its submit.", param="chat"
        )
    return Where(query.get("chat") or None, query.get("project") or None, query.get("session") or None)


def idempotency_key(call: Call) -> str | None:
    value = call.request.headers.get("idempotency-key")
    if value is not None and not ids.is_idempotency_key(value):
        raise Fail("invalid_idempotency_key")
    return value


def last_event_id(call: Call) -> int | None:
    """The cursor of a resumed stream; an empty one means the start (contract §3)."""
    value = call.request.headers.get("last-event-id")
    if value is None:
        return None
    if value == "":
        return 0
    if not _is_integer(value) or int(value) > EVENT_ID_MAX:
        raise Fail("invalid_last_event_id")
    return int(value)


def check_range(call: Call, size: int) -> None:
    """`Range` names bytes that a file of `size` bytes has. Raises `range_not_satisfiable`."""
    value = call.request.headers.get("range")
    if value is None:
        return
    unit, _, wanted = value.partition("=")
    if unit.strip().lower() != "bytes" or not all(_has_range(part.strip(), size) for part in wanted.split(",")):
        raise Fail("range_not_satisfiable", headers={"Content-Range": f"bytes */{size}"})


def _has_range(part: str, size: int) -> bool:
    first, dash, last = part.partition("-")
    if not dash or not all(end == "" or _is_integer(end) for end in (first, last)):
        return False
    if first == "":
        return last != "" and int(last) > 0 and size > 0
    return int(first) < size and (last == "" or int(first) <= int(last))


def _is_integer(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 19
