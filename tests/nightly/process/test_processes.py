"""What starts and kills many processes: services that end, move, or are lost."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import nbformat
import pytest
import yaml
from filelock import FileLock

from agentsvc_nb import AgentService, embedded
from agentsvc_nb.cli import main
from agentsvc_nb.client.transport import health
from agentsvc_nb.embedded import EmbeddedError, find_or_start
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, FolderHeld, Ready
from agentsvc_nb.testing import RunningService, running_service
from tests.docs.test_interop import LOAD, ROOT, blocks
from tests.service.cli.test_cli import ENV, command
from tests.service.process.test_proof import RESTART
from tests.service.process.test_serve import ready_of, serving
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
    assert "The service went away before the run ended" in errors
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


def kill(data: Path) -> Ready:
    """End the service as a crash does: its record stays, and says what it was."""
    ready = Ready.read(DataFolder(data).ready)
    assert ready is not None
    os.kill(ready.pid, signal.SIGKILL)
    until(lambda: not embedded.is_held(DataFolder(data)))
    return ready


FORKING = """
import asyncio, os, sys
from agentsvc_nb import embedded

connects = []
sys.addaudithook(lambda event, args: connects.append(args[1]) if event == "socket.connect" else None)
loop, place, question = asyncio.new_event_loop(), sys.argv[2], sys.argv[3]

if sys.argv[1] == "sync":
    client = embedded.local(place, model="scripted").__enter__()
    ask = lambda text: client.runs.start(text, sync=True).output
else:
    async def enter(): return await embedded.local(place, model="scripted").__aenter__()
    client = loop.run_until_complete(enter())
    async def started(text): return (await client.runs.start(text, sync=True)).output
    ask = lambda text: loop.run_until_complete(started(text))

print(ask("say hello"), flush=True)
sys.stdin.readline()
connects.clear()
if (child := os.fork()) == 0:
    if sys.argv[1] == "async":
        loop = asyncio.new_event_loop()
    said = ask(question)
    print(said, len(connects), flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(ask("say bye"), flush=True)
"""


def forked(data: Path, face: str, meanwhile: Callable[[], None]) -> list[str]:
    """What the parent said, then its child after `meanwhile`, then the parent again."""
    script = [sys.executable, "-c", FORKING, face, str(data), QUESTION]
    with subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip()]
        meanwhile()
        rest, _ = process.communicate("\n", timeout=60)
    return said + rest.split("\n")


@pytest.mark.parametrize("face", ["sync", "async", "async, the parent's loop"])
def test_a_forked_child_has_proved_connections_of_its_own(data: Path, face: str) -> None:
    said = forked(data, face, lambda: None)
    assert said[:3] == ["hello", "A secret question 1", "bye"]


@pytest.mark.parametrize("face", ["sync", "async"])
def test_a_forked_child_sends_a_stranger_nothing(data: Path, face: str) -> None:
    found: list[Stranger] = []

    def swap() -> None:
        before = kill(data)
        found.append(Stranger(strangers.repeats(before.instance), port_of(before.base_url)))

    said = forked(data, face, swap)
    assert said[1].startswith("A secret question ")
    assert said[2] == "bye"
    found[0].close()
    assert (found[0].visits > 0, found[0].leaks(key_of(data))) == (True, [])


def test_a_copied_folder_starts_a_service_of_its_own(data: Path, tmp_path: Path) -> None:
    """The record is that of the other service, which is not asked: the copy has another key."""
    first = find_or_start(data)
    other = DataFolder(tmp_path / "copy")
    find_or_start(other.path)
    embedded.stop(other.path)
    for name in ("ready.json", "port"):
        write_private(other.path / name, (data / name).read_text())
    second = find_or_start(other.path)
    embedded.stop(other.path)
    assert second.instance != first.instance


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_service_proves_itself_wherever_it_listens(data: Path, host: str) -> None:
    """By the name and the address that its record has, and by the others that it listens on."""
    serve = [sys.executable, "-m", "agentsvc_nb", "serve", "--data", str(data), "--host", host, "--port", "0"]
    with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as process:
        ready = until(lambda: Ready.read(data / "ready.json"), lambda found: found is not None)
        assert ready is not None
        with embedded.local(data) as client:
            assert client.tools.list()
            assert client.base_url == ready.base_url
        for reached in {"0.0.0.0": ["127.0.0.2"], "::": ["::1", "127.0.0.1"]}[host]:
            health.handshake(reached, port_of(ready.base_url), 30).check(key_of(data))
        process.terminate()


LEAVING = """
import gc, socket, sys
from agentsvc_nb import embedded

local = embedded.local(sys.argv[1])
local.__enter__().tools.list()
opened = [each for each in gc.get_objects() if isinstance(each, socket.socket)]
del local
gc.collect()
print(*(each.fileno() for each in opened))
"""


def test_an_embedded_client_that_was_let_go_leaves_no_connection(data: Path) -> None:
    """What proves its connections does not keep it, though it can be revived by who holds it."""
    find_or_start(data)
    script = [sys.executable, "-W", "always", "-c", LEAVING, str(data)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("-1\n", "")


STREAM = (
    "GET /api/developers/v1/runs/{run}/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    "Accept: text/event-stream\r\n\r\n"
)


def test_two_hundred_streams_get_their_last_chunk() -> None:
    """SIGTERM while runs write and are followed, by some clients that do not read meanwhile."""
    script = "say hello\nwait 0.01\n" * 2_000
    with running_service(run_capacity=8) as running, contextlib.ExitStack() as streams:
        with AgentService(running.api_key, running.base_url) as client:
            ids = [client.runs.start(script).run_id for _ in range(8)]
        connections = [streams.enter_context(connected(running.base_url)) for _ in range(200)]
        for number, connection in enumerate(connections):
            connection.sendall(STREAM.format(run=ids[number % len(ids)], key=running.api_key).encode())
        begun = [connection.recv(65_536) for connection in connections]
        os.kill(running.pid, signal.SIGTERM)
        rest = [b"".join(iter(partial(connection.recv, 65_536), b"")) for connection in connections]
    for first, more in zip(begun, rest, strict=True):
        assert first.startswith(b"HTTP/1.1 200")
        assert (first + more).endswith(b"\r\n0\r\n\r\n")


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


def test_last_port_is_taken_again_when_it_is_free(tmp_path: Path) -> None:
    """The embedded starter's address stays the same over a restart, and moves when another has the port."""
    with serving(tmp_path, "--port", "last") as process:
        first = ready_of(tmp_path).base_url
        process.terminate()
        process.wait(PATIENCE_SECONDS)
    with serving(tmp_path, "--port", "last") as process:
        assert ready_of(tmp_path).base_url == first
        process.terminate()
        process.wait(PATIENCE_SECONDS)
    with socket.create_server(("127.0.0.1", int(first.rpartition(":")[2]))), serving(tmp_path, "--port", "last"):
        assert ready_of(tmp_path).base_url != first


def test_the_steps_of_the_workflow(service: RunningService, tmp_path: Path) -> None:
    """papermill fills in the parameter; nbval accepts what was stored and finds another answer."""
    (text,) = blocks("GitHub Actions, papermill and nbval", "yaml")
    job = yaml.safe_load(text)["jobs"]["report"]
    install, papermill, nbval = [step["run"] for step in job["steps"] if "run" in step]
    assert {"ipykernel", "papermill", "nbval"} < set(install.split())
    assert job["steps"][-1]["with"]["path"] in papermill
    _write(tmp_path / "report.ipynb", "week = 0", LOAD, "%%ask\nsay sales of week {{week}}")
    secret = {"SERVICE_API_KEY": service.api_key, "AGENTSVC_BASE_URL": service.base_url}
    assert job["env"].keys() == {*secret, "SANITIZE"}
    own = {name: str(tmp_path / name) for name in ("XDG_STATE_HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    sanitize = str(ROOT / job["env"]["SANITIZE"])
    env = {
        **os.environ,
        **own,
        **secret,
        "PATH": path,
        "PYTHONPATH": str(ROOT),
        "SANITIZE": sanitize,
        "PYTHONWARNINGS": "",
    }
    _shell(papermill, tmp_path, env)
    made = (tmp_path / "made.ipynb").read_text()
    assert re.search(r"sales of week [\"']?\d\d", made)
    (tmp_path / "stored.ipynb").write_text(made)
    _shell(nbval, tmp_path, env)
    (tmp_path / "stored.ipynb").write_text(made.replace("say sales", "say losses"))
    with pytest.raises(subprocess.CalledProcessError):
        _shell(nbval, tmp_path, env)


def _write(path: Path, *cells: str) -> None:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made.cells[0].metadata["tags"] = ["parameters"]
    nbformat.write(made, path)


def _shell(line: str, folder: Path, env: dict[str, str]) -> None:
    subprocess.run(["bash", "-ec", line], cwd=folder, env=env, check=True, timeout=100)


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
        before = until(lambda: Ready.read(data / "ready.json"), lambda found: found is not None)
        assert before is not None
        with pytest.raises(EmbeddedError, match=rf"does not prove.*older version.*{RESTART} --data"):
            find_or_start(data)
        for command in ("status", "sign-in"):
            assert main([command, "--data", str(data)]) == 1
            shown = capsys.readouterr()
            assert re.search(RESTART, shown.err)
            assert "token" not in shown.out + shown.err
        main(["doctor", "--data", str(data)])
        assert "fail  server: What answers at" in capsys.readouterr().out
        assert main(["restart", "--data", str(data)]) == 0
        assert process.wait(30) == 0
    assert find_or_start(data).instance != before.instance


def test_start_succeeds_when_the_holder_goes_meanwhile(data: Path) -> None:
    """A server that is ending still holds the lock: the starter tries again until it is free."""
    folder = DataFolder(data)
    folder.make()
    lock = FileLock(folder.lock, thread_local=False)
    lock.acquire()

    def go_when_the_starter_was_refused() -> None:
        until(lambda: folder.log.exists() and b"holds" in folder.log.read_bytes())
        lock.release()

    going = threading.Thread(target=go_when_the_starter_was_refused)
    going.start()
    assert find_or_start(data).api_key
    going.join()


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
