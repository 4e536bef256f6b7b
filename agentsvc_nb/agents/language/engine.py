"""The local engine: a child process that serves one model file on loopback. Its crash fails a run, not the service."""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb.agents.language.model_choice import CONTEXT_TOKENS
from agentsvc_nb.formats.sandbox import LimitedChild
from agentsvc_nb.tools.port import WorkFailure

MODULE: Final = "agentsvc_nb.agents.language.engine_child"
ANSWER_BYTES: Final = 10_000
_VARIABLES: Final = (
    *("HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "LOCALAPPDATA", "PROGRAMDATA", "OMP_NUM_THREADS"),
    *("CUDA_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"),
    *("GGML_VK_VISIBLE_DEVICES", "VK_ICD_FILENAMES", "VK_DRIVER_FILES"),
)
"""Environment variables that the libraries for processors and graphics cards read."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where the engine answers on loopback, and the API key that it asks for."""

    url: str
    key: str


class Engine:
    """Starts the child when it is needed, and another one when it has died. The child ends with this process."""

    def __init__(self, path: Path, context: int | None) -> None:
        self.context = context or CONTEXT_TOKENS
        self._path = path
        self._starting = threading.Lock()
        self._child: LimitedChild | None = None
        self._address: EngineAddress | None = None

    def start(self) -> EngineAddress:
        """The address at which the model answers. Blocks while the model loads. Raises `WorkFailure` if that fails."""
        with self._starting:
            if self._address is None or self.ended():
                self._address = self._start()
            return self._address

    def ended(self, patience: float = 0) -> str | None:
        """How the engine ended, in one sentence; None if it still runs after `patience` seconds, or never started."""
        if self._child is None:
            return None
        code = self._child.wait(patience)
        if code is None:
            return None
        return f"The local engine ended unexpectedly (exit {code}); the next run starts it again."

    def stop(self) -> None:
        """End the child and close its pipes."""
        child = self._child
        self._child = None
        if child is not None:
            child.close()

    def _start(self) -> EngineAddress:
        self.stop()
        key = secrets.token_urlsafe(32)
        # No limits of memory or time: how large a model may be is the user's choice.
        child = self._child = LimitedChild(MODULE, names=_VARIABLES, variables={"PYTHONUNBUFFERED": "1"}, log=True)
        child.write_line(json.dumps({"path": str(self._path), "key": key, "context": self.context}).encode())
        answer = child.read_line(ANSWER_BYTES)
        if not answer:
            child.wait()
            raise WorkFailure("model_unavailable", f"The local engine could not load {self._path.name}.")
        return EngineAddress(json.loads(answer)["url"] + "/v1", key)
