"""`--notify`: what has ended is told on the desktop, and below the cell that ends next."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any, Final

from agentsvc_nb.wire.text import label

_DESKTOP_SECONDS: Final = 5.0
_MAC: Final = "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run"


class Notifier:
    """Announces the end of work (`--notify`): on the desktop at once, and below the cell that ends next.

    To be registered as IPython's `post_run_cell` callback.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []

    def ring(self, line: str) -> None:
        """Announce a line, which must not have text of the agent. May be called from any thread."""
        self._lines.append(label(line))
        desktop("agentsvc", label(line))

    def __call__(self, result: Any) -> None:
        lines, self._lines = self._lines, []
        for line in lines:
            print(line)


def desktop(title: str, text: str) -> bool:
    """Show a notification on the desktop of the kernel's machine; return whether that worked."""
    if sys.platform == "darwin":
        command = ["osascript", "-e", _MAC, title, text]
    else:
        command = ["notify-send", "--app-name", title, title, text]
    if shutil.which(command[0]) is None:
        return False
    try:
        return subprocess.run(command, timeout=_DESKTOP_SECONDS, capture_output=True, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
