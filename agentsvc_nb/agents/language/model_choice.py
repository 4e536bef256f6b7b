"""Which language model the operator chose, and what keeps it from answering here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import Meter, WorkFailure

CONTEXT_TOKENS: Final = 8_192
"""What a model is taken to hold when nobody says: most local servers are set up for that or more."""
GGUF: Final = "gguf:"
OLLAMA_URL: Final = "http://127.0.0.1:11434/v1"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the operator set: the model's name, and what can't be found out about a server of one's own.

    `url` and `key`: of a server that speaks OpenAI's chat completions; `context`: how many tokens a call may hold;
    `sees`: whether the model looks at pictures; `tools`: whether it is offered any. None: what is known of the model.
    `kept_url`: the server's address when only the data folder says it; no key of a provider goes there.
    """

    model: str
    url: str | None = None
    key: str | None = None
    context: int | None = None
    sees: bool | None = None
    tools: bool | None = None
    kept_url: str | None = None

    @property
    def gguf(self) -> Path | None:
        """The file of a local model."""
        return Path(self.model.removeprefix(GGUF)) if self.model.startswith(GGUF) else None


def own_server(choice: ModelChoice) -> str | None:
    """The address of a server of one's own, when one is meant."""
    if url := choice.url or choice.kept_url:
        return url
    provider = choice.model.partition(":")[0]
    if provider == "ollama":
        return os.environ.get("OLLAMA_BASE_URL") or OLLAMA_URL
    return os.environ.get("OPENAI_BASE_URL") if provider in ("openai", "openai-chat") else None


class Unconfigured:
    """`ports.agents.Agent` for a model that lacks something: whoever asks is told what, at once."""

    def __init__(self, lacking: str) -> None:
        self._lacking = lacking

    async def run(self, turn: RunContext) -> str | None:
        raise WorkFailure("not_configured", self._lacking)

    async def complete(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """`ports.tools.Complete`."""
        raise WorkFailure("not_configured", self._lacking)


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
    from agentsvc_nb.agents.language.served import by_name

    try:
        by_name(choice)
    except WorkFailure as failure:
        return failure.message
    return None
