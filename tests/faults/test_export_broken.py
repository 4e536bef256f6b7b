"""`agentsvc export` where the target, a disk or the way to it fails: one sentence that says what to do, nothing lost,
and the same again goes on."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg
import pytest

from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.store.postgres import WRITING
from agentsvc_nb.testing import running_service
from tests import databases
from tests.faults.proxy import Fault, Proxy
from tests.faults.test_export import Place, agentsvc, command, secret_of, seen
from tests.s3_server import S3Server
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.sqlite("moves a folder's own database to PostgreSQL")

PASSWORD: Final = "hunter22"
AGAIN: Final = "The folder is as it was; the same again goes on."
NAME: Final = "Ünï – 文.txt"
TEXT: Final = "".join(f"crème {number} lantern " for number in range(15_000))
IN_ROWS: Final = 150_000
"""So many bytes to the database are more than what comes before the rows, and less than they are."""
FILE: Final = os.urandom(12_000_000)
VERY_LARGE: Final = 200_000_000


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    with running_service() as service, seen(service, service.api_key) as here:
        chat = here.run("write notes.txt a paper lantern", sync=True)["chat"]
        here.put(chat, NAME, TEXT.encode())
        here.put(chat, "bytes.bin", FILE)
        until(lambda: here.get("/files/search", chat_id=chat, q="crème")["results"])
        service.stop()
        yield service.data


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    """A copy, for the test alone, in a folder whose name has more than letters."""
    return Path(shutil.copytree(made, tmp_path / "dätä ’of’ 文"))


@pytest.fixture
def place(s3: S3Server, data: Path) -> Place:
    return Place(s3.address(), secret_of(data))


def fails(data: Path, place: Place, *said: str, **env: str) -> None:
    """It ends with one sentence, in which no secret is; the folder is not marked."""
    done = agentsvc("export", data, **{**place.env, **env})
    sentences = [line for line in done.stderr.splitlines() if line.startswith("agentsvc: ")]
    assert (done.returncode, len(sentences), "Traceback" in done.stderr) == (1, 1, False), done.stderr
    assert [part for part in said if part not in sentences[0]] == [], sentences[0]
    assert not {PASSWORD, place.secret} & set(done.stderr.replace(":", " ").split())
    not_moved(data)


def not_moved(data: Path) -> None:
    assert not (data / "moved").exists() or '"moved_at": null' in (data / "moved").read_text()


def goes_on(data: Path, place: Place) -> None:
    """The same again moves all of it."""
    done = agentsvc("export", data, **place.env)
    assert done.returncode == 0, done.stderr
    with psycopg.connect(place.database) as connection:
        stored = connection.execute("SELECT file_name, size_bytes FROM file").fetchall()
        assert {(NAME, len(TEXT.encode())), ("bytes.bin", len(FILE))} < set(stored)
        text = connection.execute("SELECT text FROM file_text WHERE path LIKE %s", [f"%{NAME}"]).fetchone()
        assert text == (TEXT,)
        words = connection.execute("SELECT count(*) FROM file_words").fetchone()
        assert words == connection.execute("SELECT count(*) FROM file_text").fetchone()


def execute(sql: str, name: str = "postgres") -> None:
    with psycopg.connect(databases.server().address(name), autocommit=True) as connection:
        connection.execute(sql.encode())


@pytest.fixture(scope="module")
def unusable() -> dict[str, str]:
    """What is said of databases that can't be the target, by their address."""
    server = databases.server()
    hba = server.folder / "data" / "pg_hba.conf"
    hba.write_text(f"local walled all scram-sha-256\n{hba.read_text()}")
    for sql in (
        "SELECT pg_reload_conf()",
        "ALTER ROLE postgres PASSWORD 'another'",
        "CREATE ROLE ada LOGIN",
        "CREATE DATABASE walled",
        "CREATE DATABASE latin ENCODING 'SQL_ASCII' TEMPLATE template0",
        "CREATE DATABASE others",
        "CREATE DATABASE read_only",
        "ALTER DATABASE read_only SET default_transaction_read_only = on",
    ):
        execute(sql)
    execute("CREATE TABLE meta (x int)", "others")

    def address(name: str, user: str = "postgres") -> str:
        return server.address(name).replace("postgres@", f"{user}:{PASSWORD}@", 1)

    return {
        address("nothere"): 'The database refuses the service: connection failed: .*database "nothere" does not exist',
        address("walled"): "refuses the service: .*password authentication failed",
        server.address("walled"): "refuses the service: .*no password supplied",
        f"postgresql://ada:{PASSWORD}@/x?host=/nowhere": "The database does not answer: ",
        address("postgres", "ada"): "can't be used (permission denied",
        address("others"): "can't be used (column",
        address("read_only"): "can't be used (cannot execute",
        address("latin"): "encoding is",
    }


def test_a_database_that_can_not_be_used_is_one_sentence(data: Path, place: Place, unusable: dict[str, str]) -> None:
    for address, said in unusable.items():
        fails(data, place, *said.split(".*"), AGENTSVC_DATABASE=address)
    goes_on(data, place)


def test_who_waits_for_another_writer_is_told(data: Path, place: Place) -> None:
    """In the folder's database and in the target's: in the time that any write waits."""
    with contextlib.closing(sqlite3.connect(DataFolder(data).database, isolation_level=None)) as beside:
        beside.execute("BEGIN IMMEDIATE")
        fails(data, place, "Another process is writing to ")
    assert agentsvc("migrate", "--data", data.parent / "other", **place.env).returncode == 0
    with psycopg.connect(place.database) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s)", [WRITING])
        fails(data, place, "Another process is writing to the database", AGAIN)
    goes_on(data, place)


def test_of_two_at_once_one_moves_the_folder(data: Path, place: Place) -> None:
    ended = at_once(place, data, data)
    assert sorted(code for code, _ in ended) == [0, 75]
    assert "Another server holds" in "".join(said for code, said in ended if code == 75)


def test_of_two_folders_at_once_one_has_the_target(data: Path, place: Place) -> None:
    twin = Path(shutil.copytree(data, data.with_name("twin")))
    ended = at_once(place, data, twin)
    assert sorted(code for code, _ in ended) == [0, 1]
    assert "The target is in use" in "".join(said for code, said in ended if code == 1)
    (refused,) = (folder for folder, (code, _) in zip((data, twin), ended, strict=True) if code)
    not_moved(refused)


def at_once(place: Place, *folders: Path) -> list[tuple[int, str]]:
    """Exit code and what is said of one move each."""
    env = {**os.environ, **place.env}
    moves = [subprocess.Popen(command("export", one), env=env, stderr=subprocess.PIPE, text=True) for one in folders]
    said = [move.communicate(timeout=PATIENCE_SECONDS)[1] for move in moves]
    return [(move.returncode, text) for move, text in zip(moves, said, strict=True)]


def test_a_folder_whose_disk_is_full_is_moved_when_there_is_room(data: Path, place: Place) -> None:
    done = subprocess.run(
        command("export", data),
        env={**os.environ, **place.env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "The disk is full" in done.stderr
    not_moved(data)
    goes_on(data, place)


def test_a_database_whose_disk_is_full_has_no_row_until_there_is_room(data: Path, place: Place, tmp_path: Path) -> None:
    with small_disk() as (server, disk):
        place.database = server.new_database()
        assert agentsvc("migrate", "--data", tmp_path / "other", **place.env).returncode == 0
        ballast = disk / "ballast"
        with ballast.open("wb", buffering=0) as full, contextlib.suppress(OSError):
            while True:
                full.write(bytes(10_000))
        os.truncate(ballast, ballast.stat().st_size - 100_000)  # the server itself needs a little
        fails(data, place, "The database's disk is full (could not extend file", AGAIN)
        with psycopg.connect(place.database) as connection:
            assert connection.execute("SELECT count(*) FROM run").fetchone() == (0,)
        ballast.unlink()
        goes_on(data, place)


@contextlib.contextmanager
def small_disk() -> Iterator[tuple[databases.PostgresServer, Path]]:
    """A server whose new databases, but not its log, lie on a disk of few megabytes; and where that disk is."""
    server = databases.PostgresServer()
    disk = server.folder / "small"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=30m", "tmpfs", disk], capture_output=True)
    try:
        if mounted.returncode:
            pytest.skip("only root can mount a small disk")
        (disk / "databases").mkdir()
        for folder in (disk, disk / "databases"):
            shutil.chown(folder, "postgres")
        with psycopg.connect(server.address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE TABLESPACE small LOCATION '{disk / 'databases'}'".encode())
            connection.execute("ALTER SYSTEM SET default_tablespace = small")
            connection.execute("SELECT pg_reload_conf()")
        yield server, disk
    finally:
        server.stop()
        if not mounted.returncode:
            subprocess.run(["umount", disk], check=True)
        server.remove()


@pytest.fixture
def reached(data: Path) -> Iterator[tuple[str, str]]:
    """A new database of a server of its own: the server's address by TCP, and the database's with `{}` for that."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = databases.PostgresServer(f"-c listen_addresses=127.0.0.1 -c port={port} -c fsync=off")
    try:
        yield f"http://127.0.0.1:{port}", "postgresql://postgres@{}/postgres"
    finally:
        server.remove()


def test_a_cut_network_to_the_database_is_told(data: Path, place: Place, reached: tuple[str, str]) -> None:
    server, database = reached
    place.database = database.format(server.removeprefix("http://"))
    with Proxy(server, [Fault("cut", IN_ROWS, "up")] * 200) as proxy:
        through = database.format(proxy.base_url.removeprefix("http://"))
        fails(data, place, "The database does not answer: ", AGAIN, AGENTSVC_DATABASE=through)
        assert proxy.struck > 1, "it was tried again"
    with psycopg.connect(place.database) as connection:
        assert connection.execute("SELECT count(*) FROM run").fetchone() == (0,)
    goes_on(data, place)


def test_ctrl_c_ends_a_move_whose_database_stands_still(data: Path, place: Place, reached: tuple[str, str]) -> None:
    server, database = reached
    place.database = database.format(server.removeprefix("http://"))
    with Proxy(server, [Fault("stall", IN_ROWS, "up")] * 200) as proxy:
        through = database.format(proxy.base_url.removeprefix("http://"))
        env = {**os.environ, **place.env, "AGENTSVC_DATABASE": through}
        child = subprocess.Popen(command("export", data), env=env, stderr=subprocess.PIPE, text=True)
        until(lambda: proxy.struck, patience=PATIENCE_SECONDS)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=PATIENCE_SECONDS)
    assert (child.returncode, "The same again goes on" in said) == (130, True), said
    not_moved(data)
    goes_on(data, place)


def test_a_cut_network_to_the_bucket_is_waited_for_and_then_told(data: Path, place: Place, s3: S3Server) -> None:
    with Proxy(s3.url, [Fault("cut", 1_000_000, "up")] * 5_000) as proxy:
        fails(data, place, "The store of contents (S3) can't be reached", AGAIN, AWS_ENDPOINT_URL=proxy.base_url)
        assert proxy.struck > 1, "it was tried again"
    with Proxy(s3.url, [Fault("reset", 1_000_000, "up")] * 3) as proxy:
        once = agentsvc("export", data, **{**place.env, "AWS_ENDPOINT_URL": proxy.base_url})
        assert (once.returncode, proxy.struck > 0) == (0, True), "it went on by itself"
    assert agentsvc("export", data, "--undo").returncode == 0
    goes_on(data, place)


def test_a_folder_without_a_service_and_one_that_did_nothing(tmp_path: Path, place: Place, s3: S3Server) -> None:
    (tmp_path / "empty").mkdir()
    fails(tmp_path / "empty", place, "There is no service in ")
    with running_service() as service:
        service.stop()
        done = agentsvc("export", service.data, **Place(s3.address(), secret_of(service.data)).env)
    assert done.returncode == 0, done.stderr
    assert "1 rows and 0 contents of files (0.0 MB)" in done.stdout


def test_a_very_large_file_is_never_in_memory(place: Place, s3: S3Server) -> None:
    used = []
    for size in (1_000, VERY_LARGE):
        with running_service(max_file_bytes=VERY_LARGE) as service, seen(service, service.api_key) as here:
            chat = here.run("say hello", sync=True)["chat"]
            here.put(chat, "large.bin", os.urandom(size))
            service.stop()
            used.append(memory_of_a_move(service.data, Place(s3.address(), secret_of(service.data))))
    assert used[1] - used[0] < VERY_LARGE / 3  # some ten parts of 5 MB are on their way


def memory_of_a_move(data: Path, place: Place) -> int:
    """Bytes that the command had in memory at most: its own count, which what started it does not alter."""
    program = (
        "import sys, pathlib; from agentsvc_nb.cli import main; code = main(sys.argv[1:]); "
        "print(pathlib.Path('/proc/self/status').read_text()); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "export", str(data)],
        env={**os.environ, **place.env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    (found,) = [line for line in done.stdout.splitlines() if line.startswith("VmHWM:")]
    return int(found.split()[1]) * 1024
