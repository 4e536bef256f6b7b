"""The pool of kept children: when they start and end, and what becomes of their questions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentsvc_nb.documents import child_process
from agentsvc_nb.documents.child_process import KEPT_BYTES, ChildPool, Limits, NoAnswer, NoChild
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.tools.test_sandbox import alive, children, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and limits hold on Linux")

ASKED = """
import os, time
from agentsvc_nb.documents.child_process import answer_questions

kept = []

def answer(question):
    word, _, rest = question.partition(b" ")
    if word == b"sleep":
        time.sleep(float(rest))
    elif word == b"crash":
        os.abort()
    elif word == b"take":
        bytes(int(rest))
    elif word == b"keep":
        kept.append(b"x" * int(rest))
    elif word == b"log":
        print("this is no answer")
    elif word == b"echo":
        return rest
    return str(os.getpid()).encode()

if __name__ == "__main__":
    answer_questions(answer)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "asked.py").write_text(ASKED)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(child_process.__file__).parents[2])]))
    return "asked"


@contextlib.asynccontextmanager
async def pool_of(module: str, count: int = 2, memory: int | None = None) -> AsyncIterator[ChildPool]:
    pool = ChildPool(module, Limits(memory_bytes=memory), count)
    try:
        yield pool
    finally:
        pool.close()


async def ask(pool: ChildPool, question: bytes = b"", seconds: float = 30.0) -> bytes:
    return await pool.ask(question, seconds, 100_000_000)


async def eventually(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not met():  # noqa: ASYNC110 what is waited for tells nobody
            await asyncio.sleep(0.01)


async def pid(pool: ChildPool) -> int:
    return int(await ask(pool))


def test_children_start_when_needed_and_are_kept(module: str) -> None:
    async def use() -> None:
        before = children()
        async with pool_of(module) as pool:
            assert children() == before
            one = await pid(pool)
            assert {await pid(pool) for _ in range(5)} == {one}
            assert children() - before == {one}
            both = {int(said) for said in await asyncio.gather(*(ask(pool, b"sleep 0.1") for _ in range(6)))}
            assert one in both
            assert len(both) == 2
        assert children() == before

    asyncio.run(use())


def test_questions_and_answers_are_any_bytes(module: str) -> None:
    async def use() -> None:
        async with pool_of(module, 1) as pool:
            for said in (b"", b"\n", bytes(range(256)) * 40_000):
                assert await ask(pool, b"echo " + said) == said
            await ask(pool, b"log")
            assert await ask(pool, b"echo unharmed") == b"unharmed"

    asyncio.run(use())


@pytest.mark.parametrize(
    ("question", "seconds"),
    [(b"sleep 60", 0.3), (b"crash", 30), (b"take 1000000000", 30), (b"echo " + b"a" * 1_000, 30)],
    ids=["deadline", "crash", "memory", "too long an answer"],
)
def test_a_child_without_an_answer_is_replaced(module: str, question: bytes, seconds: float) -> None:
    async def use() -> None:
        async with pool_of(module, 1, memory=500_000_000) as pool:
            first = await pid(pool)
            with pytest.raises(NoAnswer):
                await pool.ask(question, seconds, 100)
            assert gone(first)
            assert await pid(pool) != first

    asyncio.run(use())


def test_a_question_that_nobody_waits_for_is_withdrawn(module: str) -> None:
    async def use() -> None:
        async with pool_of(module, 1) as pool:
            first = await pid(pool)
            running = asyncio.create_task(ask(pool, b"sleep 60"))
            waiting = asyncio.create_task(ask(pool, b"sleep 60"))
            await asyncio.sleep(0.1)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert alive(first)
            running.cancel()
            await asyncio.wait([running])
            assert await pid(pool) != first
            assert gone(first)

    asyncio.run(use())


def test_a_question_is_withdrawn_while_its_child_starts(module: str) -> None:
    async def use() -> None:
        async with pool_of(module, 1) as pool:
            for _ in range(3):
                asking = asyncio.create_task(ask(pool, b"sleep 60"))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                asking.cancel()
                await asyncio.wait([asking])
            assert await ask(pool, b"echo here") == b"here"

    asyncio.run(use())


def test_the_shared_threads_stay_free(module: str) -> None:
    async def use() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        async with pool_of(module) as pool:
            asking = [asyncio.create_task(ask(pool, b"sleep 60")) for _ in range(3)]
            await asyncio.sleep(0.1)
            assert await asyncio.to_thread(lambda: "done") == "done"
            assert not any(one.done() for one in asking)
            for one in asking:
                one.cancel()

    asyncio.run(use())


def test_closing_ends_children_and_questions(module: str) -> None:
    async def use() -> None:
        before = children()
        async with pool_of(module) as pool:
            asking = [asyncio.create_task(ask(pool, b"sleep 60")) for _ in range(5)]
            await eventually(lambda: len(children() - before) == 2)
        assert children() == before
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert all(isinstance(one, NoAnswer) for one in ended)
        with pytest.raises(NoAnswer):
            await ask(pool)

    asyncio.run(use())


def test_children_end_with_a_service_that_is_killed(module: str) -> None:
    parent = """
import asyncio
from agentsvc_nb.documents.child_process import ChildPool
from agentsvc_nb.documents.child_process import Limits
async def use():
    pool = ChildPool("asked", Limits())
    print((await pool.ask(b"", 30, 100)).decode(), flush=True)
    await pool.ask(b"sleep 60", 60, 100)
asyncio.run(use())
"""
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
    assert gone(child)


def test_a_child_that_ended_while_it_was_idle_fails_no_question(module: str) -> None:
    """The system may kill it when memory runs out."""

    async def use() -> None:
        async with pool_of(module, 1) as pool:
            first = await pid(pool)
            os.kill(first, signal.SIGKILL)
            await eventually(lambda: not alive(first))
            assert await pid(pool) != first

    asyncio.run(use())


def test_a_cancellation_harms_no_other_question_whenever_it_comes(module: str) -> None:
    async def use() -> None:
        async with pool_of(module, 1) as pool:
            await pid(pool)
            for turns in range(30):  # of the loop, some before the answer comes and some after it
                asking = asyncio.create_task(ask(pool, b"echo a"))
                waiting = asyncio.create_task(ask(pool, b"echo b"))
                for _ in range(turns):
                    await asyncio.sleep(0.0002)
                asking.cancel()
                assert await waiting == b"b"
                await asyncio.wait([asking])

    asyncio.run(use())


def test_a_child_that_does_not_give_its_memory_back_is_replaced(module: str) -> None:
    async def use() -> None:
        async with pool_of(module, 1) as pool:
            first = await ask(pool)
            assert await ask(pool, b"keep 1000000") == first
            assert await ask(pool, b"keep %d" % KEPT_BYTES) == first
            assert await ask(pool) != first

    asyncio.run(use())


def test_questions_are_answered_in_their_order(module: str) -> None:
    async def use() -> None:
        answered: list[int] = []

        async def one(number: int) -> None:
            await ask(pool, b"sleep 0.01")
            answered.append(number)

        async with pool_of(module, 1) as pool:
            await asyncio.gather(*(one(number) for number in range(10)))
        assert answered == [*range(10)]

    asyncio.run(use())


def test_a_pool_serves_callers_without_a_loop_and_one_loop_after_another(module: str) -> None:
    pool = ChildPool(module, Limits(), 1)
    try:
        assert pool.ask_now(b"echo a", 30, 100) == b"a"
        assert [asyncio.run(ask(pool, b"echo b")) for _ in range(2)] == [b"b", b"b"]
        with pytest.raises(NoAnswer):
            pool.ask_now(b"sleep 60", 0.1, 100)
    finally:
        pool.close()
    with pytest.raises(NoChild):
        pool.ask_now(b"echo a", 30, 100)


def test_a_child_of_a_pool_that_keeps_none_ends_after_its_answer(module: str) -> None:
    async def use() -> None:
        pool = ChildPool(module, Limits(), 1, kept_bytes=0)
        first = await pid(pool)
        assert gone(first)
        assert await pid(pool) != first
        pool.close()

    asyncio.run(use())
