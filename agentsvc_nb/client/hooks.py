"""Calling back into the user's code."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

OnProgress = Callable[[int, int | None], Any]
"""Called with the bytes that came or went, and with how many there are, where that is known."""


async def tell(hook: Callable[..., Any] | None, *news: Any) -> None:
    """Call `hook`, which may be a coroutine function with the async client. What it raises ends the call."""
    if hook is not None and inspect.isawaitable(heard := hook(*news)):
        await heard
