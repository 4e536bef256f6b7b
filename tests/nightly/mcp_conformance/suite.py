"""Runs the suite's scenarios that a revision requires, and reads its table."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agentsvc_nb.wire.routes import MCP
from tests.nightly.mcp_conformance.launcher import FixtureService

ROOM: Final = Path(__file__).parent
NODE: Final = ROOM / "node_modules" / "node" / "bin" / "node"
REVISIONS: Final = ("2026-07-28", "2025-11-25")
_LINE: Final = re.compile(r"^[✓✗] (?P<name>[\w.-]+): (?P<passed>\d+) passed, (?P<failed>\d+) failed", re.M)
_SECONDS: Final = 300


@dataclass(frozen=True)
class Scenario:
    name: str
    passed: int
    failed: int


def command(*arguments: str) -> list[str | Path]:
    """What runs the suite."""
    return [NODE, ROOM / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js", *arguments]


def run(service: FixtureService, revision: str) -> tuple[list[Scenario], str]:
    """The scenarios with their numbers of checks, and all that the suite printed."""
    done = subprocess.run(
        [
            NODE,
            "--import",
            ROOM / "with_key.mjs",
            *command("server", "--url", service.base_url + MCP.path, "--requirements", revision)[1:],
        ],
        env={**os.environ, "AGENTSVC_KEY": service.api_key},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    said = done.stdout + done.stderr
    found = [Scenario(one["name"], int(one["passed"]), int(one["failed"])) for one in _LINE.finditer(said)]
    return found, said
