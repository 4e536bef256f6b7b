"""Shares of accounts, in a thread pool and in turns: no item is lost, no account takes all."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from concurrent.futures import wait
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from agentsvc_nb.documents.children import fairness
from agentsvc_nb.documents.children.fairness import FairQueue, FairThreads, FairTurns, caller

SHARE: Final = 2
Steps = st.lists(st.one_of(st.sampled_from("abc"), st.sampled_from(["take", "done"])), max_size=60)


@given(Steps)
def test_the_account_with_the_fewest_is_next_and_each_item_is_taken_once(steps: list[str]) -> None:
    queue: FairQueue[int] = FairQueue(SHARE)
    waiting: dict[str, list[int]] = {"a": [], "b": [], "c": []}
    at_work: list[str] = []
    for number, step in enumerate(steps):
        if step in waiting:
            queue.put(step, number)
            waiting[step].append(number)
        elif step == "take":
            open = {name for name, items in waiting.items() if items and at_work.count(name) < SHARE}
            taken = queue.take()
            assert (taken is None) == (not open)
            if taken is not None:
                name, item = taken
                assert item == waiting[name].pop(0)
                assert at_work.count(name) == min(at_work.count(one) for one in open)
                at_work.append(name)
        elif at_work:
            queue.done(at_work.pop())


@given(st.lists(st.sampled_from(["key_a", "key_b", "key_c", "done"]), max_size=60))
def test_the_keys_of_an_account_come_in_turn(steps: list[str]) -> None:
    """Whoever waits sees each other key served once at most, and its own items come in their order."""
    queue: FairQueue[tuple[str, int]] = FairQueue(1)
    waiting: dict[str, list[tuple[str, int]]] = {}
    passed: dict[str, list[str]] = {}
    busy = False
    for number, step in enumerate(steps):
        if step == "done":
            if busy:
                queue.done("acct")
            busy = False
        else:
            token = caller.set(step)
            queue.put("acct", (step, number))
            caller.reset(token)
            waiting.setdefault(step, []).append((step, number))
            passed.setdefault(step, [])
        taken = queue.take()
        assert (taken is not None) == (not busy and bool(waiting))
        if taken is not None:
            busy, (name, _) = True, taken[1]
            assert waiting[name].pop(0) == taken[1]
            del passed[name]
            if waiting[name]:
                passed[name] = []
            else:
                del waiting[name]
            for others in passed.values():
                others.append(name)
            assert all(len(set(others)) == len(others) for key, others in passed.items() if key != name)


def test_one_account_never_has_all_threads_and_all_its_work_is_done() -> None:
    released, done = threading.Event(), threading.Semaphore(0)

    def wait() -> None:
        released.wait(60)
        done.release()

    async def work() -> str:
        threads = FairThreads(4)
        asyncio.get_running_loop().set_default_executor(threads)
        fairness.account.set("many")
        many = [asyncio.create_task(asyncio.to_thread(wait)) for _ in range(50)]
        await asyncio.sleep(0)
        fairness.account.set("few")
        found = await asyncio.to_thread(str, "served meanwhile")
        last = many.pop()
        last.cancel()
        await asyncio.wait([last])
        await asyncio.sleep(0)  # in which the thread pool hears of it
        released.set()
        await asyncio.gather(*many)
        return found

    assert asyncio.run(work()) == "served meanwhile"
    assert sum(done.acquire(blocking=False) for _ in range(50)) == 49, "what is cancelled while it waits is not begun"


def test_one_account_never_has_all_turns() -> None:
    turns, log = FairTurns(3, share=2), list[str]()

    async def hold(name: str, begun: asyncio.Event, until: asyncio.Event) -> None:
        async with turns.turn(name):
            log.append(name)
            begun.set()
            await until.wait()

    async def work() -> None:
        begun, until = asyncio.Event(), asyncio.Event()
        many = [asyncio.create_task(hold("many", asyncio.Event(), until)) for _ in range(10)]
        await asyncio.sleep(0)
        few = asyncio.create_task(hold("few", begun, until))
        await begun.wait()
        assert log == ["many", "many", "few"]
        many[5].cancel()
        many[0].cancel()
        until.set()
        await asyncio.gather(*many, few, return_exceptions=True)
        async with turns.turn("many"):
            log.append("free")

    asyncio.run(work())
    assert log.count("many") == 9
    assert log[-1] == "free"


def test_work_that_fails_leaves_nothing_behind() -> None:
    """Pictures of cancelled jobs stayed until the garbage collector came by: 150 MB of them."""

    class Large:
        pass

    left: list[weakref.ref[Large]] = []

    def fails() -> None:
        large = Large()
        left.append(weakref.ref(large))
        raise ZeroDivisionError

    gc.disable()
    try:
        with FairThreads(3) as threads:
            for _ in range(3):
                wait([threads.submit(fails)])
        assert [each() for each in left] == [None] * 3
    finally:
        gc.enable()
