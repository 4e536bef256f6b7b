"""The server of the folder: who holds the lock, whether it answers, and the port."""

from __future__ import annotations

import os
import shlex
import socket
import time
from collections.abc import Iterator

from agentsvc_nb import embedded
from agentsvc_nb.commands.doctor.finding import Finding, fail, note, ok, warn
from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.service.serve import PORT


def server(folder: DataFolder) -> Iterator[Finding]:
    """Is a server running, and does that very one answer?"""
    record, held = Ready.read(folder.ready), embedded.is_held(folder)
    started = time.perf_counter()
    try:
        ready = embedded.status(folder.path)
    except embedded.EmbeddedError as error:
        yield fail(str(error), "restart it")
        return
    took = (time.perf_counter() - started) * 1000
    if ready is not None:
        yield ok(f"process {ready.pid} (version {ready.version}) answered at {ready.base_url} in {took:.0f} ms")
    elif held:
        who = f"process {record.pid}" if record else "a process"
        stop = f"agentsvc stop --data {shlex.quote(str(folder.path))}, and see {folder.log}"
        yield fail(f"{who} holds {folder.path} and does not answer: it is starting or ending, or hangs", stop)
    elif record is not None:
        yield warn(f"the one of process {record.pid} was killed; its ready.json is left", "none needed: start it again")
    else:
        yield note("none is running")


def port(folder: DataFolder) -> Iterator[Finding]:
    """Can a server have the port that it would ask for?"""
    if embedded.is_held(folder):
        return  # its server has one
    for number in sorted({PORT, folder.last_port()} - {0}):
        if _is_free(number):
            yield ok(f"{number} is free")
        else:
            yield warn(f"another program listens on {number}", "agentsvc serve --port 0, or end that program")


def _is_free(number: int) -> bool:
    with socket.socket() as probe:
        if os.name == "posix":  # as the server does: a port that was just left is free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except (OSError, OverflowError):
            return False
    return True
