"""A server on loopback that stands in for a provider."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.unit.agents.wires.reply import UNFINISHED, Body, Form, Refused, Reply


class ProviderServer:
    """`asked` are the requests that were taken, in order, `keys` those that came along; `refused` says why others were
    not taken. Each request takes the next of the replies, and the last one stays. A reply may be a function of the
    request. `certificate` is a file with one and its key."""

    def __init__(self, form: Form, certificate: Path | None = None) -> None:
        self.form = form
        self.replies: list[Reply | Callable[[Body], Reply]] = []
        self.asked: list[Body] = []
        self.keys: list[str] = []
        self.refused: list[str] = []
        self.cut_off = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def answers(self, *replies: Reply | Callable[[Body], Reply]) -> None:
        """From now on; what was asked before is forgotten."""
        self.replies = list(replies)
        for seen in (self.asked, self.keys, self.refused):
            seen.clear()
        self.cut_off.clear()

    def next(self, body: Body) -> Reply:
        self.asked.append(body)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply if isinstance(reply, Reply) else reply(body)

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
            server.keys.append(headers.get("authorization", "").removeprefix("Bearer "))
            reply = Reply(status=404, error="Not Found")
            if form.takes(self.path):
                if why := form.complaint(self.path, headers, body):
                    server.refused.append(why)
                    self._refuse(form.wrong(why))
                    return
                reply = server.next(body)
            if reply.fault is not None or reply.status != 200:
                self._refuse(reply.fault or form.error(reply))
            else:
                self._stream(reply, body)

        def _stream(self, reply: Reply, body: Body) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.end_headers()
            with contextlib.suppress(OSError):  # who asked may have left
                for event in form.events(reply, self.path, body):
                    frame, unfinished, _ = form.framed(event).partition(UNFINISHED.encode())
                    self.wfile.write(frame + (b"\n\n" if unfinished else b""))
                    self.wfile.flush()
                if reply.hangs:
                    self.connection.settimeout(30)
                    if not self.connection.recv(1):
                        server.cut_off.set()
                elif not reply.breaks_off:
                    self.wfile.write(form.last)

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
    with contextlib.closing(ProviderServer(form)) as server:
        yield server
