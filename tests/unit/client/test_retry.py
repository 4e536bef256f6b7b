"""What the client sends again, and after how long. Which requests: test_requests.py."""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from agentsvc_nb import APIConnectionError
from agentsvc_nb.wire import proof
from agentsvc_nb.wire.codes import CODES, Code
from tests.unit.client.conftest import FACES, KEY, RESET, RUN_ID, Call, Clock, Networks, Scripted, answer, failure, run
from tests.unit.client.test_deadlines import Exchange, Server

MAY_HAVE_STARTED = "may have started"


def read(client: Any) -> Any:
    return client.runs.get(RUN_ID)


def start(client: Any) -> Any:
    return client.runs.start("hello")


def keyed(client: Any, key: str = "k:1") -> Any:
    return client.runs.start("hello", idempotency_key=key)


def with_an_empty_key(client: Any) -> Any:
    return keyed(client, "")


@pytest.mark.rule("The client does not repeat codes for which waiting does not help.")
@pytest.mark.parametrize("row", CODES.values(), ids=lambda row: row.code)
def test_each_code_is_retried_as_its_row_says(row: Code, network: Networks) -> None:
    net = network(failure(row.code, row.status), answer(200, run()))
    if row.retry == "transient":
        assert net.call(read).status == "queued"
        assert net.slept == [0.5]
    else:
        error = net.error(read)
        assert (error.code, error.attempts, net.slept) == (row.code, 1, [])


@pytest.mark.rule("The client repeats 408, 429, 500, 502, 503 and 504, at most `max_retries` times.")
def test_a_bare_status(network: Networks) -> None:
    again = []
    for status in (400, 401, 404, 408, 409, 413, 418, 425, 429, 500, 501, 502, 503, 504, 505, 599):
        net = network(answer(status), failure("not_found", 404))
        net.error(read)
        again += [status] * (len(net.requests) == 2)
    assert again == [408, 429, 500, 502, 503, 504]


@pytest.mark.rule("The client does not repeat a start without an Idempotency-Key.")
@pytest.mark.parametrize(
    ("trouble", "hint"),
    [
        (RESET, True),
        (httpx.ReadTimeout(""), True),
        (httpx.RemoteProtocolError("cut"), True),
        (httpx.Response(504, html="<h1>Gateway timeout</h1>"), True),
        (httpx.ConnectError("refused"), False),
    ],
)
def test_a_keyless_start_without_an_answer_may_have_started(network: Networks, trouble: Scripted, hint: bool) -> None:
    for call in (start, with_an_empty_key):
        net = network(trouble)
        error = net.error(call)
        assert (MAY_HAVE_STARTED in str(error), len(net.requests)) == (hint, 1)
        assert error.status == 504 or error.sent is hint
        assert "idempotency-key" not in net.requests[0].headers


@pytest.mark.rule("The client repeats a keyed start with the same key.")
def test_a_keyed_start_is_sent_again_with_its_key(both: Networks) -> None:
    net = both(RESET, failure("gateway_timeout", 504), answer(202, run()))
    assert net.call(keyed).run_id == RUN_ID
    assert [request.headers["idempotency-key"] for request in net.requests] == ["k:1"] * 3


@pytest.mark.rule("The client does not repeat a keyed start after midnight UTC.")
def test_a_keyed_start_is_not_sent_again_on_the_next_utc_day(network: Networks, clock: Clock) -> None:
    """The key's memory ends with the day: another send would start a second run."""

    def fail_at_midnight(request: httpx.Request) -> httpx.Response:
        clock.day = date(2026, 3, 2)
        raise RESET

    net = network()
    net.transport.handler = fail_at_midnight
    assert net.error(keyed).attempts == 1


@pytest.mark.rule("The first retry waits up to half a second; later ones up to twice as long.")
@pytest.mark.parametrize(("retries", "waits"), [(0, []), (2, [0.5, 1.0]), (8, [0.5, 1, 2, 4, 8, 16, 32, 60])])
def test_a_random_wait_doubles_from_half_a_second(both: Networks, retries: int, waits: list[float]) -> None:
    net = both(*[RESET] * (retries + 1))
    error = net.error(read, max_retries=retries)
    assert (type(error), error.attempts, error.hint) == (APIConnectionError, retries + 1, None)
    assert net.slept == waits


RETRY_AFTER: dict[str, float | None] = {
    "0": 0, " 1.5 ": 1.5, "60": 60, "61": 61, "9" * 5_000: 1e9, "Thu, 01 Jan 2026 00:00:09 GMT": 9,
    # Python reads these as numbers or dates, HTTP does not.
    "1_0": None, "5e1": None, "nan": None, "-1": None, "": None, "Mon, 99 Foo 99999 00:00:00 +99999999": None,
}  # fmt: skip


@pytest.mark.rule("The client waits out a `Retry-After` of up to 60 s; a longer one raises at once.")
@pytest.mark.parametrize(("header", "seconds"), RETRY_AFTER.items(), ids=lambda value: str(value)[:30])
def test_retry_after_is_waited_for_up_to_a_minute(header: str, seconds: float | None, network: Networks) -> None:
    """A longer one is raised at once; without a readable one the wait is random."""
    busy = failure("workspace_busy", 503, retry_after=header, date="Thu, 01 Jan 2026 00:00:00 GMT")
    net = network(busy, answer(200, run()))
    if seconds is None or seconds <= 60:
        net.call(read)
        assert net.slept == [0.5 if seconds is None else seconds]
        net = network(busy)
    assert net.error(read, max_retries=0).retry_after_seconds == seconds


def lost(exchange: Exchange) -> None:
    exchange.close_connection = True


def refused(exchange: Exchange) -> None:
    exchange.json({"error": {"code": "unauthorized"}}, 401)


@pytest.mark.rule("The client repeats safe requests after it has restarted an embedded service.")
@pytest.mark.parametrize(
    ("face", "fault", "call", "revived"),
    [("async", lost, read, True), ("blocking", lost, keyed, True), ("blocking", refused, start, True),
     ("blocking", lost, start, False)],
)  # fmt: skip
def test_what_may_be_is_repeated_at_the_new_address(face: str, fault: Call, call: Call, revived: bool) -> None:
    """The embedded service comes back elsewhere, with another key. A start that was lost may have started its work."""
    seen: list[str] = []

    def service(key: str, answers: Call, exchange: Exchange) -> None:
        url = urlsplit(exchange.path)
        if url.path.endswith("/healthz"):  # it proves that it holds the key
            at = proof.address("127.0.0.1", exchange.server.server_port)
            told = proof.proof(key, parse_qs(url.query)["nonce"][0], "an-instance", at)
            exchange.json({"instance": "an-instance", "proof": told})
        else:
            seen.append(exchange.headers["authorization"])
            answers(exchange)

    good: Call = lambda exchange: exchange.json(run())  # noqa: E731
    new_key = "svc_sk_new"
    with Server(partial(service, KEY, fault)) as old, Server(partial(service, new_key, good)) as new:
        use = partial(FACES[face], old.origin, call, revive=lambda: (new.origin, new_key), max_retries=0)
        if revived:
            assert use().run_id == RUN_ID
        else:
            with pytest.raises(APIConnectionError, match=MAY_HAVE_STARTED):
                use()
    assert seen == [f"Bearer {KEY}", f"Bearer {new_key}"][: 1 + revived]
