"""What a start allows its run (docs/api/runs.md "Limits of a run"), and what a record shows while the run works."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.api.conftest import Wire, code
from tests.service.api.service_fixture import ServiceFixture

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
    *({"max_cents": wrong} for wrong in (0, "5")),
]


@pytest.mark.parametrize("limits", WRONG, ids=str)
def test_limits_that_are_wrong(limits: dict[str, Any], wire: Wire) -> None:
    answer = wire("POST", "/runs", json={"message": "say x", **limits})
    assert (answer.status_code, code(answer)) == (400, "invalid_limits")
    assert answer.json()["error"]["field"] in limits
