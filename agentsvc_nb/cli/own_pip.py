"""What to install is said with the `pip` of this environment, which need not be the shell's."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def with_own_pip(text: str) -> str:
    """A text whose commands `pip install` install into this environment, also while that is not active."""
    found = shutil.which("pip")
    if "pip install" not in text or (found and Path(found).parent == Path(sys.executable).parent):
        return text
    return text.replace("pip install", f"{shlex.quote(sys.executable)} -m pip install")
