"""A reader who takes nothing of what it asked for is left; a slow one gets all (docs/api/conventions.md)."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import AgentService
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.wire.routes import V1
from tests.service.process.test_stop import connected
from tests.support.waiting import until

SIZE = 20_000_000
HASTY = """
import sys
from agentsvc_nb.cli import main
from agentsvc_nb.service.http import lifecycle
lifecycle.UNREAD_SECONDS = 2
sys.exit(main(["serve", "--data", sys.argv[1], "--port", "0", "--model", "scripted"]))
"""


@contextlib.contextmanager
def served(data: Path, command: list[str]) -> Iterator[ReadyFile]:
    """The service that this command runs; its log is beside the folder."""
    with (data.parent / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        ready = until(lambda: ReadyFile.read(data / "ready.json"), lambda found: found is not None)
        assert ready is not None
        try:
            yield ready
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, bytes, Path]]:
    """A service that waits two seconds for a reader: its address, a request for a large file, and its log."""
    data: Path = tmp_path_factory.mktemp("hasty") / "data"
    with served(data, [sys.executable, "-c", HASTY, str(data)]) as ready:
        key = DataFolder(data).own_key()
        with AgentService(key, ready.base_url) as client:
            chat = client.runs.start("say x", sync=True).chat
            client.files.upload(("large.bin", bytes(SIZE)), chat=chat)
        path = f"{V1}/files/download?chat_id={chat}&path=uploads/large.bin"
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nx-api-key: {key}\r\nConnection: close\r\n\r\n"
        yield ready.base_url, head.encode(), data.parent / "log"


def test_an_answer_that_nobody_reads_ends(hasty: tuple[str, bytes, Path]) -> None:
    base_url, request, log = hasty
    with connected(base_url) as unread:
        unread.sendall(request)
        until(log.read_text, lambda text: "the client does not read it" in text)
        received = b"".join(iter(lambda: unread.recv(1_000_000), b""))
    assert received.startswith(b"HTTP/1.1 200")
    assert len(received) < SIZE


def test_a_slow_reader_gets_all(hasty: tuple[str, bytes, Path]) -> None:
    base_url, request, _ = hasty
    with connected(base_url) as slow:
        slow.sendall(request)
        begun, parts = time.monotonic(), [b""]
        while parts[-1] or len(parts) == 1:
            parts.append(slow.recv(1_000_000))
            until(lambda: time.monotonic() - begun > 0.2 * len(parts))  # in all longer than a reader that does not read
    assert sum(map(len, parts)) > SIZE
