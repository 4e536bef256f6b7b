"""What a key holds open ends with the key: streams, held starts and asks, downloads, uploads (docs/team.md "Keys")."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from agentsvc_nb import AgentService, AsyncAgentService, StefanBrainError
from agentsvc_nb.cli import main
from agentsvc_nb.client.errors import AuthenticationError
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.service.api.conftest import Opened, code
from tests.service.api.signing import signed_in
from tests.support.contents import incoming
from tests.support.waiting import until

T = TypeVar("T")
PATIENCE = 12.0
"""Below the 15 s after which a stream pings, and far below what a held request is held."""
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture(scope="module")
def own_service() -> Iterator[RunningService]:
    with running_service() as running:
        yield running


@pytest.fixture(params=["revoke", "suspend", "account", "plan"])
def ending(request: pytest.FixtureRequest, own_service: RunningService) -> Iterator[Ending]:
    made = Ending(own_service, request.param)
    yield made
    made.undo()


class Ending:
    """A key, and the end of its access by a command beside the running service."""

    def __init__(self, service: RunningService, how: str) -> None:
        self.service, self.how, self.name = service, how, f"key {uuid.uuid4()}"
        self.key = service.create_key(self.name)
        self.headers = {"x-api-key": self.key}
        self.refusal = {
            "revoke": (401, "unauthorized"),
            "suspend": (403, "key_suspended"),
            "account": (429, "user_suspended"),
            "plan": (403, "plan_access_required"),
        }[how]

    def now(self) -> None:
        words = {"account": ["account", "suspend"], "plan": ["account", "plan", "off"]}
        self._run(*words.get(self.how, ["keys", self.how, self.name]))

    def undo(self) -> None:
        words = {"account": ["account", "resume"], "plan": ["account", "plan", "on"]}
        if self.how in words:
            self._run(*words[self.how])

    def _run(self, *words: str) -> None:
        assert main([*words, "--data", str(self.service.data)]) == 0


def beside(work: Callable[[], T]) -> Future[T]:
    """What `work` gives, from a thread of its own, which a test that fails does not wait for."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future


def test_a_stream_ends_and_its_run_goes_on(ending: Ending, opened: Opened) -> None:
    service, wire = ending.service, opened(ending.service)
    run = wire.start("wait 120")
    url = f"{service.base_url}{V1}/runs/{run['run_id']}/events"
    with httpx.stream("GET", url, headers=ending.headers | STREAM, timeout=60) as stream:
        chunks = stream.iter_text()
        assert "retry: 1000" in next(chunks)
        rest = beside(lambda: "".join(chunks))
        ending.now()
        assert rest.result(PATIENCE).endswith(": this key's access has ended\n\n"), "and not in the middle of a frame"
    again = httpx.get(url, headers=ending.headers | STREAM)
    assert (again.status_code, code(again)) == ending.refusal
    ending.undo()
    assert wire("GET", f"/runs/{run['run_id']}").json()["status"] == "running"
    wire("POST", f"/runs/{run['run_id']}/cancel")


@pytest.mark.parametrize("path", ["/runs", "/tools/ask_stefanbrain/invoke"])
def test_what_is_held_is_refused_and_its_run_goes_on(path: str, ending: Ending, opened: Opened) -> None:
    service, wire = ending.service, opened(ending.service)
    chat = wire.new_chat()
    message = "write begun.txt x\nwait 120"
    asked: dict[str, Any] = {"message": message, "sync": True, "chat": chat}
    if path != "/runs":
        asked = {"input": {"message": message}, "chat": chat}
    url, key = service.base_url + V1 + path, ending.headers
    held = beside(lambda: httpx.post(url, headers=key, json=asked, timeout=150))
    [begun] = until(lambda: wire("GET", "/files", params={"chat_id": chat}).json()["files"])
    ending.now()
    answer = held.result(PATIENCE)
    assert (answer.status_code, code(answer)) == ending.refusal
    ending.undo()
    run_id = begun["run_id"]
    assert wire("GET", f"/runs/{run_id}").json()["status"] == "running"
    wire("POST", f"/runs/{run_id}/cancel")


def test_a_download_stops(ending: Ending, opened: Opened) -> None:
    service, wire, size = ending.service, opened(ending.service), 80_000_000
    chat = wire.new_chat()
    wire("POST", f"/files?chat_id={chat}", files={"files": ("big.bin", b"\0" * size)})
    url = f"{service.base_url}{V1}/files/download?chat_id={chat}&path=uploads/big.bin"
    with httpx.stream("GET", url, headers=ending.headers, timeout=60) as download:
        ending.now()
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
            read_slowly(download)
    assert 0 < download.num_bytes_downloaded < size


def read_slowly(download: httpx.Response) -> None:
    """As somebody far away: at most 6 MB a second."""
    for _ in download.iter_raw():
        time.sleep(0.01)


def test_an_upload_is_refused_while_it_is_sent_and_nothing_is_kept(ending: Ending) -> None:
    service = ending.service
    before = contents(service)
    request = http.client.HTTPConnection(service.base_url.removeprefix("http://"), timeout=PATIENCE)
    request.putrequest("POST", f"{V1}/files")
    for name, value in {**ending.headers, "Content-Type": "multipart/form-data; boundary=x"}.items():
        request.putheader(name, value)
    request.putheader("Content-Length", "10000000")
    request.endheaders()
    request.send(b'--x\r\nContent-Disposition: form-data; name="files"; filename="a.bin"\r\n\r\n' + b"a" * 100_000)
    until(lambda: contents(service) - before)
    ending.now()
    answer = request.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["code"]) == ending.refusal
    request.close()
    until(lambda: contents(service) <= before)


def contents(service: RunningService) -> set[Path]:
    return {path for path in incoming(service).iterdir() if path.is_file()}


def test_a_page_follows_no_longer_once_it_is_signed_out(own_service: RunningService, opened: Opened) -> None:
    wire = opened(own_service)
    run = wire.start("wait 120")
    with signed_in(own_service) as browser, httpx.Client(cookies=browser.cookies, timeout=60) as tab:
        url = f"{own_service.base_url}/app/runs/{run['run_id']}/events"
        with tab.stream("GET", url, headers=STREAM) as stream:
            chunks = stream.iter_text()
            assert "retry: 1000" in next(chunks)
            rest = beside(lambda: "".join(chunks))
            assert browser.post("/app/sign-out").status_code == 303
            assert rest.result(PATIENCE).endswith("has ended\n\n")
        assert tab.get(url, headers=STREAM).status_code == 401
    wire("POST", f"/runs/{run['run_id']}/cancel")


def test_a_client_that_follows_is_told_and_does_not_come_back(ending: Ending, opened: Opened) -> None:
    service, wire = ending.service, opened(ending.service)
    run_id = wire.start("wait 120")["run_id"]
    seen: list[str] = []

    def follow() -> None:
        with AgentService(ending.key, service.base_url) as client, client.runs.attach(run_id) as stream:
            seen.extend(event.type for event in stream)

    async def follow_in_a_loop() -> None:
        async with AsyncAgentService(ending.key, service.base_url) as client:
            async for event in await client.runs.attach(run_id):
                seen.append(event.type)

    followers = [beside(follow), beside(lambda: asyncio.run(follow_in_a_loop()))]
    until(lambda: len(seen) >= 4)  # queued and running, of both
    ending.now()
    for follower in followers:
        refusal = follower.exception(PATIENCE)
        assert isinstance(refusal, StefanBrainError)
        assert isinstance(refusal, AuthenticationError) is (ending.how == "revoke")
        assert (refusal.status, refusal.code) == ending.refusal
        assert refusal.attempts <= 2, "it came back once"
    ending.undo()
    wire("POST", f"/runs/{run_id}/cancel")


def test_what_another_key_holds_goes_on(own_service: RunningService, opened: Opened) -> None:
    wire, ended = opened(own_service), Ending(own_service, "revoke")
    run = wire.start("wait 2\nsay done")
    url = f"{own_service.base_url}{V1}/runs/{run['run_id']}/events"
    with httpx.stream("GET", url, headers={"x-api-key": own_service.api_key} | STREAM, timeout=60) as stream:
        ended.now()
        assert "event: run.ended" in "".join(stream.iter_text())
