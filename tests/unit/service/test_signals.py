"""Who waits is woken by what concerns it, in its time, and can always be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

import pytest

from agentsvc_nb.service.runner.signals import LocalSignals

LONG: Final = 3600.0
MOMENT: Final = 0.02


def run(test: Coroutine[Any, Any, None]) -> None:
    async def in_time() -> None:
        async with asyncio.timeout(30):
            await test

    asyncio.run(in_time())


def test_what_happens_between_the_reading_and_the_wait_wakes_the_wait_once() -> None:
    async def test() -> None:
        signals = LocalSignals()
        with signals.watch("run") as watch:
            signals.notify("run")
            signals.notify("run")
            assert await watch.wait(LONG)
            assert not await watch.wait(0)

    run(test())


def test_all_who_wait_for_it_are_woken_and_nobody_else() -> None:
    async def test() -> None:
        signals = LocalSignals()
        with signals.watch("one") as first, signals.watch("one") as second, signals.watch("other") as other:
            waits = [asyncio.create_task(watch.wait(LONG)) for watch in (first, second)]
            waits.append(asyncio.create_task(other.wait(MOMENT)))
            await asyncio.sleep(0)
            signals.notify("one")
            assert await asyncio.gather(*waits) == [True, True, False]

    run(test())


def test_a_cancellation_that_comes_with_the_signal_is_not_lost() -> None:
    async def test() -> None:
        signals = LocalSignals()
        with signals.watch("run") as watch:
            waiting = asyncio.create_task(watch.wait(LONG))
            await asyncio.sleep(0)
            signals.notify("run")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    run(test())
