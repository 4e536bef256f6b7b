"""A real web server on loopback, for what tools fetch: answers by path, and what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


Page = Answer | Callable[[Asked], Answer]


def html(text: str) -> Answer:
    return Answer(text.encode(), headers={"Content-Type": "text/html; charset=utf-8"})


def as_json(value: Any, status: int = 200) -> Answer:
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json"})


def redirect(to: str) -> Answer:
    return Answer(status=302, headers={"Location": to})


class Site:
    """Pages by path (without the query), to be added to while it serves; `asked` is what it was asked."""

    def __init__(self, address: str) -> None:
        self.pages: dict[str, Page] = {}
        self.asked: list[Asked] = []
        self.port, self.authority, self.url = 0, "", ""

    def answer(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        page = self.pages.get(asked.path.partition("?")[0], Answer(b"not here", 404))
        return page if isinstance(page, Answer) else page(asked)


@contextlib.contextmanager
def serving(address: str = "127.0.0.1") -> Iterator[Site]:
    site = Site(address)

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = site.answer(Asked(self.command, self.path, dict(self.headers.items()), body))
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # who has read enough hangs up
                self.wfile.write(answer.body)

        do_GET = do_POST = do

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer((address, 0), Handler) as server:
        server.daemon_threads = True
        site.port = server.server_address[1]
        site.authority = f"{address}:{site.port}"
        site.url = f"http://{site.authority}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield site
        server.shutdown()
