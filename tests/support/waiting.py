"""Waiting for a condition, so that no test sleeps for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 60.0


def until(read: Callable[[], T], accept: Callable[[T], bool] = bool, patience: float = PATIENCE_SECONDS) -> T:
    """Call `read` until `accept` is true of its value, and return that value.

    Raises `AssertionError`, with the last value, after `patience` seconds.
    """
    end = time.monotonic() + patience
    while not accept(value := read()):
        assert time.monotonic() < end, f"still {value!r} after {patience:.0f} s"
        time.sleep(0.02)
    return value
