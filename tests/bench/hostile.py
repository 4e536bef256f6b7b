"""Hostile callers beside an honest one: how long the honest one waits, and whether the service grows.

python -m tests.bench.hostile [--quick]

Ten minutes of each: first a control run, in which the hostile callers send to a socket that answers everything at once,
so that what they take of the machine counts; then against the service. Fails for an error of the honest caller and for
memory or descriptors that grow, never for being slow.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from tests.bench.hostile_senders import Target, send_all
from tests.bench.load import address, request
from tests.bench.process import resident_mb

EVERY: Final = 0.05
"""Seconds between two requests of a kind by the honest caller, whether or not the last one was answered."""
PATIENCE: Final = 30.0
GROWTH_MB: Final = 60
GROWTH_DESCRIPTORS: Final = 100
WORDS: Final = "the sale of summer w1 w2 w3 " * 30_000
SETTLE_SECONDS: Final = 10
"""After the hostile callers left, before the service is looked at once more."""


def main(quick: bool) -> None:
    seconds = 20 if quick else 600
    print(f"{seconds} s each; milliseconds of the honest caller\n")
    print("| hostile callers send to | kind | answers | errors | p50 | p99 | longest |\n|---|---|---|---|---|---|---|")
    with running_service() as service, discarding() as sink, ProcessPoolExecutor(2, _spawn) as pool:
        target = prepared(service)
        control, _ = measure(pool, service, target._replace(base_url=sink), seconds)
        report("a socket that discards", control)
        found, samples = measure(pool, service, target, seconds)
        report("the service", found)
        time.sleep(SETTLE_SECONDS)
        after = sample(service.pid)
    for kind in found:
        ratio = quantile(found[kind], 0.99) / quantile(control[kind], 0.99)
        print(f"\n{kind}: p99 is {ratio:.1f} times that of the control run", end="")
    show_growth(samples, after)
    check_errors(found)


_spawn = multiprocessing.get_context("spawn")
Answers = dict[str, list[tuple[float, str]]]
"""By kind of request: seconds from when it was due, and the error, empty for a right answer."""
Sample = tuple[float, int]
"""Resident MB and descriptors of the service, without its children."""


def prepared(service: RunningService) -> Target:
    """What the hostile callers aim at: their own chat with large texts, and a run of many events."""
    key = service.create_key(name="hostile")
    with AgentService(key, service.base_url) as client:
        run = client.runs.start("\n".join(["say " + "x" * 30_000] * 60))
        client.runs.wait(run.run_id)
        assert run.chat is not None
        for number in range(4):
            client.files.upload((f"text-{number}.txt", WORDS.encode()), chat=run.chat)
    return Target(service.base_url, key, run.chat, run.run_id)


def measure(
    pool: ProcessPoolExecutor, service: RunningService, target: Target, seconds: float
) -> tuple[Answers, list[Sample]]:
    sending: Future[None] = pool.submit(send_all, target, seconds)
    asking = pool.submit(_ask_honestly, service.base_url, service.api_key, seconds)
    samples = []
    while not asking.done():
        samples.append(sample(service.pid))
        time.sleep(1)
    sending.result()
    return asking.result(), samples


def sample(pid: int) -> Sample:
    return resident_mb(pid), len(os.listdir(f"/proc/{pid}/fd"))


def report(target: str, answers: Answers) -> None:
    for kind, all_of_kind in answers.items():
        errors = sum(bool(error) for _, error in all_of_kind)
        times = " | ".join(f"{quantile(all_of_kind, share) * 1000:.0f}" for share in (0.5, 0.99, 1))
        print(f"| {target} | {kind} | {len(all_of_kind):,} | {errors} | {times} |", flush=True)


def quantile(answers: list[tuple[float, str]], share: float) -> float:
    waited = sorted(seconds for seconds, _ in answers)
    return waited[min(int(len(waited) * share), len(waited) - 1)]


def show_growth(samples: list[Sample], after: Sample) -> None:
    """Print the median of each tenth of the time. Raises `AssertionError` if the last is far above the second."""
    size = max(1, len(samples) // 10)
    tenths = [samples[at : at + size] for at in range(0, size * 10, size)]
    memory = [statistics.median(mb for mb, _ in tenth) for tenth in tenths if tenth]
    descriptors = [statistics.median(count for _, count in tenth) for tenth in tenths if tenth]
    print(f"\n\nMB by tenths of the time: {' '.join(f'{mb:.0f}' for mb in memory)}; afterwards {after[0]:.0f}")
    print(f"descriptors: {' '.join(f'{count:.0f}' for count in descriptors)}; afterwards {after[1]}")
    assert memory[-1] < memory[1] + GROWTH_MB, "memory grew"
    assert descriptors[-1] < descriptors[1] + GROWTH_DESCRIPTORS, "descriptors grew"


def check_errors(answers: Answers) -> None:
    wrong = {error for each in answers.values() for _, error in each if error}
    assert not wrong, f"the honest caller saw {sorted(wrong)[:5]}"


# The honest caller, in a process of its own


def _ask_honestly(base_url: str, api_key: str, seconds: float) -> Answers:
    return asyncio.run(_honest(base_url, api_key, seconds))


async def _honest(base_url: str, api_key: str, seconds: float) -> Answers:
    caller = _Caller(*address(base_url))
    start = request("POST", "/api/developers/v1/runs", api_key, json.dumps({"message": "say hello"}).encode())
    run_id = json.loads(await caller.ask(start))["run_id"]
    kinds = {"GET of a run": request("GET", f"/api/developers/v1/runs/{run_id}", api_key), "start of a run": start}
    answers: Answers = {kind: [] for kind in kinds}
    begin = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number in range(int(seconds / EVERY)):
            due = begin + number * EVERY
            await asyncio.sleep(max(0, due - time.monotonic()))
            for kind, message in kinds.items():
                tasks.create_task(_timed(caller, message, due, answers[kind]))
    return answers


async def _timed(caller: _Caller, message: bytes, due: float, answers: list[tuple[float, str]]) -> None:
    error = ""
    try:
        async with asyncio.timeout(PATIENCE):
            await caller.ask(message)
    except (OSError, EOFError, AssertionError, TimeoutError) as failure:
        error = f"{type(failure).__name__}: {failure}"[:200]
    answers.append((time.monotonic() - due, error))


class _Caller:
    """Keeps connections, opens one where none is free, and sends once more on a new one where a kept one was closed."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, message: bytes) -> bytes:
        """The body of the answer. Raises `AssertionError` for a refusal."""
        while self._free:
            try:
                return await self._exchange(*self._free.pop(), message)
            except (asyncio.IncompleteReadError, ConnectionError):
                continue
        return await self._exchange(*await asyncio.open_connection(*self._address), message)

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, message: bytes) -> bytes:
        writer.write(message)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        self._free.append((reader, writer))
        assert head[9:12] in (b"200", b"202"), f"{head[9:12].decode()} {body[:100]!r}"
        return body


# A socket that answers everything at once


@contextmanager
def discarding() -> Iterator[str]:
    """The origin of a socket, in a process of its own, that answers each request without looking at it."""
    told, tells = _spawn.Pipe(duplex=False)
    process = _spawn.Process(target=_discard, args=(tells,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{told.recv()}"
    finally:
        process.kill()
        process.join()


def _discard(tells: Connection) -> None:
    asyncio.run(_discard_all(tells))


async def _discard_all(tells: Connection) -> None:
    server = await asyncio.get_running_loop().create_server(_Discarding, "127.0.0.1", 0, backlog=4096)
    tells.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


class _Discarding(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if b"\r\n\r\n" in data or data.endswith(b"}"):
            self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")


if __name__ == "__main__":
    main("--quick" in sys.argv)
