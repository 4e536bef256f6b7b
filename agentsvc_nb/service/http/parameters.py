"""Query parameters and headers, checked; each wrong one is one clear sentence."""

from __future__ import annotations

import re

from agentsvc_nb.service.actions.chats import Where
from agentsvc_nb.service.fail import Fail
from agentsvc_nb.service.http.backend import Call
from agentsvc_nb.wire import ids, proof
from agentsvc_nb.wire.limits import EVENT_ID_MAX, NONCE_MAX_CHARS, NONCE_MIN_CHARS

_RANGE = re.compile(r"\s*(?=\S*\d)(?P<first>\d{0,18})-(?P<last>\d{0,18})\s*", re.ASCII)


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
    values = call.request.headers.getlist("idempotency-key")
    if len(values) > 1:
        raise Fail("invalid_idempotency_key", "Send one Idempotency-Key.")
    if values and not ids.is_idempotency_key(values[0]):
        raise Fail("invalid_idempotency_key")
    return values[0] if values else None


def nonce(call: Call) -> str | None:
    value = call.request.query_params.get("nonce")
    if value is not None and not proof.is_nonce(value):
        rule = f"{NONCE_MIN_CHARS} to {NONCE_MAX_CHARS} letters, digits, `_` or `-`"
        raise Fail("invalid_query", f"'nonce' must be {rule}.", param="nonce")
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


def accepts(call: Call, media_type: str) -> bool:
    offered = call.request.headers.get("accept", "").lower().split(",")
    return any(one.partition(";")[0].strip() == media_type for one in offered)


def check_range(call: Call, size: int) -> None:
    """`Range` names bytes that a file of `size` bytes has, else `range_not_satisfiable`. Of several ranges those that
    the file has are answered; a header that can't be read is dropped (RFC 9110 §14.2, §15.5.17)."""
    value = call.request.headers.get("range")
    if value is None:
        return
    ranges = [_RANGE.fullmatch(part) for part in value.partition("=")[2].split(",")]
    readable = all(found and _is_forward(found) for found in ranges)
    if not value.lower().startswith("bytes=") or not readable:
        _replace_range(call, None)
        return
    met = [found[0].strip() for found in ranges if found and _is_met(found, size)]
    if not met:
        raise Fail("range_not_satisfiable", headers={"Content-Range": f"bytes */{size}"})
    _replace_range(call, f"bytes={','.join(met)}")


def _replace_range(call: Call, value: str | None) -> None:
    """What Starlette is to answer: it refuses several ranges when one of them is beyond the end."""
    headers = call.request.scope["headers"]
    headers[:] = [header for header in headers if header[0] != b"range"]
    if value is not None:
        headers.append((b"range", value.encode()))


def _is_forward(found: re.Match[str]) -> bool:
    first, last = found["first"], found["last"]
    return not (first and last) or int(first) <= int(last)


def _is_met(found: re.Match[str], size: int) -> bool:
    first, last = found["first"], found["last"]
    if not first:
        return int(last) > 0 and size > 0
    return int(first) < size


def _is_integer(value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) <= 19
