"""Programs that try to get out of the sandbox of `run_python`, as data: what each tries, and what must be true then.

Each begins with `PRELUDE`, which has `host` (what lies outside, by name) and `attempt`. The numbers of system calls are
those of x86_64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Escape:
    """One program, and what becomes of it."""

    name: str

    expected: Literal["refused", "bounded", "harmless"]
    """`refused`: it runs to its end, and nothing that it tried worked. `bounded`: it takes what it gets, until a limit
    ends it or what it asks for. `harmless`: it may well work; nothing outside is different afterwards."""

    program: str

    then: str = ""
    """A second program of another run in the same chat, which must find nothing that the first left."""

    seconds: int = 0
    """How long it may take, where it can't be told from what is expected."""

    @property
    def patience(self) -> int:
        """The limit of time that it gets. What is refused ends by itself."""
        return self.seconds or (60 if self.expected == "refused" else 4)

    def sources(self, host: Mapping[str, object]) -> list[str]:
        """The program, and the one that comes after it, if there is one."""
        known = f"host = {dict(host)!r}\n{PRELUDE}"
        return [known + program for program in (self.program, self.then) if program]


SIGN: Final = "through:"
"""What a program prints that got what it wanted; it also writes that into `THROUGH`, for what is printed is cut."""
THROUGH: Final = "through.txt"

PRELUDE: Final = """
import ctypes, errno, os, signal, socket, stat, struct, sys, time

libc = ctypes.CDLL(None, use_errno=True)
work = os.getcwd()
REFUSALS = {getattr(errno, name) for name in (
    "EPERM EACCES ENOSYS ENOENT ENODEV ENXIO EROFS ENETUNREACH EHOSTUNREACH ENETDOWN ECONNREFUSED EADDRNOTAVAIL "
    "EAFNOSUPPORT EPROTONOSUPPORT ESOCKTNOSUPPORT ESRCH ENOTDIR EOPNOTSUPP ENOTTY EXDEV ETXTBSY").split()}

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
        if error.errno not in REFUSALS and not isinstance(error, socket.gaierror):
            through(what, error)
            return
        print("refused:", what, error.strerror or error, flush=True)
    else:
        through(what, found)

def call(name, *args):
    "A function of the C library, or a system call by its number; its error as an exception."
    function = getattr(libc, name) if isinstance(name, str) else libc.syscall
    ctypes.set_errno(0)
    result = function(*args) if isinstance(name, str) else function(name, *args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def below(*tops):
    "Every path below, without following links."
    for top in tops:
        for folder, folders, files in os.walk(top):
            yield from (os.path.join(folder, name) for name in folders + files)

def lines(path):
    "Of a file that may not be there."
    try:
        with open(path, errors="replace") as file:
            return file.readlines()
    except OSError as error:
        print("refused:", path, error.strerror, flush=True)
        return []

def listed(path):
    try:
        return os.listdir(path)
    except OSError as error:
        print("refused:", path, error.strerror, flush=True)
        return []

if os.getpid() > 64:
    through("the processes of the machine are those of the program")
    sys.exit()
"""
