"""Who waits is woken by what concerns it, in its time, and can always be stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any, Final

import pytest

from agentsvc_nb.service.runner.signals import WOKEN_AT_ONCE, LocalSignals

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


def test_many_are_woken_a_few_in_each_turn_of_the_loop() -> None:
    """All of a run's 2,000 followers were woken in one turn, in which nobody else was answered."""

    async def test() -> None:
        signals = LocalSignals()
        with contextlib.ExitStack() as stack:
            watches = [stack.enter_context(signals.watch("run")) for _ in range(3 * WOKEN_AT_ONCE)]
            waits = [asyncio.create_task(watch.wait(LONG)) for watch in watches]
            await asyncio.sleep(0)
            signals.notify("run")
            await asyncio.sleep(0)
            assert 0 < sum(wait.done() for wait in waits) <= 2 * WOKEN_AT_ONCE
            assert await asyncio.gather(*waits) == [True] * len(waits)

    run(test())


def test_a_short_wait_after_a_long_one_is_short() -> None:
    async def test() -> None:
        signals = LocalSignals()
        with signals.watch("run") as watch:
            await woken(signals, watch.wait(LONG))
            assert not await watch.wait(MOMENT)

    run(test())


def test_a_long_wait_after_a_short_one_is_long() -> None:
    async def test() -> None:
        signals = LocalSignals()
        with signals.watch("run") as watch:
            await woken(signals, watch.wait(MOMENT))
            waiting = asyncio.create_task(watch.wait(LONG))
            await asyncio.sleep(3 * MOMENT)  # the short wait would be over by now
            await woken(signals, waiting)

    run(test())


async def woken(signals: LocalSignals, wait: Coroutine[Any, Any, bool] | asyncio.Task[bool]) -> None:
    """The wait goes on until it is told that something happened."""
    waiting = asyncio.ensure_future(wait)
    await asyncio.sleep(0)
    assert not waiting.done()
    signals.notify("run")
    assert await waiting


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
