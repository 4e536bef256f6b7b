"""What lies outside of the sandbox while programs try to reach it, and what of it was reached."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

SECRET_START: Final = "nobody-may-read-5f0c"
SECRET: Final = f"{SECRET_START}-and-this"
"""What no event and no result may have; programs are told its start alone."""
SECRET_NAME: Final = "KEY_OF_A_MODEL"
TOKEN: Final = f"t{os.getpid()}x"
PLACES: Final = ("/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/dev/mqueue", "/run", "/etc", "/usr/lib", "/root")


@dataclass(frozen=True)
class Outside:
    """A folder with a secret and a socket, and everybody who listens."""

    folder: Path
    listeners: tuple[socket.socket, ...]
    data: Path
    """The service's folder."""
    service_pid: int

    @property
    def host(self) -> dict[str, object]:
        """What a program is told of it."""
        tcp, udp, _, abstract = self.listeners
        return {
            "tcp_port": tcp.getsockname()[1],
            "udp_port": udp.getsockname()[1],
            "address": _address(),
            "unix_path": str(self.folder / "socket"),
            "abstract": abstract.getsockname()[1:].decode(),
            "secret_path": str(self.folder / "secret.txt"),
            "secret_name": SECRET_NAME,
            "secret": SECRET_START,
            "data": str(self.data),
            "home": str(Path.home()),
            "token": TOKEN,
            "service_pid": self.service_pid,
            "other_name": "others.csv",
            "other_chat": "chat_of_another",
            "packages": str(Path(pytest.__file__).parents[1]),
            "version": f"{sys.version_info.major}.{sys.version_info.minor}",
        }

    def reached(self) -> list[str]:
        """Who was called, and which files lie where none was."""
        found = []
        for listener in self.listeners:
            with contextlib.suppress(BlockingIOError):
                listener.recv(1) if listener.type == socket.SOCK_DGRAM else listener.accept()
                found.append(str(listener.getsockname()))
        for place in map(Path, PLACES):
            with contextlib.suppress(OSError):
                found += [str(path) for path in place.iterdir() if f"escaped-{TOKEN}" in path.name]
        if (self.folder / "secret.txt").read_text() != SECRET:
            found.append("the secret")
        return found


@contextlib.contextmanager
def outside(data: Path, service_pid: int) -> Iterator[Outside]:
    with tempfile.TemporaryDirectory(prefix="outside-") as made, contextlib.ExitStack() as held:
        addresses: tuple[Any, ...] = (("0.0.0.0", 0), f"{made}/socket", f"\0{TOKEN}-{data.name}")
        listeners = (
            socket.create_server(("0.0.0.0", 0)),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
            socket.socket(socket.AF_UNIX),
            socket.socket(socket.AF_UNIX),
        )
        for listener, address in zip(listeners[1:], addresses, strict=True):
            listener.bind(address)
        for listener in listeners:
            held.enter_context(listener).setblocking(False)
            if listener.type == socket.SOCK_STREAM:
                listener.listen()
        Path(made, "secret.txt").write_text(SECRET)
        yield Outside(Path(made), listeners, data, service_pid)


def _address() -> str:
    """An address of this machine beside loopback's, if it has one."""
    with contextlib.suppress(OSError):
        return socket.gethostbyname(socket.gethostname())
    return "127.0.0.1"
