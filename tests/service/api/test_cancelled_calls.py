"""After a cancel nothing of the run is left at work: what it fetches or asks is hung up on within its cancel."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest

from agentsvc_nb.testing import running_service
from agentsvc_nb.wire.runs import TERMINAL
from tests.service.api.conftest import Opened
from tests.support.waiting import until

HANGS_UP_SECONDS: Final = 5
"""Less than any time limit of a call, after which the service would hang up by itself."""


@dataclass
class HoldingServer:
    """A server that holds its answers, or their ends, for as long as the caller waits."""

    url: str
    authority: str
    asked: int = 0
    left: int = 0
    """The callers that have hung up."""


@contextlib.contextmanager
def holding_server(sent: bytes) -> Iterator[HoldingServer]:
    """A server that sends this much of its answers."""

    def hold(caller: socket.socket) -> None:
        with caller, contextlib.suppress(ConnectionError):
            caller.recv(1_000_000)
            caller.sendall(sent)
            server.asked += 1
            while caller.recv(1_000_000):
                pass
        server.left += 1

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=hold, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        authority = f"127.0.0.1:{listening.getsockname()[1]}"
        server = HoldingServer(f"http://{authority}", authority)
        threading.Thread(target=accept, daemon=True).start()
        yield server
        listening.shutdown(socket.SHUT_RDWR)


NOTHING: Final = b""
HALF: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<h1>"
PICTURE: Final = {"request": {"kind": "static_ad", "brief": "Sale", "background": "model"}}
"""A job, which the run follows."""


def call(tool: str, given: dict[str, Any]) -> str:
    return f"call {tool} {json.dumps(given)}\nsay done"


@pytest.mark.parametrize("sent", [NOTHING, HALF], ids=["before its answer", "in its middle"])
@pytest.mark.parametrize("called", ["a page", "a search", "an image model", "a model"])
def test_a_cancel_hangs_up_on_what_the_run_called(called: str, sent: bytes, opened: Opened) -> None:
    with holding_server(sent) as server:
        model, message, settings = {
            "a page": ("scripted", call("review_funnel", {"url": server.url}), {"fetch_allow": server.authority}),
            "a search": (
                "scripted",
                call("web_search", {"query": "tea"}),
                {"web_search": "searxng", "web_search_url": server.url},
            ),
            "an image model": ("scripted", call("create_images", PICTURE), {"image_url": server.url}),
            "a model": ("openai-chat:x", "hello", {"model_url": server.url}),
        }[called]
        with running_service(model, **settings) as service:
            wire = opened(service)
            run = wire.start(message)
            until(lambda: server.asked)
            assert server.left == 0
            assert wire("POST", f"/runs/{run['run_id']}/cancel").status_code == 200
            ended = until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda seen: seen["status"] in TERMINAL)
            assert ended["status"] == "cancelled"
            until(lambda: server.left == server.asked, patience=HANGS_UP_SECONDS)
            asked = server.asked
            assert wire("GET", f"/runs/{run['run_id']}").json() == ended
            assert server.asked == asked, "nothing is asked again"
