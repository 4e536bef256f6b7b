"""What must be looked at while nothing else goes on: what is left behind, and answers as deep as a well."""

import asyncio
import gc
import os
import threading

import pytest

from agentsvc_nb import AsyncAgentService
from tests.independent.checking import outcome
from tests.independent.faces import FACES
from tests.independent.mock import Fault, Mock, Reply, problem, saying
from tests.independent.records import KEY, service


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("how", ["good", "lost", "refused"])
def test_nothing_is_left_behind(face: str, how: str) -> None:
    """No thread, no file and no task is left of many clients."""
    lost = Fault("lost", lambda wire, seen, good: wire.reset())
    script = {"good": [], "lost": [lost] * 200, "refused": []}[how]
    reply = problem(403, "key_suspended") if how == "refused" else None

    def use() -> None:
        with Mock((lambda seen: reply) if reply else service, list(script)) as mock:
            for _ in range(10):
                outcome(mock, face, lambda c: c.tools.list(), max_retries=0)

    use()
    gc.collect()
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        use()
    gc.collect()
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= files


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_client_lets_go_of_what_it_opened_on_a_loop_that_has_ended() -> None:
    async def use(client: AsyncAgentService) -> None:
        assert await client.tools.list()

    with Mock(service) as mock:
        client = AsyncAgentService(KEY, mock.origin)
        asyncio.run(use(client))
        asyncio.run(client.close())
        left = mock.left(1)
        del client
        gc.collect()
        assert left


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("begin", [b"[", b'{"data":', b'{"error":'], ids=["list", "data", "error"])
def test_an_answer_as_deep_as_a_well(face: str, status: int, begin: bytes) -> None:
    """JSON that no parser follows to its end is an error of the client's own."""
    gc.disable()  # what it would clean up at such a depth fails for want of room
    try:
        with Mock(service, [saying("deep", Reply(status, begin * 60_000))] * 3) as mock:
            assert outcome(mock, face, lambda c: c.tools.list()).failure.status == status
    finally:
        gc.enable()
