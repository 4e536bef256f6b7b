"""The data folder: what lies where, who may read it, and who holds it (docs/api/embedded.md "The data folder")."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path


class FolderHeld(Exception):
    """Another server holds the folder."""


class NoService(Exception):
    """No service ever ran in the folder."""


@dataclass(frozen=True)
class Ready:
    """What a server says of itself in `ready.json` once it answers requests (docs/api/embedded.md)."""

    instance: str
    base_url: str
    pid: int
    version: str
    settings_hash: str
    sign_in_url: str = field(repr=False)  # it carries the sign-in token
    model: str = ""  # empty in the record of a version that did not say

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def read(cls, path: Path) -> Ready | None:
        """The record at `path`; None when there is none, or none that can be read."""
        try:
            record = json.loads(path.read_bytes())
            known = {each.name: record[each.name] for each in fields(cls) if each.name != "model"}
            ready = cls(**known, model=str(record.get("model", "")))
        except (AttributeError, OSError, ValueError, KeyError, TypeError):
            return None
        return ready if isinstance(ready.base_url, str) and isinstance(ready.pid, int) else None


@dataclass(frozen=True)
class DataFolder:
    """One service's folder. Only the server that holds its lock writes `ready`, `port` and `settings`."""

    path: Path

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def ready(self) -> Path:
        return self.path / "ready.json"

    @property
    def key(self) -> Path:
        """The embedded account's key: here and nowhere else."""
        return self.path / "key"

    @property
    def database(self) -> Path:
        return self.path / "service.sqlite3"

    @property
    def blobs(self) -> Path:
        """The contents of files, by their hash."""
        return self.path / "blobs"

    @property
    def models(self) -> Path:
        """Model files, which are got once and can be got again."""
        return self.path / "models"

    @property
    def port(self) -> Path:
        """The port last listened on, so that addresses people noted stay good over a restart."""
        return self.path / "port"

    @property
    def settings(self) -> Path:
        """The settings last served with, without keys (`KeptSettings`)."""
        return self.path / "settings.json"

    @property
    def model(self) -> Path:
        """The model last served with and its address, in two lines: what earlier versions kept in place of settings."""
        return self.path / "model"

    @property
    def log(self) -> Path:
        """What a server says that was started without a terminal."""
        return self.path / "serve.log"

    def make(self) -> None:
        """Create the folder if need be, for this user alone. Raises `OSError`."""
        self.path.mkdir(parents=True, exist_ok=True)
        self.path.chmod(0o700)

    def existing(self) -> DataFolder:
        """This folder. Raises `NoService` when no service ever ran in it."""
        if not self.database.is_file():
            raise NoService(f"There is no service in {self.path} (no database): check --data and AGENTSVC_DATA.")
        return self

    def lost_its_database(self) -> bool:
        """A service ran here and stored contents, and what knows of them is gone."""
        if self.database.is_file() and self.database.stat().st_size:
            return False
        return any(len(found.name) == 2 for found in self.blobs.glob("*"))

    def own_key(self) -> str:
        """The embedded account's key as it stands. Raises `OSError` when none can be read."""
        try:
            key = self.key.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            key = ""
        if not key:
            raise OSError(f"{self.key} holds no key")
        return key

    def last_port(self) -> int:
        """The port of the last server, or 0 when there was none."""
        try:
            return int(self.port.read_text())
        except (OSError, ValueError):
            return 0

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the folder's lock. Raises `FolderHeld` when another process does."""
        from filelock import FileLock, Timeout  # 60 ms that those who only look need not wait for

        try:
            lock = FileLock(self.lock).acquire(blocking=False)
        except Timeout:
            raise FolderHeld(self._held()) from None
        with lock:
            yield

    @contextlib.contextmanager
    def hold_blobs(self, seconds: float = 0.0) -> Iterator[bool]:
        """Keep others from removing or reading the contents as a whole: one backup or one clean-up at a time.
        False when another process has them and does not give way within `seconds`."""
        from filelock import FileLock, Timeout

        try:
            lock = FileLock(self.path / "blobs.lock").acquire(timeout=seconds)
        except Timeout:
            yield False
            return
        with lock:
            yield True

    def _held(self) -> str:
        ready = Ready.read(self.ready)
        use = f"use it at {ready.base_url}" if ready else "wait until it is ready (`agentsvc status` shows it)"
        end = f"end it with `agentsvc stop --data {shlex.quote(str(self.path))}`"
        return f"Another server holds {self.path}: {use}, {end}, or give another folder with --data."


def write_private(path: Path, text: str) -> None:
    """Replace `path` in one step by a file that only this user can read (0600). Raises `OSError`."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
