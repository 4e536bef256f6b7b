"""Ways out of the sandbox of programs, each tried by a program: all are refused or bounded, and no process is left."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.tools.programs.confinement import Confinement
from agentsvc_nb.tools.programs.running import Ending, Program
from tests.nightly.escapes import SIGN, THROUGH, Escape
from tests.nightly.escapes.outside import SECRET, SECRET_NAME, Outside, outside
from tests.nightly.escapes.table import ESCAPES
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
SUBREAPER: Final = 36
USERS: Final = ["namespace", *(["user"] if confinement.is_root() else [])]
"""The service's own user in a user namespace; and for a service that is root, another user."""

SHOWN: Final = "a,b\n1,2\n"
SAMPLE: Final = list(ESCAPES)[2::8]
"""What `.ci/run` tries; `.ci/long` tries all."""


@pytest.fixture(scope="module")
def around() -> Iterator[Outside]:
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as data, outside(Path(data), os.getpid()) as made:
        Path(data, "shown.csv").write_text(SHOWN)
        yield made


@pytest.fixture(autouse=True)
def none_left() -> Iterator[None]:
    """No process of a test is left: one whose parent has ended would be this process's child."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    before = living()
    yield
    until(lambda: living() <= before, patience=5)


def living(root: int | None = None) -> set[int]:
    """A process (this one) and those that descend from it, but for those that have ended."""
    states = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, parent, *_ = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            states[int(name)] = (state, int(parent))
    found = [root or os.getpid()]
    for pid in found:
        found += [child for child, (state, parent) in states.items() if parent == pid and state != "Z"]
    return set(found)


def id_of(user: str) -> int | None:
    """Another one for each sandbox, as in the service: the kernel counts a user's processes in all of them."""
    return confinement.stranger() if user == "user" else None


def run(code: str, seconds: float, user: str, shown: Path | None = None) -> tuple[Ending, dict[str, bytes]]:
    """How the program ended, and its files."""
    kept: dict[str, bytes] = {}

    async def keep(path: str, data: bytes) -> None:
        kept[path] = data

    made = Confinement({"shown.csv": shown} if shown else {}, user=id_of(user))
    return asyncio.run(running.run(Program(code, seconds, made), keep)), kept


@pytest.mark.parametrize("name", SAMPLE)
def test_there_is_no_way_out(name: str, around: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user namespace, as for most services; `tests/nightly/escapes/` has what a whole service adds, and, where
    that is root, the other user."""
    try_to_get_out(ESCAPES[name], around, monkeypatch)


@pytest.mark.parametrize("name", [name for name in ESCAPES if name not in SAMPLE])
def test_there_is_no_other_way_out(name: str, around: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    try_to_get_out(ESCAPES[name], around, monkeypatch)


def try_to_get_out(escape: Escape, around: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET_NAME, SECRET)
    shown = around.data / "shown.csv"
    for code in escape.sources(around.host):
        ending, kept = run(code, escape.patience, "namespace", shown)
        assert SIGN not in ending.printed, ending.printed
        assert THROUGH not in kept, kept[THROUGH]
        assert SECRET not in ending.printed
        assert not any(SECRET.encode() in data for data in kept.values())
        assert sum(map(len, kept.values())) <= confinement.WORK_BYTES
        assert len(kept) <= running.RESULTS_MAX
        if escape.expected == "refused":
            assert (ending.how, ending.code) == ("exit", 0), ending
        assert not escape.ends or ending.how in escape.ends, ending
    assert around.reached() == []
    assert shown.read_text() == SHOWN


@pytest.mark.parametrize("user", USERS)
def test_what_sockets_may_hold_counts_as_memory(user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of sockets that no process has any more, as they lie in the buffer of another."""
    sent = (
        "import array, socket, time\nheld = []\nfor _ in range(50):\n    a, b = socket.socketpair()\n"
        "    held += [a, b]\nheld[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
        "array.array('i', [one.fileno() for one in held[2:]]))])\ndel held[2:]\ntime.sleep(30)"
    )
    monkeypatch.setattr(running, "MEMORY_BYTES", 40_000_000)
    assert run(sent, 30, user)[0].how == "memory"
    assert run("import asyncio\nasyncio.run(asyncio.sleep(0.5))", 30, user)[0].how == "exit"


@pytest.mark.skipif(len(USERS) == 1, reason="only root becomes another user")
def test_the_limit_of_processes_holds_for_another_user() -> None:
    """The kernel has none for root, by whatever name: as in a user namespace that root has made."""
    fork = (
        "import os, time\nn = 0\ntry:\n    while n < 99:\n        if not os.fork(): time.sleep(60)\n        n += 1\n"
        "except OSError: pass\nprint(n)\ntime.sleep(1)"
    )
    of_user, of_root = (run(fork, 20, user)[0] for user in reversed(USERS))
    assert (of_user.how, of_user.printed) == ("exit", f"{running.PROCESSES_MAX - 1}\n")
    assert of_root.how == "processes"


@pytest.mark.parametrize("user", USERS)
def test_a_program_ends_with_its_service(user: str) -> None:
    """kill -9 of the service while its program has processes that would go on."""
    child = "if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)"
    code = f"import os, time\nfor n in range(5):\n    {child}\ntime.sleep(600)"
    service = (
        "import asyncio\nfrom agentsvc_nb.tools.programs.running import *\n"
        "async def keep(path, data): pass\n"
        f"asyncio.run(run(Program({code!r}, 600, Confinement(user={id_of(user)})), keep))"
    )
    before = living()
    with subprocess.Popen([sys.executable, "-c", service]) as process:
        until(lambda: len(living() - before) >= 8, patience=20)
        process.send_signal(signal.SIGKILL)
    until(lambda: living() <= before, patience=5)


def test_a_cancelled_program_ends() -> None:
    async def keep(path: str, data: bytes) -> None: ...

    async def cancelled() -> None:
        before = living()
        task = asyncio.create_task(running.run(Program("import time; time.sleep(600)", 600), keep))
        # Bubblewrap, the first process of the sandbox, and the program.
        await asyncio.to_thread(until, lambda: len(living() - before) >= 3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
