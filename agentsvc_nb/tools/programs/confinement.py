"""Build the command that starts a sandbox with bubblewrap, and check whether this machine can run sandboxes."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

from agentsvc_nb.documents.child_process import environment
from agentsvc_nb.extras import pip_install
from agentsvc_nb.tools.programs import syscalls

PACKAGES: Final = {
    "pandas": "pandas",
    "numpy": "numpy",
    "matplotlib": "matplotlib",
    "openpyxl": "openpyxl",
    "docx": "python-docx",
    "pptx": "python-pptx",
}
"""The modules that a program can import in addition to the standard library, with the names of their PyPI packages."""
WORK_BYTES: Final = 256_000_000
"""The maximum total size of the files that a program writes. They are kept in memory."""
SCRATCH_BYTES: Final = 64_000_000
_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_SHARED: Final = ("/usr/share/fonts", "/usr/share/zoneinfo")
PACKAGES_AT: Final = "/python/packages"
SUPERVISOR: Final = "/python/supervisor.py"
_SUPERVISOR_SOURCE: Final = Path(__file__).with_name("supervisor_child.py")
"""The path of the source of the sandbox's first process. Importing it would need modules that some systems lack."""
_PYTHON: Final = "/python/bin/python"
_CONFIG: Final = "/tmp/matplotlib"
_THREADS: Final = str(min(os.cpu_count() or 1, 4))
_VARIABLES: Final = {
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PATH": "/python/bin",
    "LD_LIBRARY_PATH": "/python/lib",
    "MPLCONFIGDIR": _CONFIG,
    "MPLBACKEND": "Agg",
    # Limit the threads of these libraries, because each thread reserves memory, and some libraries start one per CPU.
    "OPENBLAS_NUM_THREADS": _THREADS,
    "OMP_NUM_THREADS": _THREADS,
}
_FIRST_USER: Final = 1_900_000_000
_USERS: Final = 200_000_000
"""`_FIRST_USER` and `_USERS` are the start and length of a range of unused user ids. It is above the ids of containers,
and below those that some programs read as negative numbers."""
_ALL_USERS: Final = ["0", "0", str(0xFFFFFFFF)]
_NAME: Final = re.compile(r"[\w.-]+")
_NOT_CODE: Final = re.compile(r"|\.\.|__pycache__|.*\.dist-info")
_PROBE_SECONDS: Final = 10.0
_FONTS_SECONDS: Final = 60.0

NOT_LINUX: Final = "Programs run in a sandbox, which is available only on Linux."
NO_BUBBLEWRAP: Final = "Programs run in a sandbox, which needs bubblewrap 0.8 or later (apt install bubblewrap)."
NO_FILTER: Final = (
    "Programs run in a sandbox, which needs libseccomp 2.5.4 or later and an x86_64 or aarch64 CPU. Install "
    "it: apt install libseccomp2."
)
NOT_ALLOWED: Final = (
    "Programs run in a sandbox, but this machine could not create one ({}). It needs bubblewrap 0.8 or later, "
    "and unprivileged user namespaces, which a container or the system's settings may forbid."
)
MISSING: Final = f"Programs need packages that are not all installed here: {pip_install('agents')}."
log = logging.getLogger(__name__)


def missing_requirement() -> str | None:
    """Return a sentence that says why this machine can't run programs and how to fix that, or None if it can."""
    if sys.platform != "linux":
        return NOT_LINUX
    if shutil.which("bwrap") is None:
        return NO_BUBBLEWRAP
    if syscalls.filter_here() is None:
        return NO_FILTER
    if any(find_spec(module) is None for module in PACKAGES):
        return MISSING
    refused = _probe()
    return None if refused is None else NOT_ALLOWED.format(refused)


@cache
def _probe() -> str | None:
    """Start a sandbox. Return bubblewrap's error message if that fails, else None."""
    try:
        done = _run("pass", _PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return type(error).__name__
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return None if done.returncode == 0 else (said[-1] if said else f"exit {done.returncode}")


@cache
def font_list() -> tuple[str, bytes] | None:
    """Build matplotlib's list of fonts, which takes a second. Return its file name and content, or None on failure."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = _run(_FONTS, _FONTS_SECONDS)
        if done.returncode == 0:
            name, _, content = done.stdout.partition(b"\n")
            return name.decode(), content
        log.warning(
            "The fonts for the sandbox could not be listed, so charts take a second longer: %s",
            done.stderr.decode("utf-8", "replace"),
        )
    return None


_FONTS: Final = f"""
import os, sys
sys.path.append("{PACKAGES_AT}")
import matplotlib.font_manager
(name,) = (name for name in os.listdir("{_CONFIG}") if name.startswith("fontlist"))
print(name)
print(open(f"{_CONFIG}/{{name}}").read())
"""


def _run(source: str, seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run trusted Python source in a new sandbox."""
    with Confinement().command(["-c", source]) as (command, handles):
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            pass_fds=handles,
            env=environment(),
        )


def is_root() -> bool:
    """Return True if this process is root of the machine itself. Only then can it run programs as any user id.

    The root of a user namespace has only a few user ids.
    """
    if sys.platform != "linux" or os.geteuid():
        return False
    return Path("/proc/self/uid_map").read_text("utf-8").split() == _ALL_USERS


def unused_user() -> int:
    """Return a random user id from a range that nothing else uses, so that each sandbox has its own."""
    return _FIRST_USER + secrets.randbelow(_USERS)


@dataclass(frozen=True, slots=True)
class Confinement:
    """Describes a sandbox: its fonts and the user as which it runs programs.

    Attributes:
        fonts: the result of `font_list`.
        user: if the service runs as root, the user id for programs. Programs in a mere user namespace would still be
            root for the kernel, and the kernel does not limit the number of root's processes. None: the service's own
            user in a user namespace.
    """

    fonts: tuple[str, bytes] | None = None
    user: int | None = field(default_factory=lambda: unused_user() if is_root() else None)

    @contextlib.contextmanager
    def command(self, arguments: Sequence[str], work_bytes: int = WORK_BYTES) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the command that runs Python in the sandbox with these arguments, and the file handles that the command
        must inherit. The working folder has room for `work_bytes`."""
        refused = syscalls.filter_here()
        assert refused is not None, "see `missing_requirement`"
        with tempfile.TemporaryFile(buffering=0) as rules, tempfile.TemporaryFile(buffering=0) as font_file:
            handles = [_fill(rules, refused)]
            fonts: list[str] = []
            if self.fonts is not None:
                name, content = self.fonts
                handles.append(_fill(font_file, content))
                fonts = ["--perms", "0444", "--ro-bind-data", str(handles[1]), f"{_CONFIG}/{name}"]
            command = [
                *("bwrap", *self._isolation(), "--seccomp", str(handles[0]), *_system(), *_interpreter()),
                # Only these folders are writable. They are kept in memory and have a maximum size.
                *("--perms", "0777", "--size", str(work_bytes), "--tmpfs", "/work"),
                *("--perms", "0777", "--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp"),
                *("--perms", "0777", "--dir", _CONFIG, *fonts),
                *("--remount-ro", "/", "--", _PYTHON, "-I", "-S", "-B", *arguments),
            ]
            yield command, handles

    def _isolation(self) -> list[str]:
        names = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
        ends = ["--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox", "--cap-drop", "ALL"]
        if self.user is None:
            names += ["--unshare-user", "--disable-userns", "--uid", "65534", "--gid", "65534"]
        else:  # the first process in the sandbox changes to that user before it starts a program
            ends += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        variables = [part for name, value in _VARIABLES.items() for part in ("--setenv", name, value)]
        return [*names, *ends, "--clearenv", *variables, "--chdir", "/work"]


def _fill(file: IO[bytes], data: bytes) -> int:
    """Write data into a file, rewind the file, and return its handle."""
    file.write(data)
    file.seek(0)
    return file.fileno()


@cache
def _system() -> list[str]:
    """Return the arguments that put system files into the sandbox: libraries, fonts, time zones and two devices.

    The files are read-only, and programs are not among them.
    """
    # Create these folders explicitly, because others are readable only by their owner.
    found = ["--dir", "/dev", "--dir", "/usr", "--dir", "/usr/share"]
    found += ["--dev-bind", "/dev/null", "/dev/null", "--dev-bind", "/dev/urandom", "/dev/urandom"]
    for folder in map(Path, _LIBRARIES):
        own = folder / (sysconfig.get_config_var("MULTIARCH") or "-")
        if folder.is_symlink():
            found += ["--symlink", os.readlink(folder), str(folder)]
        elif own.is_dir():  # libraries are in one folder per CPU type, next to programs
            found += ["--dir", str(folder), "--ro-bind", str(own), str(own)]
        elif folder.is_dir():
            found += _without_packages(folder, str(folder))
    return found + [part for path in _SHARED for part in ("--ro-bind-try", path, path)]


def _without_packages(folder: Path, shown_at: str) -> list[str]:
    """Return the arguments that put a folder of libraries into the sandbox, but hide the Python packages in it.

    The packages' names and URLs are private.
    """
    found = ["--ro-bind", str(folder), shown_at]
    for place in folder.glob("python3*/*-packages"):
        at = f"{shown_at}/{place.relative_to(folder)}"
        found += ["--tmpfs", at, "--remount-ro", at]
    return found


@cache
def _interpreter() -> list[str]:
    """Return the arguments that put Python and its packages below `/python` in the sandbox.

    So tracebacks do not show the paths of this machine.
    """
    found = ["--dir", "/python", "--dir", "/python/bin", "--dir", PACKAGES_AT]
    found += ["--ro-bind", os.path.realpath(sys.executable), _PYTHON, "--ro-bind", str(_SUPERVISOR_SOURCE), SUPERVISOR]
    for name in ("lib", "lib64"):
        folder = Path(sys.base_prefix, name)
        if folder.is_dir() and not folder.is_symlink():
            found += _without_packages(folder, f"/python/{name}")
    return found + [part for name, at in _packages().items() for part in ("--ro-bind", at, f"{PACKAGES_AT}/{name}")]


def _packages() -> Mapping[str, str]:
    """Return the paths of the folders and modules that belong to `PACKAGES` and their requirements, by name."""
    found: dict[str, str] = {}
    wanted = list(PACKAGES.values())
    for name in wanted:
        # Only other systems or Python versions need this requirement.
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed = metadata.distribution(name)
            # Read the list of files as text, because parsing it takes a second for large packages.
            listed = installed.read_text("RECORD") or installed.read_text("top_level.txt") or name
            parts = {re.split("[,/]", line, maxsplit=1)[0] for line in listed.splitlines()}
            found |= {part: str(installed.locate_file(part)) for part in parts if not _NOT_CODE.fullmatch(part)}
            needed = (_NAME.match(line) for line in installed.requires or () if "extra ==" not in line)
            wanted += [each[0] for each in needed if each and each[0] not in wanted]
    return {name: at for name, at in found.items() if os.path.exists(at)}
