"""One short question to a model, to see whether it answers and what that costs; or what stands in the way."""

from __future__ import annotations

import contextlib
import re
from typing import Final

from pydantic_ai import Agent, exceptions
from pydantic_ai.settings import ModelSettings

from agentsvc_nb.agents.language.lengths import ANSWER_PART
from agentsvc_nb.agents.language.loop import translated
from agentsvc_nb.agents.language.model_choice import Fault, ProbeResult
from agentsvc_nb.agents.language.reasons import is_spent, lacks_responses, why_untrusted
from agentsvc_nb.agents.language.served import Served, published_price, response_cost, settings_of
from agentsvc_nb.tools.port import WorkFailure

QUESTION: Final = "What colour is a clear sky by day? Answer with one word."
SECONDS: Final = 60.0
"""How long each part of the answer may take."""
_ANSWER_TOKENS: Final = 4_096
"""More than a word takes: some models think first."""
_OF_KEY: Final = re.compile(r"api[ _-]?key", re.IGNORECASE)


async def try_out(served: Served) -> ProbeResult:
    """Ask the question once. Raises `WorkFailure` when the model does not answer."""
    settings = ModelSettings(
        **{**settings_of(served, min(_ANSWER_TOKENS, served.context // ANSWER_PART)), "first_event_timeout": SECONDS}
    )
    if "timeout" in settings:
        settings["timeout"] = SECONDS
    agent = Agent(served.model, model_settings=settings)
    async with translated(False, served.keyless), agent.run_stream(QUESTION) as answer:
        text = await answer.get_output()
        cost = response_cost(served, answer.response)
    return ProbeResult(" ".join(text.split())[:80], cost, served.price or published_price(served), served.tools)


def host_of(failure: WorkFailure) -> str:
    """The host that was asked, if the request is known that failed."""
    error: BaseException | None = failure
    while error is not None:
        # Without a request, that property of httpx's errors raises.
        with contextlib.suppress(AttributeError, RuntimeError):
            return str(error.request.url.host)  # type: ignore[attr-defined]
        error = error.__cause__ or error.__context__
    return ""


def fault_of(failure: WorkFailure) -> Fault:
    """What stood in the way."""
    error = failure.__cause__
    if isinstance(error, exceptions.ModelAPIError) and is_spent(error):
        return "credit"
    status = getattr(error, "status_code", None)
    if status == 401 or (status in (400, 403) and _OF_KEY.search(failure.message)):
        return "key"
    if status == 404 and not lacks_responses(error):
        return "unknown"
    reached = not isinstance(error, exceptions.ModelConnectionError) or why_untrusted(error) is not None
    return "other" if reached else "network"
