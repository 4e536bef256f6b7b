"""`agentsvc export`: a folder's service on PostgreSQL and S3 answers as before, and a broken move goes on."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import obstore
import psycopg
import pytest

from agentsvc_nb.cli import main
from agentsvc_nb.service.store.blobs import blob_path
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests import databases
from tests.s3_server import S3Server
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.sqlite("moves a folder's own database to PostgreSQL")

LARGE = os.urandom(6_000_000)  # sent to S3 in parts
QUERIES = ("lantern", "lant", '"paper lantern" or soup', "notes", "crème -lantern", "nothere")


@dataclass
class Place:
    """A target's settings."""

    blobs: str
    secret: str
    database: str = field(default_factory=lambda: databases.server().new_database())

    @property
    def env(self) -> dict[str, str]:
        return {f"AGENTSVC_{name.upper()}": value for name, value in vars(self).items()}


class Seen:
    """What a service answers, by plain HTTP."""

    def __init__(self, service: RunningService, key: str) -> None:
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=f"{service.base_url}{V1}", headers=headers, timeout=60)

    def run(self, message: str, **fields: Any) -> dict[str, Any]:
        answer = self._http.post("/runs", json={"message": message, **fields})
        assert answer.is_success, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def put(self, chat: str, name: str, data: bytes) -> None:
        answer = self._http.post("/files", params={"chat_id": chat}, files={"files": (name, data)})
        assert answer.is_success, answer.text

    def get(self, path: str, **params: str) -> Any:
        answer = self._http.get(path, params=params)
        assert answer.is_success, answer.text
        return answer.json()

    def all(self, runs: list[str], chat: str) -> dict[str, Any]:
        """Runs with their events, files with their contents, and what is found by each query."""
        paths = [file["path"] for file in self.get("/files", chat_id=chat)["files"]]
        return {
            "runs": [{**self.get(f"/runs/{run}"), "app_url": ""} for run in runs],  # it names the service's address
            "events": [self.get(f"/runs/{run}/events") for run in runs],
            "files": self.get("/files", chat_id=chat),
            "contents": {path: self._hash(chat, path) for path in paths},
            "found": {q: self._found(chat, q) for q in QUERIES},
        }

    def _found(self, chat: str, q: str) -> list[dict[str, Any]]:
        """In one order: of contents that match about as well, each database's index may put another first."""
        results = self.get("/files/search", chat_id=chat, q=q)["results"]
        return sorted(results, key=lambda result: str(result["path"]))

    def _hash(self, chat: str, path: str) -> str:
        answer = self._http.get("/files/download", params={"chat_id": chat, "path": path})
        return hashlib.sha256(answer.content).hexdigest()

    def close(self) -> None:
        self._http.close()


@contextmanager
def seen(service: RunningService, key: str) -> Iterator[Seen]:
    made = Seen(service, key)
    try:
        yield made
    finally:
        made.close()


@dataclass
class Moving:
    """A folder whose service has ended, its key, and what it answered."""

    data: Path
    key: str
    runs: list[str]
    chat: str
    answers: dict[str, Any]


@pytest.fixture(scope="module")
def ended() -> Iterator[Moving]:
    with running_service() as service, seen(service, service.api_key) as here:
        first = here.run("write notes.txt a paper lantern\nsay done \0 \uffff", sync=True)
        chat = first["chat"]
        for number in range(40):
            here.put(chat, f"Ünï {number}.txt", f"crème {'lantern ' * (number % 7)}soup {number}".encode())
        here.put(chat, "large.bin", LARGE)
        second = here.run("step 1\nsay two\nwrite notes.txt a lantern of paper", sync=True, chat_id=chat)
        runs = [first["run_id"], second["run_id"]]
        until(lambda: here.get("/files/search", chat_id=chat, q="soup")["results"])
        answers = here.all(runs, chat)
        going_on = here.run("step 1\nwait 1\nsay three")["run_id"]
        service.stop()
        yield Moving(service.data, service.api_key, [*runs, going_on], chat, answers)


@pytest.fixture
def moving(ended: Moving, tmp_path: Path) -> Moving:
    """A copy, for the test alone."""
    shutil.copytree(ended.data, tmp_path / "data")
    return Moving(tmp_path / "data", ended.key, ended.runs, ended.chat, ended.answers)


@pytest.fixture
def place(s3: S3Server, moving: Moving) -> Place:
    return Place(s3.address(), secret_of(moving.data))


def secret_of(data: Path) -> str:
    shown = agentsvc("export", data, "--secret")
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.strip()


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]


def agentsvc(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env={**os.environ, **env}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )


def moved(moving: Moving, place: Place) -> str:
    """What the command says that moves the folder."""
    done = agentsvc("export", moving.data, **place.env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def served(place: Place) -> Iterator[RunningService]:
    with running_service(database=place.database, blobs=place.blobs, secret=place.secret) as service:
        yield service


def answers_as_before(moving: Moving, place: Place) -> None:
    with served(place) as service, seen(service, moving.key) as there:
        answers = there.all(moving.runs[:2], moving.chat)
        for what, before in moving.answers.items():
            assert answers[what] == before
        run = until(lambda: there.get(f"/runs/{moving.runs[2]}"), lambda run: run["status"] == "completed")
        assert run["output"] == "three"
        again = there.run("say four", sync=True, chat_id=moving.chat)
        assert again["output"] == "four"


def test_a_moved_service_answers_as_before(moving: Moving, place: Place) -> None:
    """Runs, events, files, contents and search, with the same key; the run that was active goes on; sessions and what
    hashes keys stay."""
    kept = {path: path.read_bytes() for path in (moving.data / "blobs").rglob("*") if path.is_file()}
    told = moved(moving, place)
    assert "43 contents of files (6.0 MB)" in told
    assert f"and {place.blobs}" in told
    assert {path: path.read_bytes() for path in kept} == kept
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM session").fetchone() == (0,)
        names = {name for (name,) in connection.execute("SELECT name FROM meta")}
        assert "pepper" not in names
    answers_as_before(moving, place)


def test_a_moved_folder_is_served_again_only_after_undo(moving: Moving, place: Place) -> None:
    moved(moving, place)
    for refused in (("serve", "--port", 0), ("keys", "create", "--name", "ci")):
        said = agentsvc(*refused, "--data", moving.data)
        assert said.returncode == 1
        assert f"{moving.data} was moved to the database" in said.stderr
        assert "go on here after `agentsvc export --undo" in said.stderr
    assert "was moved to" in agentsvc("doctor", "--data", moving.data).stdout
    assert "can be served again" in agentsvc("export", moving.data, "--undo").stdout
    assert "is not marked as moved" in agentsvc("export", moving.data, "--undo").stdout
    assert agentsvc("keys", "create", "--name", "ci", "--data", moving.data).returncode == 0


def test_again_it_adds_what_is_missing_until_the_target_is_used(moving: Moving, place: Place, s3: S3Server) -> None:
    moved(moving, place)
    assert agentsvc("export", moving.data, "--undo").returncode == 0
    assert agentsvc("keys", "create", "--name", "later", "--data", moving.data).returncode == 0
    moved(moving, place)
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM api_key WHERE name = 'later'").fetchone() == (1,)
    with served(place):
        pass
    refused = agentsvc("export", moving.data, **place.env)
    assert refused.returncode == 1
    assert "The target is in use" in refused.stderr
    other = agentsvc("export", moving.data, **{**place.env, "AGENTSVC_BLOBS": s3.address()})
    assert "`--undo` before it is moved elsewhere" in other.stderr


def test_a_target_with_rows_or_contents_of_others_is_refused(
    moving: Moving, place: Place, tmp_path: Path, s3: S3Server
) -> None:
    moved(moving, place)
    with running_service() as service:
        service.stop()
        secret = secret_of(service.data)
        for env in (
            {**place.env, "AGENTSVC_SECRET": secret},  # its database has rows of the other
            Place(place.blobs, secret).env,  # an empty database, with its contents
        ):
            refused = agentsvc("export", service.data, **env)
            assert refused.returncode == 1
            assert "The target is in use" in refused.stderr or "AGENTSVC_SECRET is another" in refused.stderr
        assert not (service.data / "moved").exists() or '"moved_at": null' in (service.data / "moved").read_text()


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_move_that_is_broken_off_goes_on(moving: Moving, place: Place, sign: signal.Signals) -> None:
    """In the midst of the rows, once contents are there: nothing of the rows is stored, and again it is all done."""
    first = agentsvc("migrate", "--data", moving.data.parent / "other", **place.env)
    assert first.returncode == 0, first.stderr
    with psycopg.connect(place.database) as holder:
        holder.execute("LOCK TABLE run_event IN SHARE MODE")  # reads go on, what writes it waits
        child = subprocess.Popen(
            command("export", moving.data), env={**os.environ, **place.env}, stderr=subprocess.PIPE, text=True
        )
        until(lambda: _waits(place), patience=PATIENCE_SECONDS)
        child.send_signal(sign)
        _, said = child.communicate(timeout=PATIENCE_SECONDS)
        assert child.returncode == (130 if sign == signal.SIGINT else -signal.SIGKILL)
        assert sign == signal.SIGKILL or "The same again goes on" in said
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM run").fetchone() == (0,)
    assert '"moved_at": null' in (moving.data / "moved").read_text()
    moved(moving, place)
    answers_as_before(moving, place)


def _waits(place: Place) -> bool:
    with psycopg.connect(place.database) as connection:
        locks = "pg_locks JOIN pg_class ON pg_class.oid = relation"
        row = connection.execute(f"SELECT 1 FROM {locks} WHERE relname = 'run_event' AND NOT granted").fetchone()
    return row is not None


def test_a_dump_and_a_copy_of_the_bucket_are_a_backup(moving: Moving, place: Place, s3: S3Server) -> None:
    """As docs/operations.md has it: `pg_dump` beside the service, then the objects; restored into another database and
    another prefix while the first service works."""
    moved(moving, place)
    restored = Place(s3.address(), place.secret)
    dump = moving.data / "monday.dump"
    with served(place) as service, seen(service, moving.key) as there:
        later = there.run("write later.txt a lantern\nsay done", sync=True, chat_id=moving.chat)
        answers = there.all([*moving.runs[:2], later["run_id"]], moving.chat)
        program("pg_dump", "--format=custom", "--exclude-table-data=process", f"--file={dump}", place.database)
        source, target = s3.store(place.blobs), s3.store(restored.blobs)
        for found in obstore.list(source).collect():
            obstore.put(target, found["path"], obstore.get(source, found["path"]).bytes())
        program("pg_restore", f"--dbname={restored.database}", "--no-owner", dump)
        with served(restored) as again, seen(again, moving.key) as back:
            assert back.all([*moving.runs[:2], later["run_id"]], moving.chat) == answers
            assert "all 44 contents of files are in" in agentsvc("doctor", "--data", again.data, **restored.env).stdout


def program(name: str, *arguments: object) -> None:
    """Run a program of PostgreSQL."""
    done = subprocess.run([databases.programs() / name, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_content_that_is_another_in_the_bucket_ends_it(moving: Moving, place: Place, s3: S3Server) -> None:
    name = hashlib.sha256(LARGE).hexdigest()
    moved(moving, place)
    obstore.put(s3.store(place.blobs), f"contents/{name}", bytes(len(LARGE)))
    assert agentsvc("export", moving.data, "--undo").returncode == 0
    refused = agentsvc("export", moving.data, **place.env)
    assert refused.returncode == 1
    assert f"contents/{name} is in the bucket with another content" in refused.stderr
    assert agentsvc("keys", "list", "--data", moving.data).returncode == 0, "it is not marked as moved"


def test_a_content_that_the_folder_lacks_is_told(moving: Moving, place: Place) -> None:
    name = hashlib.sha256(LARGE).hexdigest()
    blob_path(moving.data / "blobs", name).unlink()
    done = agentsvc("export", moving.data, **place.env)
    assert done.returncode == 0
    assert f"The content {name} was missing from the data folder or altered" in done.stderr
    assert "42 contents of files" in done.stdout


def test_the_target_is_never_typed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    address = "postgresql://ada:hunter22@db.example/agents"
    for arguments in ([address], [str(tmp_path), address], [str(tmp_path), "--database", address]):
        with pytest.raises(SystemExit) as ended:
            main(["export", *arguments])
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "the target is named by AGENTSVC_DATABASE and AGENTSVC_BLOBS" in said
        assert "hunter22" not in said


def test_what_is_missing_is_said_before_anything_is_done(moving: Moving, place: Place) -> None:
    env = place.env
    for name, code, said in (
        ("AGENTSVC_DATABASE", 2, "name the target: set both"),
        ("AGENTSVC_BLOBS", 2, "name the target: set both"),
        ("AGENTSVC_SECRET", 1, "has to be the secret with which this folder's keys are hashed"),
    ):
        refused = agentsvc("export", moving.data, **{**env, name: ""})
        assert (refused.returncode, said in refused.stderr) == (code, True), refused.stderr
    wrong = agentsvc("export", moving.data, **{**env, "AGENTSVC_SECRET": secrets.token_hex(32)})
    assert "has to be the secret" in wrong.stderr
    assert "There is no service in" in agentsvc("export", moving.data.parent / "none", **env).stderr
    assert not (moving.data / "moved").exists()


def test_a_folder_that_is_served_is_left_alone(place: Place) -> None:
    with running_service() as service:
        refused = agentsvc("export", service.data, **place.env)
        assert refused.returncode == 75
        assert "Another server holds" in refused.stderr
