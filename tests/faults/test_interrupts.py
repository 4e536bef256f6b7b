"""Ctrl-C and cancellation at random moments: what went on goes on, nothing is lost, done twice or left open."""

from __future__ import annotations

import asyncio
import random
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.testing import RunningService
from tests.faults.interrupting import HALF_MADE_SOCKETS, LONGEST_SECONDS, CtrlC, cancelled
from tests.faults.network import CONTENT, HANDLE_SECONDS, count

LIVE = "\n".join(f"progress {n} 60 at {n}\nwait 0.005" for n in range(60))
TIMES = 25
pytestmark = [pytest.mark.usefixtures("all_closed"), *HALF_MADE_SOCKETS]


# -- scripts: Ctrl-C -----------------------------------------------------------------------------------------------


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


# -- asyncio: cancellation -----------------------------------------------------------------------------------------


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


# -- asks: whoever asks again with the key gets that turn ------------------------------------------------------------

TURN = f"say so far\nwait {HANDLE_SECONDS / 2}\nsay done"
LATE = f"say so far\nwait {HANDLE_SECONDS + LONGEST_SECONDS}\nsay done"
ASKS = [TURN, LATE] * 6


def keyed(script: str) -> dict[str, Any]:
    return {"message": script, "chat": "new", "idempotency_key": uuid.uuid4().hex, "poll": 0.01}


def test_an_ask_after_ctrl_c_is_the_same_turn(service: RunningService, seed: int) -> None:
    ctrl_c, before = CtrlC(seed, longest=2 * HANDLE_SECONDS), count(service, "run")
    with AgentService(service.api_key, service.base_url) as client:
        for asked in map(keyed, ASKS):
            ctrl_c.during(partial(client.ask, **asked))
            assert client.ask(**asked).answer == "so far\ndone"
    assert count(service, "run") - before == len(ASKS)
    assert ctrl_c.hits
