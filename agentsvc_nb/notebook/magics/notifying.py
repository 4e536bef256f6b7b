"""Tell the reader who looks elsewhere that a run is done: by the desktop, and below the next cell that runs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any, Final

from agentsvc_nb.safe.text import label

_SECONDS: Final = 5.0
_MAC: Final = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"


class Bell:
    """One a shell; call it with IPython's results."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def ring(self, line: str) -> None:
        """Something has ended: a line without any word of the agent. From any thread."""
        self._lines.append(label(line))
        desktop("agentsvc", label(line))

    def __call__(self, result: Any) -> None:
        lines, self._lines = self._lines, []
        for line in lines:
            print(line)


def desktop(title: str, text: str) -> bool:
    """A notification on the desktop of the kernel's machine; whether there was a way to show one."""
    if sys.platform == "darwin":
        command = ["osascript", "-e", _MAC, title, text]
    else:
        command = ["notify-send", "--app-name", title, title, text]
    if shutil.which(command[0]) is None:
        return False
    try:
        return subprocess.run(command, timeout=_SECONDS, capture_output=True, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
