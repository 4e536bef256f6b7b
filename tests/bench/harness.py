"""What the benchmarks share: works that take turns with their peers, and what a process used."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agentsvc_nb.service.server import bind, origin

Work = Callable[[], float]
"""Does something once and returns what it cost."""


def compare(title: str, unit: str, works: Mapping[str, Work], rounds: int) -> None:
    """Print the median cost of each work, and the ratio of the first, which is ours, to it.

    All take turns, so that they share what else the machine does. The first turn only fills caches.
    """
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 1):
        for name, work in works.items():
            cost = work()
            if turn:
                taken[name].append(cost)
    ours, *_ = medians = [statistics.median(costs) for costs in taken.values()]
    print(f"\n{title:52} {unit:>9} {'ours to it':>11}")
    for name, median in zip(works, medians, strict=True):
        print(f"{name:52} {median:9.1f} {ours / median:11.2f}")


def clock_ms(act: Callable[[], object]) -> float:
    begin = time.perf_counter()
    act()
    return (time.perf_counter() - begin) * 1000


def cpu_us(act: Callable[[], object], times: int = 1) -> float:
    """Microseconds of this process's CPU time for one of `times` calls."""
    gc.collect()
    begin = time.process_time()
    for _ in range(times):
        act()
    return (time.process_time() - begin) / times * 1e6


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    """The memory that a process holds now."""
    return _status_mb(pid, "VmRSS")


def peak_mb(pid: int) -> float:
    """The most memory that a process ever held."""
    return _status_mb(pid, "VmHWM")


def _status_mb(pid: int, field: str) -> float:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return int(lines[field].split()[0]) / 1024


class Server(NamedTuple):
    """A process that answers."""

    base_url: str
    pid: int


@contextlib.contextmanager
def bare_starlette(path: str, body: bytes) -> Iterator[Server]:
    """Start bare Starlette on uvicorn, which answers GET `path` with `body` as JSON."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(path, body, theirs))
    process.start()
    try:
        assert process.pid is not None
        yield Server(ours.recv(), process.pid)
    finally:
        process.terminate()
        process.join()


def _serve(path: str, body: bytes, starter: Connection) -> None:
    async def answer(request: Request) -> Response:
        return Response(body, media_type="application/json")

    app = Starlette(routes=[Route(path, answer)])
    config = uvicorn.Config(app, loop="asyncio", ws="none", log_config=None, access_log=False, server_header=False)
    with bind("127.0.0.1", 0) as listening:  # it accepts connections already, and uvicorn will answer them
        starter.send(origin("127.0.0.1", listening.getsockname()[1]))
        uvicorn.Server(config).run(sockets=[listening])
