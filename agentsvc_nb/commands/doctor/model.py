"""The model: one real turn, with a service of its own in a temporary folder."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agentsvc_nb import embedded
from agentsvc_nb.client.errors import StefanBrainError
from agentsvc_nb.commands.doctor.finding import Finding, fail, ok
from agentsvc_nb.service.folder import DataFolder
from agentsvc_nb.service.plan import KeptSettings, Plan

QUESTION: Final = "hello"
TURN_SECONDS: Final = 120.0
_OTHER: Final = "see the reason given, or choose another model with AGENTSVC_MODEL"


def planned(plan: Plan) -> Iterator[Finding]:
    """The model that a notebook's service would have, which is not asked where it must not be."""
    if fault := plan.fault():
        yield fail(f"{plan.settings.model}: {fault}", _OTHER)
    else:
        yield from turn(plan.settings.model, plan.keep)


def turn(model: str, kept: KeptSettings) -> Iterator[Finding]:
    """Does a service start, with what the folder keeps, and does its model answer?"""
    started = time.perf_counter()
    try:
        status, reason = _ask(model, kept)
    except (embedded.EmbeddedError, StefanBrainError, OSError) as error:
        yield fail(f"{model}: {error}", _OTHER)
        return
    took = time.perf_counter() - started
    if status == "completed":
        yield ok(f"{model}: a new service answered after {took:.1f} s")
    else:
        yield fail(f"{model}: its run ended as {status} ({reason})", _OTHER)


def _ask(model: str, kept: KeptSettings) -> tuple[str, str]:
    """How the run ended, and why."""
    with tempfile.TemporaryDirectory(prefix="agentsvc-doctor-") as folder:
        kept.write(DataFolder(Path(folder)))
        try:
            with embedded.local(folder, model=model) as client:
                run = client.runs.start(QUESTION)
                ended = client.runs.wait(run.run_id, poll=0.2, timeout=TURN_SECONDS)
        finally:
            embedded.stop(folder)
    return ended.status, ended.last_error_message or ended.last_error or ""
