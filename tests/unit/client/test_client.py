"""The constructor, options of calls, the caller's own httpx client, hooks, and where the key goes."""

from __future__ import annotations

import logging
from typing import Any

import httpx
import pytest

import agentsvc_nb
from agentsvc_nb import (
    AgentService,
    AsyncAgentService,
    AuthenticationError,
    RateLimitError,
    StefanBrainError,
    WorkspaceFile,
)
from tests.unit.client.conftest import FACES, HOST, KEY, RUN_ID, V1, Network, Networks, answer, failure, run
from tests.unit.client.streams import sse

DOWNLOAD = f"{V1}/files/download"


def read(client: Any) -> Any:
    return client.runs.get(RUN_ID)


@pytest.mark.rule("Without a key, the constructor raises `AuthenticationError` and sends nothing.")
@pytest.mark.parametrize("face", [AgentService, AsyncAgentService])
def test_without_a_key_there_is_no_client(face: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERVICE_API_KEY", raising=False)
    with pytest.raises(AuthenticationError, match="SERVICE_API_KEY"):
        face()
    monkeypatch.setenv("SERVICE_API_KEY", KEY)
    monkeypatch.delenv("AGENTSVC_BASE_URL", raising=False)
    assert repr(face()) == f"{face.__name__}('http://127.0.0.1:8787')"
    monkeypatch.setenv("AGENTSVC_BASE_URL", "https://set.test/")
    assert face().base_url == "https://set.test"
    assert face(KEY, "http://given.test").base_url == "http://given.test"


@pytest.mark.parametrize(
    "address",
    ["", "ftp://x", "http://user:pw@x", "http://x/?q", 5, "http://[::1", "http://h\\x", "http://\uff11.0.0.1"],
)
def test_odd_addresses_are_refused_before_anything_is_sent(address: Any) -> None:
    transport = httpx.MockTransport(lambda request: answer(200, run()))
    with pytest.raises(StefanBrainError, match=r"base URL|no address"):
        FACES["blocking"](address, read, transport=transport)


@pytest.mark.parametrize("base_url", ["http://service.test/", "https://host/prefix/", "http://[::1]:8787"])
def test_where_requests_go(network: Networks, base_url: str) -> None:
    net = network(answer(200, run(), set_cookie="a=b; Path=/"), answer(200, run()))
    client = AgentService(KEY, base_url, transport=net.transport)
    for _ in "ab":
        client.runs.get(RUN_ID)
    assert str(net.requests[0].url) == f"{base_url.rstrip('/')}{V1}/runs/{RUN_ID}"
    assert net.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert net.requests[0].headers["user-agent"] == f"agentsvc-nb/{agentsvc_nb.__version__}"
    assert "cookie" not in net.requests[1].headers


@pytest.mark.rule("The client sends its key to the configured origin only.")
@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("https://elsewhere.test:8443/x?token=1", "https://elsewhere.test:8443"),
        ("//elsewhere.test/x", "//elsewhere.test"),
        ("/sign-in", "another path"),
        ("http://[", "an invalid address"),
        ("javascript:1", "an invalid address"),
        (None, "base URL"),
    ],
)
def test_the_key_does_not_follow_redirects(both: Networks, location: str | None, named: str) -> None:
    net = both(httpx.Response(307, headers={"location": location} if location else {}))
    error = net.error(read)
    assert named in str(error)
    assert "token" not in str(error)
    assert len(net.requests) == 1


@pytest.mark.rule("A listed file is fetched at its `download_url`, on the same origin.")
@pytest.mark.parametrize(
    ("link", "asked"),
    [
        ("/api/developers/v1/files/download?chat_id=c&path=a&sign=1", DOWNLOAD),
        ("http://service.test/other?x=1", "/other"),
        ("http://service.test:81/other", DOWNLOAD),
        ("https://service.test/other", DOWNLOAD),
        ("//elsewhere.test/other", DOWNLOAD),
        ("http://someone:else@service.test/other", DOWNLOAD),
        ("/other\r\nx: y", DOWNLOAD),
    ],
)  # fmt: skip
def test_a_file_is_fetched_where_its_entry_says_on_the_same_origin(network: Networks, link: str, asked: str) -> None:
    """The service may name any address; the key goes to the configured origin alone."""
    net = network(sse(b"x"), answer(404))
    file = WorkspaceFile(id="", path="a", download_url=link)
    assert net.call(lambda client: client.files.download(file, chat="c")) == b"x"
    url = net.requests[0].url
    assert (url.scheme, url.host, url.port, url.path) == ("http", "service.test", None, asked)
    assert url.params.get("sign") == ("1" if "sign" in link else None)
    assert net.error(lambda client: client.files.download(file, chat="c")).path == asked


@pytest.mark.parametrize("face", FACES)
def test_ones_own_client_is_used_and_left_open(face: str) -> None:
    """Its proxies, hooks, headers and cookies count; its redirects, timeouts, authentication and keys do not."""
    sent: list[httpx.Request] = []

    def service(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return answer(200, run()) if len(sent) == 1 else httpx.Response(307, headers={"location": "http://else.test/"})

    headers = {"x-api-key": "another", "authorization": "Bearer another", "x-own": "1"}
    made: Any = httpx.Client if face == "blocking" else httpx.AsyncClient
    given = {"auth": ("user", "password"), "follow_redirects": True, "timeout": 9}
    own = made(transport=httpx.MockTransport(service), headers=headers, **given)
    own.cookies.set("site", "a")
    FACES[face](HOST, read, http_client=own)
    with pytest.raises(StefanBrainError, match="redirected"):
        FACES[face](HOST, read, http_client=own)
    assert not own.is_closed
    assert len(sent) == 2
    assert [sent[0].headers.get(name) for name in headers] == [None, f"Bearer {KEY}", "1"]
    assert sent[0].headers["cookie"] == "site=a"
    assert sent[0].extensions["timeout"]["read"] == 60


def read_timeout(net: Network, at: int = 0) -> Any:
    return net.requests[at].extensions["timeout"]["read"]


def test_with_options_shares_connections_and_changes_nothing_else(network: Networks) -> None:
    net = network(*[answer(200, run())] * 3)
    other = net.client.with_options(timeout=3, headers={"x-team": "blue"}).with_options(headers={"x-more": "1"})
    for client in (other, net.client):
        client.runs.get(RUN_ID)
    other.runs.get(RUN_ID, timeout=1)
    assert [read_timeout(net, at) for at in (0, 1, 2)] == [3, 60, 1]
    assert [request.headers.get("x-team") for request in net.requests] == ["blue", None, "blue"]
    assert net.requests[0].headers["x-more"] == "1"
    assert (type(other), other.history) == (AgentService, net.client.history)


def test_an_attempt_may_take_what_is_left(both: Networks) -> None:
    """The waits are 0.5 s, then 1 s, of a deadline of 3 s."""
    net = both(*[httpx.ReadError("reset")] * 3)
    net.error(lambda client: client.runs.get(RUN_ID, deadline=3))
    assert [read_timeout(net, at) for at in range(3)] == pytest.approx([3, 2.5, 1.5])


def test_a_wait_that_would_pass_it_raises_the_last_error_at_once(network: Networks) -> None:
    net = network(failure("request_per_minute", 429, retry_after="20"))
    error = net.error(lambda client: client.runs.get(RUN_ID, deadline=19.5))
    assert (type(error), error.retry_after_seconds, error.late, net.slept) == (RateLimitError, 20, True, [])


@pytest.mark.rule("Nothing is sent after a deadline.")
def test_nothing_is_sent_after_it(network: Networks) -> None:
    net = network()
    error = net.error(lambda client: client.runs.get(RUN_ID, deadline=0))
    assert (error.timed_out, error.sent, error.late, net.requests) == (True, False, True, [])


def test_a_retry_is_told_before_it_is_waited_for(network: Networks) -> None:
    net = network(failure("brain_unavailable", 503), answer(200, run()))
    told: list[Any] = []
    net.call(read, on_retry=lambda notice: told.append((notice, len(net.slept))))
    [(notice, slept)] = told
    facts = (notice.operation, notice.attempt, notice.seconds, notice.error.code, slept)
    assert facts == ("runs.get", 1, 0.5, "brain_unavailable", 0)


def test_the_log_has_neither_keys_nor_contents(caplog: pytest.LogCaptureFixture, network: Networks) -> None:
    client = network(answer(202, run())).client.with_options(headers={"x-team": "confidential"})
    with caplog.at_level(logging.DEBUG):
        client.runs.start("a secret plan", chat="chat_1", idempotency_key="k-1")
    ours = [record.getMessage() for record in caplog.records if record.name == "agentsvc"]
    assert len(ours) == 1
    assert ours[0].startswith("POST /api/developers/v1/runs: 202 in ")
    assert not [word for word in (KEY, "secret plan", "confidential", "k-1") if word in ours[0]]
