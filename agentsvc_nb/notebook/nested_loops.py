"""`allow_nested_loops`: `asyncio.run` within the running loop, only on request and not where cells would be lost."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final

from agentsvc_nb.notebook.errors import AskError

_NEW: Final = "nest-asyncio2"
_OLD: Final = "nest-asyncio"
_SAFE: Final = (1, 7, 4)
"""The first version of nest-asyncio2 that loses no cells."""
_LOSING_KERNEL: Final = (7,)
_LOOP_ADVICE: Final = "%pip install -U nest-asyncio2, then restart the kernel; or use `await` in the cell instead."

Version = tuple[int, ...]


def installed(package: str) -> Version | None:
    """Return the version of a package as numbers; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        parts = version(package).split(".")
    except PackageNotFoundError:
        return None
    return tuple(int(part) for part in parts if part.isdecimal())


def allow_nested_loops() -> str:
    """Patch asyncio so that `asyncio.run` works inside a running loop, as in a cell; returns which package did it.

    Raises:
        AskError: neither package is there, this one would lose queued cells of this kernel, or the loop is uvloop's.

    >>> import agentsvc_nb
    >>> agentsvc_nb.allow_nested_loops()  # doctest: +SKIP
    'nest-asyncio2 1.7.4'
    """
    package = choose(installed)
    _check_loop()
    # Not imported by name: neither package is required, and importing one patches nothing until `apply`.
    importlib.import_module(package.replace("-", "_")).apply()
    return f"{package} {'.'.join(map(str, installed(package) or ()))}"


def choose(found: Callable[[str], Version | None]) -> str:
    """Return the name of the package that is safe in this kernel, by the versions `found` (None: not installed).

    Raises `AskError` when there is none.
    """
    new, old, kernel = found(_NEW), found(_OLD), found("ipykernel")
    if new is not None and new >= _SAFE:
        return _NEW
    if new is None and old is None:
        raise AskError("Neither nest-asyncio2 nor nest-asyncio is installed; nothing was changed.", _LOOP_ADVICE)
    if kernel is not None and kernel >= _LOSING_KERNEL:
        package, numbers = (_NEW, new) if new is not None else (_OLD, old)
        raise AskError(
            f"{package} {'.'.join(map(str, numbers or ()))} would lose queued cells on ipykernel"
            f" {'.'.join(map(str, kernel))}: they stay at [*] for ever; nothing was changed.",
            _LOOP_ADVICE,
        )
    return _NEW if new is not None else _OLD


def _check_loop() -> None:
    import asyncio  # of some 30 modules, which `%load_ext` need not wait for

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    if not isinstance(loop, asyncio.BaseEventLoop):
        raise AskError(
            f"This loop ({type(loop).__module__}) can't be patched; nothing was changed.",
            "Use `await` in the cell, or a loop of asyncio's own.",
        )
