"""They catch faults that are put into the client: `python -m tests.unit.client.mutants` prints by which test."""

from __future__ import annotations

import pytest

from tests.unit.client.mutants import MUTANTS, caught_by


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name: str) -> None:
    assert caught_by(name)
