"""The client before a real service on a network that breaks, and under Ctrl-C and cancellation: nothing is lost,
nothing done twice, nothing left open."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import itertools
import json
import random
import signal
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from agentsvc_nb import AgentService, APIConnectionError, AsyncAgentService, RequestTooLargeError
from agentsvc_nb.client import streams, tools
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.limits import MIB
from tests.faults.proxy import Direction, Fault, How, Proxy
from tests.support import databases
from tests.support.sampling import sampled
from tests.support.waiting import until

LONG = "\n".join(f"progress {n} 200 at {n}" for n in range(200)) + "\nsay done"
LATE = "say so far\nwait 0.9\nsay done"
"""A turn that outlasts the service's patience: it is answered by a handle."""
CONTENT = random.Random(8).randbytes(4 * MIB + 3)
PATIENCE_SECONDS = 0.4
"""After this time without a byte a client gives a connection up; outside tests that is a minute."""
HOWS: list[How] = ["cut", "reset", "stall"]
WAYS: list[Direction] = ["up", "down"]
KINDS = pytest.mark.parametrize("how", sampled(HOWS, "reset", "stall"))
FAULTS = pytest.mark.parametrize(
    ("how", "direction"), sampled(itertools.product(HOWS, WAYS), ("reset", "down"), ("stall", "up"))
)
pytestmark = [
    pytest.mark.usefixtures("all_closed", "impatient"),
    # If an interrupt hits the standard library while it makes a socket, garbage collection closes it, with a warning.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """A service of this module: its tests count runs and sockets."""
    with running_service(ask_handle_seconds=0.1) as running:
        yield running


@pytest.fixture
def direct(service: RunningService, all_closed: None) -> Iterator[AgentService]:
    """A client whose connections don't break."""
    with AgentService(service.api_key, service.base_url) as client:
        yield client


@pytest.fixture(scope="module")
def ended(service: RunningService) -> tuple[str, list[Any]]:
    """The id of an ended run with many events, and its events as read without a fault."""
    with AgentService(service.api_key, service.base_url) as client:
        run = client.runs.wait(client.runs.start(LONG).run_id, poll=0.02)
        return run.run_id, list(client.runs.iterate_events(run.run_id))


def new_chat(client: AgentService) -> str:
    return str(client.runs.start("say hello", sync=True).chat)


@pytest.fixture(scope="module")
def chat(service: RunningService) -> str:
    """The id of a chat with a file of 4 MiB, `uploads/big.bin`."""
    with AgentService(service.api_key, service.base_url) as client:
        chat = new_chat(client)
        client.files.upload(("big.bin", CONTENT), chat=chat)
        return chat


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a client give a silent stream or handle up soon, and wait for nothing between its attempts."""
    monkeypatch.setattr(streams, "READ_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(tools, "SYNC_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(random, "random", lambda: 0.0)


@pytest.fixture
def all_closed(service: RunningService, ended: object, chat: object) -> Iterator[None]:
    """Fails if the test leaves a TCP socket open, here or in the service."""
    mine, theirs = tcp_sockets("self"), tcp_sockets(service.pid)
    yield

    def left() -> bool:
        gc.collect()  # unreferenced objects are no leak
        return tcp_sockets("self") > mine or tcp_sockets(service.pid) > theirs

    until(lambda: not left(), patience=10)


def tcp_sockets(pid: int | str) -> int:
    """The number of TCP sockets that a process has open. The connections to its database, which it keeps, are none."""
    lines = [line for name in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]]
    tcp = {f"socket:[{line.split()[9]}]" for line in lines}
    found = 0
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # closed meanwhile
            found += str(link.readlink()) in tcp
    return found


def client_of(service: RunningService, proxy: Proxy, retries: int = 2) -> AgentService:
    return AgentService(service.api_key, proxy.base_url, timeout=PATIENCE_SECONDS, max_retries=retries)


def count(service: RunningService, table: str) -> int:
    return databases.count(service.folder, table)


# -- a network that breaks ---------------------------------------------------------------------------------------------


@pytest.mark.rule("A stream over ten broken connections is complete.")
@KINDS
def test_a_stream_over_ten_broken_connections_is_whole(
    how: How, service: RunningService, ended: tuple[str, list[Any]]
) -> None:
    """Some break before anything came, most in the middle."""
    run_id, events = ended
    dice = random.Random(how)
    faults = [Fault(how, dice.choice([0, 150, *[dice.randrange(800, 3_000)] * 3])) for _ in range(10)]
    with (
        Proxy(service.base_url, [None, *faults]) as proxy,
        client_of(service, proxy, retries=9) as client,
        client.runs.attach(run_id, timeout=PATIENCE_SECONDS) as stream,
    ):
        assert list(stream) == events


@FAULTS
def test_a_keyed_start_gives_one_run(
    how: How, direction: Direction, service: RunningService, direct: AgentService
) -> None:
    before = count(service, "run")
    with Proxy(service.base_url, [Fault(how, 300, direction)] * 2) as proxy, client_of(service, proxy) as client:
        run = client.runs.start("say one", idempotency_key=uuid.uuid4().hex, timeout=PATIENCE_SECONDS)
    assert direct.runs.wait(run.run_id, poll=0.02).status == "completed"
    assert count(service, "run") - before == 1


@pytest.mark.rule("A start without a key is sent once on a broken network.")
@FAULTS
def test_a_start_without_a_key_is_sent_once(how: How, direction: Direction, service: RunningService) -> None:
    before = count(service, "run")
    with (
        Proxy(service.base_url, [Fault(how, 10, direction)] * 3) as proxy,
        client_of(service, proxy) as client,
        pytest.raises(APIConnectionError) as caught,
    ):
        client.runs.start("say one", timeout=PATIENCE_SECONDS)
    assert "may have started" in (caught.value.hint or "")
    assert (caught.value.attempts, proxy.accepted) == (1, 1)
    assert count(service, "run") - before <= 1


@KINDS
def test_a_download_over_faults_is_whole(how: How, service: RunningService, chat: str, tmp_path: Path) -> None:
    plan = [Fault(how, after) for after in (0, 200, MIB + 300_000, MIB + 300_000)]
    # As many retries as faults: what a busy machine has not read yet, a reset takes away, and nothing was gained.
    with Proxy(service.base_url, plan) as proxy, client_of(service, proxy, retries=len(plan)) as client:
        assert client.files.download("uploads/big.bin", chat=chat, to=tmp_path).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["big.bin"]


@FAULTS
def test_an_upload_over_faults_arrives_whole_and_once(
    how: How, direction: Direction, service: RunningService, direct: AgentService, tmp_path: Path
) -> None:
    (tmp_path / "up.bin").write_bytes(CONTENT)
    chat = new_chat(direct)
    plan = [Fault(how, after if direction == "up" else 10, direction) for after in (0, 500, MIB)]
    with Proxy(service.base_url, plan) as proxy, client_of(service, proxy, retries=5) as client:
        sent = client.with_options(timeout=2 * PATIENCE_SECONDS).files.upload(tmp_path / "up.bin", chat=chat)
        assert [file.size_bytes for file in sent] == [len(CONTENT)]
    assert [file.id for file in direct.files.list(chat)] == [hashlib.sha256(CONTENT).hexdigest()]


@pytest.mark.rule("A keyed `ask` is one turn on a broken network.")
@FAULTS
def test_a_keyed_ask_is_one_turn(how: How, direction: Direction, service: RunningService) -> None:
    """Faults strike the start, the looks at its handle, and the reading of its result."""
    before = count(service, "run"), count(service, "job")
    plan = [Fault(how, after, direction) for after in (0, 1_200, 900, 1_000, 40)]
    with Proxy(service.base_url, plan) as proxy, client_of(service, proxy, retries=7) as client:
        answer = client.ask(LATE, chat="new", idempotency_key=uuid.uuid4().hex, poll=0.02)
        assert proxy.struck
    assert answer.answer == "so far\ndone"
    assert answer.raw["family"] == "mcp_ask", "it became a job"
    assert (count(service, "run") - before[0], count(service, "job") - before[1]) == (1, 1)


def test_the_answer_to_a_broken_upload_is_read(tmp_path: Path) -> None:
    """A service that answers 413 and closes after a part of the upload: the kernel answers the rest with RST."""
    (tmp_path / "big.bin").write_bytes(bytes(8 * MIB))
    body = json.dumps({"error": {"message": "Too large.", "type": "t", "code": "attachment_too_large"}}).encode()
    head = b"HTTP/1.1 413 Too Large\r\nx-request-id: req_1\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"

    def refuse() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(1_000)
            connection.sendall(head % len(body) + body)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=refuse)
        serving.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with AgentService("svc_sk_x", address) as client, pytest.raises(RequestTooLargeError) as caught:
            client.files.upload(tmp_path / "big.bin")
        serving.join()
    assert (caught.value.code, caught.value.request_id) == ("attachment_too_large", "req_1")
    assert caught.value.attempts == 1


# -- Ctrl-C and cancellation at random moments -------------------------------------------------------------------------

LONGEST_SECONDS = 0.06
"""Longest random wait before an interrupt: about as long as the interrupted work takes."""
TIMES = 10


class CtrlC:
    """Runs work and interrupts it with a real SIGINT after a random time. `hits` counts the interrupted ones."""

    def __init__(self, seed: int) -> None:
        self._dice, self._over, self.hits = random.Random(seed), False, 0

    def during(self, work: Callable[[], Any]) -> Any:
        """Run `work` and return its result, or None if it was interrupted."""
        self._over, given = False, None
        before = signal.signal(signal.SIGINT, self._interrupt)
        wait, thread = self._dice.uniform(0, LONGEST_SECONDS), threading.get_ident()
        timer = threading.Timer(wait, signal.pthread_kill, (thread, signal.SIGINT))
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


def read_on(stream: Any, got: list[Any]) -> bool:
    with suppress(StopIteration):
        while True:
            got.append(next(stream))
    return True


def test_a_stream_read_on_after_every_ctrl_c_is_whole(
    direct: AgentService, ended: tuple[str, list[Any]], seed: int
) -> None:
    run_id, events = ended
    ctrl_c = CtrlC(seed)
    for _ in range(TIMES):
        stream, got = direct.runs.attach(run_id), list[Any]()
        # Reads on with the same stream. An event counts once the caller has it: its `cursor` says so.
        while ctrl_c.during(partial(read_on, stream, got)) is None:
            got = [event for event in got if event.id <= stream.cursor]
            if len(got) < stream.cursor:
                got.append(events[stream.cursor - 1])  # handed over as the interrupt came
        assert got == events
    assert ctrl_c.hits


def test_files_after_every_ctrl_c(direct: AgentService, chat: str, tmp_path: Path, seed: int) -> None:
    """What a broken download leaves is continued by the next; a broken upload leaves nothing."""
    ctrl_c = CtrlC(seed)
    (tmp_path / "up.bin").write_bytes(CONTENT)
    for number in range(TIMES):
        to = tmp_path / f"{number}.bin"
        ctrl_c.during(partial(direct.files.download, "uploads/big.bin", chat=chat, to=to))
        assert not to.exists() or to.read_bytes() == CONTENT
        assert direct.files.download("uploads/big.bin", chat=chat, to=to) == to
        assert to.read_bytes() == CONTENT
        ctrl_c.during(lambda: direct.files.upload(tmp_path / "up.bin"))
        assert [file.size_bytes for file in direct.files.upload(tmp_path / "up.bin")] == [len(CONTENT)]
    assert not list(tmp_path.glob("*.part"))
    assert ctrl_c.hits


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
                while True:
                    task = asyncio.ensure_future(read(stream, got))
                    await asyncio.wait([task], timeout=dice.uniform(0, LONGEST_SECONDS))
                    task.cancel()
                    await asyncio.wait([task])
                    if not task.cancelled():
                        break
                    hits += 1
                assert got == events
        return hits

    assert asyncio.run(many())
