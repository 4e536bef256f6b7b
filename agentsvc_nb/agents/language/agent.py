"""Define the agent for a language model, the agent for a model that can't be used, and how to choose between them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from agentsvc_nb import clock
from agentsvc_nb.agents.language.local_engine import Engine
from agentsvc_nb.agents.language.model_choice import (
    CONTEXT_TOKENS,
    MissingRequirement,
    ModelChoice,
    NotConfigured,
    ProbeResult,
    is_responding,
    network_fault,
    own_server,
    shortcoming,
)
from agentsvc_nb.agents.language.retry import ContextExceeded, ModelUnavailable, RetryDelays, retry
from agentsvc_nb.agents.port import ModelFacts, RunContext
from agentsvc_nb.extras import pip_install
from agentsvc_nb.tools.port import Meter, WorkFailure

if TYPE_CHECKING:
    from agentsvc_nb.agents.language.served_models import ServedModel
    from agentsvc_nb.agents.language.tokens import TokenCounter

log = logging.getLogger(__name__)
FACTS_SECONDS: Final = 60.0
"""The number of seconds for which facts about a model are cached."""
_SHRINK: Final = 0.75
"""The factor by which the context length is multiplied after the model's server has refused a request as too long."""
_CONTEXT_LEAST: Final = 1_000


class Language:
    """The agent (`port.Agent`) of a language model. The first run of a `gguf` model starts the local engine."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._engine = Engine(choice.gguf, choice.context) if choice.gguf else None
        self.hosted = choice.gguf is None and own_server(choice) is None
        """True if a provider hosts the model, so that calls cost money."""
        self._tokens: TokenCounter | None = None
        """Set once the library is loaded."""
        self._facts: ModelFacts | None = None
        self._facts_at = 0.0

    async def run(self, turn: RunContext) -> str | None:
        delays = RetryDelays(self._choice.patience)
        context: int | None = None
        """The reduced context length of this run. A request that was too long says nothing about other runs."""

        async def ask() -> str:
            nonlocal context
            loop, served, tokens = await self._load()
            while True:
                used = replace(served, context=context or served.context)
                try:
                    answer: str = await loop.answer(turn, used, delays, tokens)
                    return answer
                except ContextExceeded as failure:
                    context = int(min(failure.tokens, used.context) * _SHRINK)
                    if context < _CONTEXT_LEAST:
                        raise
                    await turn.rewind()
                    await turn.warn("context_exceeded", f"{failure.message} The request is shortened and sent again.")

        async def before_wait(failure: ModelUnavailable, seconds: float) -> None:
            await turn.rewind()
            await turn.warn("model_retried", f"{failure.message} The next attempt is in {seconds:,.0f} seconds.")

        return await retry(ask, delays, before_wait)

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """Answer a question that a tool asks the model (implements `tools.port.Complete`)."""

        async def ask() -> dict[str, Any]:
            loop, served, tokens = await self._load()
            found: dict[str, Any] = await loop.complete(served, prompt, dict(schema), meter, tokens)
            return found

        async def before_wait(failure: ModelUnavailable, seconds: float) -> None:
            log.info("retrying a tool's question to the model in %.0f s: %s", seconds, failure.message)

        return await retry(ask, RetryDelays(self._choice.patience), before_wait)

    async def try_out(self) -> ProbeResult:
        """Ask the model a short question without retries. Raise `WorkFailure` if the model does not answer."""
        loop, served, _ = await self._load()
        try:
            found: ProbeResult = await loop.try_out(served)
            return found
        finally:
            if self._engine is not None:
                self._engine.stop()

    async def facts(self) -> ModelFacts:
        """Return facts about the model that were found at most 60 seconds ago."""
        if self._facts is None or clock.monotonic() - self._facts_at > FACTS_SECONDS:
            self._facts = await asyncio.to_thread(find_facts, self._choice)
            self._facts_at = clock.monotonic()
        return self._facts

    async def _load(self) -> tuple[Any, ServedModel, TokenCounter]:
        # Importing the library takes long, so import it in a thread, while the event loop serves other requests.
        loop = await asyncio.to_thread(import_module, "agentsvc_nb.agents.language.loop")
        self._tokens = self._tokens or loop.TokenCounter()
        return loop, await asyncio.to_thread(self._serve), self._tokens

    def _serve(self) -> ServedModel:
        from agentsvc_nb.agents.language import served_models

        if self._engine is None:
            return served_models.by_name(self._choice)
        url, key = self._engine.start()
        return served_models.local(self._choice, url, key, self._engine.context)


class Unconfigured:
    """An agent for a model that can't be used. Each run fails with `WorkFailure("not_configured")` and the reason."""

    def __init__(self, lacking: str) -> None:
        self._lacking = lacking

    async def run(self, turn: RunContext) -> str | None:
        raise WorkFailure("not_configured", self._lacking)

    async def facts(self) -> ModelFacts:
        return ModelFacts("not_configured")

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        raise WorkFailure("not_configured", self._lacking)


def find_missing_requirement(choice: ModelChoice) -> MissingRequirement | None:
    """Return why this model can't answer here and how to fix that, or None if no reason is found."""
    model = choice.model
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        return _missing_extra("agents", f"The model {model} needs the agent library")
    if choice.gguf is None:
        return _missing_of_server(choice) or shortcoming(choice)
    if find_spec("xllamacpp") is None:
        return _missing_extra("local-model", f"The model {model} needs a local engine")
    if not choice.gguf.is_file():
        little = "download a small model with `agentsvc model pull smollm2`, which also shows how to use it"
        return MissingRequirement(f"The file {choice.gguf} does not exist: {little}.")
    return shortcoming(choice)


def _missing_extra(extra: str, needs: str) -> MissingRequirement:
    return MissingRequirement(f"{needs}: {pip_install(extra)}.", package=f"agentsvc-nb[{extra}]")


def _missing_of_server(choice: ModelChoice) -> MissingRequirement | None:
    """Return what prevents requests to the model's server, or None. Load the agent library if the model is hosted."""
    if url := own_server(choice):
        return network_fault(url)
    from agentsvc_nb.agents.language.served_models import by_name

    try:
        by_name(choice)
    except NotConfigured as failure:
        return failure.lacking
    return None


def find_facts(choice: ModelChoice) -> ModelFacts:
    """Return facts about a model. This loads the agent library, and asks a self-hosted server whether it responds."""
    if find_missing_requirement(choice):
        return ModelFacts("not_configured", price=choice.price)
    from agentsvc_nb.agents.language import served_models

    reason, price = None, choice.price
    if choice.gguf is not None:
        served = served_models.local(choice, "http://127.0.0.1/v1", "none", choice.context or CONTEXT_TOKENS)
        price = price or (0.0, 0.0)
    else:
        served = served_models.by_name(choice)
        price = price or served.published_price()
        if (url := own_server(choice)) and not is_responding(url):
            reason = "unreachable"
    return ModelFacts(reason, served.context, served.sees, served.tools, price)
