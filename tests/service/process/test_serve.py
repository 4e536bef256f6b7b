"""`agentsvc serve` as a process: the lock, the port, the ready file, and its end (docs/api/embedded.md)."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from agentsvc_nb import __version__
from agentsvc_nb.client.api import AgentService
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.service.logs import OneLine
from agentsvc_nb.settings import Settings
from agentsvc_nb.testing import running_service
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


def test_sign_in_link_is_printed_but_not_into_a_file(tmp_path: Path) -> None:
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
    with running_service() as service:
        log = (service.data / "serve.log").read_text()
        assert service.base_url in log
        assert "token" not in log


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
    assert (tmp_path / "ready.json").read_text() == "{}"


def test_second_server_says_what_to_do(tmp_path: Path) -> None:
    """Use the one that runs, end it, or take another folder: the sentence has all three."""
    with serving(tmp_path, "--port", 0):
        second = serve(tmp_path, "--port", 0)
        base_url = ready_of(tmp_path).base_url
    assert second.returncode == 75
    for way in (base_url, f"agentsvc stop --data {tmp_path}", "another folder with --data"):
        assert way in second.stderr
    assert len(second.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_with_a_run_and_a_stream_open(tmp_path: Path, number: signal.Signals) -> None:
    """A run in progress and a stream without an end don't hold it up; the run goes on with the next server."""
    with (
        serving(tmp_path, "--port", 0) as process,
        client_of(tmp_path) as client,
        client.runs.start_and_stream("say here\nwait 2\nsay done") as stream,
    ):
        next(event for event in stream if event.type == "text.delta")
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == 0
        run_id = stream.run_id
    with serving(tmp_path, "--port", 0), client_of(tmp_path) as client:
        run = client.runs.wait(run_id, poll=0.05)
        assert (run.status, run.output) == ("completed", "here\ndone")


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


def test_taken_port_is_one_sentence(tmp_path: Path) -> None:
    """Exit 1, and the sentence says what to give instead."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = serve(tmp_path, "--port", other.getsockname()[1])
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr


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


def test_idle_server_ends_by_itself_but_not_before_its_run(tmp_path: Path) -> None:
    """Idle means no active run: one that lasts longer than the idle time is completed first."""
    with serving(tmp_path, "--port", 0, "--idle-stop", 0.3) as process:
        with client_of(tmp_path) as client:
            run_id = client.runs.start("wait 1.5\nsay done").run_id
        assert process.wait(PATIENCE_SECONDS) == 0
    with serving(tmp_path, "--port", 0), client_of(tmp_path) as client:
        run = client.runs.get(run_id)
        assert (run.output, run.usage is not None) == ("done", True)


def test_settings_are_told_apart(tmp_path: Path) -> None:
    """An unknown variable is a warning and the server starts; a bad value is exit 2 and one sentence."""
    warned = serve(tmp_path, "--port", 0, "--idle-stop", 0.01, AGENTSVC_RUN_CAPACTIY="2")
    assert warned.returncode == 0
    assert "AGENTSVC_RUN_CAPACTIY is not a setting and is ignored: did you mean AGENTSVC_RUN_CAPACITY?" in warned.stderr
    refused = serve(tmp_path, "--port", 0, AGENTSVC_RUN_CAPACITY="two")
    assert refused.returncode == 2
    assert refused.stderr.startswith("agentsvc: AGENTSVC_RUN_CAPACITY is 'two': give ")


def test_model_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    """What is no name of a model is refused at start, not at the first run, as what was typed."""
    done = serve(tmp_path, "--port", 0, "--model", "nobody")
    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert "argument --model: 'nobody' is no model: give offline, scripted, gguf:FILE or PROVIDER:MODEL" in last
    assert "AGENTSVC_MODEL" not in last


def test_newer_folder_is_refused(tmp_path: Path) -> None:
    """A folder that a newer version wrote is left alone."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(DataFolder(tmp_path).database)) as database:
        database.execute("PRAGMA user_version = 999")
    done = serve(tmp_path, "--port", 0)
    assert done.returncode == 1
    assert "upgrade agentsvc-nb" in done.stderr


def test_key_survives_restarts_and_is_replaced_when_it_is_no_key() -> None:
    """The same key after a crash; another when the file was lost or holds something else."""
    with running_service() as service:
        first = service.api_key
        service.kill()
        service.start()
        assert service.api_key == first
        service.stop()
        (service.data / "key").write_text("svc_sk_not-a-key")
        service.start()
        assert service.api_key not in (first, "svc_sk_not-a-key")
        with AgentService(service.api_key, base_url=service.base_url) as client:
            assert client.runs.start("say hi", sync=True).output == "hi"


def test_logs_are_one_line_and_without_secrets() -> None:
    """A traceback is part of its line; a key or token that got into a message is hidden."""
    try:
        raise ValueError("key svc_sk_abc-DEF_1")
    except ValueError:
        failure = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "", 0, "GET /app/sign-in?token=%s", ("secret",), failure)
    line = OneLine().format(record)
    assert "\n" not in line
    assert 'level=error logger=x message="GET /app/sign-in?token=[hidden]"' in line
    assert "ValueError: key svc_sk_[hidden]" in line


@pytest.mark.parametrize("empty", [True, False])
def test_contents_without_their_database_are_not_taken_for_a_new_service(tmp_path: Path, empty: bool) -> None:
    folder = DataFolder(tmp_path)
    kept = folder.blobs / "ab" / "cd"
    kept.mkdir(parents=True)
    if empty:
        folder.database.touch()
    done = serve(tmp_path, "--port", 0)
    assert done.returncode == 1
    assert "its database is missing or empty" in done.stderr
    assert "agentsvc restore" in done.stderr
