"""A server on loopback that stands in for a provider."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.unit.agents.wires.reply import UNFINISHED, Body, Form, Headers, Refused, Reply


class ProviderServer:
    """`asked` are the requests that were taken, in order, `refused` says why others were not.

    Each request takes the next of the replies, and the last one stays.
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.replies: list[Reply] = []
        self.asked: list[Body] = []
        self.refused: list[str] = []
        self.cut_off = threading.Event()
        self.hanging = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answers(self, *replies: Reply) -> None:
        """From now on; what was asked before is forgotten."""
        self.replies = list(replies)
        self.asked.clear()
        self.refused.clear()
        self.cut_off.clear()
        self.hanging.clear()

    def refuses(self, headers: Headers, body: Body) -> Reply | None:
        """The answer to a request that is refused for what it asks for, or with which key; None when it is not."""
        return None

    def next(self, body: Body) -> Reply:
        self.asked.append(body)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(server: ProviderServer) -> type[BaseHTTPRequestHandler]:
    form = server.form

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._refuse(Refused(200, {"object": "list", "data": []}))  # whether a server of one's own is there

        def do_POST(self) -> None:
            body: Body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            if not form.takes(self.path):
                server.refused.append(f"{self.path} is not here")
                self._refuse(form.wrong(server.refused[-1]))
            elif why := form.complaint(self.path, headers, body):
                server.refused.append(why)
                self._refuse(form.wrong(why))
            elif (reply := server.refuses(headers, body) or server.next(body)).fault is not None:
                self._refuse(reply.fault if isinstance(reply.fault, Refused) else form.refused(reply, body))
            else:
                self._stream(reply, body)

        def _stream(self, reply: Reply, body: Body) -> None:
            self.send_response(200)
            self.send_header("Content-Type", form.media_type)
            self.end_headers()
            with contextlib.suppress(OSError):  # who asked may have left
                for event in form.events(reply, self.path, body):
                    frame, unfinished, _ = form.framed(event).partition(UNFINISHED.encode())
                    frame += b"\n\n" if unfinished else b""
                    self.wfile.write(frame)
                    self.wfile.flush()
                    time.sleep(reply.pause)
                if reply.hangs:
                    self._hang()
                elif reply.end not in ("lost", "overloaded"):
                    self.wfile.write(form.last)

        def _hang(self) -> None:
            server.hanging.set()
            self.connection.settimeout(30)
            if not self.connection.recv(1):
                server.cut_off.set()

        def _refuse(self, refused: Refused) -> None:
            text = json.dumps(refused.document).encode()
            self.send_response(refused.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            for name, value in refused.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the test's output."""

    return Handler


@contextlib.contextmanager
def provider_server(form: Form) -> Iterator[ProviderServer]:
    server = ProviderServer(form)
    try:
        yield server
    finally:
        server.close()
