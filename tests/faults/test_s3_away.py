"""A service whose contents lie in an S3 server that goes away, comes back, or never was what the settings say."""

from __future__ import annotations

import contextlib
import random
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.api.test_tables_http import asked as told
from tests.support.contents import forget
from tests.support.s3_server import S3Server, running_s3

Opened = Callable[[RunningService], Wire]
LARGE = bytes(range(256)) * 50_000


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server of this test's own, which it may kill."""
    with running_s3() as server:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def opened() -> Iterator[Opened]:
    with contextlib.ExitStack() as stack:

        def open_(service: RunningService) -> Wire:
            headers = {"Authorization": f"Bearer {service.api_key}"}
            http = httpx.Client(base_url=service.base_url, headers=headers, timeout=120)
            return Wire(stack.enter_context(http))

        yield open_


def downloaded(wire: Wire, chat: str, path: str) -> httpx.Response:
    return wire("GET", "/files/download", params={"chat_id": chat, "path": path})


def test_nothing_is_lost_while_the_server_is_away(server: S3Server, opened: Opened) -> None:
    with running_service(blobs=server.address()) as service:
        wire = opened(service)
        chat = wire.finish("write kept.txt kept")["chat"]
        large = [("files", ("large.bin", LARGE))]
        assert wire("POST", "/files", params={"chat_id": chat}, files=large).status_code == 200
        table = [("files", ("sales.csv", b"city,revenue\nGraz,40\nLinz,2\n"))]
        assert wire("POST", "/files", params={"chat_id": chat}, files=table).status_code == 200
        listed = wire("GET", "/files", params={"chat_id": chat}).json()
        forget(service)
        server.kill()
        key = {"Idempotency-Key": uuid.uuid4().hex}
        payload = {"payload": '{"message": "say again", "sync": true}'}

        def start() -> httpx.Response:
            return wire("POST", "/runs", data=payload, files=[("files", ("new.txt", b"new"))], headers=key)

        asked: list[Callable[[], Any]] = [
            lambda: wire("POST", "/files", params={"chat_id": chat}, files=[("files", ("new.txt", b"new words"))]),
            lambda: wire("POST", "/files", files=large),
            lambda: downloaded(wire, chat, "uploads/large.bin"),
            start,
        ]
        with ThreadPoolExecutor() as pool:
            writing = pool.submit(wire.finish, "write lost.txt lost words")
            for answer in pool.map(lambda ask: ask(), asked):
                assert (answer.status_code, code(answer)) == (503, "workspace_busy")
                assert "can't be reached" in answer.json()["error"]["message"]
            run = writing.result()
        assert (run["status"], run["last_error"]) == ("failed", "upstream_failed")
        assert "can't be reached" in run["last_error_message"]
        assert wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"] == []
        assert wire("GET", "/files", params={"chat_id": chat}).json() == listed
        assert not any((service.data / "cache" / "incoming").iterdir())
        assert wire.finish("say still here")["output"] == "still here"
        server.start()
        assert downloaded(wire, chat, "uploads/large.bin").content == LARGE
        assert downloaded(wire, chat, "kept.txt").content == b"kept"
        assert start().json()["status"] == "completed", "the key is still free"
        service.kill()
        service.start()
        wire = opened(service)
        assert downloaded(wire, chat, "kept.txt").content == b"kept"
        assert "42" in told(wire, chat, "SELECT sum(revenue) FROM sales"), "the cache was emptied"


def test_a_download_breaks_off_with_the_server_and_goes_on_later(server: S3Server, opened: Opened) -> None:
    """What has come is not taken for the whole file."""
    whole = random.Random(3).randbytes(60_000_000)
    with running_service(blobs=server.address(), max_file_bytes=len(whole)) as service:
        wire = opened(service)
        chat = wire.new_chat()
        put = wire("POST", "/files", params={"chat_id": chat}, files=[("files", ("whole.bin", whole))])
        assert put.status_code == 200
        forget(service)
        params = {"chat_id": chat, "path": "uploads/whole.bin"}
        received = bytearray()

        def receive() -> None:
            with wire.http.stream("GET", f"{V1}/files/download", params=params) as answer:
                for piece in answer.iter_bytes():
                    if not received:
                        server.kill()
                    received.extend(piece)

        with pytest.raises(httpx.RemoteProtocolError):
            receive()
        assert 0 < len(received) < len(whole)
        assert "a download broke off" in (service.data / "serve.log").read_text()
        server.start()
        rest = wire("GET", "/files/download", params=params, headers={"Range": f"bytes={len(received)}-"})
        assert (rest.status_code, bytes(received) + rest.content) == (206, whole)


def test_a_bucket_and_keys_that_are_wrong_end_the_start(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        pytest.raises(RuntimeError, match="The bucket of AGENTSVC_BLOBS does not exist"),
        running_service(blobs="s3://nobodys/contents"),
    ):
        pass
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    with pytest.raises(RuntimeError, match="refuses the service") as caught, running_service(blobs=s3.address()):
        pass
    assert "wrong-secret" not in str(caught.value)
    assert "Traceback" not in str(caught.value)
