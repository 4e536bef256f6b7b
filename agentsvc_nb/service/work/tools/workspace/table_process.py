"""Asks `table_child` one question, in bounded time; a few at a time."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from typing import Any, Final

from agentsvc_nb.service.ports.agents import AgentFailure

CHILD: Final = "agentsvc_nb.service.work.tools.workspace.table_child"
PATIENCE_SECONDS: Final = 60.0
AT_ONCE: Final = 2
_turns = asyncio.Semaphore(AT_ONCE)


async def asked(files: list[dict[str, str]], sql: str, plot: dict[str, str] | None = None) -> dict[str, Any]:
    """`columns`, `rows`, `more` and, for a plot, `picture` (base64). Raises `AgentFailure` with what was wrong."""
    question = json.dumps({"files": files, "sql": sql, "plot": plot}).encode()
    async with _turns:
        answer = await _told(question)
    if not answer:
        raise AgentFailure("too_much_work", "The query took too long or too much memory: ask for less.")
    found: dict[str, Any] = json.loads(answer)
    if "error" in found:
        raise AgentFailure("query_failed", found["error"])
    return found


async def _told(question: bytes) -> bytes:
    with tempfile.TemporaryDirectory(prefix="agentsvc-tables-") as place:
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", CHILD),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=place,
            env={**os.environ, "MPLCONFIGDIR": place},
        )
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                answer, _ = await child.communicate(question)
        except TimeoutError:
            return b""
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return answer if child.returncode == 0 else b""
