"""Which language model the operator chose, and which models could answer on this machine when none is chosen."""

from __future__ import annotations

import http.client
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from agentsvc_nb.agents.language.retry import TOTAL_SECONDS
from agentsvc_nb.model_names import HOSTED, address_variable, model_id, on_own_server, provider_of
from agentsvc_nb.setting_types import prices
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.proxies import NetworkSettingError, connection_options, proxy_of
from agentsvc_nb.wire.reading import read_json

CONTEXT_TOKENS: Final = 8_192
"""The context assumed when it is unknown: most local servers are set up for that or more."""
GGUF: Final = "gguf:"
OLLAMA_URL: Final = "http://127.0.0.1:11434/v1"
_ANSWER_BYTES: Final = 20_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][\w./:-]{0,99}")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The operator's choice: the model's name, and facts that can't be found out about a self-hosted server.

    `url` and `key` are those of a server of one's own, or of another address of the provider; `context` is how many
    tokens a call may hold, `sees` whether the model takes pictures, `tools` whether it is offered tools. None: as known
    of the model. `kept_url` is the address when only the data folder names one; no provider's key is sent there.
    """

    model: str
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    context: int | None = None
    sees: bool | None = None
    tools: bool | None = None
    kept_url: str | None = None
    patience: float = TOTAL_SECONDS
    """Seconds that a run waits in all for an answer, while the model is away."""
    price: tuple[float, float] | None = None
    """Cents a million tokens of input and of output, by the operator."""

    @classmethod
    def from_settings(cls, model: str, settings: Settings | None, kept_url: str | None = None) -> ModelChoice:
        """Return the choice of this model with its settings. `model_url` and the other `model_*` settings apply only to
        models of the first provider that is offered."""
        if settings is None:
            return cls(model)
        price = prices(settings.prices).get(model_id(model))
        first = next(filter(None, map(provider_of, (settings.model, *settings.models))), provider_of(model))
        if provider_of(model) != first:
            return cls(model, patience=settings.model_patience_seconds, price=price)
        return cls(
            model,
            settings.model_url,
            settings.model_key,
            settings.model_context,
            settings.model_sees,
            settings.model_tools,
            kept_url,
            settings.model_patience_seconds,
            price,
        )

    @property
    def gguf(self) -> Path | None:
        """The file of a local model; None for any other model."""
        return Path(self.model.removeprefix(GGUF)) if self.model.startswith(GGUF) else None


@dataclass(frozen=True, slots=True)
class MissingRequirement:
    """Why a model can't answer here, and what to do about it: in words, and, where one is known, the `package` to
    install or the `variable` of the key to set."""

    message: str
    package: str = ""
    variable: str = ""


Fault = Literal["key", "unknown", "credit", "network", "other"]
"""What keeps a model from answering: its key is refused, there is no such model, nothing pays for it, its server can't
be reached."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a model answered to a short question, what that cost, cents a million tokens of input and of output, and
    whether the model is offered tools."""

    answer: str = ""
    microcents: int = 0
    price: tuple[float, float] | None = None
    tools: bool = True


class NotConfigured(WorkFailure):
    """The model can't answer here."""

    def __init__(self, lacking: MissingRequirement) -> None:
        super().__init__("not_configured", lacking.message)
        self.lacking = lacking


def own_server(choice: ModelChoice) -> str | None:
    """The address of a self-hosted server; None for a provider's model, wherever it is asked."""
    if not on_own_server(choice.model):
        return None
    provider = choice.model.partition(":")[0]
    url = choice.url or choice.kept_url or os.environ.get(address_variable(provider))
    return url or (OLLAMA_URL if provider == "ollama" else None)


def network_fault(url: str) -> MissingRequirement | None:
    """Why the environment keeps a model's server from being reached; None if it does not."""
    try:
        connection_options(url)
    except NetworkSettingError as error:
        return MissingRequirement(f"The model's server can't be reached. {error}")
    return None


def ask_server(
    url: str, path: str, body: Mapping[str, Any] | None = None, *, timeout: float = 2.0
) -> tuple[int, Any] | None:
    """Return the status and the JSON document (None for any other) with which a model's server answers. Return None if
    it does not answer."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.netloc.rpartition("@")[2], timeout=timeout)
    method, sent = ("GET", None) if body is None else ("POST", json.dumps(body))
    try:
        connection.request(method, parts.path.rstrip("/") + path, sent, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read(_ANSWER_BYTES)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    try:
        return answer.status, read_json(data)
    except ValueError:
        return answer.status, None


def answers(url: str) -> bool:
    """Return True if a server answers at this address, whatever it says. One behind a proxy is not asked."""
    return proxy_of(url) is not None or ask_server(url, "/models") is not None


def hint(env: Mapping[str, str]) -> str | None:
    """Return one line that names the models found and how to switch to them, as `For a language model, start with
    --model openai:gpt-5.2 (OPENAI_API_KEY is set).`; None when none was found."""
    found = [f"--model {model} ({key} is set)" for key, model in HOSTED.items() if env.get(key)]
    if names := ollama_models():
        found.append(f"--model ollama:{names[0]} (Ollama runs here)")
    return f"For a language model, start with {' or '.join(found)}." if found else None


def ollama_models() -> list[str]:
    """Return the names of the models that Ollama serves on loopback; empty when there is none, or its answer can't be
    read."""
    answer = ask_server(OLLAMA_URL, "/models", timeout=0.5)
    try:
        names = [each["id"] for each in answer[1]["data"]] if answer else []
    except (LookupError, TypeError):
        return []
    return [name for name in names if isinstance(name, str) and _NAME.fullmatch(name)]
