"""A voila server for one notebook."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.support.waiting import until


@contextmanager
def voila(path: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Serve it from its folder; gives the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "voila", str(path), "--no-browser", f"--port={port}"]
    log_path = path.with_suffix(".log")
    with log_path.open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env, cwd=path.parent)
    address = f"http://127.0.0.1:{port}/"
    try:
        until(lambda: server.poll() is not None or _answers(f"{address}voila/static/voila.js"))
        assert server.poll() is None, log_path.read_text()
        yield address
    finally:
        server.terminate()
        server.wait(20)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
