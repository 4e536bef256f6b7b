"""What one event of a stream costs: decoded, and all the way to the caller as a typed event.

python -m tests.bench.decoding [--quick]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

import httpx

from agentsvc_nb import AgentService
from agentsvc_nb.client.sse import EventDecoder
from tests.bench import peers
from tests.bench.peers import Work, compare, show
from tests.unit.client.conftest import RUN_ID, run

EVENTS: Final = 2_000
CHUNK_BYTES: Final = 16 * 1024
ARRIVALS: Final = {"16 KiB at a time": CHUNK_BYTES, "40 bytes at a time": 40, "each alone": 0}
WORD: Final = "word after word "


def main(quick: bool) -> None:
    times, rounds = (1, 3) if quick else (10, 9)
    frames = [_frame(n, "text.delta", _event(n, "text.delta", {"text": WORD})) for n in range(1, EVENTS)]
    frames.append(_frame(EVENTS, "run.ended", _event(EVENTS, "run.ended", {"run": run("completed", output="done")})))
    text = b"".join(frames)
    for arrival, size in ARRIVALS.items():
        if size:
            chunks = list(_chunks(text, size))
            decoders = {"EventDecoder": _decoder(chunks)}
            if peers.HTTPX_SSE:
                decoders["httpx-sse"] = _httpx_sse(chunks)
            show(f"one event decoded, {arrival}", _each(compare(decoders, times, rounds)))
            print()
    for arrival, size in ARRIVALS.items():
        chunks = list(_chunks(text, size)) if size else frames
        streams = {"client.runs.attach": _ours(chunks)}
        if peers.LANGGRAPH:
            streams["langgraph-sdk, client.stream"] = _langgraph(chunks)
        if peers.OPENAI and size == CHUNK_BYTES:
            streams["openai, responses.create(stream=True)"] = _openai()
        show(f"one event to the caller, {arrival}", _each(compare(streams, times, rounds)))
        print()


def _each(found: dict[str, float]) -> dict[str, float]:
    return {name: us / EVENTS for name, us in found.items()}


def _event(number: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"id": number, "type": kind, "created_at": "2026-03-01T12:00:00.000Z", "payload": payload}


def _frame(number: int, kind: str, event: dict[str, Any]) -> bytes:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(event)}\n\n".encode()


def _chunks(text: bytes, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _answer(chunks: Iterable[bytes], library: Any = httpx) -> Any:
    return library.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))


def _decoder(chunks: list[bytes]) -> Work:
    def work(times: int) -> None:
        for _ in range(times):
            decoder = EventDecoder()
            assert sum(len(decoder.feed(chunk)) for chunk in chunks) == EVENTS

    return work


def _httpx_sse(chunks: list[bytes]) -> Work:
    from httpx_sse import EventSource

    def work(times: int) -> None:
        for _ in range(times):
            assert sum(1 for _ in EventSource(_answer(chunks)).iter_sse()) == EVENTS

    return work


def _ours(chunks: list[bytes]) -> Work:
    def answer(request: httpx.Request) -> httpx.Response:
        return _answer(chunks) if request.url.path.endswith("/events") else httpx.Response(200, json=run())

    client = AgentService("svc_sk_x", "http://service.test", transport=httpx.MockTransport(answer))

    def work(times: int) -> None:
        for _ in range(times):
            assert sum(len(event.payload.get("text", "x")) > 0 for event in client.runs.attach(RUN_ID)) == EVENTS

    return work


def _langgraph(chunks: list[bytes]) -> Work:
    """What its runs are streamed with; the events are dictionaries."""
    from langgraph_sdk._sync.http import SyncHttpClient

    transport = httpx.MockTransport(lambda request: _answer(chunks))
    client = SyncHttpClient(httpx.Client(transport=transport, base_url="http://service.test"))

    def work(times: int) -> None:
        for _ in range(times):
            assert sum(len(part.data["payload"].get("text", "x")) > 0 for part in client.stream("/", "GET")) == EVENTS

    return work


def _openai() -> Work:
    import openai

    delta = {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0}
    text = b"".join(
        _frame(n, delta["type"], {**delta, "sequence_number": n, "delta": WORD, "logprobs": []})  # type: ignore[arg-type]
        for n in range(EVENTS)
    )
    library = _library(openai.DefaultHttpxClient)
    transport = library.MockTransport(lambda request: _answer(_chunks(text), library))
    client: Any = openai.OpenAI(api_key="x", http_client=openai.DefaultHttpxClient(transport=transport))

    def work(times: int) -> None:
        for _ in range(times):
            stream = client.responses.create(model="m", input="x", stream=True)
            assert sum(len(event.delta) > 0 for event in stream) == EVENTS

    return work


def _library(client: type) -> Any:
    """The HTTP library of a client class: from version 3 on openai's is no longer httpx."""
    return import_module(client.__mro__[1].__module__.partition(".")[0])


if __name__ == "__main__":
    main("--quick" in sys.argv)
