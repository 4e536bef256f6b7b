"""A decoder of formats that may be hostile, in a process of its own (docs/decisions/0022)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.notebook.previews.kinds import CannotShow
from agentsvc_nb.wire.text import label

CHILD: Final = "agentsvc_nb.notebook.previews.child"
PATIENCE_SECONDS: Final = 20.0
ANSWER_BYTES: Final = 1_000_000
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
"""All that it is told; no key is among them."""


def asked(decoder: str, place: Path) -> dict[str, Any]:
    """What this decoder of `child` says of one file. Raises `CannotShow`."""
    with Decoder(decoder) as child:
        return child.asked(place)


class Decoder:
    """A decoder of `child`, in a process that looks at one file after the other.

    It is begun with the first file, and anew after one that was too much for it. For one thread at a time.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._child: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Decoder:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def asked(self, place: Path) -> dict[str, Any]:
        """What it says of a file. Raises `CannotShow`.

        What it says is no more to be trusted than the file.
        """
        answer = self._told(place)
        if not answer.endswith(b"\n"):
            self._end()
            if len(answer) <= ANSWER_BYTES:
                raise CannotShow("it takes too long or too much memory to be looked at, or it is damaged.")
        found = _parsed(answer)
        if reason := found.get("error"):
            raise CannotShow(label(reason, 300))
        return found

    def _told(self, place: Path) -> bytes:
        """A line that it printed; less when it did not come to its end by itself and in time."""
        child = self._child = self._child or _begun(self._name, place.parent)
        assert child.stdin is not None
        assert child.stdout is not None
        alarm = threading.Timer(PATIENCE_SECONDS, child.kill)
        alarm.start()
        try:
            child.stdin.write(f"{json.dumps(str(place))}\n".encode("ascii"))  # its locale may be any
            child.stdin.flush()
            return child.stdout.readline(ANSWER_BYTES + 1)
        except OSError:  # it is no longer there
            return b""
        finally:
            alarm.cancel()

    def _end(self) -> None:
        if child := self._child:
            self._child = None
            child.kill()
            with contextlib.suppress(OSError):  # what it was told last is not read any more
                child.__exit__(None, None, None)


def _parsed(answer: bytes) -> dict[str, Any]:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise CannotShow("its decoder gave no answer that can be read.")
    return found


def _begun(decoder: str, folder: Path) -> subprocess.Popen[bytes]:
    command, pipe = [sys.executable, "-P", "-m", CHILD, decoder], subprocess.PIPE
    env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=folder, env=env)
