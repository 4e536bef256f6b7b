"""The pool of kept children: when they start and end, and what becomes of their questions."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from agentsvc_nb.documents import child_process
from agentsvc_nb.documents.child_process import ChildPool, Limits, NoAnswer
from tests.support.waiting import PATIENCE_SECONDS
from tests.unit.tools.test_sandbox import alive, gone

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, and limits hold on Linux")

ASKED = """
import os, time
from agentsvc_nb.documents.child_process import answer_questions

def answer(question):
    word, _, rest = question.partition(b" ")
    while word == b"hang":
        pass
    if word == b"sleep":
        time.sleep(float(rest))
    elif word == b"crash":
        os.abort()
    elif word == b"take":
        bytes(int(rest))
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


def ticks(pid: int) -> int:
    """The processor's time that a process has used, in hundredths of a second."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


async def ask(pool: ChildPool, question: bytes = b"", seconds: float = 30.0) -> bytes:
    return await pool.ask(question, seconds, 100_000_000)


async def eventually(met: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not met():  # noqa: ASYNC110 what is waited for tells nobody
            await asyncio.sleep(0.01)


async def pid(pool: ChildPool) -> int:
    return int(await ask(pool))


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


def test_a_question_that_nobody_waits_for_is_withdrawn_and_harms_no_other(module: str) -> None:
    async def use() -> None:
        async with pool_of(module, 1) as pool:
            first = await pid(pool)
            before = ticks(first)
            running = asyncio.create_task(ask(pool, b"hang"))
            await eventually(lambda: ticks(first) > before + 20)
            waiting, last = (asyncio.create_task(ask(pool, said)) for said in (b"sleep 60", b"echo last"))
            waiting.cancel()
            await asyncio.wait([waiting])
            assert alive(first)
            running.cancel()
            await asyncio.wait([running])
            assert await last == b"last"
            assert await pid(pool) != first
            assert gone(first)

    asyncio.run(use())
