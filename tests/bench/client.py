"""What one call of the client and one event of a stream cost, against other libraries where they are installed.

python -m tests.bench.client [--quick]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, Final

import httpx

from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.routes import V1
from tests.bench.harness import bare_starlette, compare, cpu_us
from tests.unit.client.conftest import RUN_ID, run

OPENAI: Final = find_spec("openai") is not None
EVENTS: Final = 2_000
CHUNK_BYTES: Final = 16 * 1024
WORD: Final = "word after word "


def main(quick: bool) -> None:
    _calls(*((100, 3) if quick else (1_000, 9)))
    rounds = 3 if quick else 9
    frames = [_frame(n, "text.delta", _event(n, "text.delta", {"text": WORD})) for n in range(1, EVENTS)]
    frames.append(_frame(EVENTS, "run.ended", _event(EVENTS, "run.ended", {"run": run("completed", output="done")})))
    chunks = list(_chunks(b"".join(frames)))
    streams: dict[str, Callable[[], int]] = {"client.runs.attach": _ours(chunks)}
    if OPENAI:
        streams["openai, responses.create(stream=True)"] = _openai()
    works = {name: partial(_event_us, read) for name, read in streams.items()}
    compare("one event to the caller, 16 KiB at a time", "CPU us", works, rounds)


def _calls(times: int, rounds: int) -> None:
    with running_service() as service, AgentService(service.api_key, service.base_url) as client:
        run_id = client.runs.start("say hello", sync=True).run_id
        path = f"{V1}/runs/{run_id}"
        body = httpx.get(service.base_url + path, headers={"authorization": f"Bearer {service.api_key}"}).content
    with (
        bare_starlette(path, body) as server,
        AgentService("svc_sk_x", server.base_url) as client,
        httpx.Client(headers={"authorization": "Bearer svc_sk_x"}) as http,
    ):
        acts: dict[str, Callable[[], Any]] = {
            "client.runs.get": lambda: client.runs.get(run_id),
            "httpx, read as JSON": lambda: http.get(server.base_url + path).raise_for_status().json(),
        }
        if OPENAI:
            import openai
            from openai.types.responses import Response

            other: Any = openai.OpenAI(api_key="x", base_url=server.base_url + V1)
            acts["openai, get as a type of its own"] = partial(other.get, f"/runs/{run_id}", cast_to=Response)
        compare("one call", "CPU us", {name: partial(cpu_us, act, times) for name, act in acts.items()}, rounds)


def _event_us(read: Callable[[], int]) -> float:
    found = []
    taken = cpu_us(lambda: found.append(read()))
    assert found == [EVENTS]
    return taken / EVENTS


def _event(number: int, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"id": number, "type": kind, "created_at": "2026-03-01T12:00:00.000Z", "payload": payload}


def _frame(number: int, kind: str, event: dict[str, Any]) -> bytes:
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(event)}\n\n".encode()


def _chunks(text: bytes) -> Iterator[bytes]:
    return (text[start : start + CHUNK_BYTES] for start in range(0, len(text), CHUNK_BYTES))


def _answer(chunks: Iterable[bytes], library: Any = httpx) -> Any:
    return library.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))


def _ours(chunks: list[bytes]) -> Callable[[], int]:
    def answer(request: httpx.Request) -> httpx.Response:
        return _answer(chunks) if request.url.path.endswith("/events") else httpx.Response(200, json=run())

    client = AgentService("svc_sk_x", "http://service.test", transport=httpx.MockTransport(answer))
    return lambda: sum(len(event.payload.get("text", "x")) > 0 for event in client.runs.attach(RUN_ID))


def _openai() -> Callable[[], int]:
    import openai

    delta = {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0}
    text = b"".join(
        _frame(n, "response.output_text.delta", {**delta, "sequence_number": n, "delta": WORD, "logprobs": []})
        for n in range(EVENTS)
    )
    library: Any = sys.modules[openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]]
    transport = library.MockTransport(lambda request: _answer(_chunks(text), library))
    client: Any = openai.OpenAI(api_key="x", http_client=openai.DefaultHttpxClient(transport=transport))
    return lambda: sum(len(event.delta) > 0 for event in client.responses.create(model="m", input="x", stream=True))


if __name__ == "__main__":
    main("--quick" in sys.argv)
