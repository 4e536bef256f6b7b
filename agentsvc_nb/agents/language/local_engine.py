"""Run a `gguf` model with llama.cpp in a child process, which serves HTTP on loopback.

The child executes `main` until the parent closes the pipe. `main` reads a JSON object with `path`, `key` and `context`
from the first line of its input. Once the model is loaded, it prints a JSON object with the server's `url`.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import Final

from agentsvc_nb.agents.language.model_choice import CONTEXT_TOKENS
from agentsvc_nb.documents.child_process import LimitedChild
from agentsvc_nb.tools.port import WorkFailure

_ANSWER_BYTES: Final = 10_000
_PARALLEL_REQUESTS: Final = 2
"""The number of requests that llama.cpp handles concurrently. Each request can use the whole context length."""
_VARIABLES: Final = (
    *("HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "LOCALAPPDATA", "PROGRAMDATA", "OMP_NUM_THREADS"),
    *("CUDA_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"),
    *("GGML_VK_VISIBLE_DEVICES", "VK_ICD_FILENAMES", "VK_DRIVER_FILES"),
)
"""The environment variables that the child inherits, because CPU and GPU libraries read them."""


class Engine:
    """Starts the child process when it is needed, and again if it has died. The child exits when this process exits."""

    def __init__(self, path: Path, context: int | None) -> None:
        self.context = context or CONTEXT_TOKENS
        self._path = path
        self._starting = threading.Lock()
        self._child: LimitedChild | None = None
        self._address: tuple[str, str] | None = None

    def start(self) -> tuple[str, str]:
        """Return the child's server address and key. Block while the model loads. Raise `WorkFailure` if that fails."""
        with self._starting:
            # Start a new child if the child has died since the last call.
            if self._address is None or self._child is None or self._child.wait(0) is not None:
                self._address = self._start()
            return self._address

    def stop(self) -> None:
        """End the child and close its pipes."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _start(self) -> tuple[str, str]:
        self.stop()
        key = secrets.token_urlsafe(32)
        # The child has no limits of memory and time, because users choose the size of their model.
        child = self._child = LimitedChild(__name__, names=_VARIABLES, variables={"PYTHONUNBUFFERED": "1"}, log=True)
        child.write_line(json.dumps({"path": str(self._path), "key": key, "context": self.context}).encode())
        answer = child.read_line(_ANSWER_BYTES)
        if not answer:
            child.wait()
            raise WorkFailure("model_unavailable", f"The local engine could not load {self._path.name}.")
        return json.loads(answer)["url"] + "/v1", key


def main() -> None:
    import xllamacpp

    given = json.loads(sys.stdin.readline())
    parameters = xllamacpp.CommonParams()
    parameters.model.path = given["path"]
    parameters.model_alias = {"local"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [given["key"]]
    parameters.n_parallel = _PARALLEL_REQUESTS
    parameters.n_ctx = given["context"] * _PARALLEL_REQUESTS
    # If there were more threads than idle CPUs, the threads would wait for each other many times per token.
    parameters.cpuparams.n_threads = max((os.cpu_count() or 1) // 2, 1)
    parameters.cpuparams_batch.n_threads = parameters.cpuparams.n_threads
    parameters.ui = False
    parameters.verbosity = 1
    server = xllamacpp.Server(parameters)
    print(json.dumps({"url": server.listening_address}), flush=True)
    sys.stdin.read()  # returns when the parent closes the pipe or dies
    os._exit(0)  # a normal exit would wait for the server's threads


if __name__ == "__main__":
    main()
