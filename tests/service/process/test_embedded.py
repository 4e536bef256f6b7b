"""The embedded service: found or started, one a folder, and no key for strangers (docs/api/embedded.md). Real
processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from agentsvc_nb import __version__, embedded
from agentsvc_nb.cli import main
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.embedded import EmbeddedError, find_or_start
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.service.keyring import create_key
from tests.service.cli.test_cli import agentsvc
from tests.support import strangers
from tests.support.strangers import Stranger


@pytest.fixture
def data(tmp_path: Path) -> Iterator[Path]:
    """A data folder; whatever service holds it at the end is ended."""
    folder = tmp_path / "data"
    yield folder
    with contextlib.suppress(EmbeddedError):
        embedded.stop(folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a service that tests leave running."""
    folder = tmp_path_factory.mktemp("shared") / "data"
    yield folder
    embedded.stop(folder)


def stale(data: Path, port: int) -> None:
    """What a killed server left: its record and its key, and a port that is now another's."""
    folder = DataFolder(data)
    folder.make()
    ready = ReadyFile("dead", f"http://127.0.0.1:{port}", 2**22 + 1, "0", "0", "")
    write_private(folder.ready, ready.to_json())
    write_private(folder.port, str(port))


@pytest.mark.rule("A client finds the running embedded service, or starts one.")
def test_starts_one_and_finds_it_again(shared: Path) -> None:
    """The first call starts a service, the second finds the same; the key opens it; files are the user's alone."""
    first = find_or_start(shared)
    second = find_or_start(shared)
    assert first == second
    assert first.notice is None
    assert first.api_key.startswith("svc_sk_")
    assert first.api_key not in repr(first)
    with embedded.local(shared) as client:
        assert client.runs.wait(client.runs.start("hello").run_id, poll=0.05).ended
    for name in ("ready.json", "key"):
        assert stat.S_IMODE((shared / name).stat().st_mode) == 0o600
    assert stat.S_IMODE(shared.stat().st_mode) == 0o700
    assert first.api_key not in (shared / "serve.log").read_text()

    async def ask() -> str:
        async with embedded.local(shared) as client:
            return (await client.runs.wait(await client.runs.start("hello"), poll=0.05)).status

    assert asyncio.run(ask()) == "completed"


def test_service_is_in_a_session_of_its_own(shared: Path) -> None:
    """A kernel's interrupt and its end go to the kernel's process group, and must not reach the service."""
    find_or_start(shared)
    ready = embedded.status(shared)
    assert ready is not None
    assert os.getsid(ready.pid) == ready.pid != os.getsid(0)


def test_a_folder_keeps_its_model_and_so_do_its_runs(data: Path) -> None:
    """Two starters get one server, which outlives them. After a kill and after a stop whoever asks gets a new one, at
    the old address with the old key, and with the model that it had: with another, its runs would end."""
    program = (
        f"from agentsvc_nb import embedded; print(embedded.find_or_start({str(data)!r}, model='scripted').instance)"
    )
    command = [sys.executable, "-c", program]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    instances = {starter.communicate(timeout=60)[0].strip() for starter in starters}
    ready = embedded.status(data)
    assert ready is not None
    assert instances == {ready.instance}
    before = find_or_start(data)
    with embedded.local(data) as client:
        run = client.runs.start("wait 1\nsay done")
        os.kill(ready.pid, signal.SIGKILL)
        after = find_or_start(data)
        assert after.instance != before.instance
        assert (after.base_url, after.api_key, after.notice) == (before.base_url, before.api_key, None)
        assert client.runs.wait(run, poll=0.05).output == "done"
        shown = agentsvc("status", "--data", data).stdout
        for what in (after.base_url, data, data / "serve.log", "scripted", __version__, "since"):
            assert str(what) in shown
        assert agentsvc("stop", "--data", data).stdout == "Stopped.\n"
        assert not (data / "ready.json").exists()
        assert embedded.status(data) is None
        assert embedded.stop(data) is False
        assert agentsvc("status", "--data", data).returncode == 1
        assert client.runs.get(run.run_id).ended, "the client starts it again"


def test_stranger_on_the_stale_port_gets_no_key(data: Path) -> None:
    """A stale record's port may be anybody's: it is asked for its health without a key, and not trusted. The link that
    signs in goes nowhere, either."""
    stranger = Stranger(strangers.repeats("dead"))
    stale(data, stranger.port)
    secret = "svc_sk_of-the-dead-server"
    create_key(DataFolder(data), name="other")
    write_private(data / "key", secret)
    assert embedded.status(data) is None
    signed = agentsvc("sign-in", "--data", data)
    assert (signed.returncode, "token" in signed.stdout) == (1, False)
    asked = agentsvc("ask", "say A secret question", "--data", data, AGENTSVC_MODEL="scripted")
    assert (asked.returncode, asked.stdout) == (0, "A secret question\n")
    stranger.close()
    found = find_or_start(data)
    assert found.base_url != f"http://127.0.0.1:{stranger.port}"
    assert stranger.received.startswith(b"GET /healthz?nonce=")
    assert stranger.leaks(found.api_key) == stranger.leaks(secret) == []
    assert found.api_key != secret, "a key that the database does not know is replaced"


@pytest.mark.rule("The next client replaces a deleted key of the embedded service.")
def test_a_deleted_key_is_replaced_beside_the_running_service(shared: Path) -> None:
    """For a client that has it still, for a new one, and once however many find it gone."""
    with embedded.local(shared) as client:
        before = find_or_start(shared)
        assert main(["keys", "revoke", "embedded", "--data", str(shared)]) == 0
        with ThreadPoolExecutor(4) as several:
            list(several.map(lambda _: client.tools.list(), range(4)))
        after = find_or_start(shared)
        assert (after.instance, after.api_key != before.api_key) == (before.instance, True)
        assert main(["keys", "revoke", "embedded", "--data", str(shared)]) == 0, "one key has the name"
    with embedded.local(shared) as client:
        assert client.runs.start("hello", sync=True).ended
    assert stat.S_IMODE((shared / "key").stat().st_mode) == 0o600


def test_a_suspended_key_is_not_replaced(shared: Path) -> None:
    with embedded.local(shared) as client:
        key = find_or_start(shared).api_key
        assert main(["keys", "suspend", "embedded", "--data", str(shared)]) == 0
        with pytest.raises(StefanBrainError) as caught:
            client.tools.list()
        assert (caught.value.code, embedded.revive(shared).api_key) == ("key_suspended", key)
        assert main(["keys", "resume", "embedded", "--data", str(shared)]) == 0


def test_one_that_holds_the_lock_and_is_silent_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frozen server is not replaced: the lock is the truth. The error says who holds it, and `stop` does not lie."""
    folder = DataFolder(data)
    folder.make()
    with FileLock(folder.lock):
        with pytest.raises(EmbeddedError, match="not ready within"):
            find_or_start(data, timeout=0.5)
        monkeypatch.setattr(embedded, "STOP_SECONDS", 0.2)
        with pytest.raises(EmbeddedError, match="does not answer"):
            embedded.stop(data)


def test_failed_start_shows_the_last_lines(data: Path) -> None:
    """A server that can't start says why in its log, and the error repeats it."""
    data.mkdir()
    DataFolder(data).database.write_text("this is no database")
    with pytest.raises(EmbeddedError, match="not a database"):
        find_or_start(data)


def test_another_version_is_told(
    shared: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The running service is taken as it is, with one line that says how to get the other; other settings, too."""
    first = find_or_start(shared)
    with embedded.local(shared, model="scripted"):
        assert [record.message for record in caplog.records if "other settings" in record.message]
    monkeypatch.setattr(embedded, "__version__", "99.0")
    other = find_or_start(shared)
    assert other.instance == first.instance
    assert other.notice is not None
    assert "has version" in other.notice
    assert other.notice.endswith(f" restart --data {shared}")


def test_folder_that_cannot_be_used_is_one_sentence(data: Path) -> None:
    """A file where the folder should be: the error says so, and names the setting."""
    data.write_text("a file")
    with pytest.raises(EmbeddedError, match="AGENTSVC_DATA"):
        find_or_start(data)
