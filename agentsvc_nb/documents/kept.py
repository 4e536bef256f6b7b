"""What was made last is kept for whoever asks for it next, up to a size in all."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Values by their keys; the one that was not asked for the longest goes first, and the last stays, whatever its
    size. For any thread.

    Args:
        room: how large all values may be together.
        size: how large one is.
    """

    def __init__(self, room: int, size: Callable[[V], int]) -> None:
        self._room, self._size = room, size
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> V:
        """The value that is kept: of two that were made at the same time, the first."""
        with self._lock:
            if key in self._values:
                return self._values[key]
            self._values[key] = value
            self._room -= self._size(value)
            while self._room < 0 and len(self._values) > 1:
                self._room += self._size(self._values.popitem(last=False)[1])
            return value
