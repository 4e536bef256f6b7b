"""`allow_nested_loops()`: allow `asyncio.run` inside a running loop, for users' own code.

This package neither needs nor calls it, because it patches asyncio for the whole kernel. On ipykernel 7 and later,
nest-asyncio and early versions of nest-asyncio2 lose queued cells for ever, so it refuses to use them there.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from agentsvc_nb.notebook.errors import AskError

NEW: Final = "nest-asyncio2"
OLD: Final = "nest-asyncio"
SAFE: Final = (1, 7, 4)
"""The first version of nest-asyncio2 that loses no cells."""
LOSING_KERNEL: Final = (7,)
_ADVICE: Final = "%pip install -U nest-asyncio2, then restart the kernel; or use `await` in the cell instead."

Version = tuple[int, ...]


def installed(package: str) -> Version | None:
    """Return the version of a package as numbers; None if it is not installed."""
    try:
        parts = version(package).split(".")
    except PackageNotFoundError:
        return None
    return tuple(int(part) for part in parts if part.isdecimal())


def allow_nested_loops(found: Callable[[str], Version | None] = installed) -> str:
    """Patch asyncio so that `asyncio.run` works inside a running loop, as in a cell; returns which package did it.

    Args:
        found: gives the version of a package, or None.

    Raises:
        AskError: neither package is there, this one would lose queued cells of this kernel, or the loop is uvloop's.

    >>> import agentsvc_nb
    >>> agentsvc_nb.allow_nested_loops()  # doctest: +SKIP
    'nest-asyncio2 1.7.4'
    """
    package = choose(found)
    _check_loop()
    importlib.import_module(package.replace("-", "_")).apply()
    return f"{package} {'.'.join(map(str, found(package) or ()))}"


def choose(found: Callable[[str], Version | None]) -> str:
    """Return the name of the installed package that is safe in this kernel. Raises `AskError` when there is none."""
    new, old, kernel = found(NEW), found(OLD), found("ipykernel")
    if new is not None and new >= SAFE:
        return NEW
    if new is None and old is None:
        raise AskError("Neither nest-asyncio2 nor nest-asyncio is installed; nothing was changed.", _ADVICE)
    if kernel is not None and kernel >= LOSING_KERNEL:
        package, numbers = (NEW, new) if new is not None else (OLD, old)
        raise AskError(
            f"{package} {'.'.join(map(str, numbers or ()))} would lose queued cells on ipykernel"
            f" {'.'.join(map(str, kernel))}: they stay at [*] for ever; nothing was changed.",
            _ADVICE,
        )
    return NEW if new is not None else OLD


def _check_loop() -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    if not isinstance(loop, asyncio.BaseEventLoop):
        raise AskError(
            f"This loop ({type(loop).__module__}) can't be patched; nothing was changed.",
            "Use `await` in the cell, or a loop of asyncio's own.",
        )
