"""`client.history`: what was sent and how it was answered, as a table and as curl, never with the key."""

from __future__ import annotations

import itertools
import json
import shlex

import httpx
import pytest
from IPython.core.formatters import DisplayFormatter

from agentsvc_nb import StefanBrainError
from tests.unit.client.conftest import HOST, KEY, RUN_ID, Networks, answer, failure, run

PATH = f"/api/developers/v1/runs/{RUN_ID}"


def test_each_attempt_is_kept_with_its_answer(network: Networks) -> None:
    away = failure("brain_unavailable", 503, x_request_id="r1")
    client = network(httpx.ReadTimeout(""), away, answer(200, run(), x_request_id="r2")).client
    empty = client.history.to_frame()
    client.runs.get(RUN_ID)
    kept = [(a.method, a.path, a.attempt, a.waited, a.status, a.code, a.request_id, a.failed) for a in client.history]
    assert kept == [
        ("GET", PATH, 1, 0, None, "timed out", None, True),
        ("GET", PATH, 2, 0.5, 503, "brain_unavailable", "r1", True),
        ("GET", PATH, 3, 1, 200, None, "r2", False),
    ]
    table = client.history.to_frame()
    assert list(table["status"].fillna(0)) == [0, 503, 200]
    assert dict(table.dtypes) == dict(empty.dtypes)


def test_curl_sends_what_was_sent(network: Networks) -> None:
    net = network(answer(202, run()), answer(200, {"data": [], "next_after": 3, "status": "running"}))
    own = {"x-own": "secret"}
    net.client.runs.start("it's $HOME `x`\n", chat="chat_1", idempotency_key="k:1", headers=own)
    net.client.runs.events(RUN_ID, after=3)
    start, events = (shlex.split(attempt.to_curl()) for attempt in net.client.history)
    assert start[:4] == ["curl", "-X", "POST", f"{HOST}/api/developers/v1/runs"]
    headers = [word for flag, word in itertools.pairwise(start) if flag == "-H"]
    assert headers == [
        "Authorization: Bearer $SERVICE_API_KEY",
        "idempotency-key: k:1",
        "Content-Type: application/json",
    ]
    assert json.loads(start[-1]) == json.loads(net.requests[0].content)
    assert events[3] == f"{HOST}{PATH}/events?after=3&limit=500"


def test_the_key_is_nowhere(network: Networks) -> None:
    client = network(failure("<b>new</b>", 400, message=f"You sent {KEY}.")).client
    with pytest.raises(StefanBrainError) as caught:
        client.runs.start(f"my key is {KEY}", headers={"x-own": "topsecret"})
    [attempt] = client.history
    bundle = DisplayFormatter().format(client.history)[0]
    shown = "".join([attempt.to_curl(), repr(attempt), *bundle.values(), str(attempt.body)])
    assert KEY not in shown + str(caught.value) + repr(client) + json.dumps(caught.value.body)
    assert "topsecret" not in shown
    assert repr(client.history) == bundle["text/plain"]
    assert "&lt;b&gt;new&lt;/b&gt;</td>" in bundle["text/html"]
    assert "<b>new" not in bundle["text/html"]
