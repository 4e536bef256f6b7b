"""Name this environment's `pip` in installation advice, because the shell may find another `pip`."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def with_own_pip(text: str) -> str:
    """Return the text with its `pip install` commands changed to install into this environment, even if it is not
    activated.
    """
    found = shutil.which("pip")
    if "pip install" not in text or (found and Path(found).parent == Path(sys.executable).parent):
        return text
    return text.replace("pip install", f"{shlex.quote(sys.executable)} -m pip install")
