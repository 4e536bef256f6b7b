"""Whether an answer fits its schema, in bounded time.

A `pattern` of the caller's can take Python's `re` for ever, and `re` holds the interpreter while it looks: the whole
service would stand still, and again after each restart. References that fan out take as long. Such a schema is tried in
a process that can be ended; a few at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from typing import Any, Final

from agentsvc_nb.service.rules import schemas

TRIAL_SECONDS: Final = 5
"""Of the processor: on a busy machine even the start of a process takes long."""
PATIENCE_SECONDS: Final = 60.0
TRIALS_MAX: Final = 2
_trials = asyncio.Semaphore(TRIALS_MAX)


async def misfit(text: str, config: dict[str, Any]) -> str | None:
    """Why the answer does not fit; None when it does (`rules.schemas.misfit`). Cancelling it ends the trial."""
    if schemas.is_quick(config):
        return await asyncio.to_thread(schemas.misfit, text, config)
    async with _trials:
        return await _tried(json.dumps([text, config]).encode())


async def _tried(given: bytes) -> str | None:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            found, _ = await child.communicate(given)
    except TimeoutError:
        found = b""
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if not found:  # ended by its limit, or by us
        return f"The answer could not be tried against the schema within {TRIAL_SECONDS} s."
    verdict: str | None = json.loads(found)
    return verdict


def _limit_processor() -> None:
    with contextlib.suppress(ImportError):  # Windows has no such limit, and waits for our patience
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (TRIAL_SECONDS, TRIAL_SECONDS))


if __name__ == "__main__":
    _limit_processor()
    print(json.dumps(schemas.misfit(*json.load(sys.stdin))))
