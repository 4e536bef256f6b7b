"""A service whose contents lie in an S3 server that goes away, comes back, or never was what the settings say."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from agentsvc_nb.testing import RunningService, running_service
from tests.service.api.conftest import Wire, code
from tests.support.s3_server import S3Server, running_s3

LARGE = random.Random(3).randbytes(12_000_000)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A server of this test's own, which it may kill."""
    with running_s3() as server:
        for name, value in server.env.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def service(server: S3Server) -> Iterator[RunningService]:
    with running_service(blobs=server.address()) as service:
        yield service


@pytest.fixture
def wire(service: RunningService) -> Iterator[Wire]:
    headers = {"Authorization": f"Bearer {service.api_key}"}
    with httpx.Client(base_url=service.base_url, headers=headers, timeout=120) as http:
        yield Wire(http)


def test_nothing_is_lost_while_the_server_is_away(wire: Wire, service: RunningService, server: S3Server) -> None:
    def upload(chat: str | None, name: str, content: bytes) -> httpx.Response:
        return wire("POST", "/files", params={"chat_id": chat} if chat else None, files=[("files", (name, content))])

    def download(path: str) -> httpx.Response:
        return wire("GET", "/files/download", params={"chat_id": chat, "path": path})

    def start() -> httpx.Response:
        payload = {"payload": '{"message": "say again", "sync": true}'}
        files = [("files", ("new.txt", b"new"))]
        return wire("POST", "/runs", data=payload, files=files, headers={"Idempotency-Key": "k"})

    chat = wire.finish("write kept.txt kept")["chat"]
    assert upload(chat, "large.bin", LARGE).status_code == 200
    listed = wire("GET", "/files", params={"chat_id": chat}).json()
    for copy in (service.data / "cache").glob("??/??/*"):
        copy.unlink()
    server.kill()
    asked: list[Callable[[], Any]] = [
        lambda: upload(chat, "new.txt", b"new words"),
        lambda: upload(None, "large.bin", LARGE),
        lambda: download("uploads/large.bin"),
        start,
    ]
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(wire.finish, "write lost.txt lost words")
        for answer in pool.map(lambda ask: ask(), asked):
            assert (answer.status_code, code(answer)) == (503, "workspace_busy")
            assert "can't be reached" in answer.json()["error"]["message"]
        run = writing.result()
    assert (run["status"], run["last_error"]) == ("failed", "upstream_failed")
    assert wire("GET", "/files", params={"chat_id": run["chat"]}).json()["files"] == []
    assert wire("GET", "/files", params={"chat_id": chat}).json() == listed
    assert not any((service.data / "cache" / "incoming").iterdir())
    server.start()
    assert download("uploads/large.bin").content == LARGE
    assert download("kept.txt").content == b"kept"
    assert start().json()["status"] == "completed", "the key is still free"


def test_a_bucket_and_keys_that_are_wrong_end_the_start(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="does not exist"), running_service(blobs="s3://nobodys/contents"):
        pass
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret")
    with pytest.raises(RuntimeError, match="refuses the service") as caught, running_service(blobs=s3.address()):
        pass
    assert "wrong-secret" not in str(caught.value)
