"""`agentsvc_nb.testing.running_service`: the service of a test ends with the process that started it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentsvc_nb.service.folder import DataFolder, FolderHeld
from agentsvc_nb.testing import RunningService, replay_conversation, running_service
from tests.waiting import PATIENCE_SECONDS, until

PARENT = """
import sys, threading
from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service

with running_service() as service, AgentService(service.api_key, service.base_url) as client:
    if sys.argv[1] == "busy":
        client.runs.start("wait 3600")
    print(service.data, service.pid, flush=True)
    threading.Event().wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_a_service_ends_when_its_parent_is_killed(state: str) -> None:
    """A killed parent can't stop its service; the service notices within seconds, also in the middle of a run."""
    with subprocess.Popen([sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True) as parent:
        try:
            assert parent.stdout is not None
            data, pid = parent.stdout.readline().split()
        finally:
            parent.kill()
    try:
        until(lambda: is_free(DataFolder(Path(data))), patience=PATIENCE_SECONDS / 2)
    except AssertionError:
        os.kill(int(pid), signal.SIGKILL)
        raise
    finally:
        shutil.rmtree(data, ignore_errors=True)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_service_that_crashed_is_told_at_its_stop(tmp_path: Path) -> None:
    """All later tests of a session met refused connections, and nothing said why."""
    service = RunningService(tmp_path, "scripted", {})
    service.start()
    os.kill(service.pid, signal.SIGKILL)
    until(lambda: is_free(DataFolder(service.data)))
    with pytest.raises(RuntimeError, match=r"crashed \(exit -9\):\n.+"):
        service.stop()


def is_free(folder: DataFolder) -> bool:
    """The lock says whether the service runs: its process may still be listed, as a zombie that nobody has reaped."""
    try:
        with folder.hold():
            return True
    except FolderHeld:
        return False


def test_a_service_that_is_slow_to_start_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end, which was ours, was told as a crash."""
    monkeypatch.setattr("agentsvc_nb.testing.service.START_SECONDS", 0.0)
    with pytest.raises(RuntimeError, match=r"did not start \(nothing after 0 s\)"), running_service():
        pass


def test_a_recording_that_is_not_there_is_told() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)did not start \(exit .*nothing\.txt can't be read"):
        replay_conversation("nothing.txt")
