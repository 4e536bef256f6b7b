"""Which language model the operator chose."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
