"""Name the `pip` of this environment in advice to install, because the shell may find another one."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def with_own_pip(text: str) -> str:
    """Return the text with `pip install` commands that install into this environment, even if it is not active."""
    found = shutil.which("pip")
    if "pip install" not in text or (found and Path(found).parent == Path(sys.executable).parent):
        return text
    return text.replace("pip install", f"{shlex.quote(sys.executable)} -m pip install")
