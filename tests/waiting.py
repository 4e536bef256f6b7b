"""Wait for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 60.0


def until(read: Callable[[], T], accept: Callable[[T], bool] = bool, patience: float = PATIENCE_SECONDS) -> T:
    """Read again and again until `accept`; the value then. Fails after `patience` seconds with the last value."""
    end = time.monotonic() + patience
    while not accept(value := read()):
        assert time.monotonic() < end, f"still {value!r} after {patience:.0f} s"
        time.sleep(0.02)
    return value
