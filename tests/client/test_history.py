"""`client.history`: what was sent and how it was answered, as a table and as curl, never with the key."""

from __future__ import annotations

import itertools
import json
import shlex
import threading
from collections.abc import Callable

import httpx
import pytest

from agentsvc_nb.client.api import AgentService
from agentsvc_nb.client.core import ApiRequest
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.history import KEPT
from agentsvc_nb.client.transport.io import run_sync
from tests.client.conftest import KEY, RUN_ID, Network, answer, failure, run

Networks = Callable[..., Network]
PATH = f"/api/developers/v1/runs/{RUN_ID}"


def test_each_attempt_is_kept_with_its_answer(network: Networks) -> None:
    net = network(
        httpx.ReadTimeout(""),
        failure("brain_unavailable", 503, x_request_id="r1"),
        answer(200, run(), x_request_id="r2"),
    )
    net.client.runs.get(RUN_ID)
    kept = [(a.method, a.path, a.attempt, a.waited, a.status, a.code, a.request_id, a.failed) for a in net.core.history]
    assert kept == [
        ("GET", PATH, 1, 0, None, "timed out", None, True),
        ("GET", PATH, 2, 0.5, 503, "brain_unavailable", "r1", True),
        ("GET", PATH, 3, 1, 200, None, "r2", False),
    ]


def test_an_interrupted_request_is_kept_too(network: Networks) -> None:
    def interrupted(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    client = AgentService(KEY, transport=httpx.MockTransport(interrupted))
    with pytest.raises(KeyboardInterrupt):
        client.tools.list()
    assert [(a.status, a.code) for a in client.history] == [(None, "interrupted")]


def test_it_is_bounded_and_shared_and_safe_between_threads() -> None:
    client = AgentService(KEY, transport=httpx.MockTransport(lambda request: answer(200, run())))
    other = client.with_options(max_retries=0)
    shown: list[str] = []

    def use() -> None:
        for _ in range(60):
            other.runs.get(RUN_ID)
            shown.append(repr(client.history))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shown) == 240
    assert client.history is other.history
    assert (len(client.history), len(client.history[-3:])) == (KEPT, 3)


def test_curl_sends_what_was_sent(network: Networks) -> None:
    net = network(answer(202, run()), answer(200, run()))
    net.client.runs.start("it's $HOME `x`\n", chat="chat_1", idempotency_key="k:1", headers={"x-own": "secret"})
    net.client.runs.events(RUN_ID, after=3)
    start, events = (shlex.split(attempt.to_curl()) for attempt in net.core.history)
    assert start[:4] == ["curl", "-X", "POST", "http://service.test/api/developers/v1/runs"]
    headers = [word for flag, word in itertools.pairwise(start) if flag == "-H"]
    assert headers == [
        "Authorization: Bearer $SERVICE_API_KEY",
        "idempotency-key: k:1",
        "Content-Type: application/json",
    ]
    assert json.loads(start[-1]) == json.loads(net.requests[0].content)
    assert events[3] == f"http://service.test{PATH}/events?after=3&limit=500"


def test_curl_asks_for_the_same_part(network: Networks) -> None:
    net = network(httpx.Response(206, content=b"rest"))
    headers = {"range": "bytes=3-", "if-range": '"x"', "x-own": "secret"}
    run_sync(net.core.send(ApiRequest("files.download", query={"chat_id": "chat_1", "path": "a"}, headers=headers)))
    words = shlex.split(net.core.history[0].to_curl())
    assert {"range: bytes=3-", 'if-range: "x"'} <= set(words)
    assert "secret" not in "".join(words)


def test_files_and_long_bodies_are_named_only(network: Networks) -> None:
    net = network(answer(202, run()), answer(202, run()), answer(200, {"files": []}))
    net.client.runs.start("hello", files=[("my plan.md", b"x")])
    net.client.runs.start("x" * 5000)
    net.client.files.upload(("a.txt", b"secret content"))
    attached, long, upload = (shlex.split(attempt.to_curl()) for attempt in net.core.history)
    assert attached[-4:] == ["--form-string", 'payload={"message":"hello"}', "-F", "files=@my plan.md"]
    assert long[-2:] == ["--data-binary", "@body.json"]
    assert upload[-2:] == ["-F", "files=@a.txt"]


def test_the_key_is_nowhere(network: Networks) -> None:
    net = network(failure("message_required", 400, message=f"You sent {KEY}."))
    with pytest.raises(StefanBrainError) as caught:
        net.client.runs.start(f"my key is {KEY}", headers={"x-own": "topsecret"})
    [attempt] = net.core.history
    shown = [
        attempt.to_curl(),
        repr(attempt),
        repr(net.core.history),
        net.core.history._repr_html_(),
        str(attempt.body),
    ]
    assert KEY not in "".join(shown) + str(caught.value) + json.dumps(caught.value.body)
    assert "topsecret" not in "".join(shown)


def test_it_shows_as_a_table(network: Networks) -> None:
    net = network(failure("<b>new</b>", 418, x_request_id="r1"))
    with pytest.raises(StefanBrainError):
        net.client.runs.get(RUN_ID)
    head, row = repr(net.core.history).splitlines()
    assert head.split() == ["at", "request", "attempt", "after", "status", "code", "ms", "request", "id"]
    assert row.split()[1:] == ["GET", PATH, "1", "418", "<b>new</b>", "0", "r1"]
    html = net.core.history._repr_html_()
    assert "<td>&lt;b&gt;new&lt;/b&gt;</td>" in html
    assert html.count("<tr>") == 2


def test_it_becomes_a_dataframe(network: Networks) -> None:
    net = network(httpx.ReadTimeout(""), answer(200, run(), x_request_id="r2"))
    empty = net.core.history.to_frame()
    net.client.runs.get(RUN_ID)
    table = net.core.history.to_frame()
    assert list(table["code"].fillna("-")) == ["timed out", "-"]
    assert list(table["status"].fillna(0)) == [0, 200]
    assert table["at"][0] == net.core.history[0].at
    assert dict(table.dtypes) == dict(empty.dtypes)


def test_feedback_from_the_last_error(network: Networks) -> None:
    receipt = answer(201, {"id": "fb_1"})
    net = network(failure("chat_not_found", 404, x_request_id="r1"), answer(200, run()), receipt)
    with pytest.raises(StefanBrainError, match="No call of this client has failed"):
        net.client.feedback.from_last_error("It fails")
    with pytest.raises(StefanBrainError):
        net.client.runs.start("hello", chat="chat_9")
    net.client.runs.get(RUN_ID)
    assert net.client.feedback.from_last_error("It fails", impact="minor").id == "fb_1"
    assert json.loads(net.requests[-1].content) == {
        "summary": "It fails",
        "category": "bug",
        "impact": "minor",
        "endpoint": "POST /api/developers/v1/runs",
        "error_code": "chat_not_found",
        "request_id": "r1",
    }
