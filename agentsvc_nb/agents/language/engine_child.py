"""The child process of `engine`: llama.cpp with its own HTTP server, until the parent's end of the pipe is closed.

It reads `{"path", "key", "context"}` on its first line and prints `{"url"}` once it answers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Final

import xllamacpp

AT_ONCE: Final = 2
"""Runs that are answered at the same time; each has the whole context."""
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
    # A thread more than there are idle processors makes all of them wait for each other, many times a token.
    parameters.cpuparams.n_threads = max((os.cpu_count() or 1) // 2, 1)
    parameters.cpuparams_batch.n_threads = parameters.cpuparams.n_threads
    parameters.ui = False
    parameters.verbosity = QUIET
    server = xllamacpp.Server(parameters)
    print(json.dumps({"url": server.listening_address}), flush=True)
    sys.stdin.read()  # the parent's end, however it came
    os._exit(0)  # the server's threads would hold it up


if __name__ == "__main__":
    main()
