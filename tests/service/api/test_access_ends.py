"""What a key holds open ends with the key: streams, held starts and asks, downloads, uploads (docs/keys.md)."""

from __future__ import annotations

import http.client
import json
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import ServiceFixture
from tests.support.contents import incoming
from tests.support.waiting import PATIENCE_SECONDS, until

STREAM = {"Accept": "text/event-stream"}
ENDINGS = {"revoke": (401, "unauthorized"), "account": (429, "user_suspended")}


@pytest.fixture(scope="module")
def own_service() -> Iterator[RunningService]:
    """A service whose account may be suspended."""
    with running_service() as running:
        yield running


class Key:
    """A key, and the end of its access by a command beside the running service."""

    def __init__(self, service: RunningService, how: str = "revoke") -> None:
        self.service, self.how, self.name = service, how, f"key {uuid.uuid4()}"
        self.key = service.create_key(self.name)
        self.headers = {"x-api-key": self.key}

    def end(self) -> None:
        words = ["account", "suspend"] if self.how == "account" else ["keys", "revoke", self.name]
        assert main([*words, "--data", str(self.service.data)]) == 0

    def undo(self) -> None:
        assert main(["account", "resume", "--data", str(self.service.data)]) == 0


@pytest.fixture
def key(own_service: RunningService) -> Key:
    return Key(own_service)


@pytest.mark.rule("Revoking a key ends its open streams within a second; the runs continue.")
@pytest.mark.parametrize("how", ENDINGS)
def test_a_stream_ends_and_its_run_goes_on(own_service: RunningService, stage: ServiceFixture, how: str) -> None:
    wire, key = stage.open(own_service), Key(own_service, how)
    run = wire.start("wait 60")
    url = f"{own_service.base_url}{V1}/runs/{run['run_id']}/events"
    try:
        with httpx.stream("GET", url, headers=key.headers | STREAM, timeout=PATIENCE_SECONDS) as stream:
            chunks = stream.iter_text()
            assert "retry: 1000" in next(chunks)
            key.end()
            assert "".join(chunks).splitlines()[-2].startswith(": "), "a comment, and not in the middle of a frame"
        again = httpx.get(url, headers=key.headers | STREAM)
        assert (again.status_code, code(again)) == ENDINGS[how]
    finally:
        key.undo()
    assert wire("GET", f"/runs/{run['run_id']}").json()["status"] == "running"
    wire("POST", f"/runs/{run['run_id']}/cancel")


def test_what_is_held_is_refused_and_its_run_goes_on(
    own_service: RunningService, key: Key, stage: ServiceFixture
) -> None:
    wire = stage.open(own_service)
    chat = wire.new_chat()
    asked = {"message": "write begun.txt x\nwait 60", "sync": True, "chat": chat}
    url = f"{own_service.base_url}{V1}/runs"
    with ThreadPoolExecutor() as pool:
        held = pool.submit(httpx.post, url, headers=key.headers, json=asked, timeout=PATIENCE_SECONDS)
        [begun] = until(lambda: wire("GET", "/files", params={"chat_id": chat}).json()["files"])
        key.end()
        answer = held.result()
    assert (answer.status_code, code(answer)) == ENDINGS["revoke"]
    assert wire("GET", f"/runs/{begun['run_id']}").json()["status"] == "running"
    wire("POST", f"/runs/{begun['run_id']}/cancel")


def test_a_download_stops(own_service: RunningService, key: Key, stage: ServiceFixture) -> None:
    wire, size = stage.open(own_service), 24_000_000
    chat = wire.new_chat()
    wire("POST", f"/files?chat_id={chat}", files={"files": ("big.bin", b"\0" * size)})
    url = f"{own_service.base_url}{V1}/files/download?chat_id={chat}&path=uploads/big.bin"
    with httpx.stream("GET", url, headers=key.headers, timeout=PATIENCE_SECONDS) as download:
        key.end()
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
            read_slowly(download, wire)
    assert 0 < download.num_bytes_downloaded < size


def read_slowly(download: httpx.Response, wire: Wire) -> None:
    """As somebody far away: with a request between two parts."""
    for _ in download.iter_raw():
        wire("GET", "/tools")


@pytest.mark.rule("Revoking a key ends its uploads, and nothing is stored.")
def test_an_upload_is_refused_while_it_is_sent_and_nothing_is_kept(own_service: RunningService, key: Key) -> None:
    before = contents(own_service)
    request = http.client.HTTPConnection(own_service.base_url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
    request.putrequest("POST", f"{V1}/files")
    for name, value in {**key.headers, "Content-Type": "multipart/form-data; boundary=x"}.items():
        request.putheader(name, value)
    request.putheader("Content-Length", "10000000")
    request.endheaders()
    request.send(b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n' + b"a" * 100_000)
    until(lambda: contents(own_service) - before)
    key.end()
    answer = request.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["code"]) == ENDINGS["revoke"]
    request.close()
    until(lambda: contents(own_service) <= before)


def contents(service: RunningService) -> set[Path]:
    return {path for path in incoming(service).iterdir() if path.is_file()}
