"""The tests of the client catch faults that are put into it: `python -m tests.client.mutants` prints by which test."""

from __future__ import annotations

import pytest

from tests.client.mutants import MUTANTS, caught_by


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str) -> None:
    assert caught_by(name)
