"""Change `pip install` in advice to the pip of this environment, because the shell may find another `pip`."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def name_own_pip(text: str) -> str:
    """Replace `pip install` in a text by a command for this environment, even if the environment is not activated."""
    found = shutil.which("pip")
    if "pip install" not in text or (found and Path(found).parent == Path(sys.executable).parent):
        return text
    return text.replace("pip install", f"{shlex.quote(sys.executable)} -m pip install")
