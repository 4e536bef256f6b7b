"""Ctrl-C and cancellation at random moments: what went on goes on, nothing is lost, done twice or left open."""

from __future__ import annotations

import asyncio
import random
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import MIB
from tests.faults.network import count, new_chat, nothing_left_open

LONG = "\n".join(f"progress {n} 200 at {n}" for n in range(200)) + "\nsay done"
LIVE = "\n".join(f"progress {n} 60 at {n}\nwait 0.005" for n in range(60))
CONTENT = random.Random(8).randbytes(4 * MIB + 3)
TIMES = 25
LONGEST_SECONDS = 0.06
"""Of the random waits before an interrupt: about as long as what is interrupted takes."""
# A socket that is interrupted while the standard library makes it is closed by its last reference, with a warning.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SEEDS = pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """One of this module's own: its runs and sockets are counted."""
    with running_service() as running:
        yield running


@pytest.fixture(scope="module")
def ended(service: RunningService) -> tuple[str, list[Any]]:
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(LONG).run_id, poll=0.02)
        return run.run_id, list(client.runs.iterate_events(run.run_id))


@pytest.fixture(scope="module")
def chat(service: RunningService) -> str:
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        client.files.upload(("big.bin", CONTENT), chat=chat)
        return chat


@pytest.fixture(autouse=True)
def closed_in_the_end(service: RunningService, ended: object, chat: object) -> Iterator[None]:
    with nothing_left_open(service):
        yield


class CtrlC:
    """Runs work and sends this thread a real SIGINT in the middle of it, after a random time."""

    def __init__(self, seed: int) -> None:
        self._dice, self._over = random.Random(seed), False
        self.hits = 0

    def during(self, work: Callable[[], Any]) -> Any:
        """What it gives; None when it was interrupted."""
        self._over = False
        before = signal.signal(signal.SIGINT, self._interrupt)
        timer = threading.Timer(
            self._dice.uniform(0, LONGEST_SECONDS), signal.pthread_kill, (threading.get_ident(), signal.SIGINT)
        )
        given = None
        try:
            timer.start()
            given = work()
            self._over = True
        except KeyboardInterrupt:
            self.hits += 1
        timer.join()
        signal.signal(signal.SIGINT, before)
        return given

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._over:
            self._over = True
            raise KeyboardInterrupt


# -- scripts: Ctrl-C -----------------------------------------------------------------------------------------------


@SEEDS
def test_a_stream_read_on_after_every_ctrl_c_is_whole(
    service: RunningService, ended: tuple[str, list[Any]], seed: int
) -> None:
    run_id, events = ended
    ctrl_c = CtrlC(seed)
    with AgentService(service.api_key, service.base_url) as client:
        for _ in range(TIMES):
            stream, got = client.runs.attach(run_id), list[Any]()
            # Reads on with the same stream. An event counts once the caller has it: its `cursor` says so.
            while ctrl_c.during(partial(_read_on, stream, got)) is None:
                got = [event for event in got if event.id <= stream.cursor]
                if len(got) < stream.cursor:
                    got.append(events[stream.cursor - 1])  # handed over as the interrupt came
            assert got == events
    assert ctrl_c.hits


def _live(client: AgentService, key: str) -> list[Any]:
    return list(client.runs.start_and_stream(LIVE, idempotency_key=key))


def _read_on(stream: Any, got: list[Any]) -> bool:
    with suppress(StopIteration):
        while True:
            got.append(next(stream))
    return True


@SEEDS
def test_a_live_run_left_by_ctrl_c_goes_on(service: RunningService, seed: int) -> None:
    ctrl_c, before = CtrlC(seed), count(service, "run")
    with AgentService(service.api_key, service.base_url) as client:
        keys = [uuid.uuid4().hex for _ in range(8)]
        for key in keys:
            ctrl_c.during(partial(_live, client, key))
        for key in keys:
            run = client.runs.start_and_stream(LIVE, idempotency_key=key).final_status()
            assert run.status == "completed"
    assert count(service, "run") - before == len(keys)
    assert ctrl_c.hits


@SEEDS
def test_files_after_every_ctrl_c(service: RunningService, chat: str, tmp_path: Path, seed: int) -> None:
    """What a broken download leaves is continued by the next; a broken upload leaves nothing."""
    ctrl_c = CtrlC(seed)
    (tmp_path / "up.bin").write_bytes(CONTENT)
    with AgentService(service.api_key, service.base_url) as client:
        for number in range(TIMES):
            to = tmp_path / f"{number}.bin"
            ctrl_c.during(partial(client.files.download, "uploads/big.bin", chat=chat, to=to))
            assert not to.exists() or to.read_bytes() == CONTENT
            assert client.files.download("uploads/big.bin", chat=chat, to=to) == to
            assert to.read_bytes() == CONTENT
            ctrl_c.during(lambda: client.files.upload(tmp_path / "up.bin"))
            assert [file.size_bytes for file in client.files.upload(tmp_path / "up.bin")] == [len(CONTENT)]
    assert not list(tmp_path.glob("*.part"))
    assert ctrl_c.hits


@SEEDS
def test_a_client_works_on_after_every_ctrl_c(service: RunningService, ended: tuple[str, list[Any]], seed: int) -> None:
    ctrl_c = CtrlC(seed)
    with AgentService(service.api_key, service.base_url) as client:
        for _ in range(TIMES):
            ctrl_c.during(lambda: [client.runs.get(ended[0]) for _ in range(30)])
            assert client.runs.get(ended[0]).status == "completed"
    assert ctrl_c.hits


# -- asyncio: cancellation -----------------------------------------------------------------------------------------


async def cancelled(work: Any, dice: random.Random) -> bool:
    """Whether the work was cancelled in the middle."""
    task = asyncio.ensure_future(work)
    await asyncio.wait([task], timeout=dice.uniform(0, LONGEST_SECONDS))
    task.cancel()
    await asyncio.wait([task])
    return task.cancelled()


@SEEDS
def test_a_stream_read_on_after_every_cancellation_is_whole(
    service: RunningService, ended: tuple[str, list[Any]], seed: int
) -> None:
    run_id, events = ended

    async def read(stream: Any, got: list[Any]) -> None:
        async for event in stream:
            got.append(event)

    async def many() -> int:
        dice, hits = random.Random(seed), 0
        async with AsyncAgentService(service.api_key, service.base_url) as client:
            for _ in range(TIMES):
                got: list[Any] = []
                stream = await client.runs.attach(run_id)
                while await cancelled(read(stream, got), dice):
                    hits += 1
                assert got == events
        return hits

    assert asyncio.run(many())


@SEEDS
def test_files_after_every_cancellation(service: RunningService, chat: str, tmp_path: Path, seed: int) -> None:
    (tmp_path / "up.bin").write_bytes(CONTENT)

    async def many() -> int:
        dice, hits = random.Random(seed), 0
        async with AsyncAgentService(service.api_key, service.base_url) as client:
            for number in range(TIMES):
                to = tmp_path / f"{number}.bin"
                hits += await cancelled(client.files.download("uploads/big.bin", chat=chat, to=to), dice)
                assert await client.files.download("uploads/big.bin", chat=chat, to=to) == to
                assert to.read_bytes() == CONTENT
                hits += await cancelled(client.files.upload(tmp_path / "up.bin"), dice)
                (staged,) = await client.files.upload(tmp_path / "up.bin")
                assert staged.size_bytes == len(CONTENT)
        return hits

    assert asyncio.run(many())
    assert not list(tmp_path.glob("*.part"))
