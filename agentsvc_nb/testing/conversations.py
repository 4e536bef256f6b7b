"""Recorded conversations in a notebook: what the gallery's stories are answered by."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Final

_SERVICE: Final = ExitStack()
"""The service that this process asks, ended with the process."""
atexit.register(_SERVICE.close)


def replay_conversation(path: str | os.PathLike[str]) -> None:
    """From now on a recorded conversation answers what this kernel asks: its words, and its calls of tools, which are
    made. A service of its own does so, until the kernel ends; no other notebook is concerned.

    Raises `RuntimeError` when there is no such recording.

    >>> replay_conversation("data/sales-review.txt")  # doctest: +SKIP
    """
    from agentsvc_nb.testing.service import running_service

    _SERVICE.close()
    service = _SERVICE.enter_context(running_service(f"scripted:{Path(path).resolve()}"))
    os.environ["AGENTSVC_BASE_URL"], os.environ["SERVICE_API_KEY"] = service.base_url, service.api_key
