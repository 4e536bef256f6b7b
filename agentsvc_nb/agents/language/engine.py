"""The local engine: a child process that serves one model file on loopback. Its crash is a failed run, no more."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb.agents.language.model_choice import CONTEXT_TOKENS
from agentsvc_nb.tools.port import WorkFailure

MODULE: Final = "agentsvc_nb.agents.language.engine_child"


@dataclass(frozen=True, slots=True)
class EngineAddress:
    url: str
    key: str


class Engine:
    """Starts the child when it is needed, and another one when it has died. It ends with us: its input is our pipe."""

    def __init__(self, path: Path, context: int | None) -> None:
        self.context = context or CONTEXT_TOKENS
        self._path = path
        self._starting = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._address: EngineAddress | None = None

    def start(self) -> EngineAddress:
        """Where the model answers. Blocks while it is loaded. Raises `WorkFailure` when it can't be."""
        with self._starting:
            if self._address is None or self.ended():
                self._address = self._start()
            return self._address

    def ended(self, patience: float = 0) -> str | None:
        """Why the engine is not there, in a sentence; None while it is, and still is after `patience` seconds."""
        if self._child is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(patience)
        if self._child.returncode is None:
            return None
        how = f"exit {self._child.returncode}"
        return f"The local engine ended unexpectedly ({how}); the next run starts it again."

    def stop(self) -> None:
        """End the child, and take leave of one that has ended."""
        child, self._child = self._child, None
        if child is not None:
            with child:  # closes the pipes, which ends it, and waits
                pass

    def _start(self) -> EngineAddress:
        self.stop()
        key = secrets.token_urlsafe(32)
        child = self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps({"path": str(self._path), "key": key, "context": self.context}) + "\n")
        child.stdin.flush()
        said = child.stdout.readline()
        if not said:
            child.wait()
            raise WorkFailure("model_unavailable", f"The local engine could not load {self._path.name}.")
        return EngineAddress(json.loads(said)["url"] + "/v1", key)
