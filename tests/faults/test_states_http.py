"""The state machine over HTTP: few examples in CI, always the same ones; many by night, others each time."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.crashing_server import crashing_server
from tests.faults.machine import machine_on
from tests.support.sampling import EVERY

# Without shrinking: each example takes its real time, and the steps of a failure are printed as they were.
BUDGET = settings(
    max_examples=500 if EVERY else 15,
    stateful_step_count=40 if EVERY else 20,
    derandomize=not EVERY,
    database=None,
    report_multiple_bugs=False,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def test_whatever_happens_the_rules_hold() -> None:
    with crashing_server("--late-writers") as service:
        service.start()
        machine = machine_on(service)
        run_state_machine_as_test(machine, settings=BUDGET)
        assert machine.ended > 30, "the machine did too little to say anything"
