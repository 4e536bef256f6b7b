"""The models of money and of runs that `tests/unit/service` has, for longer and with another seed each night."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.unit.service.test_holds import Money
from tests.unit.service.test_run_states import RunStates


@pytest.mark.timeout(900)
@pytest.mark.parametrize("machine", [Money, RunStates])
def test_a_long_run_breaks_no_rule(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=40, deadline=None))
