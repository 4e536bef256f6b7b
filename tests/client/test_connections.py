"""What connections keep and lead through: answers that nobody asked for, event loops that have ended."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from agentsvc_nb import APIConnectionError, AsyncAgentService
from agentsvc_nb.client.errors import MAY_HAVE_STARTED
from tests.independent.checking import outcome
from tests.independent.faces import Call
from tests.independent.mock import Fault, Mock, Reply, Seen, Wire, answer
from tests.independent.records import KEY, RUN, run, service

STRAY = answer(run(run_id="stray"))


def two_at_once(wire: Wire, seen: Seen, good: Reply) -> None:
    wire.send(good.whole + STRAY.whole)


def after_a_stray(mock: Mock, face: str, call: Call) -> Any:
    """What a call comes to whose connection brought an answer too many with the one before."""

    async def use(client: Any) -> Any:
        await client.models.list()
        return await call(client)

    mock.script = [Fault("two at once", two_at_once, keeps=True)]
    return outcome(mock, face, (lambda c: (c.models.list(), call(c))[1]) if face == "blocking" else use)


@pytest.mark.parametrize("face", ["blocking", "async"])
def test_an_answer_that_nobody_asked_for_is_not_that_of_the_next_call(face: str) -> None:
    with Mock(service) as mock:
        read = after_a_stray(mock, face, lambda client: client.runs.get(RUN))
        assert (read.value.run_id, read.error, len(read.notices)) == (RUN, None, 1)
        assert mock.left()
    with Mock(service) as mock:
        started = after_a_stray(mock, face, lambda client: client.runs.start("hello"))
        assert isinstance(started.error, APIConnectionError)
        assert (started.error.sent, started.error.hint) == (True, MAY_HAVE_STARTED)
        assert "belongs to no request" in str(started.error)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_closing_lets_go_of_what_an_ended_event_loop_has_left() -> None:
    async def use(client: AsyncAgentService) -> None:
        assert await client.models.list()

    with Mock(service) as mock:
        client = AsyncAgentService(KEY, mock.origin)
        asyncio.run(use(client))
        asyncio.run(client.close())
        assert mock.left()
        del client
        gc.collect()  # here, where the warning of what the loop left is known
