"""Address, key, answers that are none, and the embedded service coming back."""

from __future__ import annotations

import asyncio
import os
import re
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from agentsvc_nb.client.api import AgentService, AsyncAgentService
from agentsvc_nb.client.core import Core
from agentsvc_nb.client.errors import APIConnectionError, AuthenticationError, StefanBrainError
from agentsvc_nb.client.options import ClientSettings
from agentsvc_nb.client.origin import Origin
from agentsvc_nb.client.transport.io import run_sync
from tests.client.conftest import KEY, RUN_ID, Network, Scripted, answer, client_on, failure, run

Networks = Callable[..., Network]


@pytest.mark.parametrize("face", [AgentService, AsyncAgentService])
def test_without_a_key_there_is_no_client(face: type, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthenticationError, match="SERVICE_API_KEY"):
        face()
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    assert repr(face()) == f"{face.__name__}('http://127.0.0.1:8787')"


@pytest.mark.parametrize("key", ["top secret", "topsecret\n", "tøpsecret", "topsecret\x00"])
def test_a_key_that_cannot_be_sent_is_not_shown_either(key: str) -> None:
    with pytest.raises(AuthenticationError) as caught:
        AgentService(key)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "service.test",
        "ftp://x",
        "http://",
        "http://user:pw@x",
        "http://x:0",
        "http://x:y",
        "http://x/?q",
        "http://x /",
    ],
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(StefanBrainError, match="must be an address such as"):
        AgentService(KEY, url)


@pytest.mark.parametrize(
    ("base_url", "sent_to"),
    [
        ("http://service.test/", f"http://service.test/api/developers/v1/runs/{RUN_ID}"),
        ("https://host/prefix/", f"https://host/prefix/api/developers/v1/runs/{RUN_ID}"),
        ("http://[::1]:8787", f"http://[::1]:8787/api/developers/v1/runs/{RUN_ID}"),
    ],
)
def test_where_requests_go(network: Networks, base_url: str, sent_to: str) -> None:
    net = network(answer(200, run()))
    client_on(Core(Origin(KEY, base_url), net.io)).runs.get(RUN_ID)
    assert str(net.requests[0].url) == sent_to
    assert net.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_ids_cannot_leave_their_place_in_the_path(network: Networks) -> None:
    net = network(failure("invalid_run_id", 400))
    with pytest.raises(StefanBrainError):
        net.client.runs.get("../../keys?x=")
    assert net.requests[0].url.raw_path == b"/api/developers/v1/runs/..%2F..%2Fkeys%3Fx%3D"


@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("https://elsewhere.test:8443/x?token=1", r"to https://elsewhere\.test:8443; the client follows no redirects"),
        ("//elsewhere.test/x", r"to //elsewhere\.test;"),
        ("/sign-in", "to another path;"),
        ("http://[", "to an address that cannot be read;"),
        ("javascript:1", "redirected to an address that cannot be read;"),
    ],
)
def test_the_key_does_not_follow_redirects(network: Networks, location: str, named: str) -> None:
    net = network(httpx.Response(307, headers={"location": location}))
    with pytest.raises(StefanBrainError, match=named) as caught:
        net.client.runs.get(RUN_ID)
    assert len(net.requests) == 1
    assert "token" not in str(caught.value)


def test_what_the_service_says_of_other_addresses_leads_the_key_nowhere(network: Networks) -> None:
    """A listing may name any `download_url`: a file is asked for by its path, at the configured origin."""
    entry = {"id": "1", "path": "a.txt", "download_url": "https://elsewhere.test/steal"}
    net = network(answer(200, {"files": [entry]}), httpx.Response(200, content=iter([b"x"])))
    file = net.client.files.list("chat_1").first()
    assert file is not None
    net.client.files.download(file, chat="chat_1")
    assert {request.url.host for request in net.requests} == {"service.test"}


# -- a client of one's own -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong", "named"),
    [
        ("http_client", httpx.AsyncClient(), "http_client must be an httpx.Client here, not httpx.AsyncClient"),
        ("http_client", object(), "http_client must be an httpx.Client here, not builtins.object"),
        ("transport", httpx.AsyncHTTPTransport(), "transport must be an httpx.BaseTransport here"),
    ],
)
def test_what_is_of_another_library_is_refused(name: str, wrong: Any, named: str) -> None:
    with pytest.raises(TypeError, match=re.escape(named)):
        AgentService(KEY, **{name: wrong})


def test_ones_own_client_is_used_and_left_open() -> None:
    """Its proxies, hooks, headers and cookies count; its redirects, timeouts, authentication and keys do not."""
    sent: list[httpx.Request] = []

    def service(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return answer(200, run()) if len(sent) == 1 else httpx.Response(307, headers={"location": "http://else.test/"})

    headers = {"x-api-key": "another", "authorization": "Bearer another", "x-own": "1"}
    transport = httpx.MockTransport(service)
    own = httpx.Client(
        transport=transport, headers=headers, auth=("user", "password"), follow_redirects=True, timeout=9
    )
    own.cookies.set("site", "a")
    with own:
        with AgentService(KEY, "http://service.test", http_client=own) as client:
            client.runs.get(RUN_ID)
            with pytest.raises(StefanBrainError, match="redirected"):
                client.runs.get(RUN_ID)
        assert not own.is_closed
    assert len(sent) == 2
    assert [sent[0].headers.get(name) for name in headers] == [None, f"Bearer {KEY}", "1"]
    assert sent[0].headers["cookie"] == "site=a"
    assert sent[0].extensions["timeout"]["read"] == 60


def test_ones_own_async_client() -> None:
    async def get() -> str:
        async with httpx.AsyncClient(transport=httpx.MockTransport(lambda request: answer(200, run()))) as own:
            async with AsyncAgentService(KEY, http_client=own) as client:
                status = (await client.runs.get(RUN_ID)).status
            assert not own.is_closed
            return status

    assert asyncio.run(get()) == "queued"


@pytest.mark.parametrize("trouble", [httpx.ConnectError("refused"), failure("unauthorized", 401)])
def test_the_key_is_in_no_traceback(network: Networks, trouble: Scripted) -> None:
    """Neither in the text nor in the representation of any local variable."""
    net = network(*[trouble] * 3)
    try:
        net.client.runs.get(RUN_ID)
    except StefanBrainError as error:
        shown = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    assert "Core('http://service.test')" in shown
    assert KEY not in shown
    assert "httpcore" not in shown
    assert "During handling" not in shown
    assert "direct cause" not in shown


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"[1]", b"7", b""])
def test_an_answer_of_something_else(network: Networks, body: bytes) -> None:
    net = network(httpx.Response(200, content=body))
    with pytest.raises(StefanBrainError, match="check the base URL"):
        net.client.runs.get(RUN_ID)


def test_fields_and_states_that_are_new_are_kept(network: Networks) -> None:
    net = network(answer(200, run("paused", mood="good", usage={"cache": 7})))
    record = net.client.runs.get(RUN_ID)
    assert (record.status, record.ended, record.usage.model_dump()["cache"]) == ("paused", False, 7)
    assert record.mood == "good"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (run(steps="many"), "`steps`: Input should be a valid integer"),
        (run(usage={"input_tokens": []}), "`usage.input_tokens`: Input should be a valid integer"),
        ({"status": "queued"}, "`run_id`: Field required"),
    ],
)
def test_a_wrong_type_names_its_field(network: Networks, wrong: dict[str, Any], named: str) -> None:
    net = network(answer(200, wrong, x_request_id="req-1"))
    with pytest.raises(StefanBrainError, match=named) as caught:
        net.client.runs.get(RUN_ID)
    assert (caught.value.status, caught.value.request_id, caught.value.method) == (200, "req-1", "GET")


def test_a_core_that_really_waits_is_a_bug_and_says_so() -> None:
    with pytest.raises(RuntimeError, match="please report"):
        run_sync(asyncio.sleep(0))


# -- revive: only the embedded service ---------------------------------------------------------------------------


class Embedded:
    """A service that was down and comes back elsewhere, with another key."""

    def __init__(self, *answers: Scripted, max_retries: int = 0) -> None:
        self.net = Network(answers)
        self.revived = 0
        origin = Origin(KEY, "http://127.0.0.1:1", self.revive)
        self.client = client_on(Core(origin, self.net.io, ClientSettings(max_retries=max_retries)))

    def revive(self) -> tuple[str, str]:
        self.revived += 1
        return f"http://127.0.0.1:{self.revived + 1}", f"new-key-{self.revived}"


REFUSED, DROPPED = httpx.ConnectError("refused"), httpx.ReadError("reset")


@pytest.mark.parametrize("trouble", [REFUSED, DROPPED])
def test_a_read_is_repeated_at_the_new_address_with_the_new_key(trouble: Exception) -> None:
    embedded = Embedded(trouble, answer(200, run()), answer(200, run()))
    embedded.client.runs.get(RUN_ID)
    embedded.client.runs.get(RUN_ID)
    sent = [(request.url.port, request.headers["authorization"]) for request in embedded.net.requests]
    assert sent == [(1, f"Bearer {KEY}"), (2, "Bearer new-key-1"), (2, "Bearer new-key-1")]


def test_a_refused_key_is_replaced_once_and_the_call_repeated() -> None:
    """A start without a key, too: it was refused before anything was done."""
    embedded = Embedded(failure("unauthorized", 401), answer(202, run()))
    assert embedded.client.runs.start("hello").run_id == RUN_ID
    embedded = Embedded(*[failure("unauthorized", 401)] * 2, max_retries=3)
    with pytest.raises(AuthenticationError):
        embedded.client.runs.get(RUN_ID)
    assert embedded.revived == 1


def test_a_refused_pipe_is_not_sent_again() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with open(reading, "rb") as pipe:
        embedded = Embedded(failure("unauthorized", 401))
        with pytest.raises(AuthenticationError):
            embedded.client.runs.start("hello", files=[pipe])
    assert embedded.revived == 0


def test_it_is_revived_once_an_attempt() -> None:
    embedded = Embedded(*[REFUSED] * 4, max_retries=1)
    with pytest.raises(APIConnectionError):
        embedded.client.runs.get(RUN_ID)
    assert embedded.revived == 2


def test_a_keyed_start_is_repeated() -> None:
    embedded = Embedded(DROPPED, answer(202, run()))
    assert embedded.client.runs.start("hello", idempotency_key="k").run_id == RUN_ID


def test_a_keyless_start_that_was_sent_is_not_repeated() -> None:
    embedded = Embedded(DROPPED)
    with pytest.raises(APIConnectionError, match="may have started"):
        embedded.client.runs.start("hello")
    assert embedded.revived == 0


def test_a_keyless_start_that_never_left_is_sent() -> None:
    """The service had stopped when idle: nothing was started, so sending is no repeating."""
    embedded = Embedded(REFUSED, answer(202, run()))
    assert embedded.client.runs.start("hello").run_id == RUN_ID


def test_a_slow_service_is_not_a_gone_one() -> None:
    embedded = Embedded(httpx.ReadTimeout(""))
    with pytest.raises(APIConnectionError) as caught:
        embedded.client.runs.get(RUN_ID)
    assert (caught.value.timed_out, embedded.revived) == (True, 0)
