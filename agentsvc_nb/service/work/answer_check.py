"""Whether an answer fits its schema, in bounded time.

A `pattern` of the caller's can take Python's `re` for ever, and `re` holds the interpreter while it looks: the whole
service would stand still, and again after each restart. Such a schema is tried in a process that can be ended.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Final

from agentsvc_nb.service.rules import schemas

PATTERN_SECONDS: Final = 10.0


async def misfit(text: str, config: dict[str, Any]) -> str | None:
    """Why the answer does not fit; None when it does (`rules.schemas.misfit`)."""
    if not schemas.patterns(config):
        return await asyncio.to_thread(schemas.misfit, text, config)
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATTERN_SECONDS):
            found, _ = await child.communicate(json.dumps([text, config]).encode())
    except TimeoutError:
        return f"A pattern of the schema could not be tried within {PATTERN_SECONDS:g} s."
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    verdict: str | None = json.loads(found)
    return verdict


if __name__ == "__main__":
    print(json.dumps(schemas.misfit(*json.load(sys.stdin))))
