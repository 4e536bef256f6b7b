"""The agent for a language model, which loads its libraries with the first run; its stand-in for a model that can't be
used, and the check that tells them apart; and the local engine, a child process."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agentsvc_nb import clock
from agentsvc_nb.agents.language.chat_templates import shortcoming
from agentsvc_nb.agents.language.model_choice import (
    CONTEXT_TOKENS,
    MissingRequirement,
    ModelChoice,
    NotConfigured,
    ProbeResult,
    answers,
    network_fault,
    own_server,
)
from agentsvc_nb.agents.language.patience import Away, Patience, TooLong, patiently
from agentsvc_nb.agents.port import ModelFacts, RunContext
from agentsvc_nb.documents.child_process import LimitedChild
from agentsvc_nb.extras import pip_install
from agentsvc_nb.tools.port import Meter, WorkFailure

T = TypeVar("T")
log = logging.getLogger(__name__)
LOOK_SECONDS: Final = 60.0
"""How long what was found out about a model counts."""
DYING_SECONDS: Final = 3.0
"""How long to wait for the engine's exit once its connections have broken."""

if TYPE_CHECKING:
    from agentsvc_nb.agents.language.lengths import Lengths
    from agentsvc_nb.agents.language.served import Served


class Language:
    """`port.Agent` with a language model. The local engine of a `gguf` starts with its first run."""

    def __init__(self, choice: ModelChoice) -> None:
        self._choice = choice
        self._engine = Engine(choice.gguf, choice.context) if choice.gguf else None
        self.hosted = choice.gguf is None and own_server(choice) is None
        """Whether the model is a provider's, and costs money."""
        self._lengths: Lengths = None  # type: ignore[assignment]
        """What is learned of the model's tokens; there once the library is loaded."""
        self._facts: ModelFacts | None = None
        self._looked_at = 0.0

    async def run(self, turn: RunContext) -> str | None:
        patience = Patience(self._choice.patience)
        context: int | None = None
        """Of this run alone: what its server found too long says nothing of other runs."""

        async def ask() -> str:
            nonlocal context
            loop, served = await self._loaded()
            from agentsvc_nb.agents.language.lengths import CONTEXT_LEAST, SHRINK

            while True:
                held = replace(served, context=context or served.context)
                try:
                    answer: str = await self._seen_to(loop.answer(turn, held, patience, self._lengths))
                    return answer
                except TooLong as fault:
                    context = int(min(fault.asked, held.context) * SHRINK)
                    if context < CONTEXT_LEAST:
                        raise
                    await turn.rewind()
                    await turn.warn("context_exceeded", f"{fault.message} It is shortened, and asked again.")

        async def again(fault: Away, seconds: float) -> None:
            await turn.rewind()
            await turn.warn("model_retried", f"{fault.message} It is asked again in {seconds:,.0f} seconds.")

        return await patiently(ask, patience, again)

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """Answer a question of a tool (`tools.port.Complete`)."""

        async def ask() -> dict[str, Any]:
            loop, served = await self._loaded()
            found: dict[str, Any] = await self._seen_to(
                loop.complete(served, prompt, dict(schema), meter, self._lengths)
            )
            return found

        async def again(fault: Away, seconds: float) -> None:
            log.info("a tool's question is asked again in %.0f s: %s", seconds, fault.message)

        return await patiently(ask, Patience(self._choice.patience), again)

    async def try_out(self) -> ProbeResult:
        """Ask it one short question, once. Raises `WorkFailure`."""
        _, served = await self._loaded()
        from agentsvc_nb.agents.language.trying import try_out

        try:
            return await self._seen_to(try_out(served))
        finally:
            if self._engine is not None:
                self._engine.stop()

    async def facts(self) -> ModelFacts:
        """What is known of the model, at most `LOOK_SECONDS` old."""
        if self._facts is None or clock.monotonic() - self._looked_at > LOOK_SECONDS:
            self._facts = await asyncio.to_thread(facts_of, self._choice)
            self._looked_at = clock.monotonic()
        return self._facts

    async def _loaded(self) -> tuple[Any, Served]:
        # Importing the library takes long: meanwhile the service answers others.
        loop = await asyncio.to_thread(import_module, "agentsvc_nb.agents.language.loop")
        self._lengths = self._lengths or loop.Lengths()
        return loop, await asyncio.to_thread(self._serve)

    async def _seen_to(self, asking: Awaitable[T]) -> T:
        """Await the model's answer. When the local engine has ended, the `WorkFailure` raised says so."""
        try:
            return await asking
        except WorkFailure as failure:
            if self._engine is not None and failure.code == "model_unavailable":
                await self._see_whether_it_ended(self._engine)
            raise

    async def _see_whether_it_ended(self, engine: Engine) -> None:
        """Connections break before the process has exited, so wait briefly for its exit."""
        if ended := await asyncio.to_thread(engine.ended, DYING_SECONDS):
            raise WorkFailure("model_unavailable", ended)

    def _serve(self) -> Served:
        from agentsvc_nb.agents.language import served

        if self._engine is None:
            return served.by_name(self._choice)
        at = self._engine.start()
        return served.local(self._choice, at.url, at.key, self._engine.context)


class Unconfigured:
    """`agents.port.Agent` for a model that can't be used yet: every call raises `WorkFailure("not_configured")` with
    the reason."""

    def __init__(self, lacking: str) -> None:
        self._lacking = lacking

    async def run(self, turn: RunContext) -> str | None:
        raise WorkFailure("not_configured", self._lacking)

    async def facts(self) -> ModelFacts:
        return ModelFacts("not_configured")

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """`tools.port.Complete`."""
        raise WorkFailure("not_configured", self._lacking)


def lacks(choice: ModelChoice) -> MissingRequirement | None:
    """Why this model can't answer here, and what to do about it; None when no reason is found."""
    model = choice.model
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        return _without("agents", f"The model {model} needs the agent library")
    if choice.gguf is None:
        url = own_server(choice)
        fault = network_fault(url) if url else _of_provider(choice)
        return fault or shortcoming(choice)
    if find_spec("xllamacpp") is None:
        return _without("local-model", f"The model {model} needs a local engine")
    if not choice.gguf.is_file():
        little = "`agentsvc model pull smollm2` gets a small one and says how to use it"
        return MissingRequirement(f"There is no file {choice.gguf}: {little}.")
    return shortcoming(choice)


def _without(extra: str, needs: str) -> MissingRequirement:
    return MissingRequirement(f"{needs}: {pip_install(extra)}.", package=f"agentsvc-nb[{extra}]")


def facts_of(choice: ModelChoice) -> ModelFacts:
    """What is known of a model. Loads the agent library, and asks a server of one's own whether it is there."""
    if lacks(choice):
        return ModelFacts("not_configured", price=choice.price)
    from agentsvc_nb.agents.language import served

    if choice.gguf is not None:
        model = served.local(choice, "http://127.0.0.1/v1", "none", choice.context or CONTEXT_TOKENS)
        return _facts(model, choice.price or (0.0, 0.0))
    url = own_server(choice)
    reason = "unreachable" if url is not None and not answers(url) else None
    model = served.by_name(choice)
    return _facts(model, choice.price or served.published_price(model), reason)


def _facts(model: Served, price: tuple[float, float] | None, reason: str | None = None) -> ModelFacts:
    return ModelFacts(reason, model.context, model.sees, model.tools, price)


def _of_provider(choice: ModelChoice) -> MissingRequirement | None:
    """What a hosted model lacks, or None. Only its library knows, so it is loaded now, not with the first run."""
    from agentsvc_nb.agents.language.served import by_name

    try:
        by_name(choice)
    except NotConfigured as failure:
        return failure.lacking
    return None


_CHILD: Final = "agentsvc_nb.agents.language.engine_child"
_ANSWER_BYTES: Final = 10_000
_VARIABLES: Final = (
    *("HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "LOCALAPPDATA", "PROGRAMDATA", "OMP_NUM_THREADS"),
    *("CUDA_PATH", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION"),
    *("GGML_VK_VISIBLE_DEVICES", "VK_ICD_FILENAMES", "VK_DRIVER_FILES"),
)
"""Environment variables that the libraries for processors and graphics cards read."""


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where the engine answers on loopback, and the API key that it asks for."""

    url: str
    key: str = field(repr=False)


class Engine:
    """Starts the child when it is needed, and another one when it has died. The child ends with this process."""

    def __init__(self, path: Path, context: int | None) -> None:
        self.context = context or CONTEXT_TOKENS
        self._path = path
        self._starting = threading.Lock()
        self._child: LimitedChild | None = None
        self._address: EngineAddress | None = None

    def start(self) -> EngineAddress:
        """The address at which the model answers. Blocks while the model loads. Raises `WorkFailure` if that fails."""
        with self._starting:
            # It may have died since: the next run gets a new child.
            if self._address is None or self.ended():
                self._address = self._start()
            return self._address

    def ended(self, patience: float = 0) -> str | None:
        """How the engine ended, in one sentence; None if it still runs after `patience` seconds, or never started."""
        if self._child is None:
            return None
        code = self._child.wait(patience)
        if code is None:
            return None
        return f"The local engine ended unexpectedly (exit {code}); the next run starts it again."

    def stop(self) -> None:
        """End the child and close its pipes."""
        child = self._child
        self._child = None
        if child is not None:
            child.close()

    def _start(self) -> EngineAddress:
        self.stop()
        key = secrets.token_urlsafe(32)
        # No limits of memory or time: how large a model may be is the user's choice.
        child = self._child = LimitedChild(_CHILD, names=_VARIABLES, variables={"PYTHONUNBUFFERED": "1"}, log=True)
        child.write_line(json.dumps({"path": str(self._path), "key": key, "context": self.context}).encode())
        answer = child.read_line(_ANSWER_BYTES)
        if not answer:
            child.wait()
            raise WorkFailure("model_unavailable", f"The local engine could not load {self._path.name}.")
        return EngineAddress(json.loads(answer)["url"] + "/v1", key)
