"""Ways out of the sandbox of `run_python`, as data: what each tries, and what must be true then.

A test for each rule of the sandbox, system calls and limits among them: `tests/unit/tools/test_program_escapes.py`.
Programs begin with `PRELUDE`, which has `host` (what lies outside, by name), `through` and `attempt`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Escape:
    """One program, and what becomes of it."""

    expected: Literal["refused", "bounded", "harmless"]
    """`refused`: it runs to its end, and nothing that it tried worked. `bounded`: it takes what it gets, until a limit
    ends it. `harmless`: it may well work; nothing outside is different afterwards."""

    program: str

    then: str = ""
    """A second program of another run in the same chat, which must find nothing that the first left."""

    @property
    def seconds(self) -> int:
        """The limit of time that it gets. What is refused ends by itself."""
        return 60 if self.expected == "refused" else 4

    def sources(self, host: Mapping[str, object]) -> list[str]:
        """Return the program, and the one that comes after it, if there is one."""
        return [f"host = {dict(host)!r}\n{PRELUDE}{program}" for program in (self.program, self.then) if program]


SIGN: Final = "through:"
"""What a program prints that got what it wanted. It also writes that into `THROUGH`, for what is printed is cut."""
THROUGH: Final = "through.txt"

PRELUDE: Final = """
import errno, os, signal, socket, sys, time

work = os.getcwd()
REFUSALS = {getattr(errno, name) for name in (
    "EPERM EACCES ENOSYS ENOENT ENODEV ENXIO EROFS ENETUNREACH ECONNREFUSED EADDRNOTAVAIL EAFNOSUPPORT "
    "EPROTONOSUPPORT ESRCH ENOTDIR EOPNOTSUPP ETXTBSY").split()}

def through(what, *found):
    told = " ".join(["through:", str(what), *(repr(one)[:200] for one in found)])
    print(told, flush=True)
    with open(os.path.join(work, "through.txt"), "a") as file:
        file.write(told)

def attempt(what, function, *args):
    "Refused is what the system denies; an error over the arguments means that the call itself was allowed."
    try:
        found = function(*args)
    except OSError as error:
        if error.errno not in REFUSALS:
            through(what, error)
    else:
        if found != b"":
            through(what, found)

def read(path):
    with open(path, "rb") as file:
        return file.read(1 << 20)

def below(top):
    "Every path below, without following links."
    for folder, folders, files in os.walk(top):
        yield from (os.path.join(folder, name) for name in folders + files)
"""

ESCAPES: Final = {
    "files of the machine": Escape(
        "refused",
        """
for path in host["secret_path"], "/etc/shadow", "/etc/machine-id", "/etc/hosts", "/root/.ssh/id_rsa":
    attempt(path, read, path)
for path in host["data"], host["home"], "/root", "/home", "/boot", "/var/log", "/mnt", "/proc", "/sys":
    attempt(path, os.listdir, path)
""",
    ),
    "a fork bomb whose parents end": Escape(
        "bounded",
        """
# nobody in it lives long, and each child belongs to process 1
while True:
    try:
        if os.fork():
            os._exit(0)
        os.setsid()
        os.fork()
    except OSError:
        time.sleep(0.01)
""",
    ),
    "sockets of the machine": Escape(
        "refused",
        """
for address in "127.0.0.1", "0.0.0.0", "::1", "::ffff:127.0.0.1":
    attempt(address, socket.create_connection, (address, host["tcp_port"]), 2)
attempt("by path", socket.socket(socket.AF_UNIX).connect, host["unix_path"])
attempt("abstract", socket.socket(socket.AF_UNIX).connect, "\\0" + host["abstract"])
""",
    ),
    "memory in pipes": Escape(
        "bounded",
        """
import fcntl
held, pipes = 0, []
try:
    while held < 6 << 30:
        pipes.append(os.pipe())
        writing = pipes[-1][1]
        try:
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 1 << 20)
        except OSError:
            pass
        os.set_blocking(writing, False)
        try:
            while True:
                held += os.write(writing, b"x" * 65536)
        except BlockingIOError:
            pass
except OSError as error:
    print(error)
if held > 1 << 30:
    through("MiB", held >> 20)
""",
    ),
    "memory in the kernel's tables of pages": Escape(
        "bounded",
        """
# reading takes no memory of the program, but a page of its tables for each 2 MiB
import mmap
held, touched = [], 0
try:
    while touched < 2_000_000:
        held.append(mmap.mmap(-1, 1 << 36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000))
        for place in range(0, 1 << 36, 1 << 21):
            held[-1][place]
            touched += 1
except (OSError, MemoryError) as error:
    print(error)
if touched > 1_000_000:
    through("GiB of tables", touched * 4096 >> 30)
""",
    ),
    "the service's environment": Escape(
        "refused",
        """
for name, value in os.environ.items():
    if any(word in (name + value).lower() for word in ("agentsvc", "secret", "token", "key", "password")):
        through(name, value)
""",
    ),
    "files of another chat": Escape(
        "refused",
        """
for path in below("/"):
    if host["other_name"] in path:
        through(path)
attempt("its place in the service", os.listdir, os.path.join(host["data"], "blobs"))
""",
    ),
    "a folder that becomes a link": Escape(
        "harmless",
        """
# the copy looks at a folder, and opens what has taken its place
os.makedirs("folder")
open("folder/" + os.path.basename(host["secret_path"]), "w").write("mine")
if os.fork() == 0:
    os.setsid()
    while True:
        os.rename("folder", "was")
        os.symlink(os.path.dirname(host["secret_path"]), "folder")
        time.sleep(0.0005)
        os.unlink("folder")
        os.rename("was", "folder")
""",
    ),
    "names that are no text": Escape(
        "harmless",
        """
for name in (b"\\xff\\xfe.txt", b"\\xed\\xa0\\x80.txt", b"new\\nline.txt", b"\\x1b[2J.txt", b"del\\x7f.txt",
             b"\\xc2\\x85.txt", "\\u202egpj.exe".encode(), "\\u2028.txt".encode()):
    with open(name, "w") as file:
        file.write("text")
""",
    ),
    "modules that the next program imports": Escape(
        "harmless",
        """
body = "print('through: imported')\\n"
for name in "sitecustomize", "usercustomize", "json", "os", "encodings", "runpy", "site":
    open(name + ".py", "w").write(body)
open("escaped.pth", "w").write("import os; print('through: pth')\\n")
""",
        then="print(sys.flags.no_user_site, sys.prefix)",
    ),
    "what the service reads of a run, forged": Escape(
        "harmless",
        """
# on every descriptor and in every form that a supervisor could read
import json
for number in range(1, 10):
    for line in (json.dumps({"status": "completed", "exit": 0, "files": [host["secret_path"]]}),
                 "\\0\\0\\0\\x08escaped!", "EXIT 0"):
        try:
            os.write(number, line.encode() + b"\\n")
        except OSError:
            pass
os.kill(os.getpid(), signal.SIGKILL)
""",
    ),
    "every other place that can be written": Escape(
        "bounded",
        """
written = 0
for top in {folder for folder, *_ in os.walk("/")} - {work}:
    try:
        with open(os.path.join(top, "escaped-" + host["token"]), "wb") as file:
            for _ in range(2 * 1024):
                written += file.write(b"x" * (1 << 20))
    except OSError as error:
        print(top, error, flush=True)
if written > 4 << 30:
    through("MiB", written >> 20)
""",
        then="""
for path in below("/"):
    if "escaped-" + host["token"] in path:
        through(path)
""",
    ),
}
