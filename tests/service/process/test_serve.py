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

import pytest
from filelock import FileLock

from agentsvc_nb import __version__
from agentsvc_nb.cli import main
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service import logs
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, ReadyFile
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
            until(lambda: ReadyFile.read(data / "ready.json") is not None or process.poll() is not None)
            yield process
        finally:
            process.kill()


def ready_of(data: Path) -> ReadyFile:
    ready = ReadyFile.read(data / "ready.json")
    assert ready is not None
    return ready


def client_of(data: Path) -> AgentService:
    return AgentService((data / "key").read_text().strip(), base_url=ready_of(data).base_url)


def test_ready_file_says_what_it_must(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All its fields, in the folder and in the extra copy, for this user alone, gone at the end. The link that signs in
    is printed where a person reads."""
    data, copy = tmp_path / "data", tmp_path / "ready"
    with serving(data, "--port", 0, "--ready-file", copy) as process:
        record = json.loads((data / "ready.json").read_text())
        until(copy.exists)
        assert json.loads(copy.read_text()) == record
        assert (record["pid"], record["version"], record["model"]) == (process.pid, __version__, "scripted")
        assert record["settings_hash"] == Settings.from_env({}, data=data, model="scripted").settings_hash
        link = record["sign_in_url"]
        assert link.startswith(record["base_url"] + "/app/sign-in?token=")
        assert sorted(record) == ["base_url", "instance", "model", "pid", "settings_hash", "sign_in_url", "version"]
        for path in (data / "ready.json", data / "key", copy):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        assert process.stdout is not None
        assert record["base_url"] in process.stdout.readline()
        assert link in process.stdout.readline()
        assert main(["sign-in", "--data", str(data)]) == 0
        assert capsys.readouterr().out == link + "\n"
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
    assert not (data / "ready.json").exists()
    assert not copy.exists()
    assert main(["sign-in", "--data", str(data)]) == 1
    assert "agentsvc serve" in capsys.readouterr().err


def test_sign_in_link_is_printed_but_not_into_a_file(service: RunningService) -> None:
    assert service.base_url in (log := (service.data / "serve.log").read_text())
    assert service.sign_in_url.partition("token=")[2] not in log


@pytest.mark.rule("The service ends within 10 s of SIGTERM.")
def test_signal_ends_it_with_a_run_and_a_stream_open(tmp_path: Path) -> None:
    """The run goes on with the next server, which ends when it is idle, but not before its run."""
    with (
        serving(tmp_path, "--port", 0) as process,
        client_of(tmp_path) as client,
        client.runs.start_and_stream("say here\nwait 1.5\nsay done") as stream,
    ):
        next(event for event in stream if event.type == "text.delta")
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0
        run_id = stream.run_id
    with serving(tmp_path, "--port", 0, "--idle-stop", 0.1) as process:
        assert process.wait(PATIENCE_SECONDS) == 0
    with serving(tmp_path, "--port", 0), client_of(tmp_path) as client:
        run = client.runs.get(run_id)
        assert (run.status, run.output) == ("completed", "here\ndone")


def ended(data: Path, *arguments: str) -> int:
    """The exit code of a server that ends before it serves, in this process, whose log it leaves alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "log_to_stderr", lambda *given: None)
        return main(["serve", "--data", str(data), "--port", "0", *arguments])


@pytest.mark.rule("A second server of one data folder ends with code 75.")
def test_second_server_gives_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 75 and one sentence, whoever holds the lock; the holder's record stays."""
    DataFolder(tmp_path).make()
    write_private(tmp_path / "ready.json", "{}")
    with FileLock(tmp_path / "lock"):
        assert ended(tmp_path) == 75
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"agentsvc stop --data {tmp_path}" in shown.err
    assert (tmp_path / "ready.json").read_text() == "{}"


def test_taken_port_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1, and the sentence says what to give instead."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert ended(tmp_path, "--port", str(other.getsockname()[1])) == 1
    assert "--port" in capsys.readouterr().err


def test_model_that_does_not_exist_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no name of a model is refused at start, not at the first run, as what was typed."""
    with pytest.raises(SystemExit) as refused:
        ended(tmp_path, "--model", "nobody")
    assert refused.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "argument --model: 'nobody'" in last
    assert "PROVIDER:MODEL" in last
    assert "AGENTSVC_MODEL" not in last
