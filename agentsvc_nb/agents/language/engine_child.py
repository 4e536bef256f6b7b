"""The child process of `agent.Engine`: llama.cpp with its own HTTP server, until the parent's end of the pipe is
closed.

It reads `{"path", "key", "context"}` on its first line and prints `{"url"}` once it answers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Final

import xllamacpp

AT_ONCE: Final = 2
"""Requests answered at the same time; each has the whole context."""
QUIET: Final = 1


def main() -> None:
    given = json.loads(sys.stdin.readline())
    parameters = xllamacpp.CommonParams()
    parameters.model.path = given["path"]
    parameters.model_alias = {"local"}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [given["key"]]
    parameters.n_parallel = AT_ONCE
    parameters.n_ctx = given["context"] * AT_ONCE
    # With more threads than idle processors, all of them wait for each other many times for each token.
    parameters.cpuparams.n_threads = max((os.cpu_count() or 1) // 2, 1)
    parameters.cpuparams_batch.n_threads = parameters.cpuparams.n_threads
    parameters.ui = False
    parameters.verbosity = QUIET
    server = xllamacpp.Server(parameters)
    print(json.dumps({"url": server.listening_address}), flush=True)
    sys.stdin.read()  # returns once the parent has closed the pipe, or has died
    os._exit(0)  # a normal exit would wait for the server's threads


if __name__ == "__main__":
    main()
