"""What keeps a chosen model from answering: a hosted one is asked for by its library, no other loads it. And what
stands in its place meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from agentsvc_nb.service.ports.agents import AgentFailure, Turn
from agentsvc_nb.service.ports.tools import Meter
from agentsvc_nb.service.work.agents.language.chosen import ModelChoice, own_server


class Unconfigured:
    """`ports.agents.Agent` for a model that lacks something: whoever asks is told what, at once."""

    def __init__(self, lacking: str) -> None:
        self._lacking = lacking

    async def run(self, turn: Turn) -> str | None:
        raise AgentFailure("not_configured", self._lacking)

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """`ports.tools.Complete`."""
        raise AgentFailure("not_configured", self._lacking)


def missing(choice: ModelChoice) -> str | None:
    """What keeps this model from answering here, and what to do; None when nothing is seen to."""
    if find_spec("pydantic_ai") is None or find_spec("openai") is None:
        return f"The model {choice.model} needs the agent library: pip install 'agentsvc-nb[agents]'."
    if choice.gguf is None:
        return None if own_server(choice) else _lacking(choice)
    if find_spec("xllamacpp") is None:
        return f"The model {choice.model} needs a local engine: pip install 'agentsvc-nb[local-model]'."
    if not choice.gguf.is_file():
        return f"There is no file {choice.gguf}: `agentsvc model pull smollm2` gets a small one and says how to use it."
    return None


def _lacking(choice: ModelChoice) -> str | None:
    """What a hosted model lacks. Only its library knows: it is loaded here, rather than with the first run."""
    from agentsvc_nb.service.work.agents.language.served import by_name

    try:
        by_name(choice)
    except AgentFailure as failure:
        return failure.message
    return None
