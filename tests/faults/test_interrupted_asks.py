"""Ctrl-C and cancellation of `ask` and of `on_busy="wait"`: whoever asks again with the key gets that turn."""

from __future__ import annotations

import asyncio
import random
import uuid
from functools import partial
from typing import Any

import pytest

from agentsvc_nb import AgentService, AsyncAgentService
from agentsvc_nb.testing import RunningService
from tests.faults.interrupting import HALF_MADE_SOCKETS, LONGEST_SECONDS, SEEDS, CtrlC, cancelled
from tests.faults.network import HANDLE_SECONDS, count, new_chat

pytestmark = [pytest.mark.usefixtures("all_closed"), *HALF_MADE_SOCKETS]
TURN = f"say so far\nwait {HANDLE_SECONDS / 2}\nsay done"
LATE = f"say so far\nwait {HANDLE_SECONDS + LONGEST_SECONDS}\nsay done"
ASKS = [TURN, LATE] * 6


def keyed(script: str) -> dict[str, Any]:
    return {"message": script, "chat": "new", "idempotency_key": uuid.uuid4().hex, "poll": 0.01}


@SEEDS
def test_an_ask_after_ctrl_c_is_the_same_turn(service: RunningService, seed: int) -> None:
    ctrl_c, before = CtrlC(seed, longest=2 * HANDLE_SECONDS), count(service, "run")
    with AgentService(service.api_key, service.base_url) as client:
        for asked in map(keyed, ASKS):
            ctrl_c.during(partial(client.ask, **asked))
            assert client.ask(**asked).answer == "so far\ndone"
    assert count(service, "run") - before == len(ASKS)
    assert ctrl_c.hits


@SEEDS
def test_an_ask_after_a_cancellation_is_the_same_turn(service: RunningService, seed: int) -> None:
    before = count(service, "run")

    async def many() -> int:
        dice, hits = random.Random(seed), 0
        async with AsyncAgentService(service.api_key, service.base_url) as client:
            for asked in map(keyed, ASKS):
                hits += await cancelled(client.ask(**asked), dice, longest=2 * HANDLE_SECONDS)
                assert (await client.ask(**asked)).answer == "so far\ndone"
        return hits

    assert asyncio.run(many())
    assert count(service, "run") - before == len(ASKS)


@SEEDS
def test_a_wait_for_a_chat_may_be_left_and_begun_again(service: RunningService, seed: int) -> None:
    ctrl_c, before = CtrlC(seed), count(service, "run")
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        for number in range(8):
            first = client.runs.start("wait 0.05\nsay first", chat=chat, on_busy="wait")
            start = partial(
                client.runs.start, "say second", chat=chat, on_busy="wait", idempotency_key=f"{chat}-{number}"
            )
            ctrl_c.during(start)
            second = client.runs.wait(start())
            assert (second.output, client.runs.get(first.run_id).status) == ("second", "completed")
    assert count(service, "run") - before == 1 + 2 * 8
    assert ctrl_c.hits


@SEEDS
def test_an_awaited_wait_for_a_chat_too(service: RunningService, seed: int) -> None:
    before = count(service, "run")

    async def many() -> int:
        dice, hits = random.Random(seed), 0
        async with AsyncAgentService(service.api_key, service.base_url) as client:
            chat = (await client.runs.start("say hello", sync=True)).chat
            for number in range(8):
                await client.runs.start("wait 0.05\nsay first", chat=chat, on_busy="wait")
                start = partial(
                    client.runs.start, "say second", chat=chat, on_busy="wait", idempotency_key=f"{chat}-{number}"
                )
                hits += await cancelled(start(), dice)
                assert (await client.runs.wait(await start())).output == "second"
        return hits

    assert asyncio.run(many())
    assert count(service, "run") - before == 1 + 2 * 8
