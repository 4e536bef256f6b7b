"""A decoder of a format that may be hostile, in a process that lives for one file (docs/decisions/0022)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.notebook.previews.subject import CannotShow
from agentsvc_nb.safe.text import label

CHILD: Final = "agentsvc_nb.notebook.previews.child"
PATIENCE_SECONDS: Final = 20.0
ANSWER_BYTES: Final = 1_000_000
_ENVIRONMENT: Final = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")
"""All that it is told; no key is among them."""


def asked(decoder: str, place: Path) -> dict[str, Any]:
    """What this decoder of `child` says of the file. Raises `CannotShow`.

    What it says is no more to be trusted than the file.
    """
    answer, ended = _told([sys.executable, "-P", "-m", CHILD, decoder, str(place)], place.parent)
    if not ended:
        raise CannotShow("it takes too long or too much memory to be looked at, or it is damaged.")
    try:
        found = json.loads(answer)
    except ValueError:
        raise CannotShow("its decoder gave no answer that can be read.") from None
    if reason := found.get("error"):
        raise CannotShow(label(reason, 300))
    return dict(found)


def _told(command: list[str], folder: Path) -> tuple[bytes, bool]:
    """What it printed, and whether it came to its end by itself and in time."""
    env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, cwd=folder, env=env) as child:
        alarm = threading.Timer(PATIENCE_SECONDS, child.kill)
        alarm.start()
        try:
            assert child.stdout is not None
            answer = child.stdout.read(ANSWER_BYTES)
            if child.stdout.read(1):
                child.kill()
            return answer, child.wait() == 0
        finally:
            alarm.cancel()
            child.kill()
