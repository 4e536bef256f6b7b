"""Ways out of the sandbox of programs (`table.py`): all through the sandbox itself, a few through `run_python` in runs
of a service. What is outside is looked at after each: processes, files, memory, disk, listeners, and other chats."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.wire.runs import Run
from tests.nightly.escapes import SIGN, THROUGH, Escape
from tests.nightly.escapes.outside import SECRET, SECRET_NAME, Outside, outside
from tests.nightly.escapes.table import ESCAPES
from tests.support.waiting import until
from tests.unit.tools.test_program_escapes import SUBREAPER, USERS, living, run

pytestmark = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
SHOWN: Final = "a,b\n1,2\n"
OF_A_SERVICE: Final = (
    "files of another chat",
    "memory in pipes",
    "names that are no text",
    "archives that are small until they are opened",
    "modules that the next program imports",
    "every other place that can be written",
)
MEMORY_MAX: Final = running.MEMORY_BYTES + 1_500_000_000
"""What all processes of the service may take together: programs are looked at ten times a second, and the results of
one are in the service's memory for a moment."""


@pytest.fixture(scope="module")
def around() -> Iterator[Outside]:
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as data, outside(Path(data), os.getpid()) as made:
        Path(data, "shown.csv").write_text(SHOWN)
        yield made


@pytest.fixture
def none_left() -> Iterator[None]:
    """No process of a test is left: one whose parent has ended would be this process's child."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    before = living()
    yield
    until(lambda: living() <= before, patience=5)


@pytest.mark.usefixtures("none_left")
@pytest.mark.parametrize("name", ESCAPES)
def test_no_program_gets_out(name: str, around: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_NAME, SECRET)
    escape, shown = ESCAPES[name], around.data / "shown.csv"
    for code in escape.sources(around.host):
        ending, kept = run(code, escape.patience, USERS[-1], shown)
        assert SIGN not in ending.printed, ending.printed
        assert THROUGH not in kept, kept[THROUGH]
        assert SECRET not in ending.printed
        assert not any(SECRET.encode() in data for data in kept.values())
        assert sum(map(len, kept.values())) <= confinement.WORK_BYTES
        assert len(kept) <= running.RESULTS_MAX
        assert escape.expected != "refused" or (ending.how, ending.code) == ("exit", 0), ending
    assert around.reached() == []
    assert shown.read_text() == SHOWN


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """One that has a secret in its environment, and no money to spend."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET_NAME, SECRET)
        with running_service() as found:
            yield found


@pytest.mark.parametrize("name", OF_A_SERVICE)
def test_no_run_of_a_service_gets_out(name: str, service: RunningService) -> None:
    with AgentService(service.api_key, service.base_url) as client, outside(service.data, service.pid) as around:
        try_in_a_run(ESCAPES[name], client, service, around)


def try_in_a_run(escape: Escape, client: AgentService, service: RunningService, around: Outside) -> None:
    other = done(client, f"write others.csv {SECRET}").chat
    on_disk = used(service.data)
    chat = done(client, "write shown.csv a,b").chat
    with memory_watched(service.pid) as peak:
        for source in escape.sources(around.host):
            told = json.dumps({"code": source, "seconds": escape.patience})
            made = done(client, f"call run_python {told}", chat)
            events = [event.payload for event in client.runs.events(made.run_id, limit=1000).data]
            result = next(event for event in events if "is_error" in event)
            printed = result["content"][0]["text"]
            assert SIGN not in printed, printed
            assert SECRET not in json.dumps(events)
            assert escape.expected != "refused" or not result["is_error"], printed
    until(lambda: sandboxed(service.pid) == [], patience=5)
    assert peak[0] < MEMORY_MAX
    assert used(service.data) - on_disk < 2 * confinement.WORK_BYTES
    assert around.reached() == []
    names = [file.path for file in client.files.list(chat)]
    assert THROUGH not in names
    assert len(names) <= 2 * running.RESULTS_MAX + 1
    assert client.files.download("others.csv", chat=other) == SECRET.encode()
    assert done(client, "say well").output == "well", "the service answers"


def done(client: AgentService, script: str, chat: str | None = None) -> Run:
    """A run of this script, when it is over."""
    started = client.runs.start(script, chat=chat)
    ended = client.runs.wait(started.run_id, poll=0.05, timeout=120)
    assert ended.status == "completed", ended
    return ended


def sandboxed(root: int) -> list[int]:
    """Processes of a sandbox that descend from this one: they are in another process namespace."""
    found, ours = [], os.readlink("/proc/self/ns/pid")
    for pid in living(root):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/ns/pid") != ours:
                found.append(pid)
    return found


def used(folder: Path) -> int:
    """Bytes that the files below take on the disk."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            found += path.lstat().st_blocks * 512
    return found


@contextlib.contextmanager
def memory_watched(root: int) -> Iterator[list[int]]:
    """The most memory that a process and those that descend from it took together, page tables included."""
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            peak[0] = max(peak[0], sum(map(_memory, living(root))))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield peak
    finally:
        over.set()
        watching.join()


def _memory(pid: int) -> int:
    with contextlib.suppress(OSError):
        rows = (line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return sum(int(row[1]) * 1024 for row in rows if row and row[0] in ("RssAnon:", "RssShmem:", "VmPTE:"))
    return 0
