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
from tests.unit.client.conftest import FACES, KEY, RUN_ID, Call, Clock, Networks, Scripted, answer, failure, run
from tests.unit.client.cutting import Exchange, Server

RESET = httpx.ReadError("reset")
MAY_HAVE_STARTED = "may have started"


def read(client: Any) -> Any:
    return client.runs.get(RUN_ID)


def start(client: Any) -> Any:
    return client.runs.start("hello")


def keyed(client: Any) -> Any:
    return client.runs.start("hello", idempotency_key="k:1")


@pytest.mark.parametrize("row", CODES.values(), ids=lambda row: row.code)
def test_each_code_is_retried_as_its_row_says(row: Code, network: Networks) -> None:
    net = network(failure(row.code, row.status), answer(200, run()))
    if row.retry == "transient":
        assert net.call(read).status == "queued"
        assert net.slept == [0.5]
    else:
        error = net.error(read)
        assert (error.code, error.attempts, net.slept) == (row.code, 1, [])


def test_a_bare_status(network: Networks) -> None:
    again = []
    for status in (400, 401, 404, 408, 409, 413, 418, 425, 429, 500, 501, 502, 503, 504, 505, 599):
        net = network(answer(status), failure("not_found", 404))
        net.error(read)
        again += [status] * (len(net.requests) == 2)
    assert again == [408, 429, 500, 502, 503, 504]


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
    net = network(trouble)
    error = net.error(start)
    assert (MAY_HAVE_STARTED in str(error), len(net.requests)) == (hint, 1)
    assert error.status == 504 or error.sent is hint


def test_a_keyed_start_is_sent_again_with_its_key(both: Networks) -> None:
    net = both(RESET, failure("gateway_timeout", 504), answer(202, run()))
    assert net.call(keyed).run_id == RUN_ID
    assert [request.headers["idempotency-key"] for request in net.requests] == ["k:1"] * 3


def test_a_keyed_start_is_not_sent_again_on_the_next_utc_day(network: Networks, clock: Clock) -> None:
    """The key's memory ends with the day: another send would start a second run."""

    def fail_at_midnight(request: httpx.Request) -> httpx.Response:
        clock.day = date(2026, 3, 2)
        raise RESET

    net = network()
    net.transport.handler = fail_at_midnight
    assert net.error(keyed).attempts == 1


def test_an_empty_key_is_dropped(network: Networks) -> None:
    net = network(RESET)
    assert net.error(lambda client: client.runs.start("hello", idempotency_key="")).attempts == 1
    assert "idempotency-key" not in net.requests[0].headers


@pytest.mark.parametrize(("retries", "waits"), [(0, []), (2, [0.5, 1.0]), (8, [0.5, 1, 2, 4, 8, 16, 32, 60])])
def test_a_random_wait_doubles_from_half_a_second(both: Networks, retries: int, waits: list[float]) -> None:
    net = both(*[RESET] * (retries + 1))
    error = net.error(read, max_retries=retries)
    assert (type(error), error.attempts, error.hint) == (APIConnectionError, retries + 1, None)
    assert net.slept == waits


RETRY_AFTER: dict[str, float | None] = {
    "0": 0, " 1.5 ": 1.5, "60": 60, "61": 61, "9" * 5_000: 1e9,
    "Thu, 01 Jan 2026 00:00:09 GMT": 9, "Thu, 01 Jan 2026 00:01:01 GMT": 61,
    # Python reads these as numbers or dates, HTTP does not.
    "1_0": None, "+5": None, "5e1": None, "nan": None, "-1": None, "soon": None, "": None,
    "Wed, 31 Dec 2025 00:00:00 GMT": None, "Mon, 99 Foo 99999 00:00:00 +99999999": None,
}  # fmt: skip


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


# -- the embedded service comes back at another address, with another key ----------------------------------------------


class Embedded:
    """A service that proves its key on each connection. Its first address fails; `revive` gives a second and a key."""

    def __init__(self, fault: Call) -> None:
        self.revived = 0
        self.calls: list[tuple[int, str]] = []
        self.servers = [Server(partial(self.answer, at)) for at in (0, 1)]
        self.fault = fault

    def answer(self, at: int, exchange: Exchange) -> None:
        url = urlsplit(exchange.path)
        if url.path.endswith("/healthz"):
            nonce, host = parse_qs(url.query)["nonce"][0], ("127.0.0.1", self.servers[at].server_port)
            told = proof.proof(self.keys[at], nonce, "an-instance", proof.address(*host))
            exchange.json({"instance": "an-instance", "proof": told})
            return
        self.calls.append((at, exchange.headers["authorization"]))
        if at:
            exchange.json(run())
        else:
            self.fault(exchange)

    keys = (KEY, "svc_sk_new")

    def revive(self) -> tuple[str, str]:
        self.revived += 1
        return self.servers[1].origin, self.keys[1]


def lost(exchange: Exchange) -> None:
    exchange.close_connection = True


def refused(exchange: Exchange) -> None:
    exchange.json({"error": {"code": "unauthorized"}}, 401)


@pytest.mark.parametrize(
    ("face", "fault", "call", "revived"),
    [
        ("blocking", lost, read, True),
        ("async", lost, read, True),
        ("blocking", lost, keyed, True),
        ("blocking", refused, start, True),
        ("blocking", lost, start, False),
    ],
)
def test_what_may_be_is_repeated_at_the_new_address(face: str, fault: Call, call: Call, revived: bool) -> None:
    """A request that was refused for its key has done nothing; one that was lost may have started its work."""
    embedded = Embedded(fault)
    with embedded.servers[0], embedded.servers[1]:
        use = lambda: FACES[face](embedded.servers[0].origin, call, revive=embedded.revive, max_retries=0)  # noqa: E731
        if revived:
            assert use().run_id == RUN_ID
        else:
            with pytest.raises(APIConnectionError, match=MAY_HAVE_STARTED):
                use()
    assert embedded.revived == revived
    assert embedded.calls == [(0, f"Bearer {KEY}"), (1, "Bearer svc_sk_new")][: 1 + revived]
