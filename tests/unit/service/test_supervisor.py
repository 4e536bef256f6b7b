"""The workers: what they claimed they also end."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentsvc_nb.service.runner.signals import LocalSignals
from agentsvc_nb.service.runner.supervisor import TaskSupervisor
from agentsvc_nb.tools.support import stopping
from agentsvc_nb.tools.support.stopping import Stopped


def test_a_cancel_ends_the_threads_of_its_work() -> None:
    begun, ended = threading.Event(), threading.Event()

    def long() -> None:
        try:
            while True:
                begun.set()
                stopping.check()
        except Stopped:
            ended.set()
            raise

    async def cancelled() -> None:
        tasks = TaskSupervisor(LocalSignals())
        outer = asyncio.create_task(tasks.run_interruptible("run", asyncio.to_thread(long)))
        await asyncio.to_thread(begun.wait, 60)
        tasks.interrupt("run")
        with pytest.raises(asyncio.CancelledError):
            await outer

    asyncio.run(cancelled())
    assert ended.wait(60)
