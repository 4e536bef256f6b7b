"""The agent behind a model's name: it knows where the model is, and loads what asks it when the first run comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agentsvc_nb.agents.language.engine import Engine
from agentsvc_nb.agents.language.model_choice import ModelChoice
from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Meter, WorkFailure

T = TypeVar("T")
DYING_SECONDS: Final = 3.0

if TYPE_CHECKING:
    from agentsvc_nb.agents.language.served import Served


class Language:
    """`ports.agents.Agent` with a language model. The local engine of a `gguf` starts with its first run."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._engine = Engine(choice.gguf, choice.context) if choice.gguf else None

    async def run(self, turn: RunContext) -> str | None:
        loop, served = await self._loaded()
        answer: str = await self._seen_to(loop.answer(turn, served))
        return answer

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """`ports.tools.Complete`: a tool asks."""
        loop, served = await self._loaded()
        return await self._seen_to(loop.complete(served, prompt, dict(schema), meter))

    async def _loaded(self) -> tuple[Any, Served]:
        loop = await asyncio.to_thread(import_module, "agentsvc_nb.agents.language.loop")
        return loop, await asyncio.to_thread(self._serve)

    async def _seen_to(self, asking: Awaitable[T]) -> T:
        """What the model answers. Raises `WorkFailure` that says so when the engine has ended."""
        try:
            return await asking
        except WorkFailure as failure:
            if self._engine is not None and failure.code == "model_unavailable":
                await self._see_whether_it_ended(self._engine)
            raise

    async def _see_whether_it_ended(self, engine: Engine) -> None:
        """Its connections are lost before the process is gone."""
        if ended := await asyncio.to_thread(engine.ended, DYING_SECONDS):
            raise WorkFailure("model_unavailable", ended)

    def _serve(self) -> Served:
        from agentsvc_nb.agents.language import served

        if self._engine is None:
            return served.by_name(self._choice)
        at = self._engine.start()
        return served.local(self._choice, at.url, at.key, self._engine.context)
