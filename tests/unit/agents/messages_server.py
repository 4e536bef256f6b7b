"""A server that speaks Anthropic's Messages API, in the place of Claude.

In tests it answers by a script. `python -m tests.unit.agents.messages_server` prints its address and improvises; a
notebook has it as its model with

    ANTHROPIC_BASE_URL=http://127.0.0.1:PORT ANTHROPIC_API_KEY=any agentsvc restart --model anthropic:claude-haiku-4-5
"""

from __future__ import annotations

import argparse
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from tests.unit.agents.improvising import improvised
from tests.unit.agents.messages import Body, Reply, complaint, events, whole

PATH: Final = "/v1/messages"


class MessagesServer:
    """`asked` are the bodies that came and were taken, in order; `refused` is why others were not.

    Each takes the next of `replies`, and the last one stays; without any it improvises.
    """

    def __init__(self, replies: list[Reply], port: int = 0) -> None:
        self.replies = replies
        self.asked: list[Body] = []
        self.refused: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def start(self) -> None:
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        self._http.serve_forever(poll_interval=0.02)

    def answers(self, *replies: Reply) -> None:
        """From now on; what was asked before is forgotten."""
        self.replies = list(replies)
        self.asked.clear()
        self.refused.clear()

    def next(self, body: Body) -> Reply:
        self.asked.append(body)
        if not self.replies:
            return improvised(body)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(server: MessagesServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body: Body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.partition("?")[0] != PATH:
                self._refuse(404, "not_found_error", f"{self.path} is not here")
            elif wrong := complaint(self.headers, body):
                server.refused.append(wrong[2])
                self._refuse(*wrong)
            elif (reply := server.next(body)).status != 200:
                self._refuse(reply.status, reply.error or "api_error", "no such luck")
            elif body.get("stream"):
                self._stream(events(reply, body))
            else:
                self._answer(200, whole(reply, body))

        def _stream(self, said: Iterator[dict[str, Any]]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.end_headers()
            for event in said:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()

        def _refuse(self, status: int, kind: str, message: str) -> None:
            self._answer(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})

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
def messages_server(*replies: Reply) -> Iterator[MessagesServer]:
    server = MessagesServer(list(replies))
    server.start()
    try:
        yield server
    finally:
        server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in for Claude: prints its address, and improvises answers.")
    parser.add_argument("--port", type=int, default=0, help="a free one unless given")
    server = MessagesServer([], parser.parse_args().port)
    print(server.url, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        server.serve()


if __name__ == "__main__":
    main()
