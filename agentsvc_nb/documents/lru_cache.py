"""Cache values up to a total size."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A thread-safe cache that removes the least recently used values while all values together exceed `room`.

    Args:
        room: the maximum total size. A single value may exceed it.
        size: returns the size of a value.
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
        """Store a value, unless the key already has one. Return the stored value."""
        with self._lock:
            if key in self._values:
                return self._values[key]
            self._values[key] = value
            self._room -= self._size(value)
            while self._room < 0 and len(self._values) > 1:
                self._room += self._size(self._values.popitem(last=False)[1])
            return value
