"""Ways out of the sandbox (`escapes/table.py`), tried as a steered model would: by `run_python`, in runs of a real
service. What is outside is looked at after each: processes, files, memory, disk, listeners, and other chats."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.wire.runs import Run
from tests.nightly.escapes import SIGN, THROUGH, Escape
from tests.nightly.escapes.outside import SECRET, SECRET_NAME, Outside, outside
from tests.nightly.escapes.table import ESCAPES
from tests.support.waiting import until
from tests.unit.tools.test_program_escapes import SUBREAPER, living

pytestmark = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
SAMPLE: Final = list(ESCAPES)[::4]
"""What `.ci/run` tries; `.ci/long` tries all."""
MEMORY_MAX: Final = running.MEMORY_BYTES + 1_500_000_000
"""What all processes of the service may take together: programs are looked at ten times a second, and the results of
one are in the service's memory for a moment."""


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    """One that has a secret in its environment, a folder for temporary files of its own, and no money to spend."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as scratch, pytest.MonkeyPatch.context() as patch:
        patch.setenv(SECRET_NAME, SECRET)
        patch.setenv("TMPDIR", scratch)
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)  # whose parent has ended becomes this process's child
        with running_service() as found:
            found.scratch = Path(scratch)  # type: ignore[attr-defined]
            yield found


@pytest.fixture(scope="module")
def around(service: RunningService) -> Iterator[Outside]:
    with outside(service.data, service.pid) as made:
        yield made


@pytest.fixture
def client(service: RunningService) -> Iterator[AgentService]:
    with AgentService(service.api_key, service.base_url) as client:
        yield client


@pytest.mark.parametrize("name", SAMPLE)
def test_no_run_gets_out(name: str, client: AgentService, service: RunningService, around: Outside) -> None:
    try_to_get_out(ESCAPES[name], client, service, around)


@pytest.mark.parametrize("name", [name for name in ESCAPES if name not in SAMPLE])
def test_no_other_run_gets_out(name: str, client: AgentService, service: RunningService, around: Outside) -> None:
    try_to_get_out(ESCAPES[name], client, service, around)


def try_to_get_out(escape: Escape, client: AgentService, service: RunningService, around: Outside) -> None:
    other = done(client, f"write others.csv {SECRET}").chat
    on_disk, scratch = used(service.data), left_in(service)
    chat = done(client, "write shown.csv a,b").chat
    with memory_watched(service.pid) as peak:
        for source in escape.sources(around.host):
            told = json.dumps({"code": source, "seconds": escape.patience})
            run = done(client, f"call run_python {told}", chat)
            events = [event.payload for event in client.runs.events(run.run_id, limit=1000).data]
            result = next(event for event in events if "is_error" in event)
            printed = result["content"][0]["text"]
            assert SIGN not in printed, printed
            assert SECRET not in json.dumps(events)
            assert escape.expected != "refused" or not result["is_error"], printed
    until(lambda: sandboxed() == [], patience=5)
    assert peak[0] < MEMORY_MAX
    assert used(service.data) - on_disk < 2 * confinement.WORK_BYTES
    assert left_in(service) == scratch
    assert around.reached() == []
    names = [file.path for file in client.files.list(chat)]
    assert THROUGH not in names
    assert len(names) <= 2 * running.RESULTS_MAX + 1
    assert client.files.download("others.csv", chat=other) == SECRET.encode()
    assert done(client, "say well").output == "well", "the service answers"


def done(client: AgentService, script: str, chat: str | None = None) -> Run:
    """A run of this script, when it is over."""
    run = client.runs.start(script, chat=chat)
    ended = client.runs.wait(run.run_id, poll=0.05, timeout=120)
    assert ended.status == "completed", ended
    return ended


def sandboxed() -> list[int]:
    """Processes of a sandbox that descend from this one, those that lost their parents, too."""
    found = []
    ours = os.readlink("/proc/self/ns/pid")
    for pid in living():
        with contextlib.suppress(OSError):
            in_another = os.readlink(f"/proc/{pid}/ns/pid") != ours
            if in_another or Path(f"/proc/{pid}/comm").read_text() == "bwrap\n":
                found.append(pid)
    return found


def used(folder: Path) -> int:
    """Bytes that the files below take on the disk."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            found += path.lstat().st_blocks * 512
    return found


def left_in(service: Any) -> set[str]:
    """Names in the service's folder of temporary files."""
    return set(os.listdir(service.scratch))


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
