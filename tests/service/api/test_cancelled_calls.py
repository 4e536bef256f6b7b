"""After a cancel nothing of the run is left at work: what it fetches or asks is hung up on within its cancel."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

import pytest

from agentsvc_nb.testing import running_service
from tests.service.api.conftest import Wire
from tests.service.api.service_fixture import ServiceFixture, stop
from tests.support.waiting import until

pytestmark = pytest.mark.rule("A cancelled run ends its requests to models, pages and search providers.")

HANGS_UP_SECONDS: Final = 5
"""Less than any time limit of a call, after which the service would hang up by itself."""
HALF: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<h1>"
PICTURE: Final = {"request": {"kind": "static_ad", "brief": "Headline: Sale", "background": "model"}}
"""A job, which the run follows."""


class HoldingServer:
    """A server that sends `sent` and holds the rest of its answers for as long as the caller waits."""

    def __init__(self, listening: socket.socket) -> None:
        self.authority = f"127.0.0.1:{listening.getsockname()[1]}"
        self.sent, self.asked, self.left = b"", 0, 0
        self.listening = listening

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.hold, args=(self.listening.accept()[0],), daemon=True).start()

    def hold(self, caller: socket.socket) -> None:
        with caller, contextlib.suppress(ConnectionError):
            caller.recv(1_000_000)
            caller.sendall(self.sent)
            self.asked += 1
            while caller.recv(1_000_000):
                pass
        self.left += 1


@pytest.fixture(scope="module")
def held(stage: ServiceFixture) -> Iterator[tuple[Wire, HoldingServer]]:
    """A service whose pages, searches, models of images and of text are all at this server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = HoldingServer(listening)
        threading.Thread(target=server.accept, daemon=True).start()
        url = f"http://{server.authority}"
        search = {"web_search": "searxng", "web_search_url": url, "fetch_allow": server.authority}
        models = {"models": "openai-chat:x,scripted", "model_url": url, "image_url": url}
        with running_service("openai-chat:x", **search, **models) as service:
            yield stage.open(service), server
        listening.shutdown(socket.SHUT_RDWR)


def call(tool: str, given: dict[str, Any]) -> str:
    return f"call {tool} {json.dumps(given)}\nsay done"


@pytest.mark.parametrize(
    ("called", "sent"), [("a page", HALF), ("a search", b""), ("an image model", b""), ("a model", HALF)]
)
def test_a_cancel_hangs_up_on_what_the_run_called(called: str, sent: bytes, held: tuple[Wire, HoldingServer]) -> None:
    """Before an answer, or in its middle."""
    wire, server = held
    message = {
        "a page": call("review_funnel", {"url": f"http://{server.authority}"}),
        "a search": call("web_search", {"query": "tea"}),
        "an image model": call("create_images", PICTURE),
        "a model": "hello",
    }[called]
    server.sent, before = sent, server.asked
    run = wire.start(message, model=None if called == "a model" else "scripted")
    until(lambda: server.asked > before)
    assert server.left < server.asked
    stop(wire, run)
    ended = wire("GET", f"/runs/{run['run_id']}").json()
    assert ended["status"] == "cancelled"
    until(lambda: server.left == server.asked, patience=HANGS_UP_SECONDS)
    asked = server.asked
    assert wire("GET", f"/runs/{run['run_id']}").json() == ended
    assert server.asked == asked, "nothing is asked again"
