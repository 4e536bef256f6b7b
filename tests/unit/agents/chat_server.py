"""A server that speaks OpenAI's chat completions and answers by a script: in the place of a provider's."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

USAGE: Final = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@dataclass(frozen=True)
class Reply:
    """One answer: its text in pieces, its tool calls as (name, arguments); `hangs` after that until it is cut off.

    `reason` is why it ends: empty for what fits the content, None for no word of it; `done`: `[DONE]` comes last.
    """

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    status: int = 200
    error: str = "no such key"
    hangs: bool = False
    reason: str | None = ""
    done: bool = True
    usage: dict[str, int] | None = field(default_factory=lambda: dict(USAGE))

    def chunks(self) -> Iterator[dict[str, Any]]:
        for piece in self.pieces:
            yield {"choices": [{"index": 0, "delta": {"role": "assistant", "content": piece}}]}
        for place, (name, arguments) in enumerate(self.calls):
            function = {"name": name, "arguments": arguments}
            call = {"index": place, "id": f"call_{name}_{place}", "type": "function", "function": function}
            yield {"choices": [{"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}]}
        if not self.hangs:
            if self.reason is not None:
                reason = self.reason or ("tool_calls" if self.calls else "stop")
                yield {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
            if self.usage is not None:
                yield {"choices": [], "usage": self.usage}

    def whole(self) -> dict[str, Any]:
        """Its text at once, for who does not stream."""
        message = {"role": "assistant", "content": "".join(self.pieces)}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        about = {"id": "c", "object": "chat.completion", "created": 1, "model": "stand-in"}
        return {**about, "choices": choices, "usage": self.usage}


class ChatServer:
    """`asked` are the bodies that came, in order; each takes the next reply, and the last one stays. `keys` are those
    that came along; where one is `wanted`, a question with another is refused. `certificate` is a file with one and its
    key, for TLS."""

    def __init__(self, replies: list[Reply], wanted: str | None = None, certificate: Path | None = None) -> None:
        self.replies, self.wanted = replies, wanted
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.cut_off = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        if certificate is not None:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{self._http.server_port}/v1"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def next(self, body: dict[str, Any]) -> Reply:
        self.asked.append(body)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ChatServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.keys.append((self.headers["Authorization"] or "").removeprefix("Bearer "))
            reply = server.next(body) if server.wanted in (None, server.keys[-1]) else Reply(status=401)
            if reply.status != 200:
                self._answer(reply.status, {"error": {"message": reply.error, "type": "invalid_request_error"}})
                return
            if not body.get("stream"):
                self._answer(200, reply.whole())
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for chunk in reply.chunks():
                self._send({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stand-in", **chunk})
            if reply.hangs:
                self.connection.settimeout(30)
                with contextlib.suppress(OSError):
                    if not self.connection.recv(1):
                        server.cut_off.set()
            elif reply.done:
                self.wfile.write(b"data: [DONE]\n\n")

        def _send(self, chunk: dict[str, Any]) -> None:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            self.wfile.flush()

        def _answer(self, status: int, document: dict[str, Any]) -> None:
            text = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the test's output."""

    return Handler


@contextlib.contextmanager
def chat_server(*replies: Reply, wanted: str | None = None, certificate: Path | None = None) -> Iterator[ChatServer]:
    server = ChatServer(list(replies), wanted, certificate)
    try:
        yield server
    finally:
        server.close()
