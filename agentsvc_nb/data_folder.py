"""Find the path of the data folder, without reading other settings and without loading pydantic."""

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
    """Return the data folder: `data`, else AGENTSVC_DATA, else the default.

    This reads no other setting, so a service can be found or stopped even if another setting is invalid.
    """
    given = data or env.get(DATA_VARIABLE)
    return absolute(str(given).strip()) if given else default_data()


def default_data() -> Path:
    """Return the user's data folder for this host.

    Each host has its own folder, because hosts may share a home folder, and a lock does not work between hosts
    (docs/api/embedded.md "The data folder").
    """
    from platformdirs import user_data_path  # takes 30 ms, so not imported if the caller names the folder

    host = re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname()) or "localhost"
    return user_data_path("agentsvc-nb", appauthor=False) / host
