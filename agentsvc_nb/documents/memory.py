"""Return freed memory to the operating system, and limit the memory of this process."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Final

LARGE_BUFFER_BYTES: Final = 2 * 2**20
_M_MMAP_THRESHOLD: Final = -3
_M_TRIM_THRESHOLD: Final = -1


def return_large_buffers() -> None:
    """Make glibc return a large buffer's memory as soon as it is freed.

    By default, glibc does so only above a threshold, which grows with the largest buffer freed so far, such as 16 MB.
    Then each thread would keep freed memory: 250 MB after a few messages.
    """
    _call("mallopt", _M_MMAP_THRESHOLD, LARGE_BUFFER_BYTES)
    _call("mallopt", _M_TRIM_THRESHOLD, 2 * LARGE_BUFFER_BYTES)  # twice the other, as glibc would set it


def limit_memory(size: int) -> None:
    """Limit this process's address space to `size` bytes, except on Windows and macOS, where limits do not work."""
    if sys.platform != "win32" and sys.platform != "darwin":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


def return_freed() -> None:
    """Make glibc return free memory between used blocks to the operating system.

    This takes milliseconds, so call it in a thread.
    """
    _call("malloc_trim", 0)


def _call(function: str, *arguments: int) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # other C libraries, such as musl, lack the function
            getattr(ctypes.CDLL(None), function)(*arguments)
