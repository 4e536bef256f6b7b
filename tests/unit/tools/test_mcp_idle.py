"""A service that nobody asks by MCP pays nothing for it."""

from __future__ import annotations

import subprocess
import sys


def test_what_answers_is_not_loaded_with_the_service() -> None:
    program = "import sys, agentsvc_nb.service.app, agentsvc_nb.service.serve; print(*sys.modules, sep='\\n')"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    room = "agentsvc_nb.service.mcp.server"
    assert [name for name in loaded.splitlines() if name == room or name.startswith(f"{room}.")] == [
        room,
        f"{room}.routing",
    ]
