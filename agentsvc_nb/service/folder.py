"""A service's data folder: the files' paths, permissions and lock (docs/api/embedded.md "The data folder")."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Final

from agentsvc_nb.service.disk import inode
from agentsvc_nb.wire.reading import read_json

LOG_MAX_BYTES: Final = 10_000_000


class FolderHeld(Exception):
    """Another server holds the folder's lock. The message says what to do."""


class NoService(Exception):
    """No service has ever run in the folder."""


class FolderFault(OSError):
    """The folder can't be used, and nothing in it was changed. The message gives the reason and the remedy."""

    def __init__(self, fault: str, remedy: str) -> None:
        super().__init__(f"{fault}: {remedy}.")
        self.fault, self.remedy = fault, remedy


class ForeignFolder(FolderFault):
    """The folder contains files of another program."""


_OUR_FILES: Final = re.compile(
    r"lock|blobs|blobs\.lock|cache|tables|ready\.json|key|service\.sqlite3(-wal|-shm)?(\.old)?|models?|port|settings\.json"
    r"|mcp(?:-seen)?\.json|model-keys\.json"
    r"|serve\.log(\.\d+)?"
    r"|\.restore-.*|\.doctor-.*|\.(ready\.json|key|port|settings\.json|mcp(?:-seen)?\.json|model-keys\.json)\..*"
    r"|lost\+found|\.snapshot|\.nfs.*|\.Trash-.*|\.fseventsd|System Volume Information|\$RECYCLE\.BIN"  # file systems'
    r"|\.DS_Store|\.localized|Thumbs\.db|desktop\.ini|\.gitkeep"  # file managers'
)
_OUR_BLOBS: Final = re.compile(rf"[0-9a-f]{{2}}|incoming|{_OUR_FILES.pattern}")
_MAY_BE_LINKS: Final = ("blobs", "models")
_SQLITE: Final = b"SQLite format 3\0"
_OTHER_FOLDER: Final = "choose another folder with --data"


@dataclass(frozen=True)
class ReadyFile:
    """The contents of `ready.json`, a file that the server writes once it accepts requests (docs/api/embedded.md)."""

    instance: str
    base_url: str
    pid: int
    version: str
    settings_hash: str
    sign_in_url: str = field(repr=False)  # it contains the sign-in token
    model: str = ""  # empty if an older version wrote the record

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def read(cls, path: Path) -> ReadyFile | None:
        """Return the record at `path`, or None if the file is missing or not a valid record."""
        try:
            record = read_json(path.read_bytes())
            known = {each.name: record[each.name] for each in fields(cls) if each.name != "model"}
            ready = cls(**known, model=str(record.get("model", "")))
        except (AttributeError, OSError, ValueError, KeyError, TypeError):
            return None
        return ready if isinstance(ready.base_url, str) and isinstance(ready.pid, int) else None


class _Entry:
    """A descriptor that returns the path of a file or folder in the data folder."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: DataFolder, owner: type[DataFolder]) -> Path:
        return folder.path / self._name


@dataclass(frozen=True)
class DataFolder:
    """A service's data folder. Only the server that holds the folder's lock writes `ready`, `port` and `settings`."""

    path: Path
    address: str | None = field(default=None, repr=False)
    """The address of the PostgreSQL database that replaces the folder's own database. It may contain a password."""
    secret: str | None = field(default=None, repr=False)
    """The secret with which the API keys in the PostgreSQL database are hashed."""

    lock = _Entry("lock")
    ready = _Entry("ready.json")
    key = _Entry("key")
    """The file with the API key for notebooks and commands on this machine, the only place that has the key's text."""
    database = _Entry("service.sqlite3")
    wal = _Entry("service.sqlite3-wal")
    """SQLite's write-ahead log, which contains commits that are not yet in the database file."""
    blobs = _Entry("blobs")
    """The folder of blobs: the contents of files, each named by its hash."""
    cache = _Entry("cache")
    """The folder of local copies of blobs in S3. A server empties it when it starts."""
    tables = _Entry("tables")
    """The folder of tables that were read from files, as a cache. A server empties it when it starts."""
    model = _Entry("model")
    """The file in which earlier versions stored the model and its address, on two lines."""
    models = _Entry("models")
    """The folder of downloaded model files. If it is lost, the files can be downloaded again."""
    port = _Entry("port")
    """The file with the port of the last server. After a restart, the service listens on this port again."""
    settings = _Entry("settings.json")
    """The file with the last service's settings, without secrets (`config.StoredSettings`)."""
    model_keys = _Entry("model-keys.json")
    """The file with the keys that the user entered for model providers (`language_models.keys`)."""
    mcp = _Entry("mcp.json")
    """The file with the MCP servers that the user of the embedded service added (`mcp.servers`)."""
    mcp_seen = _Entry("mcp-seen.json")
    log = _Entry("serve.log")
    """The log file of a server that was started without a terminal."""
    old_log = _Entry("serve.log.1")

    def rotate_log(self) -> None:
        """Copy the log to `serve.log.1`, replacing the previous copy, and empty the log. Raises `OSError`."""
        try:
            shutil.copyfile(self.log, self.old_log)
        finally:  # empty the log even if the copy failed; otherwise, on a full disk, each further line would try again
            os.truncate(self.log, 0)  # don't rename the log: it is open, and Windows can't rename open files

    def make(self, *, restoring: bool = False) -> None:
        """Create the folder if necessary, accessible to this user only (0700).

        With `restoring`, do not check the folder's database, which may be lost. Raises `FolderFault` and other
        `OSError`.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self.check_owner()
        if not restoring:
            self.check_database()
        self.path.chmod(0o700)

    def check_owner(self) -> None:
        """Raise `ForeignFolder` if the folder has a database of another program, or no database and unknown files."""
        if self.has_database():
            if _is_foreign(self.database):
                raise ForeignFolder(f"{self.database} belongs to another program", _OTHER_FOLDER)
            return
        if (
            not self.path.exists()
            or self.database.exists()
            or (self.blobs / "incoming").exists()
            or self._had_address()
        ):
            return
        stranger = _foreign_entry(self.path, _OUR_FILES) or (
            _foreign_entry(self.blobs, _OUR_BLOBS) if self.blobs.is_dir() else None
        )
        kept = self.settings.read_bytes() if self.settings.exists() else b""
        if kept and b'"provider"' not in kept:  # another program wrote the settings file
            stranger = stranger or self.settings.name
        if stranger:
            raise ForeignFolder(f"{self.path} contains {stranger!r}, which does not belong to agentsvc", _OTHER_FOLDER)

    def require_service(self) -> DataFolder:
        """Return this folder if a service has run in it. Raises `NoService` otherwise."""
        if not self.address and not self.database.is_file() and not self._had_address():
            raise NoService(f"No service has run in {self.path} (it has no database): check --data and AGENTSVC_DATA.")
        return self

    def has_database(self) -> bool:
        """Return whether the folder has a database file that is not empty."""
        return self.database.is_file() and self.database.stat().st_size > 0

    def check_database(self) -> None:
        """Raise `FolderFault` if the folder's database is lost or can't be used.

        The database is lost if the folder has a key or blobs, but no database file or an empty one. A new database
        would hide the loss. The database can't be used if its file is not a database, or if AGENTSVC_DATABASE names
        another database in addition to it.
        """
        if self.address:
            if self.has_database():
                both = f"{self.database} exists, but AGENTSVC_DATABASE names another database"
                raise FolderFault(both, f"unset AGENTSVC_DATABASE, or {_OTHER_FOLDER}")
            return
        back = f"restore {self.database.name} with its -wal file, or restore a backup (`agentsvc restore`), or"
        if self.has_database():
            with self.database.open("rb") as file:
                if file.read(len(_SQLITE)) != _SQLITE:
                    raise FolderFault(f"{self.database} is not a database", f"{back} {_OTHER_FOLDER}")
        elif self.key.exists() or self.has_blobs():
            lost = f"{self.path} has data of a service, but its database is missing or empty"
            if self._had_address():
                back = "its last service used AGENTSVC_DATABASE: set it again, or"
            raise FolderFault(lost, f"{back} {_OTHER_FOLDER}")

    def has_blobs(self) -> bool:
        return any(len(found.name) == 2 for found in self.blobs.glob("*"))

    def _had_address(self) -> bool:
        """Return whether the folder's last service used a PostgreSQL database."""
        return self.settings.exists() and b"AGENTSVC_DATABASE" in self.settings.read_bytes()

    def own_key(self) -> str:
        """Return the API key in the file `key`, even if it is no longer valid. Raises `OSError` if it can't be read."""
        try:
            key = self.key.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            key = ""
        if not key:
            raise OSError(f"{self.key} contains no key")
        return key

    def last_port(self) -> int:
        """Return the port of the last server, or 0 if there was none."""
        try:
            return int(self.port.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return 0

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the folder's lock during the `with` block. Raises `FolderHeld` if another process holds the lock."""
        from filelock import FileLock, Timeout  # import it late: it takes 60 ms, and most callers don't need the lock

        try:
            lock = FileLock(self.lock).acquire(blocking=False)
        except Timeout:
            ready = ReadyFile.read(self.ready)
            use = f"use it at {ready.base_url}" if ready else "wait until it is ready (`agentsvc status` shows it)"
            end = f"stop it with `agentsvc stop --data {shlex.quote(str(self.path))}`"
            raise FolderHeld(
                f"Another service uses {self.path}: {use}, {end}, or choose another folder with --data."
            ) from None
        with lock:
            yield

    @contextlib.contextmanager
    def hold_blobs(self, seconds: float = 0.0) -> Iterator[bool]:
        """Lock the blobs for one backup or garbage collection. Yield False if they are still locked after `seconds`."""
        from filelock import FileLock, Timeout

        try:
            lock = FileLock(self.path / "blobs.lock").acquire(timeout=seconds)
        except Timeout:
            yield False
            return
        with lock:
            yield True


class HeldFiles:
    """Detects whether another program removed or replaced the lock file or the database that this server opened."""

    def __init__(self, folder: DataFolder) -> None:
        self._folder = folder
        self._held = self._inodes()
        self._wal: tuple[int, int] | None = None

    def note_wal(self) -> None:
        """Remember the write-ahead log's inode. Call this once the database is open: opening it creates the log."""
        self._wal = inode(self._folder.wal)

    def are_lost(self) -> bool:
        """Return whether the lock file or the database was removed or replaced."""
        try:
            return self._inodes() != self._held
        except OSError:  # for example, a network file system does not respond: the next check decides
            return False

    def set_aside_wal(self) -> None:
        """Rename the write-ahead log of a replaced database, because SQLite would apply the log to the new database."""
        folder = self._folder
        replaced = inode(folder.database) not in (None, self._held[1])
        if replaced and self._wal is not None and inode(folder.wal) == self._wal:
            for path in (folder.wal, folder.wal.with_name(folder.wal.name.replace("-wal", "-shm"))):
                with contextlib.suppress(FileNotFoundError):
                    path.replace(path.with_name(f"{path.name}.old"))

    def _inodes(self) -> tuple[tuple[int, int] | None, ...]:
        """Return the device and inode number of the lock file and of the database, or None for a missing file."""
        return tuple(inode(path) for path in (self._folder.lock, self._folder.database))


def _foreign_entry(path: Path, ours: re.Pattern[str]) -> str | None:
    """Return the name of an entry in the folder `path` that no service creates, or None if there is none.

    No service creates symbolic links, but a user may replace `blobs` and `models` by links.
    """
    with os.scandir(path) as entries:
        for entry in entries:
            if not ours.fullmatch(entry.name) or (entry.is_symlink() and entry.name not in _MAY_BE_LINKS):
                return entry.name
    return None


def _is_foreign(database: Path) -> bool:
    """Return whether the database has only tables of other programs. Return False if it can't be read."""
    import sqlite3

    # Immutable mode creates no -wal and no -shm. If there is a -wal file, its contents must be read as well.
    how = "mode=ro" if database.with_name(f"{database.name}-wal").exists() else "mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?{how}", uri=True)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error:
        return False
    return bool(tables) and not tables >= {"api_key", "run_event"}
