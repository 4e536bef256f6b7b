"""The state machine over HTTP, and the mutants of the product that it catches.

In CI few examples, always the same ones. Longer, and others each time:

    pytest tests/faults/test_states_http.py --hypothesis-profile long
"""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.faults.crashing_server import crashing_server
from tests.faults.history import Violation
from tests.faults.machine import machine_on
from tests.faults.mutants import MUTANTS

SEARCHES = 3
"""Runs take real time: on a busy machine one search may pass a mutant by."""

LONG = settings.get_current_profile_name() == "long"
# Without shrinking: each example takes its real time, and the steps of a failure are printed as they were.
BUDGET = settings(
    max_examples=1000 if LONG else 25,
    stateful_step_count=40 if LONG else 20,
    derandomize=not LONG,
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
        assert machine.ended > 50, "the machine did too little to say anything"


@pytest.mark.sqlite("shows that the state machine finds faults; the same one runs on PostgreSQL")
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str) -> None:
    Violation.found.clear()
    for _ in range(SEARCHES):
        with (
            crashing_server("--late-writers", "--mutant", name) as service,
            contextlib.suppress(Exception),
        ):  # it may not come again
            service.start()
            run_state_machine_as_test(machine_on(service, once=True), settings=settings(BUDGET, max_examples=200))
        if Violation.found:
            break
    assert Violation.found, "the mutant lives"
    assert re.search(MUTANTS[name].betrayed_by, Violation.found[0]), Violation.found
