"""What starts and kills many processes: services that end, move, or are lost."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentsvc_nb import embedded
from agentsvc_nb.cli import main
from agentsvc_nb.embedded import EmbeddedError, find_or_start
from agentsvc_nb.service.folder import DataFolder, FolderHeld, ReadyFile
from agentsvc_nb.testing import running_service
from tests.service.cli.test_cli import ENV, command
from tests.service.process.test_proof import RESTART
from tests.service.process.test_stop import answer, connected
from tests.support import strangers
from tests.support.losing import lose_for_good
from tests.support.strangers import Stranger, key_of, port_of
from tests.support.waiting import PATIENCE_SECONDS, until


def test_a_service_that_is_lost_for_good_leaves_the_text_and_the_way_on(tmp_path: Path) -> None:
    """What was printed stays, and the last lines say what happened and how the run is followed later."""
    data = tmp_path / "data"
    asking = subprocess.Popen(
        command("ask", "say started\nwait 600", "--data", data),
        env=ENV | {"AGENTSVC_MODEL": "scripted"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == "started\n"
        lose_for_good(data)
        _, errors = asking.communicate(timeout=PATIENCE_SECONDS)
    assert asking.returncode == 1
    assert "lost" in errors
    assert re.search(r"agentsvc runs attach [0-9a-f-]{36}\n", errors)
    assert "not a database" in errors
    assert "Traceback" not in errors


QUESTION = "say A secret question"


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data folder; whatever service holds it at the end is ended."""
    folder = tmp_path / "data"
    yield folder
    with contextlib.suppress(EmbeddedError):
        embedded.stop(folder)


def kill(data: Path) -> ReadyFile:
    """End the service as a crash does: its record stays, and says what it was."""
    ready = ReadyFile.read(DataFolder(data).ready)
    assert ready is not None
    os.kill(ready.pid, signal.SIGKILL)
    until(lambda: not embedded.is_held(DataFolder(data)))
    return ready


FORKING = """
import os, sys
from agentsvc_nb import embedded

connects = []
sys.addaudithook(lambda event, args: connects.append(args[1]) if event == "socket.connect" else None)
client = embedded.local(sys.argv[1], model="scripted").__enter__()
print(client.runs.start("say hello", sync=True).output, flush=True)
sys.stdin.readline()
connects.clear()
if (child := os.fork()) == 0:
    print(client.runs.start(sys.argv[2], sync=True).output, len(connects), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(client.runs.start("say bye", sync=True).output, flush=True)
"""


def forked(data: Path, meanwhile: Callable[[], None]) -> list[str]:
    """What the parent said, then its child after `meanwhile`, then the parent again."""
    script = [sys.executable, "-c", FORKING, str(data), QUESTION]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip()]
        meanwhile()
        rest, _ = process.communicate("\n", timeout=60)
    return said + rest.split("\n")


def test_a_forked_child_has_proved_connections_of_its_own(data: Path) -> None:
    assert forked(data, lambda: None)[:3] == ["hello", "A secret question 1", "bye"]


def test_a_forked_child_sends_a_stranger_nothing(data: Path) -> None:
    found: list[Stranger] = []

    def swap() -> None:
        before = kill(data)
        found.append(Stranger(strangers.repeats(before.instance), port_of(before.base_url)))

    said = forked(data, swap)
    assert said[1].startswith("A secret question ")
    assert said[2] == "bye"
    found[0].close()
    assert (found[0].visits > 0, found[0].leaks(key_of(data))) == (True, [])


HANGING = """
import sys, threading
from agentsvc_nb import cli
from agentsvc_nb.service import app
from agentsvc_nb.service import server

async def hang(self):
    threading.Event().wait()

app.ServiceState.close = hang
server.END_SECONDS = 1
sys.exit(cli.main(sys.argv[1:]))
"""


def test_server_that_hangs_ends_all_the_same(tmp_path: Path) -> None:
    """A shutdown that blocks the event loop for ever is cut off, and the log says where it hung."""
    given = ["serve", "--data", str(tmp_path), "--port", "0", "--idle-stop", "0.05"]
    done = subprocess.run(
        [sys.executable, "-c", HANGING, *given], env=ENV, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 1
    assert "in hang" in done.stderr


OLDER = """
import sys
from agentsvc_nb.cli import main
from agentsvc_nb.wire import proof
proof.proof = lambda *given: None
sys.exit(main(["serve", "--data", sys.argv[1], "--port", "0"]))
"""


def test_an_older_service_is_named_with_the_way_on(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It gives no proof, so nothing is sent, and whoever asks is told to restart it, which can be done."""
    with subprocess.Popen([sys.executable, "-c", OLDER, str(data)], stdout=subprocess.DEVNULL) as process:
        before = until(lambda: ReadyFile.read(data / "ready.json"), lambda found: found is not None)
        assert before is not None
        with pytest.raises(EmbeddedError, match=rf"did not prove.*older version.*{RESTART} --data"):
            find_or_start(data)
        for command in ("status", "sign-in"):
            assert main([command, "--data", str(data)]) == 1
            shown = capsys.readouterr()
            assert re.search(RESTART, shown.err)
            assert "token" not in shown.out + shown.err
        main(["doctor", "--data", str(data)])
        assert "fail  server: The program at" in capsys.readouterr().out
        assert main(["restart", "--data", str(data)]) == 0
        assert process.wait(30) == 0
    assert find_or_start(data).instance != before.instance


UPLOAD = (
    "POST /api/developers/v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000000\r\n\r\n"
    '--b\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\nhalf of it'
)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_upload_that_the_end_interrupts_is_answered_503() -> None:
    """SIGTERM with half of an upload here: the service waits for the rest, then says that it ends."""
    with running_service() as running, connected(running.base_url) as connection:
        connection.sendall(UPLOAD.format(key=running.api_key).encode())
        until(lambda: any((running.data / "blobs" / "incoming").iterdir()))
        os.kill(running.pid, signal.SIGTERM)
        status, headers, body = answer(connection)
        log = until((running.data / "serve.log").read_text, lambda text: "status=503" in text)
        assert not any((running.data / "blobs" / "incoming").iterdir())
    error = body["error"]
    assert isinstance(error, dict)
    assert (status, error["code"], headers["connection"]) == (503, "brain_unavailable", "close")
    assert f"request={headers['x-request-id']}" in log
    assert "Traceback" not in log


PARENT = """
import threading
from agentsvc_nb import AgentService
from agentsvc_nb.testing import running_service

with running_service() as service, AgentService(service.api_key, service.base_url) as client:
    client.runs.start("wait 3600")
    print(service.data, service.pid, flush=True)
    threading.Event().wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_a_service_ends_when_its_parent_is_killed() -> None:
    """A killed parent can't stop its service; the service notices within seconds, also in the middle of a run."""
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
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


def is_free(folder: DataFolder) -> bool:
    """The lock says whether the service runs: its process may still be listed, as a zombie that nobody has reaped."""
    try:
        with folder.hold():
            return True
    except FolderHeld:
        return False
