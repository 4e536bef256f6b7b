"""Memory given back to the system as soon as it is freed, and the most that a process may have."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Final

LARGE_BUFFER_BYTES: Final = 2 * 2**20
_M_MMAP_THRESHOLD: Final = -3
_M_TRIM_THRESHOLD: Final = -1


def return_large_buffers() -> None:
    """Have glibc give a large buffer's memory back once it is freed. The first one of 16 MB would raise the size from
    which it does so, and it would keep what each thread frees from then on: 250 MB after a few messages."""
    _call("mallopt", _M_MMAP_THRESHOLD, LARGE_BUFFER_BYTES)
    _call("mallopt", _M_TRIM_THRESHOLD, 2 * LARGE_BUFFER_BYTES)  # as glibc does by itself when it raises the first


def limit_memory(size: int) -> None:
    """Let this process map no more than `size` bytes, where the system can hold it to that: Windows has no such limit,
    and macOS refuses one that is below what an interpreter has mapped as it starts."""
    if sys.platform != "win32" and sys.platform != "darwin":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def return_freed() -> None:
    """Have glibc give back what is free between what is in use. Takes some milliseconds: to be called in a thread."""
    _call("malloc_trim", 0)


def _call(function: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another library, such as musl, has no such function
            getattr(ctypes.CDLL(None), function)(*arguments)
