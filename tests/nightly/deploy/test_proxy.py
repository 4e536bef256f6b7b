"""The limits of docs/deploy/haproxy.cfg: HAProxy itself runs in front of a service, with smaller numbers."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.routes import V1
from tests.service.process.test_stop import connected
from tests.support.waiting import PATIENCE_SECONDS, until

CONFIG = Path(__file__).parents[3] / "docs" / "deploy" / "haproxy.cfg"
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
SIZE = 20_000_000
"""Of a file: more than the proxy and the system hold for a client that reads nothing."""
Proxy = Callable[..., str]

pytestmark = pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")


@pytest.fixture(scope="module")
def behind() -> Iterator[RunningService]:
    with running_service(gateway_seconds=3) as service:
        yield service


@pytest.fixture
def proxy(behind: RunningService, tmp_path: Path) -> Iterator[Proxy]:
    """Start a proxy in front of the service, with some lines of its configuration replaced, and return its address."""
    with contextlib.ExitStack() as stack:

        def start(replaced: dict[str, str] | None = None) -> str:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            text = CONFIG.read_text()
            for old, new in {"bind :8787": f"bind 127.0.0.1:{port}", **(replaced or {})}.items():
                assert old in text, old
                text = text.replace(old, new)
            text = re.sub(r"resolvers container\n( .*\n)+", "", text)
            text = text.replace(" resolvers container init-addr last,libc,none", "")
            text = re.sub(r"server replica-1 .*", f"server replica-1 {behind.base_url.removeprefix('http://')}", text)
            text = re.sub(r" *server replica-2 .*", "", text)
            file = tmp_path / "haproxy.cfg"
            file.write_text(text)
            process = stack.enter_context(subprocess.Popen(["haproxy", "-q", "-db", "-f", str(file)]))
            stack.callback(process.kill)
            origin = f"http://127.0.0.1:{port}"

            def is_up() -> bool:
                with contextlib.suppress(OSError), connected(origin):
                    return True
                return False

            until(is_up)
            return origin

        yield start


def is_refused(origin: str) -> bool:
    """Whether the proxy closes a new connection without a word."""
    with contextlib.suppress(ConnectionError), connected(origin) as connection:
        connection.sendall(GET + b"Connection: close\r\n\r\n")
        return connection.recv(1) == b""
    return True


def test_errors_of_the_proxy_are_those_of_the_api() -> None:
    errors = re.findall(r"http-error status (\d+) .* string '(.*)'", CONFIG.read_text())
    assert len(errors) == 4
    for status, text in errors:
        error = json.loads(text)["error"]
        row = CODES[error["code"]]
        assert (row.status, row.type) == (int(status), error["type"])


def test_the_size_of_a_head_is_limited(proxy: Proxy) -> None:
    origin = proxy()
    for size, expected in ((50_000, b"HTTP/1.1 200"), (70_000, b"HTTP/1.1 400")):
        with connected(origin) as connection:
            connection.sendall(GET + b"Connection: close\r\nCookie: " + b"x" * size + b"\r\n\r\n")
            assert connection.recv(12) == expected
    with connected(origin) as connection:
        connection.sendall(GET + b"a: b\r\n" * 200 + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 400"


def test_the_time_of_a_head_is_limited(proxy: Proxy) -> None:
    origin = proxy({"timeout http-request 15s": "timeout http-request 1s"})
    with connected(origin) as silent, connected(origin) as dripping:
        dripping.settimeout(0.2)
        dripping.sendall(GET + b"a: ")
        begun, first = time.monotonic(), b""
        while not first:
            dripping.sendall(b"x")
            with contextlib.suppress(TimeoutError):
                first = dripping.recv(12)
            assert time.monotonic() - begun < PATIENCE_SECONDS
        assert first == b"HTTP/1.1 408"
        assert silent.recv(12) in (b"", b"HTTP/1.1 408")


def test_an_address_has_some_connections(proxy: Proxy) -> None:
    origin = proxy({"sc0_conn_cur gt 256": "sc0_conn_cur gt 5"})
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            with contextlib.suppress(ConnectionError):
                stack.enter_context(connected(origin))
        until(lambda: is_refused(origin))  # once the others are accepted
    until(lambda: not is_refused(origin))


def test_wrong_keys_in_a_loop_are_refused_by_the_proxy(proxy: Proxy) -> None:
    origin = proxy({"sc0_http_err_rate gt 200": "sc0_http_err_rate gt 20"})
    with httpx.Client(base_url=origin) as http:
        answers = [http.get(f"{V1}/tools", headers={"x-api-key": "wrong"}) for _ in range(30)]
    assert answers[0].status_code == 401
    assert answers[-1].status_code == 429
    assert answers[-1].json()["error"]["code"] == "user_throttled"
    assert answers[-1].headers["retry-after"] == "10"


def large_file(service: RunningService) -> str:
    """The path to download it."""
    with AgentService(service.api_key, service.base_url) as client:
        chat = client.runs.start("say x", sync=True).chat
        client.files.upload(("large.bin", bytes(SIZE)), chat=chat)
    return f"{V1}/files/download?chat_id={chat}&path=uploads/large.bin"


def test_a_client_that_reads_nothing_is_closed_and_a_slow_one_gets_all(behind: RunningService, proxy: Proxy) -> None:
    path = large_file(behind)
    origin = proxy({"timeout client 130s": "timeout client 2s"})
    get = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {behind.api_key}\r\nConnection: close\r\n\r\n"
    with connected(origin) as unread, connected(origin) as slow:
        unread.sendall(get.encode())
        slow.sendall(get.encode())
        received = 0
        while part := slow.recv(400_000):
            received += len(part)
            time.sleep(0.1)
        assert received > SIZE
        rest = 0
        with contextlib.suppress(ConnectionError):
            while part := unread.recv(1_000_000):
                rest += len(part)
        assert rest < SIZE


def test_uploads_streams_and_downloads_pass_whole(behind: RunningService, proxy: Proxy) -> None:
    """A stream goes on through a silence that is longer than the time that a client may be silent."""
    origin = proxy({"timeout client 130s": "timeout client 2s"})
    content = bytes(range(256)) * 40_000
    with AgentService(behind.api_key, origin) as client:
        chat = client.runs.start("say x", sync=True).chat
        assert chat is not None
        client.files.upload(("large.bin", content), chat=chat)
        assert client.files.head("uploads/large.bin", len(content), chat=chat) == content
        with client.runs.start_and_stream("say first\nwait 4\nsay last") as stream:
            times = [(event.type, time.monotonic()) for event in stream]
        texts = [at for kind, at in times if kind == "text.delta"]
        assert texts[-1] - texts[0] > 3, "each event comes as it is sent"
        assert client.runs.get(stream.run_id).output == "first\nlast"


def test_only_the_proxy_says_how_a_client_came(behind: RunningService, proxy: Proxy, tmp_path: Path) -> None:
    """A session's cookie is for HTTPS alone where the client came by HTTPS, whatever the client says."""
    claimed = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}
    path = behind.sign_in_url.removeprefix(behind.base_url)
    plain = httpx.get(proxy() + path, headers=claimed)
    assert plain.status_code == 303
    assert "secure" not in plain.headers["set-cookie"].lower()
