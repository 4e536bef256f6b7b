"""`agentsvc serve` as a process: the lock, the port, the ready file, and its end (docs/api/embedded.md)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from agentsvc_nb import __version__
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import RunningService
from tests.support.waiting import PATIENCE_SECONDS, until

ENV = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTSVC_", "SERVICE_API_KEY"))}


def command(data: Path, *arguments: object) -> list[str]:
    given = ["serve", "--data", data, "--model", "scripted", *arguments]
    return [sys.executable, "-m", "agentsvc_nb", *map(str, given)]


def serve(data: Path, *arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    """A server that is expected to end by itself."""
    return subprocess.run(
        command(data, *arguments), env=ENV | env, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )


@contextlib.contextmanager
def serving(data: Path, *arguments: object, stderr: int | None = None) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command(data, *arguments), env=ENV, stdout=subprocess.PIPE, stderr=stderr, text=True)
    with process:
        try:
            until(lambda: Ready.read(data / "ready.json") is not None or process.poll() is not None)
            yield process
        finally:
            process.kill()


def ready_of(data: Path) -> Ready:
    ready = Ready.read(data / "ready.json")
    assert ready is not None
    return ready


def client_of(data: Path) -> AgentService:
    return AgentService((data / "key").read_text().strip(), base_url=ready_of(data).base_url)


def test_sign_in_link_is_printed_but_not_into_a_file(service: RunningService, tmp_path: Path) -> None:
    """`serve` prints it where a person reads, `sign-in` again; a log never holds it, and then it says nothing."""
    data = tmp_path / "data"
    with serving(data, "--port", 0) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("agentsvc ")
        link = ready_of(data).sign_in_url
        assert link in process.stdout.readline()
        asked = [sys.executable, "-m", "agentsvc_nb", "sign-in", "--data", str(data)]
        assert subprocess.run(asked, env=ENV, capture_output=True, text=True, check=True).stdout == link + "\n"
    none = subprocess.run(asked, env=ENV, capture_output=True, text=True)
    assert (none.returncode, none.stdout) == (1, "")
    assert "agentsvc serve" in none.stderr
    assert service.base_url in (log := (service.data / "serve.log").read_text())
    assert service.sign_in_url.partition("token=")[2] not in log


def test_ready_file_says_what_it_must(tmp_path: Path) -> None:
    """All its fields, in the folder and in the extra copy, for this user alone, gone at the end."""
    data, copy = tmp_path / "data", tmp_path / "ready"
    with serving(data, "--port", 0, "--ready-file", copy) as process:
        record = json.loads((data / "ready.json").read_text())
        until(copy.exists)
        assert json.loads(copy.read_text()) == record
        assert record["pid"] == process.pid
        assert record["version"] == __version__
        assert record["settings_hash"] == Settings.from_env({}, data=data, model="scripted").settings_hash
        assert record["sign_in_url"].startswith(record["base_url"] + "/app/sign-in?token=")
        assert record["model"] == "scripted"
        assert sorted(record) == ["base_url", "instance", "model", "pid", "settings_hash", "sign_in_url", "version"]
        for path in (data / "ready.json", data / "key", copy):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert process.stdout is not None
        assert record["base_url"] in process.stdout.readline()
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    assert not (data / "ready.json").exists()
    assert not copy.exists()


def test_second_server_gives_way(tmp_path: Path) -> None:
    """Exit 75 and one sentence, whoever holds the lock; the holder's record stays."""
    DataFolder(tmp_path).make()
    write_private(tmp_path / "ready.json", "{}")
    with FileLock(tmp_path / "lock"):
        second = serve(tmp_path, "--port", 0)
    assert (second.returncode, second.stdout) == (75, "")
    assert "holds" in second.stderr
    assert f"agentsvc stop --data {tmp_path}" in second.stderr
    assert (tmp_path / "ready.json").read_text() == "{}"


def test_signal_ends_it_with_a_run_and_a_stream_open(tmp_path: Path) -> None:
    """A run in progress and a stream without an end don't hold it up; the run goes on with the next server."""
    with (
        serving(tmp_path, "--port", 0) as process,
        client_of(tmp_path) as client,
        client.runs.start_and_stream("say here\nwait 2\nsay done") as stream,
    ):
        next(event for event in stream if event.type == "text.delta")
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        run_id = stream.run_id
    with serving(tmp_path, "--port", 0), client_of(tmp_path) as client:
        run = client.runs.wait(run_id, poll=0.05)
        assert (run.status, run.output) == ("completed", "here\ndone")


def test_taken_port_is_one_sentence(tmp_path: Path) -> None:
    """Exit 1, and the sentence says what to give instead."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = serve(tmp_path, "--port", other.getsockname()[1])
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


def test_idle_server_ends_by_itself_but_not_before_its_run(tmp_path: Path) -> None:
    """Idle means no active run: one that lasts longer than the idle time is completed first."""
    with serving(tmp_path, "--port", 0, "--idle-stop", 0.3) as process:
        with client_of(tmp_path) as client:
            run_id = client.runs.start("wait 1\nsay done").run_id
        assert process.wait(PATIENCE_SECONDS) == 0
    with serving(tmp_path, "--port", 0), client_of(tmp_path) as client:
        run = client.runs.get(run_id)
        assert (run.output, run.usage is not None) == ("done", True)


def test_model_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    """What is no name of a model is refused at start, not at the first run, as what was typed."""
    done = serve(tmp_path, "--port", 0, "--model", "nobody")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "argument --model: 'nobody' is no model: give offline, scripted, gguf:FILE or PROVIDER:MODEL" in last
    assert "AGENTSVC_MODEL" not in last
