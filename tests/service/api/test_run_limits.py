"""What a start allows its run (docs/api/runs.md "Limits of a run"), and what a record shows while the run works."""

from __future__ import annotations

from typing import Any, Final

import httpx
import pytest

from tests.service.api.conftest import Wire, code, page, signed_in
from tests.service.api.service_fixture import CAREFUL, ServiceFixture
from tests.support.waiting import until

pytestmark = pytest.mark.rule("A run that reaches `max_steps` or `max_cents` fails with `limit_reached`.")

TOKENS_A_CENT = 10_000
"""Of `scripted`: 100 cents a million."""


def test_a_run_takes_as_many_steps_as_it_may_and_is_billed(wire: Wire) -> None:
    script = "say a\nusage 1000 0\nstep 1\nsay b\nstep 1\nsay c"
    run = wire.finish(script, max_steps=2)
    assert (run["status"], run["last_error"], run["output"], run["steps"]) == ("failed", "limit_reached", "a\nb", 2)
    assert run["usage"]["cost_microcents"] == 100_000
    assert wire.finish(script, max_steps=3)["status"] == "completed"


def test_no_call_is_made_that_could_cross_the_limit(wire: Wire) -> None:
    cent = f"usage {TOKENS_A_CENT} 0\nsay paid\n"
    run = wire.finish(cent * 5, max_cents=2.5)
    assert (run["last_error"], run["output"]) == ("limit_reached", "paid\npaid")
    assert run["usage"]["cost_microcents"] == 2_000_000
    assert all(text in run["last_error_message"] for text in ("2.50", "2.00", "1.00", "max_cents"))


def test_a_priced_use_that_would_cross_the_limit_is_not_made(stage: ServiceFixture) -> None:
    picture = '{"request": {"kind": "static_ad", "brief": "Headline: Tea", "outputs": {"mode": "count", "count": 3}}}'
    run = stage.wire.finish(f"call create_images {picture}", max_cents=2)
    assert (run["last_error"], "2.00" in run["last_error_message"]) == ("limit_reached", True)
    assert stage.wire.finish(f"call create_images {picture}", max_cents=3)["status"] == "completed"
    run = stage.wire.finish(f"call create_images {picture}\ncall create_images {picture}", max_cents=5)
    assert run["last_error"] == "limit_reached"


WRONG: list[dict[str, Any]] = [
    *({"max_steps": wrong} for wrong in (0, 1501, 1.5, True)),
    *({"max_cents": wrong} for wrong in (0, "5", 1e30)),
]


@pytest.mark.parametrize("limits", WRONG, ids=str)
def test_limits_that_are_wrong(limits: dict[str, Any], wire: Wire) -> None:
    answer = wire("POST", "/runs", json={"message": "say x", **limits})
    assert (answer.status_code, code(answer)) == (400, "invalid_limits")
    assert answer.json()["error"]["field"] in limits


ALMOST: Final = int(4.1 * TOKENS_A_CENT)
"""82 % of five cents."""


def of(wire: Wire, run: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event["payload"] for event in wire.events(run["run_id"]) if event["type"] == kind]


def raised(wire: Wire, run: dict[str, Any], cents: float) -> httpx.Response:
    return wire("POST", f"/runs/{run['run_id']}/limits", json={"max_cents": cents})


def test_a_run_near_its_limit_says_so_once_and_may_be_given_more(stage: ServiceFixture) -> None:
    service = stage.other(**CAREFUL)
    wire = stage.open(service)
    waits = 'call echo_job {"steps": 0, "seconds": 0}'
    run = wire.start(f"usage {ALMOST} 0\nstep 1\n{waits}\nusage {ALMOST} 0\nstep 1\nrewind\nsay done", max_cents=5)
    (waiting,) = until(lambda: of(wire, run, "approval.requested"))
    assert of(wire, run, "limit.near") == [{"max_cents": 5, "spent_cents": 4.1, "suggested_cents": 10}]
    with signed_in(service) as browser:
        assert "Raise to 10 cents" in page(browser, f"/app/chats/{run['chat']}")
        answer = browser.post(f"/app/runs/{run['run_id']}/limits", data={"max_cents": "10"})
        assert (answer.status_code, answer.headers["location"]) == (
            303,
            f"/app/chats/{run['chat']}#run_{run['run_id']}",
        )
        assert "Raise to" not in page(browser, f"/app/chats/{run['chat']}")
    again = raised(wire, run, 10)
    assert (again.status_code, again.json()["max_cents"]) == (200, 10)
    assert of(wire, run, "limit.raised") == [{"max_cents": 10}]
    assert code(raised(wire, run, 1e30)) == "invalid_limits"
    assert (raised(wire, run, 9).status_code, code(raised(wire, run, 9))) == (400, "invalid_limits")
    wire("POST", f"/runs/{run['run_id']}/calls/{waiting['call_id']}/approval", json={"approved": True})
    ended = until(lambda: wire("GET", f"/runs/{run['run_id']}").json(), lambda found: found["ended_at"])
    assert (ended["status"], ended["output"], ended["usage"]["cost_microcents"]) == ("completed", "done", 8_200_000)
    assert [near["max_cents"] for near in of(wire, run, "limit.near")] == [5, 10], "once for each limit"
    assert code(raised(wire, run, 20)) == "run_not_active"


def test_a_run_whose_next_call_ends_it_is_not_warned_before(wire: Wire) -> None:
    run = wire.finish(f"usage {ALMOST} 0\nusage {ALMOST} 0", max_cents=5)
    assert (run["last_error"], of(wire, run, "limit.near")) == ("limit_reached", [])


def test_a_run_without_a_limit_gets_none(wire: Wire) -> None:
    run = wire.start("wait 60")
    assert code(raised(wire, run, 20)) == "invalid_limits"
    wire("POST", f"/runs/{run['run_id']}/cancel")
