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

from agentsvc_nb import embedded
from agentsvc_nb.cli import main
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.embedded import EmbeddedError, find_or_start
from agentsvc_nb.service.disk import write_private
from agentsvc_nb.service.folder import DataFolder, Ready
from agentsvc_nb.service.keyring import create_key
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
    ready = Ready("dead", f"http://127.0.0.1:{port}", 2**22 + 1, "0", "0", "")
    write_private(folder.ready, ready.to_json())
    write_private(folder.port, str(port))


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


def test_two_starters_get_one_server(data: Path) -> None:
    """It outlives them."""
    program = f"from agentsvc_nb.embedded import find_or_start; print(find_or_start({str(data)!r}).instance)"
    command = [sys.executable, "-c", program]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    instances = {starter.communicate(timeout=60)[0].strip() for starter in starters}
    assert len(instances) == 1
    ready = embedded.status(data)
    assert ready is not None
    assert instances == {ready.instance}


def test_service_is_in_a_session_of_its_own(shared: Path) -> None:
    """A kernel's interrupt and its end go to the kernel's process group, and must not reach the service."""
    find_or_start(shared)
    ready = embedded.status(shared)
    assert ready is not None
    assert os.getsid(ready.pid) == ready.pid != os.getsid(0)


@pytest.mark.parametrize("says", [strangers.repeats("dead"), lambda request: b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n"])
def test_stranger_on_the_stale_port_gets_no_key(data: Path, says: strangers.Says) -> None:
    """A stale record's port may be anybody's: it is asked for its health without a key, and not trusted."""
    stranger = Stranger(says)
    stale(data, stranger.port)
    secret = "svc_sk_of-the-dead-server"
    create_key(DataFolder(data), name="other")
    write_private(data / "key", secret)
    found = find_or_start(data)
    stranger.close()
    assert found.base_url != f"http://127.0.0.1:{stranger.port}"
    assert stranger.received.startswith(b"GET /healthz?nonce=")
    assert stranger.leaks(found.api_key) == stranger.leaks(secret) == []
    assert found.api_key != secret, "a key that the database does not know is replaced"


def test_found_again_after_a_crash_at_the_same_address(data: Path) -> None:
    """kill -9 leaves a stale record; the next one who asks gets a new server, at the old address, with the old key."""
    before = find_or_start(data)
    ready = embedded.status(data)
    assert ready is not None
    os.kill(ready.pid, signal.SIGKILL)
    after = find_or_start(data)
    assert after.instance != before.instance
    assert (after.base_url, after.api_key) == (before.base_url, before.api_key)


def test_client_revives_a_dead_service(data: Path) -> None:
    """A client that finds its connection refused starts the service again, and the read goes through."""
    with embedded.local(data) as client:
        run = client.runs.start("hello")
        client.runs.wait(run.run_id, poll=0.05)
        assert embedded.stop(data) is True
        assert not (data / "ready.json").exists()
        assert embedded.status(data) is None
        assert embedded.stop(data) is False
        assert client.runs.get(run.run_id).ended


def test_a_folder_keeps_its_model_and_so_do_its_runs(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who starts the service again and names no model gets the one that it had: with another, runs would end."""
    with embedded.local(data, model="scripted") as client:
        run_id = client.runs.start("wait 1\nsay done").run_id
    embedded.stop(data)
    with embedded.local(data) as client:
        assert client.runs.wait(run_id, poll=0.05).output == "done"
    assert find_or_start(data).notice is None
    assert main(["restart", "--data", str(data)]) == 0
    assert model_of(data) == "scripted"
    embedded.stop(data)
    monkeypatch.setenv("AGENTSVC_MODEL", "offline")
    find_or_start(data)
    assert model_of(data) == "offline", "one that is named counts, and is kept from then on"


def model_of(data: Path) -> str:
    ready = embedded.status(data)
    assert ready is not None
    return ready.model


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


def test_another_version_is_told(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The running service is taken as it is, with one line that says how to get the other."""
    first = find_or_start(shared)
    monkeypatch.setattr(embedded, "__version__", "99.0")
    other = find_or_start(shared)
    assert other.instance == first.instance
    assert other.notice is not None
    assert "has version" in other.notice
    assert other.notice.endswith(f" restart --data {shared}")


def test_notice_is_logged_by_local(shared: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`local()` hands out a client; what the user should know goes to the log, once."""
    find_or_start(shared)
    with embedded.local(shared, model="scripted"):
        assert [record.message for record in caplog.records if "other settings" in record.message]


def test_async_face(shared: Path) -> None:
    """`async with local()` gives the asyncio client of the same service."""

    async def ask() -> str:
        async with embedded.local(shared) as client:
            run = await client.runs.start("hello")
            return (await client.runs.wait(run.run_id, poll=0.05)).status

    assert asyncio.run(ask()) == "completed"


def test_folder_that_cannot_be_used_is_one_sentence(data: Path) -> None:
    """A file where the folder should be: the error says so, and names the setting."""
    data.write_text("a file")
    with pytest.raises(EmbeddedError, match="AGENTSVC_DATA"):
        find_or_start(data)
