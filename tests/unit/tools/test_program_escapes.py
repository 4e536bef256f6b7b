"""The rules of the sandbox of programs, one by one: each test fails if one line of them is dropped.

`tests/nightly/escapes` has programs that try to get out by whatever Linux offers.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from agentsvc_nb.tools.programs import confinement, running
from agentsvc_nb.tools.programs.confinement import Confinement
from agentsvc_nb.tools.programs.running import InputFile, Keep, Program, ProgramResult
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(bool(confinement.missing_requirement()), reason=str(confinement.missing_requirement()))
SUBREAPER: Final = 36
USERS: Final = ["namespace", *(["user"] if confinement.is_root() else [])]
"""The service's own user in a user namespace; and for a service that is root, another user."""


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
    return confinement.unused_user() if user == "user" else None


def run(
    code: str, seconds: float = 60, user: str = "namespace", shown: Path | None = None
) -> tuple[ProgramResult, dict[str, bytes]]:
    """How the program ended, and its files."""
    kept: dict[str, bytes] = {}

    async def keep(path: str, data: bytes) -> None:
        kept[path] = data

    files = []
    if shown:
        made = hashlib.sha256(shown.read_bytes()).hexdigest()
        files = [InputFile("shown.csv", shown.stat().st_size, made, lambda: contextlib.nullcontext(shown))]
    return asyncio.run(run_alone(Program(code, seconds, files), keep, Confinement(user=id_of(user)))), kept


async def run_alone(program: Program, keep: Keep, confinement: Confinement) -> ProgramResult:
    """Run one program in a sandbox of its own. No process is left when this returns or raises."""
    sandbox = await running.start(confinement, program.files)
    try:
        return await sandbox.run(program, keep) or ProgramResult()
    finally:
        await sandbox.close()


def printed(code: str, **more: Any) -> str:
    ending, _ = run(code, **more)
    assert (ending.how, ending.code) == ("exit", 0), ending
    return ending.printed


REFUSED: Final = {
    "memory of no process": "memfd_create 319, memfd_secret 447, shmget 29, shmat 30, msgget 68, semget 64, "
    "mq_open 240, vmsplice 278, remap_file_pages 216, mlock 149, mlock2 325, mlockall 151",
    "other processes": "ptrace 101, process_vm_readv 310, process_vm_writev 311, kcmp 312, process_madvise 440, "
    "pidfd_getfd 438, move_pages 279, migrate_pages 256, sched_setscheduler 144, sched_setparam 142, sched_setattr 314",
    "namespaces and mounts": "unshare 272, setns 308, mount 165, umount2 166, pivot_root 155, chroot 161, "
    "open_tree 428, move_mount 429, fsopen 430, fsconfig 431, fsmount 432, fspick 433, mount_setattr 442",
    "the kernel": "keyctl 250, add_key 248, request_key 249, bpf 321, perf_event_open 298, userfaultfd 323, "
    "fanotify_init 300, io_uring_setup 425, io_uring_enter 426, io_uring_register 427, kexec_load 246, "
    "kexec_file_load 320, init_module 175, finit_module 313, delete_module 176, swapon 167, swapoff 168, quotactl 179, "
    "quotactl_fd 443, reboot 169, acct 163, iopl 172, ioperm 173, personality 135, syslog 103, lookup_dcookie 212, "
    "name_to_handle_at 303, open_by_handle_at 304, settimeofday 164, clock_settime 227, clock_adjtime 305, "
    "adjtimex 159, vhangup 153",
}
CALL: Final = """
import ctypes, errno, os, signal, struct
libc = ctypes.CDLL(None, use_errno=True)

def call(number, *given):
    "The name of the error."
    found = libc.syscall(*map(ctypes.c_long, (number, *given)))
    return errno.errorcode[ctypes.get_errno()] if found == -1 else found

def expect(what, error, *given):
    found = call(*given)
    if found != error:
        print(what, found)
"""
only_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of system calls of x86_64")


@only_x86
def test_a_system_call_that_no_program_needs_is_refused() -> None:
    """All arguments are wrong: what the kernel takes on is another error."""
    pairs = [pair.split() for calls in REFUSED.values() for pair in calls.split(", ")]
    calls = "\n".join(f"expect({name!r}, 'EPERM', {number}, *[-1] * 6)" for name, number in pairs)
    assert printed(CALL + calls) == ""


@only_x86
def test_a_system_call_is_refused_for_its_arguments() -> None:
    code = """
for bit in (17, *range(25, 31)):  # a namespace of each kind; 0x800 alone is wrong
    expect(("clone", bit), "EPERM", 56, 1 << bit | 0x800, 0, 0, 0, 0)
expect("clone", "EINVAL", 56, 0x800, 0, 0, 0, 0)
expect("clone3", "ENOSYS", 435, 0, 0)
expect("other limits of processes", "EPERM", 203, os.getppid(), 0, 0)
for kind, who in ((0, 1), (1, 0), (2, 0)):
    expect(("priority", kind), "EPERM", 141, kind, who, 0)
expect("shared memory", "EPERM", 9, 0, 4096, 3, 0x21, -1, 0)
expect("limits of a process", "EPERM", 302, os.getpid(), 7, 0, 0)
for family in {*range(46)} - {1}:
    expect(("socket", family), "EAFNOSUPPORT", 41, family, 2, 0)
    expect(("sockets", family), "EAFNOSUPPORT", 53, family, 2, 0, 0)
for option in (7, 32):
    expect("buffer", "EPERM", 54, -1, 1, option, 0, 4)
import mmap, socket
socket.socketpair()
if os.fork() == 0:
    call(0x40000000 | 39)  # getpid of x32
    os._exit(0)
if os.waitstatus_to_exitcode(os.wait()[1]) != -signal.SIGSYS:
    print("x32")
if os.fork() == 0:
    page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
    page.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")  # getpid of 32 bits
    ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    os._exit(0)
if os.waitstatus_to_exitcode(os.wait()[1]) not in (-signal.SIGSYS, -signal.SIGSEGV):
    print("32 bits")
"""
    assert printed(CALL + code) == ""


LIMITS: Final = {
    "Max address space": 2_000_000_000, "Max file size": 256_000_000, "Max open files": 128, "Max processes": 32,
    "Max core file size": 0, "Max locked memory": 0,
}  # fmt: skip


@pytest.mark.parametrize("user", USERS)
def test_a_program_has_namespaces_limits_and_no_rights(user: str) -> None:
    """As the machine sees its process."""

    async def look() -> tuple[dict[str, str], str, set[str], int]:
        before = living()
        made = Program("import time; time.sleep(600)", 600)
        task = asyncio.create_task(run_alone(made, no_files, Confinement(user=id_of(user))))
        found: list[int] = await asyncio.to_thread(until, lambda: [pid for pid in living() - before if nice(pid) == 10])
        place = Path(f"/proc/{found[0]}")
        status = dict(line.split(":\t", 1) for line in (place / "status").read_text().splitlines())
        ours = os.listdir("/proc/self/ns")
        shared = {one for one in ours if os.readlink(f"/proc/self/ns/{one}") == os.readlink(place / "ns" / one)}
        limits = (place / "limits").read_text()
        session = os.getsid(found[0])
        task.cancel()
        await asyncio.wait([task])
        return status, limits, shared, session

    status, limits, shared, session = asyncio.run(look())
    assert shared - {"time", "time_for_children", "cgroup"} == ({"user"} if user == "user" else set())
    assert session != os.getsid(0)
    assert {int(status[f"Cap{kind}"], 16) for kind in ("Prm", "Eff", "Amb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert user != "user" or not {"0"} & {*status["Uid"].split(), *status["Gid"].split(), *status["Groups"].split()}
    for name, value in LIMITS.items():
        (line,) = [line for line in limits.splitlines() if line.startswith(name)]
        assert line.removeprefix(name).split()[:2] == [str(value)] * 2, name


async def no_files(path: str, data: bytes) -> None: ...


def nice(pid: int) -> int:
    """Of a program, 10 when all of its limits are set."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[16])
    return 0


LOOK: Final = """
import json, os, socket, stat, sys
def writable(folder):
    try:
        open(folder + "/escaped", "w").close()
    except OSError:
        return False
    os.unlink(folder + "/escaped")
    return True
def opened(handle):
    return not refused(os.fstat, handle)
def refused(function, *given):
    try:
        function(*given)
    except OSError:
        return True
folders = [folder for folder, *_ in os.walk("/")]
open("shown.csv", "a").write("of the copy")
changes = [(os.rename, "/work", "/tmp/w"),
           (open, "/python/bin/python", "a"), (open, os.__file__, "a"), (os.unlink, "/python/supervisor.py")]
print(json.dumps({
    "root": sorted(os.listdir("/")),
    "devices": sorted(os.listdir("/dev")),
    "variables": dict(os.environ),
    "host": socket.gethostname(),
    "writable": [folder for folder in folders if writable(folder)],
    "sizes": [os.statvfs(place).f_blocks * os.statvfs(place).f_frsize for place in ("/work", "/tmp")],
    "handles": [handle for handle in range(1024) if opened(handle)],
    "programs": [place for place in ("/usr/bin", "/bin", "/usr/sbin") if os.path.exists(place)],
    "installed": sorted(os.listdir("/python/packages")),
    "changed": [str(change[:2]) for change in changes if not refused(*change)],
    "first": os.getpid(),
}))
"""


def test_there_is_nothing_of_the_machine_in_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-service")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    shown = tmp_path / "shown.csv"
    shown.write_text("a,b\n")
    found = json.loads(printed(LOOK, shown=shown))
    assert {*found["root"]} <= {"dev", "lib", "lib32", "lib64", "libx32", "python", "tmp", "usr", "work"}
    assert found["devices"] == ["null", "urandom"]
    assert "sk-of-the-service" not in found["variables"].values()
    assert {*found["variables"]} <= {
        "HOME", "TMPDIR", "LANG", "LC_CTYPE", "PATH", "PWD", "LD_LIBRARY_PATH", "MPLCONFIGDIR", "MPLBACKEND",
        "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS",
    }  # fmt: skip
    assert found["host"] == "sandbox"
    assert sorted(found["writable"]) == ["/tmp", "/tmp/matplotlib", "/work"]
    assert [size // 1_000_000 for size in found["sizes"]] == [256, 64]
    # The last two are of pipes to the first process of the sandbox.
    assert (found["handles"], found["programs"]) == ([0, 1, 2, 3, 6], [])
    assert not {"agentsvc_nb", "pip", "pytest", "httpx"} & {*found["installed"]}
    assert found["changed"] == []
    assert found["first"] < 10, "the processes of the machine are not those of the program"
    assert shown.read_text() == "a,b\n"


def test_only_whole_plain_files_are_results() -> None:
    code = """
import os, socket
os.symlink("/python/supervisor.py", "link.txt")
os.symlink("/python", "folder")
os.symlink("/dev/urandom", "device.bin")
os.mkfifo("pipe.csv")
socket.socket(socket.AF_UNIX).bind("socket.csv")
open(".hidden", "w").write("x")
open("closed.txt", "w").write("x")
os.chmod("closed.txt", 0)
os.truncate(os.open("hole.bin", os.O_CREAT | os.O_RDWR), 200_000_000)
os.makedirs("deep/" * 500)
open("real.txt", "w").write("real")
"""
    ending, kept = run(code)
    assert {name: data for name, data in kept.items() if name != "closed.txt"} == {"real.txt": b"real"}
    assert (ending.how, ending.left_out) == ("exit", 1)


def test_no_more_results_are_kept_than_fit() -> None:
    ending, kept = run("for n in range(150): open(f'{n}', 'w').close()")
    assert (len(kept), ending.left_out) == (running.RESULTS_MAX, 150 - running.RESULTS_MAX)


DEAF: Final = (
    "import os, signal, time\n"
    "for n in range(1, 65):\n"
    "    try: signal.signal(n, signal.SIG_IGN)\n"
    "    except (OSError, ValueError): pass\n"
)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("n = 0\nwhile True:\n    open(f'{n}', 'w').close(); n += 1", "files"),
        ("import os\nfor n in range(3): os.fork()\nwhile True: os.write(2, b'x' * 1_000_000)", "printed"),
        (f"{DEAF}while True: pass", "time"),
        (f"{DEAF}os.kill(os.getpid(), signal.SIGSTOP)", "time"),
        (f"{DEAF}for n in range(9):\n    if not os.fork(): os.setsid(); time.sleep(999)", "exit"),
        ("import os, time\nos.kill(-1, 9) if os.fork() else time.sleep(999)", "exit"),
        ("import ctypes\nctypes.string_at(0)", "exit"),
        ("bytearray(3 << 30)", "exit"),
    ],
    ids=["files", "printed", "deaf", "stopped", "daemons", "kill all", "crash", "room"],
)
def test_a_program_ends_at_its_limits(code: str, how: str) -> None:
    ending, _ = run(code, 1 if how == "time" else 60)
    assert ending.how == how
    assert how != "exit" or "MemoryError" in ending.printed or "bytearray" not in code


HELD: Final = {
    "of many processes": "for n in range(4):\n    if os.fork() == 0: x = b'x' * 15_000_000; time.sleep(30)",
    "of files": (
        "import mmap\nfile = open('/tmp/x', 'w+b'); file.truncate(50_000_000)\n"
        "page = mmap.mmap(file.fileno(), 0)\nfor n in range(0, 50_000_000, 4096): page[n] = 1"
    ),
    # That no process has any more, as they lie in the buffer of another.
    "of sockets": (
        "import array, socket\nheld = []\nfor _ in range(50): held += socket.socketpair()\n"
        "held[0].sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
        "array.array('i', [one.fileno() for one in held[2:]]))])\ndel held[2:]"
    ),
}


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("held", HELD)
def test_all_memory_counts(held: str, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "MEMORY_BYTES", 40_000_000)
    assert run(f"import os, time\n{HELD[held]}\ntime.sleep(30)", user=user)[0].how == "memory"


@pytest.mark.skipif(len(USERS) == 1, reason="only root becomes another user")
def test_the_limit_of_processes_holds_for_another_user() -> None:
    """The kernel has none for root, by whatever name: as in a user namespace that root has made."""
    fork = (
        "import os, time\nn = 0\ntry:\n    while n < 99:\n        if not os.fork(): time.sleep(60)\n        n += 1\n"
        "except OSError: pass\nprint(n)\ntime.sleep(1)"
    )
    of_user, of_root = (run(fork, 20, user)[0] for user in reversed(USERS))
    assert (of_user.how, of_user.printed) == ("exit", f"{running.PROCESSES_MAX - 2}\n")
    assert of_root.how == "processes"


def test_a_program_ends_with_its_service() -> None:
    """kill -9 of the service while its program has processes that would go on."""
    child = "if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)"
    code = f"import os, time\nfor n in range(5):\n    {child}\ntime.sleep(600)"
    service = (
        "import asyncio\nfrom tests.unit.tools.test_program_escapes import *\n"
        f"asyncio.run(run_alone(Program({code!r}, 600), no_files, Confinement()))"
    )
    before = living()
    with subprocess.Popen([sys.executable, "-c", service]) as process:
        until(lambda: len(living() - before) >= 8, patience=20)
        process.send_signal(signal.SIGKILL)
    until(lambda: living() <= before, patience=5)
