"""`python -m tests.nightly.cluster`, as a person starts and ends it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentsvc_nb import AgentService

MARK = "STARTED_BY_A_TEST"
COMMAND = [sys.executable, "-m", "tests.nightly.cluster", "--replicas", "1", "--workers", "1"]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for temporary ones, in which also the user `postgres` may have one."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-t-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.timeout(180)
def test_it_answers_until_ctrl_c_and_leaves_nothing(temporary: Path) -> None:
    mark = uuid.uuid4().hex
    env = {**os.environ, "TMPDIR": str(temporary), MARK: mark}
    with subprocess.Popen(
        COMMAND, cwd=Path(__file__).parents[3], env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as started:
        # What does not start ends by being killed, and then nothing more is said.
        timer = threading.Timer(120, lambda: os.killpg(started.pid, signal.SIGKILL))
        timer.start()
        try:
            assert started.stdout is not None
            said = ""
            for line in started.stdout:
                said += line
                if line.startswith("Ctrl-C ends"):
                    break
            found = re.search(r"answers at (\S+); its key is (\S+)", said)
            assert found is not None, said
            with AgentService(found[2], found[1]) as client:
                assert client.runs.start("say hello", sync=True).output == "hello"
            assert len(processes(mark)) > 4, "PostgreSQL, the S3 server, a replica, a worker and the command itself"
            # As a terminal sends it: to all that are in its foreground.
            os.killpg(started.pid, signal.SIGINT)
            assert started.stdout.read().strip().endswith("Ended.")
            assert started.wait() == 0
        finally:
            timer.cancel()
    assert processes(mark) == []
    assert list(temporary.iterdir()) == []


def processes(mark: str) -> list[str]:
    """The commands of all processes that were started with this mark, by whomever."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found
