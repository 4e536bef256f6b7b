"""Which of many like cases run: a few in CI, all of them by night."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
EVERY: Final = bool(os.environ.get("TESTS_EVERY"))
"""`.ci/nightly` sets it."""


def sampled(cases: Iterable[T], *few: T) -> Sequence[T]:
    """Return all cases by night, else the few."""
    every = list(cases)
    assert set(few) <= set(every), f"no case is {set(few) - set(every)}"
    return every if EVERY else few
