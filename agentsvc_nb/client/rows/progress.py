"""What is told of a `map` while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class MapProgress:
    """How far a `map` has come.

    `cents` is what the rows cost so far, `cents_expected` what all will; that and `seconds_left` are known when five
    rows have been answered. `waiting`: the service is busy, and no row begins for so many seconds. `going` are runs of
    rows that take long, or longer than they may: the service answered before they had ended. `partial()` gives the
    DataFrame so far.
    """

    total: int
    done: int
    failed: int
    running: int
    cents: float
    cents_expected: float | None
    seconds_left: float | None
    waiting: float
    going: tuple[str, ...]
    partial: Callable[[], Any] = field(repr=False)


OnRows = Callable[[MapProgress], Any]
