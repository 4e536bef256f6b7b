"""A backup restored elsewhere: a folder's service on PostgreSQL and S3, and the way back. It answers as before with
equal rows, and a restore that is broken off can be begun again."""

from __future__ import annotations

import hashlib
import os
import secrets
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import obstore
import psycopg
import pytest

from agentsvc_nb.service.backup.archive import list_tables
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.keyring import open_database
from agentsvc_nb.service.ports import Tx
from agentsvc_nb.service.store.migrations import read_steps
from agentsvc_nb.testing import RunningService, running_service
from agentsvc_nb.wire.routes import V1
from tests.faults.proxy import Fault, Proxy
from tests.support import databases
from tests.support.s3_server import S3Server
from tests.support.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.sqlite("moves between the databases"), pytest.mark.timeout(600)]

TEXT = "".join(f"crème {number} lantern " for number in range(15_000))
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
        key = {"Idempotency-Key": secrets.token_hex()}
        answer = self._http.post("/runs", json={"message": message, **fields}, headers=key)
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
    """A backup of a folder whose service has ended, the key, and what the service answered."""

    data: Path
    backup: Path
    key: str
    runs: list[str]
    chat: str
    answers: dict[str, Any]


@pytest.fixture(scope="module")
def moving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moving]:
    with running_service() as service, seen(service, service.api_key) as here:
        first = here.run("write notes.txt a paper lantern\nusage 9000 700\nsay done \0 \uffff", sync=True)
        chat = first["chat"]
        for number in range(40):
            here.put(chat, f"Ünï {number}.txt", f"crème {'lantern ' * (number % 7)}soup {number}".encode())
        here.put(chat, "large.bin", LARGE)
        here.put(chat, "long.txt", TEXT.encode())
        second = here.run("step 1\nsay two\nwrite notes.txt a lantern of paper", sync=True, chat_id=chat)
        runs = [first["run_id"], second["run_id"]]
        for q in ("soup", "14999"):  # the last words of the last files
            until(lambda q=q: here.get("/files/search", chat_id=chat, q=q)["results"])  # type: ignore[misc]
        answers = here.all(runs, chat)
        going_on = here.run("step 1\nwait 1\nsay three")["run_id"]
        service.stop()
        backup = tmp_path_factory.mktemp("moving") / "all.tar"
        done(agentsvc("backup", backup, "--data", service.data))
        yield Moving(service.data, backup, service.api_key, [*runs, going_on], chat, answers)


@pytest.fixture
def place(s3: S3Server, moving: Moving) -> Place:
    return Place(s3.address(), secret_of(moving.backup))


def secret_of(backup: Path) -> str:
    return done(agentsvc("restore", backup, "--secret")).strip()


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "agentsvc_nb", *map(str, arguments)]


def agentsvc(*arguments: object, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), env={**os.environ, **env}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )


def done(process: subprocess.CompletedProcess[str]) -> str:
    """What a command printed that succeeded."""
    assert process.returncode == 0, process.stderr
    return process.stdout


def fails(process: subprocess.CompletedProcess[str], said: str, code: int = 1) -> None:
    """The command ended with one sentence, in which no secret is."""
    sentences = [line for line in process.stderr.splitlines() if line.startswith("agentsvc: ")]
    assert (process.returncode, len(sentences), "Traceback" in process.stderr) == (code, 1, False), process.stderr
    assert said in sentences[0]


@contextmanager
def served(place: Place) -> Iterator[RunningService]:
    with running_service(database=place.database, blobs=place.blobs, secret=place.secret) as service:
        yield service


def rows(folder: DataFolder) -> dict[str, list[str]]:
    """All rows that a backup has, by table."""

    def read(tx: Tx) -> dict[str, list[str]]:
        found = {}
        for table, columns in list_tables(len(read_steps())).items():
            query = f"SELECT {', '.join(column.name for column in columns)} FROM {table}"
            found[table] = sorted(repr(list(values)) for values in tx.stream(query))
        return found

    with open_database(folder) as database:
        return database.read(read)


def answers_as_before(moving: Moving, service: RunningService) -> None:
    """Also the run that was active goes on, and another is numbered after it."""
    with seen(service, moving.key) as there:
        answers = there.all(moving.runs[:2], moving.chat)
        for what, before in moving.answers.items():
            assert answers[what] == before
        run = until(lambda: there.get(f"/runs/{moving.runs[2]}"), lambda run: run["status"] == "completed")
        assert run["output"] == "three"
        again = there.run("say four\nwrite notes.txt a fourth lantern", sync=True, chat_id=moving.chat)
        assert again["output"] == "four"


def bill(data: Path, **env: str) -> str:
    return done(agentsvc("account", "show", "--json", "--data", data, **env))


def test_a_service_in_postgresql_and_s3_and_back(moving: Moving, place: Place, tmp_path: Path) -> None:
    """Rows, the bill, contents, search and keys; nothing of the folder is removed, and no secret goes over."""
    before, billed = rows(DataFolder(moving.data)), bill(moving.data)
    assert all(before[table] for table in ("run", "run_event", "file_text", "usage", "idempotency"))
    there = DataFolder(tmp_path / "there", place.database, place.secret)
    told = done(agentsvc("restore", moving.backup, "--data", there.path, **place.env))
    assert "44 contents of files (6.3 MB)" in told
    assert "agentsvc serve --work --data" in told
    assert rows(there) == before
    assert bill(there.path, **place.env) == billed
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM meta WHERE name = 'pepper'").fetchone() == (0,)

    back, again = tmp_path / "back.tar", DataFolder(tmp_path / "again")
    done(agentsvc("backup", back, "--data", there.path, **place.env))
    assert place.secret.encode() not in back.read_bytes()
    for env in ({}, {"AGENTSVC_SECRET": secrets.token_hex(32)}):
        fails(agentsvc("restore", back, "--data", again.path, **env), "AGENTSVC_SECRET must be the secret")
        assert not again.has_database()
    done(agentsvc("restore", back, "--data", again.path, AGENTSVC_SECRET=place.secret))
    assert rows(again) == before
    assert bill(again.path) == billed

    with served(place) as service:
        answers_as_before(moving, service)
    service = RunningService(again.path, "scripted", {})
    service.start()
    try:
        answers_as_before(moving, service)
    finally:
        service.stop()


def contents_of(archive: Path) -> dict[str, bytes]:
    """The members of a backup that do not tell its time."""
    with tarfile.open(archive) as tar:
        named = [member for member in tar if member.name not in ("manifest.json", "end.json")]
        return {member.name: found.read() for member in named if (found := tar.extractfile(member))}


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_restore_that_is_broken_off_is_begun_again(
    moving: Moving, place: Place, tmp_path: Path, sign: signal.Signals
) -> None:
    """In the midst of the rows: nothing of them is stored."""
    there = tmp_path / "there"
    done(agentsvc("migrate", "--data", there, **place.env))
    with psycopg.connect(place.database) as holder:
        holder.execute("LOCK TABLE run_event IN SHARE MODE")  # reads go on, what writes it waits
        child = subprocess.Popen(
            command("restore", moving.backup, "--data", there),
            env={**os.environ, **place.env},
            stderr=subprocess.PIPE,
        )
        until(lambda: _waits(place), patience=PATIENCE_SECONDS)
        child.send_signal(sign)
        child.communicate(timeout=PATIENCE_SECONDS)
        assert child.returncode == (130 if sign == signal.SIGINT else -signal.SIGKILL)
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM run").fetchone() == (0,)
    done(agentsvc("restore", moving.backup, "--data", there, **place.env))
    with served(place) as service:
        answers_as_before(moving, service)


def _waits(place: Place) -> bool:
    with psycopg.connect(place.database) as connection:
        locks = "pg_locks JOIN pg_class ON pg_class.oid = relation"
        row = connection.execute(f"SELECT 1 FROM {locks} WHERE relname = 'run_event' AND NOT granted").fetchone()
    return row is not None


def test_a_restore_whose_bucket_is_cut_off_is_begun_again(
    moving: Moving, place: Place, s3: S3Server, tmp_path: Path
) -> None:
    """Contents that are there by then are kept; a prefix that was not begun by a restore is refused."""
    restore = ("restore", moving.backup, "--data", tmp_path / "there")
    with Proxy(s3.url, [Fault("cut", 1_000_000, "up")] * 5_000) as proxy:
        cut = agentsvc(*restore, **{**place.env, "AWS_ENDPOINT_URL": proxy.base_url})
    fails(cut, "The file store (S3) can't be reached")
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM run").fetchone() == (0,)
    assert obstore.list(s3.store(place.blobs)).collect()
    done(agentsvc(*restore, **place.env))
    names = {found["path"].removeprefix("contents/") for found in obstore.list(s3.store(place.blobs)).collect()}
    assert names == {found.removeprefix("contents/") for found in contents_of(moving.backup) if "contents/" in found}


def test_a_target_in_use_is_refused(moving: Moving, place: Place, tmp_path: Path, s3: S3Server) -> None:
    restore = ("restore", moving.backup, "--data", tmp_path / "there")
    done(agentsvc(*restore, **place.env))
    fails(agentsvc(*restore, **place.env), "The database of AGENTSVC_DATABASE is not empty")
    other = Place(place.blobs, place.secret)
    fails(agentsvc(*restore, **other.env), f"{place.blobs} is in use")
    fails(agentsvc("restore", moving.backup, "--data", moving.data, **place.env), "names another database")
    with psycopg.connect(other.database) as connection:
        assert connection.execute("SELECT COUNT(*) FROM run").fetchone() == (0,)


def test_keys_that_would_be_unknown_are_refused(moving: Moving, place: Place, tmp_path: Path) -> None:
    wrong = {**place.env, "AGENTSVC_SECRET": secrets.token_hex(32)}
    there = tmp_path / "there"
    fails(agentsvc("restore", moving.backup, "--data", there, **wrong), "`agentsvc restore FILE --secret` prints it")
    done(agentsvc("restore", moving.backup, "--data", there, **place.env))
