"""What is sent again, and after how long: tables."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx
import pytest

from agentsvc_nb.client import options
from agentsvc_nb.client.core import ApiRequest
from agentsvc_nb.client.errors import MAY_HAVE_STARTED, APIConnectionError, StefanBrainError
from agentsvc_nb.client.transport.io import run_sync
from agentsvc_nb.wire.codes import CODES, Code
from agentsvc_nb.wire.routes import ROUTES, Resend, Route
from tests.client.conftest import RUN_ID, Network, answer, failure, run

Networks = Callable[..., Network]
OURS = [route for route in ROUTES.values() if route.access == "key"]


@pytest.mark.parametrize("row", CODES.values(), ids=lambda row: row.code)
def test_each_code_is_retried_as_its_row_says(row: Code, network: Networks) -> None:
    """A read that is answered with the code, then well."""
    net = network(failure(row.code, row.status), answer(200, run()))
    if row.retry == "transient":
        assert net.client.runs.get(RUN_ID).status == "queued"
        assert net.io.slept == [0.5]
    else:
        with pytest.raises(StefanBrainError) as caught:
            net.client.runs.get(RUN_ID)
        assert (caught.value.code, caught.value.attempts, net.io.slept) == (row.code, 1, [])


@pytest.mark.parametrize("status", range(400, 600))
def test_a_bare_status(status: int) -> None:
    expected = status in {408, 429, 500, 502, 503, 504}
    assert options.transient(StefanBrainError("x", status=status)) is expected


@pytest.mark.parametrize(
    ("resend", "keyed", "may"),
    [
        ("always", False, True),
        ("always", True, True),
        ("keyed", False, False),
        ("keyed", True, True),
        ("never", True, False),
    ],
)
def test_may_resend(resend: Resend, keyed: bool, may: bool) -> None:
    assert options.may_resend(resend, keyed) is may


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(
    "route", [route for route in ROUTES.values() if route.access == "key"], ids=lambda row: row.name
)
def test_each_route_is_sent_again_as_its_row_says(route: Route, keyed: bool, network: Networks) -> None:
    """Reads, cancels and staging always; starts with a key; what would be done twice never."""
    places = dict.fromkeys(re.findall(r"{(\w+)}", route.path), "x")
    call = ApiRequest(route.name, places, key="k" if keyed else None)
    net = network(httpx.ReadError("reset"), failure("internal_error", 500), answer(200))
    again = route.resend == "always" or (route.resend == "keyed" and keyed)
    if again:
        assert run_sync(net.core.send(call)).status == 200
    else:
        with pytest.raises(APIConnectionError, match="may have started"):
            run_sync(net.core.send(call))
    assert len(net.requests) == (3 if again else 1)


def test_the_routes_that_are_never_or_only_with_a_key_sent_again() -> None:
    """Spelled out, so that no new row gets it by the way."""
    kinds = {route.name: route.resend for route in OURS if route.method == "POST"}
    assert {name for name, kind in kinds.items() if kind == "keyed"} == {
        "runs.start",
        "runs.resume",
        "jobs.submit",
        "tools.invoke",
    }
    assert {name for name, kind in kinds.items() if kind == "always"} == {
        "runs.cancel",
        "runs.answer",
        "jobs.cancel",
        "files.upload",
        "files.restore",
    }


@pytest.mark.parametrize(("asked", "waits"), [(0.0, 0.0), (5.0, 5.0), (60.0, 60.0), (60.1, None)])
def test_what_the_service_asks_for_is_waited_up_to_a_minute(asked: float, waits: float | None) -> None:
    error = StefanBrainError("x", status=503, retry_after_seconds=asked)
    assert options.pause(error, 1, 2, lambda: 0.5) == waits


def test_jitter_doubles_up_to_its_cap() -> None:
    error = APIConnectionError("x")
    waits = [options.pause(error, n, 5, lambda: 0.5, first=0.5, longest=3) for n in range(1, 7)]
    assert waits == [0.25, 0.5, 1.0, 1.5, 1.5, None]


def test_a_read_is_sent_three_times_and_then_raised(network: Networks) -> None:
    net = network(*[httpx.ReadError("reset")] * 3)
    with pytest.raises(APIConnectionError) as caught:
        net.client.runs.get(RUN_ID)
    assert (caught.value.attempts, net.io.slept) == (3, [0.5, 1.0])
    assert (caught.value.method, caught.value.path) == ("GET", f"/api/developers/v1/runs/{RUN_ID}")
    assert caught.value.hint is None


@pytest.mark.parametrize("trouble", [httpx.ReadError("reset"), httpx.ReadTimeout(""), httpx.RemoteProtocolError("cut")])
def test_a_keyless_start_without_an_answer_may_have_started(network: Networks, trouble: Exception) -> None:
    net = network(trouble)
    with pytest.raises(APIConnectionError) as caught:
        net.client.runs.start("hello")
    assert caught.value.hint == MAY_HAVE_STARTED


def test_a_keyless_start_that_never_left_has_not_started(network: Networks) -> None:
    net = network(httpx.ConnectError("refused"))
    with pytest.raises(APIConnectionError) as caught:
        net.client.runs.start("hello")
    assert (caught.value.hint, caught.value.sent) == (None, False)


def test_a_keyless_start_cut_by_the_gateway_may_have_started(network: Networks) -> None:
    net = network(httpx.Response(504, html="<h1>Gateway timeout</h1>"))
    with pytest.raises(StefanBrainError, match="may have started"):
        net.client.runs.start("hello")
    assert len(net.requests) == 1


def test_a_keyed_start_is_sent_again_with_its_key(network: Networks) -> None:
    net = network(httpx.ReadError("reset"), failure("gateway_timeout", 504), answer(202, run()))
    assert net.client.runs.start("hello", idempotency_key="k:1").run_id == RUN_ID
    assert [request.headers["idempotency-key"] for request in net.requests] == ["k:1"] * 3


def test_a_keyed_start_is_not_sent_again_on_the_next_utc_day(network: Networks) -> None:
    """The key's memory ends with the day: another send would start a second run."""
    net = network(httpx.ReadError("reset"))
    days = iter([net.io.day, net.io.day.replace(day=2)])
    net.io.today = lambda: next(days)  # type: ignore[method-assign]
    with pytest.raises(APIConnectionError):
        net.client.runs.start("hello", idempotency_key="k:1")


def test_an_empty_key_is_dropped(network: Networks) -> None:
    net = network(answer(202, run()))
    net.client.runs.start("hello", idempotency_key="")
    assert "idempotency-key" not in net.requests[0].headers


def test_research_shortform_is_never_sent_again(network: Networks) -> None:
    net = network(httpx.ReadError("reset"))
    with pytest.raises(APIConnectionError, match="may have started"):
        net.client.jobs.submit("research_shortform", {}, idempotency_key="k")
    net = network(httpx.ReadError("reset"))
    with pytest.raises(APIConnectionError, match="may have started"):
        net.client.tools.invoke("research_shortform", {}, idempotency_key="k")


def test_max_retries_zero(network: Networks) -> None:
    net = network(failure("brain_unavailable", 503))
    with pytest.raises(StefanBrainError, match="brain_unavailable"):
        net.client.runs.get(RUN_ID, max_retries=0)
