"""Find the path of the data folder. This module reads no other setting and does not import pydantic."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DATA_VARIABLE: Final = "AGENTSVC_DATA"


def absolute(path: str | Path) -> Path:
    """Return the absolute path, with `~` expanded and symbolic links kept."""
    return Path(os.path.abspath(os.path.expanduser(path)))


def data_folder(env: Mapping[str, str], data: str | Path | None = None) -> Path:
    """Return the data folder: `data`, else AGENTSVC_DATA, else `default_data()`. No other setting is read."""
    given = data or env.get(DATA_VARIABLE)
    return absolute(str(given).strip()) if given else default_data()


def default_data() -> Path:
    """Return the path of the user's default data folder on this machine.

    Each machine has a separate folder, even if machines share a home folder, because the folder's lock does not work
    between machines (docs/api/embedded.md "The data folder").
    """
    from platformdirs import user_data_path  # the import takes 30 ms, and is often not needed

    host = re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname()) or "localhost"
    return user_data_path("agentsvc-nb", appauthor=False) / host
