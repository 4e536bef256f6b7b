"""Streams of events are repaired before a provider's library reads them, whatever pieces the network makes of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest

from agentsvc_nb.agents.language.event_streams import repairing_client

CHAT = "/v1/chat/completions"
STOP = '"finish_reason": "stop"'
PING = 'data: {"type": "ping"}\n\n'


def event(text: str) -> str:
    return f'data: {{"text": "{text}"}}\n\n'


def received(pieces: Sequence[bytes], path: str = "/v1/messages", **headers: str) -> str:
    """What arrives of these pieces of a body."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            for piece in pieces:
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            """Not into the test's output."""

    async def read(url: str) -> str:
        async with repairing_client(url) as client, client.stream("GET", url) as answer:
            return (await answer.aread()).decode()

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.handle_request)
        serving.start()
        try:
            return asyncio.run(read(f"http://127.0.0.1:{server.server_port}{path}"))
        finally:
            serving.join()


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (event(r"\ud83c\udf75 \u00e9"), event("\U0001f375 \\u00e9")),
        (event(r"a\ud83c") + event(r"\udf75b"), event("a\U0001f375") + event("b")),
        (event(r"a\ud83c") + PING + event(r"\udf75b"), event("a\U0001f375") + PING + event("b")),
        (event(r"\ud83c") + event(r"\udf75\ud83c") + event(r"\udf75"), event("\U0001f375") * 2 + event("")),
        (event(r"\udf75") + event(r"\"\udf75"), event("\ufffd") + event('\\"\ufffd')),
        (event(r"written \\ud83c"), event(r"written \\ud83c")),
        ("event: x\r\n" + event("tea").replace("\n", "\r\n"), "event: x\r\n" + event("tea").replace("\n", "\r\n")),
    ],
)
def test_halves_of_pairs_are_joined_or_replaced(sent: str, found: str) -> None:
    body = sent.encode()
    assert received([body]) == received([body[at : at + 1] for at in range(len(body))]) == found


def test_bytes_that_are_not_utf8_are_a_fault_of_the_transport() -> None:
    with pytest.raises(httpx2.TransportError, match="not valid UTF-8"):
        received([event("tea").encode(), b'data: {"text": "\xff"}\n\n'])


@pytest.mark.parametrize(
    ("sent", "path", "stops"),
    [
        ('data: {"finish_reason": null}\n\ndata: [DONE]\n\n', CHAT, 1),
        ('data: {"finish_reason": "length"}\n\ndata: [DONE]\n\n', CHAT, 0),
        ("data: [DONE]\n\n", "/v1/responses", 0),
    ],
)
def test_done_is_a_reason_to_end_of_chat_completions_that_gave_none(sent: str, path: str, stops: int) -> None:
    assert received([sent.encode()], path).count(STOP) == stops
