"""Ways out of the sandbox of programs, each tried by a program: all are refused or bounded, and no process is left."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from agentsvc_nb.tools.programs import confinement, running, syscalls
from agentsvc_nb.tools.programs.confinement import Confinement
from agentsvc_nb.tools.programs.running import Ending, Program
from tests.service.escapes import EVERY, PRELUDE, Escape
from tests.waiting import until

pytestmark = pytest.mark.skipif(bool(confinement.lacking()), reason=str(confinement.lacking()))
CANARY: Final = "the canary of this machine"
SUBREAPER: Final = 36
USERS: Final = ["namespace", *(["user"] if confinement.is_root() else [])]
"""The service's own user in a user namespace; and for a service that is root, another user."""

NUMBERS: Final = {
    line.split()[0]: line.split()[1:]
    for entry in syscalls._TABLE.splitlines()
    for line in entry.split(", ")
    if line and not line.startswith("#")
} | {"clone": ["56", "220"], "capget": ["125", "90"]}


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder of this machine with what nobody may reach: a file, a socket, and an abstract socket."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-") as made, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{made}/socket")
        listening.listen()
        Path(made, "canary.txt").write_text(CANARY)
        Path(made, "shown.csv").write_text("a,b\n1,2\n")
        yield Path(made)


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, object]]:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        name = f"agentsvc-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        yield {"port": server.getsockname()[1], "abstract": name}


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


def attempt(escape: Escape, folder: Path, user: str, **given: object) -> tuple[Ending, dict[str, bytes]]:
    """How the program ended, and its files."""
    column = syscalls.MACHINES[platform.machine()].column
    names = {name: numbers[column] for name, numbers in NUMBERS.items()}
    known = {
        "pid": os.getpid(),
        "folder": folder,
        "secret": folder / "canary.txt",
        "canary": CANARY,
        "packages": Path(pytest.__file__).parents[1],
        "version": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    code = PRELUDE + escape.code.format(**names, **known, **given)
    kept: dict[str, bytes] = {}

    async def keep(path: str, data: bytes) -> None:
        kept[path] = data

    shown = Confinement({"shown.csv": folder / "shown.csv"}, user=id_of(user))
    return asyncio.run(running.run(Program(code, escape.seconds, shown), keep)), kept


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("name", EVERY)
def test_there_is_no_way_out(
    name: str, user: str, folder: Path, ports: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSVC_MODEL_KEY", CANARY)
    escape = EVERY[name]
    ending, kept = attempt(escape, folder, user, **ports)
    assert "ESCAPED" not in ending.printed, ending.printed
    assert ending.how in escape.ways, ending
    if ending.how == "exit":
        assert ending.code in escape.exit_codes, ending.printed
    assert not any(CANARY.encode() in data for data in kept.values())
    assert sum(map(len, kept.values())) <= confinement.WORK_BYTES
    assert len(kept) <= running.RESULTS_MAX
    assert (folder / "shown.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.skipif(len(USERS) == 1, reason="only root becomes another user")
def test_the_limit_of_processes_holds_for_another_user(folder: Path) -> None:
    """The kernel has none for root, by whatever name: as in a user namespace that root has made."""
    fork = (
        "n = 0\ntry:\n    while n < 99:\n        if not os.fork(): time.sleep(60)\n        n += 1\n"
        "except OSError: pass\nprint(n)\ntime.sleep(1)"
    )
    of_user, of_root = (attempt(Escape(fork), folder, user)[0] for user in reversed(USERS))
    assert (of_user.how, of_user.printed) == ("exit", f"{running.PROCESSES_MAX - 1}\n")
    assert of_root.how == "processes"


@pytest.mark.parametrize("user", USERS)
def test_a_program_ends_with_its_service(user: str, folder: Path) -> None:
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
