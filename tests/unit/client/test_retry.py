"""What the client sends again, and after how long."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import httpx
import pytest

from agentsvc_nb import APIConnectionError
from agentsvc_nb.wire import proof
from agentsvc_nb.wire.codes import CODES, Code
from agentsvc_nb.wire.routes import ROUTES
from tests.unit.client.conftest import KEY, RUN_ID, Clock, Networks, Scripted, answer, failure, run
from tests.unit.independent.faces import Call, outcome
from tests.unit.independent.mock import Fault, Mock, Reply, Seen
from tests.unit.independent.mock import answer as reply
from tests.unit.independent.operations import OPERATIONS, Operation

RESET = httpx.ReadError("reset")
MAY_HAVE_STARTED = "may have started"


def read(client: Any) -> Any:
    return client.runs.get(RUN_ID)


def start(client: Any) -> Any:
    return client.runs.start("hello")


def keyed(client: Any) -> Any:
    return client.runs.start("hello", idempotency_key="k:1")


# -- which answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", CODES.values(), ids=lambda row: row.code)
def test_each_code_is_retried_as_its_row_says(row: Code, network: Networks) -> None:
    net = network(failure(row.code, row.status), answer(200, run()))
    if row.retry == "transient":
        assert net.call(read).status == "queued"
        assert net.slept == [0.5]
    else:
        error = net.error(read)
        assert (error.code, error.attempts, net.slept) == (row.code, 1, [])


@pytest.mark.parametrize("status", range(400, 600))
def test_a_bare_status(status: int, network: Networks) -> None:
    net = network(answer(status), answer(200, run()))
    again = status in {408, 429, 500, 502, 503, 504}
    assert net.call(read).status == "queued" if again else net.error(read).status == status


# -- which requests --------------------------------------------------------------------------------------------------


def _route(operation: Operation) -> str:
    """The name of the operation's route."""
    return next(
        name
        for name, route in ROUTES.items()
        if route.method == operation.method
        and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), f"/api/developers/v1{operation.path}")
    )


ONCE_EACH = [operation for operation in OPERATIONS if not operation.bytes_ and "research" not in operation.name]


@pytest.mark.parametrize("operation", ONCE_EACH, ids=lambda operation: operation.name)
def test_each_route_is_sent_again_as_its_row_says(operation: Operation, both: Networks) -> None:
    """Reads, cancels and staging always; starts with a key; what would be done twice never."""
    resend = ROUTES[_route(operation)].resend
    again = resend == "always" or (resend == "keyed" and operation.key is not None)
    net = both(RESET, failure("internal_error", 500), failure("not_found", 404))
    error = net.error(operation.call)
    assert (len(net.requests), error.status) == ((3, 404) if again else (1, None))
    assert again or MAY_HAVE_STARTED in str(error)


def test_the_routes_that_are_never_or_only_with_a_key_sent_again() -> None:
    """List them, so that no new row gets it by the way."""
    kinds = {name: row.resend for name, row in ROUTES.items() if row.access == "key" and row.method == "POST"}
    keyed = {"runs.start", "runs.resume", "jobs.submit", "tools.invoke"}
    assert {name for name, kind in kinds.items() if kind == "keyed"} == keyed
    always = {"runs.cancel", "runs.answer", "jobs.cancel", "files.upload", "files.restore"}
    assert {name for name, kind in kinds.items() if kind == "always"} == always


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.jobs.submit("research_shortform", {}, idempotency_key="k"),
        lambda client: client.tools.invoke("research_shortform", {}, idempotency_key="k"),
    ],
)
def test_research_shortform_is_never_sent_again(both: Networks, call: Call) -> None:
    assert MAY_HAVE_STARTED in str(both(RESET).error(call))


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
def test_a_keyless_start_without_an_answer_may_have_started(both: Networks, trouble: Scripted, hint: bool) -> None:
    net = both(trouble)
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


def test_an_empty_key_is_dropped(both: Networks) -> None:
    net = both(answer(202, run()))
    net.call(lambda client: client.runs.start("hello", idempotency_key=""))
    assert "idempotency-key" not in net.requests[0].headers


# -- how often, and after how long ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("retries", "waits"), [(0, []), (2, [0.5, 1.0]), (8, [0.5, 1, 2, 4, 8, 16, 32, 60])])
def test_a_random_wait_doubles_from_half_a_second(both: Networks, retries: int, waits: list[float]) -> None:
    net = both(*[RESET] * (retries + 1))
    error = net.error(read, max_retries=retries)
    assert (type(error), error.attempts, error.hint) == (APIConnectionError, retries + 1, None)
    assert (error.method, error.path) == ("GET", f"/api/developers/v1/runs/{RUN_ID}")
    assert net.slept == waits


RETRY_AFTER: dict[str, float | None] = {
    "0": 0, "5": 5, " 1.5 ": 1.5, "007": 7, "60": 60, "61": 61, "9" * 400: 1e9, "9" * 5_000: 1e9,
    "Thu, 01 Jan 2026 00:00:09 GMT": 9, "Thu, 01 Jan 2026 00:01:01 GMT": 61,
    # Python reads these as numbers or dates, HTTP does not.
    "1_0": None, "+5": None, "5e1": None, ".5": None, "5.": None, "1 0": None, "1e400": None, "infinity": None,
    "0x10": None, "nan": None, "inf": None, "-1": None, "soon": None, "": None, "Wed, 31 Dec 2025 00:00:00 GMT": None,
    "Mon, 99 Foo 99999 00:00:00 +99999999": None, "Wed, 21 Oct 2065 07:28:00 -0000": None,
}  # fmt: skip


@pytest.mark.parametrize(("header", "seconds"), RETRY_AFTER.items(), ids=lambda value: str(value)[:30])
def test_retry_after_is_waited_for_up_to_a_minute(header: str, seconds: float | None, both: Networks) -> None:
    """A longer one is raised at once; without a readable one the wait is random."""
    busy = failure("workspace_busy", 503, retry_after=header, date="Thu, 01 Jan 2026 00:00:00 GMT")
    net = both(busy, answer(200, run()))
    if seconds is None or seconds <= 60:
        net.call(read)
        assert net.slept == [0.5 if seconds is None else seconds]
        net = both(busy)
    assert net.error(read, max_retries=0).retry_after_seconds == seconds


# -- the embedded service comes back at another address, with another key ----------------------------------------------


class Embedded:
    """A service that proves its key on each connection; `revive` moves to a second one with a key of its own."""

    def __init__(self, *script: Fault) -> None:
        self.keys = [KEY, "svc_sk_new"]
        self.mocks = [Mock(self._answer, list(script)), Mock(self._answer)]
        for mock in self.mocks:
            mock.counts = lambda seen: "healthz" not in seen.target
        self.revived = 0

    def _answer(self, seen: Seen) -> Reply:
        if "healthz" not in seen.target:
            return reply(run(), 200 if seen.method == "GET" else 202)
        host, port = (seen.header("host") or "").split(":")
        at = next(i for i, mock in enumerate(self.mocks) if mock.origin.endswith(f":{port}"))
        told = proof.proof(self.keys[at], seen.query["nonce"], "an-instance", proof.address(host, int(port)))
        return reply({"instance": "an-instance", "proof": told})

    def revive(self) -> tuple[str, str]:
        self.revived += 1
        return self.mocks[1].origin, self.keys[1]

    def calls(self, at: int) -> list[Seen]:
        return self.mocks[at].counted()


LOST = Fault("lost", lambda wire, seen, good: wire.reset())
REFUSED = Fault("refused", lambda wire, seen, good: wire.send(reply({"error": {"code": "unauthorized"}}, 401).whole))


@pytest.mark.parametrize("face", ["blocking", "async"])
@pytest.mark.parametrize(
    ("fault", "call", "revived"),
    [(LOST, read, True), (REFUSED, read, True), (LOST, keyed, True), (REFUSED, start, True), (LOST, start, False)],
    ids=["lost read", "refused read", "lost keyed start", "refused start", "lost start"],
)
def test_what_may_be_is_repeated_at_the_new_address(face: str, fault: Fault, call: Call, revived: bool) -> None:
    """A request that was refused for its key has done nothing; one that was lost may have started its work."""
    embedded = Embedded(fault)
    with embedded.mocks[0], embedded.mocks[1]:
        result = outcome(embedded.mocks[0], face, call, key=KEY, revive=embedded.revive, max_retries=0)
        assert (embedded.revived, len(embedded.calls(0)), len(embedded.calls(1))) == (revived, 1, revived)
        assert MAY_HAVE_STARTED in str(result.error) if not revived else result.value.run_id == RUN_ID
        assert [seen.header("authorization") for seen in embedded.calls(1)] == ["Bearer svc_sk_new"] * revived


@pytest.mark.parametrize("call", [read, start], ids=["a read", "a start"])
def test_a_service_that_is_gone_is_started_and_asked(call: Call) -> None:
    """A start that never left this machine may be sent, too."""
    embedded = Embedded()
    embedded.mocks[0].stop()
    with embedded.mocks[1]:
        assert outcome(embedded.mocks[0], "blocking", call, key=KEY, revive=embedded.revive).value.run_id == RUN_ID
    assert embedded.revived == 1
