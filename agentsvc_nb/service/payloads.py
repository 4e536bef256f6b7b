"""Limit the size of event payloads and tool results. Larger payloads are shortened, but keep their structure.

An event is an entry of a run's event stream. Its payload is a JSON object. Clients hold each event in memory and refuse
an event of more than 16 MiB.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final

from agentsvc_nb.wire.limits import DELTA_CHARS, EVENT_MAX_BYTES, EVENT_PAYLOAD_BYTES, MIB

SHORTENED: Final = " [… shortened]"
SHORTENED_BYTES: Final = EVENT_PAYLOAD_BYTES - 1_000
"""The size limit of a shortened payload, with room for the fields that mark it (`truncated`, `whole_path`)."""
_KEY_CHARS: Final = 200
_TRIES: Final = ((64_000, 1_000, 12), (16_000, 300, 8), (4_000, 100, 6), (1_000, 30, 5), (200, 10, 4), (200, 0, 0))
"""Limits that `shorten` tries in turn: characters of a text, items of a list or object, and levels of nesting.

Any payload fits with the last limits, because payloads have only a few fields.
"""
_READABLE_BYTES: Final = EVENT_MAX_BYTES - MIB
"""The size limit of a payload that clients accept. It leaves room for the other fields of the event."""
_CHARACTER_BYTES: Final = 4
"""The maximum number of bytes of a character in UTF-8."""

_encode = json.JSONEncoder(ensure_ascii=False).encode
_encode_finite = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event whose payload is JSON text, as the database stores it. Most code passes this text on unparsed."""

    id: int
    type: str
    created_at: str
    payload: str

    def json(self) -> str:
        """Return the event as JSON on one line, as clients receive it (`wire.runs.Event`)."""
        kind, payload = _encode(self.type), self.payload
        return f'{{"id": {self.id}, "type": {kind}, "created_at": "{self.created_at}", "payload": {payload}}}'


def encode(value: object) -> str:
    """Encode the value as JSON on one line, to store or send it.

    Null replaces infinity and NaN, which JSON does not have. Python parses a model's `1e999` as infinity.

    >>> encode({"x": float("inf"), "y": "é"})
    '{"x": null, "y": "é"}'
    """
    try:
        return _encode_finite(value)
    except ValueError:
        return _encode(json.loads(_encode(value), parse_constant=lambda name: None))


def size(value: object) -> int:
    """Return the size of the value in bytes, as JSON."""
    return len(_encode(value).encode("utf-8", "surrogatepass"))


def fits(payload: object) -> bool:
    """Return whether the payload is small enough for an event."""
    return size(payload) <= EVENT_PAYLOAD_BYTES


def split(text: str) -> list[str]:
    """Split the text into parts that each fit into an event, even if each character takes 4 bytes."""
    return [text[start : start + DELTA_CHARS] for start in range(0, len(text), DELTA_CHARS)]


def shorten(payload: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return the payload, shortened to at most `limit` bytes.

    Long texts, lists and objects lose their last parts. A shortened text ends with a mark.

    >>> shorten({"call_id": "call_1", "content": ["x" * 100_000]}, 70_000)["content"][0][-16:]
    'xx [… shortened]'
    """
    for chars, items, depth in _TRIES:
        kept = {name: _shorten_value(value, chars, items, depth) for name, value in payload.items()}
        if size(kept) <= limit:
            break
    return kept


def _shorten_value(value: Any, chars: int, items: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else value[:chars] + SHORTENED
    if isinstance(value, dict):
        some = list(value.items())[:items] if depth else []
        return {
            _shorten_value(str(name), _KEY_CHARS, 0, 0): _shorten_value(one, chars, items, depth - 1)
            for name, one in some
        }
    if isinstance(value, list | tuple):
        return [_shorten_value(one, chars, items, depth - 1) for one in value[:items]] if depth else []
    return value


def run_ended_payload(run: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of the event `run.ended`.

    If the run's record is too large, truncate its output and leave out its structured output, because a truncated
    structured output would be wrong. `GET /runs/{run_id}` returns the whole record.
    """
    payload: dict[str, Any] = {"run": run}
    if fits(payload):
        return payload
    return {"run": shorten({**run, "structured_output": None}, SHORTENED_BYTES), "truncated": True}


def shorten_for_clients(event: StoredEvent) -> StoredEvent:
    """Return the event, shortened if it is too large for clients. Older versions stored events of any size."""
    if len(event.payload) * _CHARACTER_BYTES <= _READABLE_BYTES or len(event.payload.encode()) <= _READABLE_BYTES:
        return event
    payload = json.loads(event.payload)
    run = payload.get("run")
    if event.type == "run.ended" and isinstance(run, dict):
        payload = run_ended_payload(run)
    else:
        payload = {**shorten(payload, SHORTENED_BYTES), "truncated": True}
    return replace(event, payload=encode(payload))
