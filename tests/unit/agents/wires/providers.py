"""Each provider's recommended line of docs/models.md, and the form that it speaks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.unit.agents.wires.anthropic_messages import AnthropicMessages
from tests.unit.agents.wires.chat_completions import ChatCompletions
from tests.unit.agents.wires.google_generate import GoogleGenerate
from tests.unit.agents.wires.reply import Form
from tests.unit.agents.wires.responses import Responses

MODELS_PAGE: Final = Path(__file__).parents[4] / "docs" / "models.md"
LINE: Final = re.compile(r"^((?:AGENTSVC_\w+=\S+ )*)agentsvc restart --model (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Provider:
    """`key` and `address` are the variables of its key and of its address, which ends with `path`. `line` begins the
    model of its recommended line."""

    form: Form
    line: str
    key: str
    address: str
    path: str = ""

    def recommended(self) -> tuple[str, dict[str, str]]:
        """The model of the line in docs/models.md, and the variables in front of it."""
        for variables, model in LINE.findall(MODELS_PAGE.read_text()):
            if model.startswith(f"{self.line}:"):
                return model, dict(each.split("=", 1) for each in variables.split())
        raise LookupError(f"docs/models.md starts no {self.line}")


PROVIDERS: Final = {
    "responses": Provider(Responses(), "openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "completions": Provider(ChatCompletions(), "openai-chat", "AGENTSVC_MODEL_KEY", "AGENTSVC_MODEL_URL", "/v1"),
    "anthropic": Provider(AnthropicMessages(), "anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "google": Provider(GoogleGenerate(), "google", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "ollama": Provider(ChatCompletions(), "ollama", "OLLAMA_API_KEY", "OLLAMA_BASE_URL", "/v1"),
}
