"""The locks of the HTTP library, which Ctrl-C must not leave taken (docs/decisions/0074-locks-survive-ctrl-c.md)."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def survive_interrupts(core: Any) -> None:
    """Let `with` take and release the locks of `core`, the library below the HTTP library, in a single step.

    They do so in Python, and an interrupt between taking a lock and the body of the `with` leaves it taken: the next
    call of the client would wait for ever. The lock that each of them has takes and releases itself in C.
    """
    for kind in (core._synchronization.Lock, core._synchronization.ThreadLock):
        kind.__enter__ = property(attrgetter("_lock.__enter__"))
        kind.__exit__ = property(attrgetter("_lock.__exit__"))
