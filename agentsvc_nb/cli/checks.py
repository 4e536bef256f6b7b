"""The checks of `agentsvc doctor`: the machine, the data folder, and the folder's server, port and database. Each check
yields findings.

This module is imported only when `doctor` runs.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import socket
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from agentsvc_nb import clock, embedded
from agentsvc_nb.cli.findings import Finding, fail, note, ok, warn
from agentsvc_nb.extras import pip_install
from agentsvc_nb.model_names import DIRECT_CALL
from agentsvc_nb.service.accounts import accounts
from agentsvc_nb.service.config import load_config
from agentsvc_nb.service.files import file_records
from agentsvc_nb.service.folder import DataFolder, FolderFault, ReadyFile
from agentsvc_nb.service.ports import BlobsUnavailable, StoreUnavailable, StoreUnusable, Tx
from agentsvc_nb.service.runs import process_records
from agentsvc_nb.service.serve import PORT
from agentsvc_nb.service.sql import newest_time
from agentsvc_nb.service.store import create_blobs, create_database, describe_blob_place, migrations, sqlite
from agentsvc_nb.service.store.blobs import blob_path, is_intact
from agentsvc_nb.service.times import rfc3339
from agentsvc_nb.settings import Settings, SettingsError
from agentsvc_nb.wire.proxies import find_setting_faults

if TYPE_CHECKING:
    from agentsvc_nb.service.store.postgres import ServerStatus

T = TypeVar("T")

MIN_PYTHON: Final = (3, 11)
MIN_SQLITE: Final = (3, 35, 0)  # the first version that supports RETURNING
CREATE_FTS5: Final = "CREATE VIRTUAL TABLE words USING fts5 (word, tokenize = 'ascii', prefix = '2 3')"
OPTIONAL_PACKAGES: Final = {"jupyterlab": "agentsvc lab"}
FREE_FAIL_BYTES: Final = 50_000_000
FREE_WARN_BYTES: Final = 1_000_000_000
CLOCK_TOLERANCE_MS: Final = 60_000
CLOCKS_APART_MS: Final = 5_000
PLAUSIBLE_YEARS: Final = range(2025, 2100)
_RESTORE_FIX: Final = "agentsvc restore BACKUP --data ANOTHER_FOLDER"


def check_python(_: DataFolder) -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < MIN_PYTHON:
        yield fail(f"this is Python {version}", "install Python 3.11 or later, and agentsvc-nb in it")
    else:
        yield ok(f"{version} at {sys.executable}")


def check_packages(_: DataFolder) -> Iterator[Finding]:
    missing = _missing_packages()
    if missing is None:
        yield note("agentsvc-nb is not installed, but runs from its source, so its dependencies were not checked")
    elif missing:
        yield fail(f"not installed: {', '.join(missing)}", "pip install --upgrade agentsvc-nb")
    else:
        yield ok("all dependencies of the service are installed")
    for module, use in OPTIONAL_PACKAGES.items():
        if importlib.util.find_spec(module) is None:
            yield note(f"{module} is not installed; {use} needs it: {pip_install('lab')}")


def _missing_packages() -> list[str] | None:
    """Return the missing required packages, or None if agentsvc-nb has no installed metadata that lists them."""
    try:
        required = importlib.metadata.requires("agentsvc-nb") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    names = [re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line]
    return [name for name in names if not _is_installed(name)]


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def check_sqlite(_: DataFolder) -> Iterator[Finding]:
    fix = "use a Python with a newer sqlite3, such as from python.org or conda"
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        yield fail(f"SQLite {sqlite3.sqlite_version} is too old; the service needs 3.35", fix)
        return
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(CREATE_FTS5)
    except sqlite3.OperationalError as error:
        yield fail(f"SQLite {sqlite3.sqlite_version} has no full-text search ({error})", fix)
    else:
        yield ok(f"{sqlite3.sqlite_version}, with full-text search (FTS5)")


def check_network(_: DataFolder) -> Iterator[Finding]:
    """Check that the environment variables for proxies and certificates are valid."""
    faults = list(find_setting_faults())
    for error in faults:
        yield warn(error.fault, f"{error.remedy[0].lower()}{error.remedy[1:]}")
    if not faults:
        yield ok("the variables for proxies and certificates are valid")


def check_server(folder: DataFolder) -> Iterator[Finding]:
    """If a server holds the folder's lock, check that this server responds."""
    record = ReadyFile.read(folder.ready)
    held = embedded.is_held(folder)
    started = clock.monotonic()
    try:
        ready = embedded.status(folder.path)
    except embedded.EmbeddedError as error:
        yield fail(str(error), "restart the service")
        return
    took = (clock.monotonic() - started) * 1000
    if ready is not None:
        yield ok(f"process {ready.pid} (version {ready.version}) answered at {ready.base_url} in {took:.0f} ms")
    elif held:
        holder = f"process {record.pid}" if record else "a process"
        fix = f"agentsvc stop --data {shlex.quote(str(folder.path))}, and read {folder.log}"
        yield fail(f"{holder} uses {folder.path} and does not answer: it is starting, stopping or hanging", fix)
    elif record is not None:
        yield warn(
            f"process {record.pid} was killed and left its ready.json",
            "start the service again, which replaces the file",
        )
    else:
        yield note("no service is running")


def check_port(folder: DataFolder) -> Iterator[Finding]:
    """Check that the default port and the port of the folder's last server are free."""
    if embedded.is_held(folder):
        return  # the port is in use by the folder's own server
    for number in sorted({PORT, folder.last_port()} - {0}):
        if _is_free(number):
            yield ok(f"{number} is free")
        else:
            yield warn(f"another program uses the port {number}", "agentsvc serve --port 0, or stop that program")


def _is_free(number: int) -> bool:
    with socket.socket() as probe:
        if os.name == "posix":  # as for the server, a port that was just closed counts as free
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except (OSError, OverflowError):
            return False
    return True


def check_data_folder(folder: DataFolder) -> Iterator[Finding]:
    """Check that Python and SQLite can write to the folder, and that its disk has enough free space."""
    existing = next(path for path in (folder.path, *folder.path.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        yield fail(f"{existing} is not writable", "choose another folder with --data or AGENTSVC_DATA")
        return
    try:
        folder.check_owner()
        folder.check_database()
    except FolderFault as error:
        yield fail(error.fault, error.remedy)
        return
    if folder.address:
        yield ok(f"{folder.path} is writable; the database is in PostgreSQL")
    elif not folder.database.exists():
        yield note(f"no service has run in {folder.path} yet; the first service creates the folder")
    elif fault := _sqlite_fault(folder.path):
        yield fail(f"SQLite does not work in {folder.path} ({fault})", "use a folder on a local disk (--data)")
    else:
        yield ok(f"{folder.path} is writable")
    yield _free_space(existing)


def _sqlite_fault(path: Path) -> str | None:
    with tempfile.TemporaryDirectory(dir=path, prefix=".doctor-") as scratch:
        try:
            with closing(sqlite3.connect(Path(scratch, "try.sqlite3"))) as connection:
                mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                connection.execute("CREATE TABLE try (x)")
        except sqlite3.OperationalError as error:
            return str(error)
    return None if mode == "wal" else f"write-ahead logging is unavailable (mode {mode})"


def _free_space(path: Path) -> Finding:
    free = shutil.disk_usage(path).free
    what = f"{free / 1_000_000:,.0f} MB are free on the disk of {path}"
    if free >= FREE_WARN_BYTES:
        return ok(what)
    return Finding("warn" if free >= FREE_FAIL_BYTES else "fail", what, "free some space, or use another disk (--data)")


def check_schema(folder: DataFolder) -> Iterator[Finding]:
    try:
        versions = _schema_versions(folder)
    except sqlite3.DatabaseError as error:
        yield fail(f"{folder.database} is not a readable database ({error})", _RESTORE_FIX)
        return
    except (StoreUnavailable, StoreUnusable):  # reported by `check_database`
        return
    if versions is None:
        return
    found, known, usable = versions
    if found > known and not usable:
        yield fail(
            f"a newer version wrote the database (schema {found}; this version supports {known})",
            "pip install -U agentsvc-nb",
        )
    elif found > known:
        yield note(f"schema {found} of a newer version is compatible with schema {known} of this version")
    elif not found:
        yield note("no service has used the database yet; the first service creates the schema")
    elif found < known:
        how = "pg_dump" if folder.address else "agentsvc backup"
        yield note(f"schema {found}: the next start migrates it to {known}; make a backup first ({how})")
    else:
        yield ok(f"schema {found} is up to date")


def check_database(folder: DataFolder) -> Iterator[Finding]:
    """Check the integrity of the SQLite database, or check that PostgreSQL responds."""
    if folder.address:
        try:
            yield ok(f"PostgreSQL {_server_status(folder).server} answers; check and back it up with its own tools")
            yield from _check_secret(folder)
            yield from _check_workers(folder)
        except (StoreUnavailable, StoreUnusable) as error:
            yield fail(str(error), "check AGENTSVC_DATABASE and the database server")
    elif folder.database.exists():
        try:
            damage = sqlite.find_damage(folder.database)
        except sqlite3.DatabaseError as error:
            damage = str(error)
        yield (
            ok("the database is intact")
            if damage is None
            else fail(f"the database is damaged ({damage})", _RESTORE_FIX)
        )


def _check_secret(folder: DataFolder) -> Iterator[Finding]:
    """Check that the API keys in a shared database are hashed with the configured secret."""
    fix = "set AGENTSVC_SECRET to the value that all processes on the database use"
    if folder.secret is None:
        yield fail("AGENTSVC_SECRET is not set, so no process can start", fix)
    elif _read(folder, lambda tx: accounts.knows_shared_secret(tx, str(folder.secret))) is False:
        yield fail("AGENTSVC_SECRET does not match the API keys of the database", fix)


def _check_workers(folder: DataFolder) -> Iterator[Finding]:
    """Check that some process executes the runs of a shared database, and that all processes share one blob store."""
    living = _read(folder, process_records.list_living)
    settings = _settings(folder)
    if living is None or settings is None:
        return
    own = describe_blob_place(settings)
    if others := {process.contents for process in living} - {own}:
        what = (
            f"other processes on the database store the contents of files in {min(others)}, but this one would "
            f"use {own}"
        )
        yield fail(what, "set the same AGENTSVC_BLOBS (s3://...) for all processes")
    workers = [process for process in living if process.works]
    if workers:
        models = ", ".join(
            sorted({model for process in workers for model in process.models.splitlines()} - {DIRECT_CALL})
        )
        yield ok(f"{len(workers)} of {len(living)} processes on the database execute runs (model: {models})")
    elif living:
        yield warn(
            "no process executes runs, so accepted runs are waiting", "agentsvc worker, or agentsvc serve --work"
        )


def check_contents(folder: DataFolder) -> Iterator[Finding]:
    """Check that the blob store has the content of each file.

    If the blob store is a folder on this machine, also check that each content matches its hash.
    """
    expected = _read(folder, file_records.referenced_contents)
    settings = _settings(folder)
    if settings is not None and settings.blobs is not None:
        yield _check_bucket(settings, expected or set())
        return
    if expected is None:
        return
    fix = "restore them from the backup of the blobs folder" if folder.address else _RESTORE_FIX
    paths = [blob_path(folder.blobs, sha256) for sha256 in expected]
    present = [path for path in paths if path.is_file()]
    altered = [path for path in present if not is_intact(path)]
    if missing := len(paths) - len(present):
        yield fail(f"{missing:,} of {len(paths):,} contents of files are missing", fix)
    if altered:
        what = f"{len(altered):,} of {len(paths):,} contents of files were altered on the disk, such as {altered[0]}"
        yield fail(what, fix)
    if not missing and not altered:
        yield ok(f"all {len(paths):,} contents of files exist and match their hashes")


def _check_bucket(settings: Settings, expected: set[str]) -> Finding:
    try:
        missing = len(expected - asyncio.run(create_blobs(settings).names()))
    except BlobsUnavailable as error:
        return fail(error.message, "check AGENTSVC_BLOBS and the AWS_* variables")
    if missing:
        what = f"{missing:,} of {len(expected):,} contents of files are missing from {settings.blobs}"
        return fail(what, "restore them from the bucket's versions or its backup")
    return ok(f"all {len(expected):,} contents of files are in {settings.blobs}")


def check_clock(folder: DataFolder) -> Iterator[Finding]:
    now = clock.now_ms()
    year = clock.now().year
    last = _read(folder, newest_time)
    if year not in PLAUSIBLE_YEARS:
        yield fail(f"the year is {year}", "set the machine's clock")
    elif last is not None and last > now + CLOCK_TOLERANCE_MS:
        yield fail(
            f"it is {rfc3339(now)}, which is before the newest record of {rfc3339(last)}", "set the machine's clock"
        )
    else:
        yield ok(rfc3339(now))
    if folder.address:
        yield from _check_clocks(folder)


def _check_clocks(folder: DataFolder) -> Iterator[Finding]:
    """Check that the clocks of the database server and this machine agree. The service detects dead processes by the
    clock of the database server, but shows users the times of this machine's clock.
    """
    try:
        apart = clock.now_ms() - _server_status(folder).clock
    except (StoreUnavailable, StoreUnusable):  # reported by `check_database`
        return
    if abs(apart) > CLOCKS_APART_MS:
        how = "ahead of" if apart > 0 else "behind"
        yield warn(
            f"this machine's clock is {abs(apart) / 1000:,.0f} s {how} the database server's",
            "synchronize both clocks with NTP",
        )


def _schema_versions(folder: DataFolder) -> tuple[int, int, bool] | None:
    """Return the schema version of the database, the newest schema version that this agentsvc-nb knows, and whether it
    can use the database. Return None if no database exists.
    """
    if folder.address:
        looked = _server_status(folder)
        return looked.schema, looked.newest, looked.schema >= looked.newest and not looked.too_new
    if not folder.database.exists():
        return None
    with sqlite.connect_existing(folder.database) as connection:
        found, known = migrations.version(connection), len(migrations.read_steps())
        return found, known, found == known


def _settings(folder: DataFolder) -> Settings | None:
    """Return the settings with which a service would start, or None if one is invalid (`check_settings` reports it)."""
    try:
        return load_config(folder.path).settings
    except SettingsError:
        return None


def _server_status(folder: DataFolder) -> ServerStatus:
    from agentsvc_nb.service.store.postgres import PostgresDatabase

    with closing(create_database(folder)) as database:
        assert isinstance(database, PostgresDatabase)
        database.patience = 0.0  # do not retry, so that a database that does not respond is reported immediately
        return database.status()


def _read(folder: DataFolder, query: Callable[[Tx], T]) -> T | None:
    """Return a query's result, or None if the database is missing or damaged, or has an unusable schema version."""
    try:
        versions = _schema_versions(folder)
        if versions is None or not versions[2]:
            return None
        with closing(create_database(folder)) as database:
            return database.read(query)
    except (sqlite3.DatabaseError, StoreUnavailable, StoreUnusable):  # reported by `check_database`
        return None


CHECKS: Final[Mapping[str, Callable[[DataFolder], Iterator[Finding]]]] = {
    "python": check_python,
    "packages": check_packages,
    "sqlite": check_sqlite,
    "network": check_network,
    "data": check_data_folder,
    "server": check_server,
    "port": check_port,
    "schema": check_schema,
    "database": check_database,
    "contents": check_contents,
    "clock": check_clock,
}
"""All checks, in the order in which they run."""
