"""Answers of rows on disk, a JSON line each: a call that was interrupted goes on from them, also on another day.

An Idempotency-Key is forgotten at midnight UTC; this file is not.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.client.results.models import Run
from agentsvc_nb.client.results.reading import read


class Kept:
    """The completed runs of rows by their keys, in a file (0600) that grows by a line a row; no path: nowhere."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        """Raises `StefanBrainError` for a file that cannot be read and written."""
        self._runs: dict[str, str] = {}
        self._path = None if path is None else Path(path)
        if self._path is None:
            return
        try:
            self._append(self._path, "")
            self._read(self._path)
        except (OSError, UnicodeDecodeError) as error:
            raise StefanBrainError(f"The answers cannot be kept in {self._path}: {error}.") from None

    def get(self, key: str) -> Run | None:
        """The run that answered the row."""
        found = self._runs.get(key)
        return read(Run, found, "A kept answer") if found else None

    def add(self, key: str, run: Run) -> None:
        """Raises `OSError` when it cannot be written."""
        if self._path is None:
            return
        line = json.dumps({"key": key, "run": run.model_dump(mode="json")}, ensure_ascii=False)
        # It begins with a break: it then stands apart from half a line of an earlier end.
        self._append(self._path, f"\n{line}")

    def _append(self, path: Path, text: str) -> None:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8") as file:
            file.write(text)

    def _read(self, path: Path) -> None:
        for line in path.read_text(encoding="utf-8").split("\n"):
            try:
                entry = json.loads(line)
                self._runs[entry["key"]] = json.dumps(entry["run"])
            except (ValueError, KeyError, TypeError):  # what was being written when the machine went down
                continue
