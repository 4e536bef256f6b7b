"""Whether an answer fits its schema: in a thread, one at a time.

The validator holds the interpreter while it works. Its work is bounded (`safe.schemas`), but several at once would keep
the service's own thread waiting for all of them.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from agentsvc_nb.service.rules import schemas

_judges: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judge")


async def misfit(text: str, config: dict[str, Any]) -> str | None:
    """Why the answer does not fit; None when it does (`rules.schemas.misfit`)."""
    return await asyncio.get_running_loop().run_in_executor(_judges, schemas.misfit, text, config)


async def fault(config: object) -> str | None:
    """Why this is no acceptable schema; None when it is one (`rules.schemas.fault`)."""
    return await asyncio.get_running_loop().run_in_executor(_judges, schemas.fault, config)
