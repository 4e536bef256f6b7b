"""Helpers of the tests of a broken network: rows, sockets and descriptors of a service and of the test process."""

from __future__ import annotations

import contextlib
import gc
import inspect
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from agentsvc_nb import AgentService, APIConnectionError
from agentsvc_nb.testing import RunningService
from agentsvc_nb.wire.limits import MIB
from tests.faults.proxy import HOWS
from tests.support import databases
from tests.support.sampling import sampled
from tests.support.waiting import until

LONG = "\n".join(f"progress {n} 200 at {n}" for n in range(200)) + "\nsay done"
CONTENT = random.Random(8).randbytes(4 * MIB + 3)
HANDLE_SECONDS = 0.1
"""After this time the service answers an ask with the handle of a job."""
PATIENCE_SECONDS = 0.4
"""After this time without a byte a client gives a connection up; outside tests that is a minute."""
WAYS = pytest.mark.parametrize("direction", ["up", "down"])
KINDS = pytest.mark.parametrize("how", sampled(HOWS, "reset", "stall"))


def count(service: RunningService, table: Literal["run", "job", "upload", "file"]) -> int:
    """The number of rows in a table of the service's database."""
    return databases.count(service.folder, table)


def tcp_sockets(pid: int | Literal["self"] = "self") -> int:
    """The number of TCP sockets that a process has open. The connections to its database, which it keeps, are none."""
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    tcp = {f"socket:[{line.split()[9]}]" for line in lines}
    return sum(_links_to(link) in tcp for link in Path(f"/proc/{pid}/fd").iterdir())


def descriptors() -> dict[str, str]:
    """The open descriptors of this process, and what they refer to."""
    return {link.name: _links_to(link) for link in Path("/proc/self/fd").iterdir()}


@contextlib.contextmanager
def nothing_left_open(service: RunningService) -> Iterator[None]:
    """Fail if the block leaves a descriptor of this process or a socket of the service open."""
    mine, theirs = descriptors(), tcp_sockets(service.pid)
    yield

    def mine_now() -> dict[str, str]:
        gc.collect()  # unreferenced objects are no leak
        return dict(descriptors().items() - mine.items())

    until(mine_now, lambda new: len(descriptors()) <= len(mine), patience=10)
    until(lambda: tcp_sockets(service.pid), lambda now: now <= theirs, patience=10)


def new_chat(client: AgentService) -> str:
    chat = client.runs.wait(client.runs.start("say hello").run_id, poll=0.02).chat
    assert chat
    return chat


async def read_async(stream: Any) -> list[Any]:
    stream = await stream if inspect.isawaitable(stream) else stream
    async with stream:
        return [event async for event in stream]


def read(stream: Any) -> Any:
    """All events of a stream from `attach` or `start_and_stream`; for one of the async client, a coroutine."""
    if inspect.isawaitable(stream):
        return read_async(stream)
    with stream:
        return list(stream)


def _links_to(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed meanwhile
        return ""


def outcome_of(start: Callable[[], Any]) -> Any:
    """The result of `start()`, or the `APIConnectionError` that it raised."""
    try:
        return start()
    except APIConnectionError as error:
        return error


def how_ended(service: RunningService, run_id: str) -> str:
    """The final status of a run, read over a connection without faults."""
    with AgentService(service.api_key, service.base_url) as client:
        return client.runs.wait(run_id, poll=0.02).status
