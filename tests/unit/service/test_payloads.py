"""Payloads that are too large are shortened, and keep their shape."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from agentsvc_nb.client.events import parse_event
from agentsvc_nb.client.sse import EventDecoder
from agentsvc_nb.service import payloads
from agentsvc_nb.service.http.responses import frame
from agentsvc_nb.wire.limits import DELTA_CHARS, EVENT_PAYLOAD_BYTES
from agentsvc_nb.wire.runs import Event

WORST: Final = "\x01"
"""A character that takes six bytes in JSON."""


@pytest.mark.parametrize(
    "hostile",
    [
        WORST * 10_000_000,
        [WORST * 1_000] * 10_000,
        {f"{number}{WORST * 300}": WORST * 300 for number in range(20_000)},
        json.loads("[" * 300 + "]" * 300),
    ],
    ids=["text", "texts", "names", "deep"],
)
def test_nothing_is_too_large_to_be_shortened(hostile: Any) -> None:
    kept = payloads.shortened({"call_id": "call_1", "tool": "t", "content": hostile}, payloads.SHORTENED_BYTES)
    assert payloads.fits(kept)
    assert (kept["call_id"], type(kept["content"])) == ("call_1", type(hostile))


def test_a_client_takes_what_a_service_writes() -> None:
    """The largest payload, and the largest piece of text, in a frame of the stream."""
    texts = payloads.pieces(WORST * (3 * DELTA_CHARS - 1))
    assert "".join(texts) == WORST * (3 * DELTA_CHARS - 1)
    for payload in ({"text": texts[0]}, {"text": "x" * (EVENT_PAYLOAD_BYTES - 20)}):
        assert payloads.fits(payload)
        event = Event(2**63 - 1, "text.delta", "2026-01-01T00:00:00.000Z", payload)
        stored = payloads.StoredEvent(event.id, event.type, event.created_at, json.dumps(payload, ensure_ascii=False))
        (found,) = EventDecoder().feed(frame(stored).encode())
        assert parse_event(json.loads(found.data)) == event
