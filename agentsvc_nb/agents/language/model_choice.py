"""Describe the language model that the operator chose, its abilities, and other models that this machine could use."""

from __future__ import annotations

import http.client
import json
import mmap
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from agentsvc_nb import clock
from agentsvc_nb.agents.language.retry import TOTAL_SECONDS
from agentsvc_nb.model_names import HOSTED, address_variable, model_id, on_own_server, provider_of
from agentsvc_nb.setting_types import prices
from agentsvc_nb.settings import Settings
from agentsvc_nb.tools.port import WorkFailure
from agentsvc_nb.wire.proxies import NetworkSettingError, connection_options, proxy_of
from agentsvc_nb.wire.reading import read_json

CONTEXT_TOKENS: Final = 8_192
"""The context length to assume if it is unknown. Most local servers use this length or more."""
GGUF: Final = "gguf:"
OLLAMA_URL: Final = "http://127.0.0.1:11434/v1"
_ANSWER_BYTES: Final = 20_000_000
_NAME: Final = re.compile(r"[A-Za-z0-9][\w./:-]{0,99}")
_BASE_NAME: Final = re.compile(
    r"(?:^|[-_.:/])(?:base|pt)(?=$|[-_.:])|:(?:[\w.]+-)?text(?:-|$)|^(?:davinci|babbage)-002$", re.IGNORECASE
)
"""Matches the names of base models, which can't chat, such as `qwen3:4b-base`, `gemma-3-4b-pt` and `llama2:text`."""
_TEMPLATE: Final = re.compile(rb"tokenizer\.chat_template([\w.]*)\x08\0\0\0(.{8})", re.DOTALL)
"""Matches the head of a chat template in the metadata of a GGUF file: a key, which may end with the template's name,
the code of the type "text", and the length of the text. The template's text follows.
"""
_TOOLS: Final = re.compile(rb"\btools?\b|^\.tool_use")
_METADATA_BYTES: Final = 100_000_000
"""The number of bytes of a GGUF file in which to look for metadata. Most of the metadata is the model's vocabulary."""
_NO_TEMPLATE: Final = "{{ .Prompt }}"
"""The template that Ollama reports for a model without a chat template."""
_LOOK_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model's name, and what the operator's settings say about the model.

    Attributes:
        url: the address of a self-hosted server, or an address to use instead of the provider's own.
        key: the key for `url`.
        context: the context length in tokens, or None to use what the service knows about the model.
        sees: True if the model accepts pictures, or None to use what the service knows about the model.
        tools: True to offer tools to the model, or None to use what the service knows about the model.
        kept_url: the server address that the data folder stores, or None if it stores none or a setting names an
            address. Providers' keys are not sent to it.
    """

    model: str
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    context: int | None = None
    sees: bool | None = None
    tools: bool | None = None
    kept_url: str | None = None
    patience: float = TOTAL_SECONDS
    """The total number of seconds that a run waits for one answer while the model is unavailable."""
    price: tuple[float, float] | None = None
    """The operator's price, which replaces the published price, in cents per million input and output tokens."""

    @classmethod
    def from_settings(cls, model: str, settings: Settings | None, kept_url: str | None = None) -> ModelChoice:
        """Return the `ModelChoice` of this model, with the settings that apply to it.

        `kept_url` and the settings for a model's address, key, context length and abilities apply only to models of one
        provider: the provider of the first configured model that has a provider in its name.
        """
        if settings is None:
            return cls(model)
        price = prices(settings.prices).get(model_id(model))
        first = next(filter(None, map(provider_of, (settings.model, *settings.models))), provider_of(model))
        choice = cls(model, patience=settings.model_patience_seconds, price=price)
        if provider_of(model) != first:
            return choice
        choice = replace(choice, url=settings.model_url, key=settings.model_key, kept_url=kept_url)
        context, sees, tools = settings.model_context, settings.model_sees, settings.model_tools
        return replace(choice, context=context, sees=sees, tools=tools)

    @property
    def gguf(self) -> Path | None:
        """Return the path of the model file, or None if the model is not a local file."""
        return Path(self.model.removeprefix(GGUF)) if self.model.startswith(GGUF) else None


@dataclass(frozen=True, slots=True)
class MissingRequirement:
    """Something that is missing, so that a model can't answer here.

    Attributes:
        message: what is missing, and how to fix that.
        package: the package to install, or "" if no package is missing.
        variable: the environment variable that must contain the key, or "" if no key is missing.
    """

    message: str
    package: str = ""
    variable: str = ""


Fault = Literal["key", "unknown", "credit", "network", "other"]
"""A reason why a model can't answer: refused key, unknown model, no credit, unreachable server, or another."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of asking a model a short question.

    Attributes:
        answer: the text of the model's answer.
        microcents: the cost of the answer in micro-cents.
        price: the model's price in cents per million input and output tokens, or None if it is unknown.
        tools: True if runs offer tools to the model.
    """

    answer: str = ""
    microcents: int = 0
    price: tuple[float, float] | None = None
    tools: bool = True


class NotConfigured(WorkFailure):
    """Raised if the model can't answer here, because something is missing."""

    def __init__(self, lacking: MissingRequirement) -> None:
        super().__init__("not_configured", lacking.message)
        self.lacking = lacking


def own_server(choice: ModelChoice) -> str | None:
    """Return the address of the model's self-hosted server, or None if a provider hosts the model."""
    if not on_own_server(choice.model):
        return None
    provider = choice.model.partition(":")[0]
    url = choice.url or choice.kept_url or os.environ.get(address_variable(provider))
    return url or (OLLAMA_URL if provider == "ollama" else None)


def network_fault(url: str) -> MissingRequirement | None:
    """Return why the environment prevents requests to a model's server, or None if it does not."""
    try:
        connection_options(url)
    except NetworkSettingError as error:
        return MissingRequirement(f"The model's server can't be reached. {error}")
    return None


def ask_server(
    url: str, path: str, body: Mapping[str, Any] | None = None, *, timeout: float = 2.0
) -> tuple[int, Any] | None:
    """Send a request to a model's server, and return the status and the parsed JSON of the response.

    The JSON is None if the body is not valid JSON. Return None instead of both if the server does not respond.
    """
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


def is_responding(url: str) -> bool:
    """Return True if a server responds at this address, with any status. Behind a proxy, return True without asking."""
    return proxy_of(url) is not None or ask_server(url, "/models") is not None


def startup_hint(env: Mapping[str, str]) -> str | None:
    """Return a line that says which language models this machine could use and how, or None if there is none. Example:
    `For a language model, start with --model openai:gpt-5.2 (OPENAI_API_KEY is set).`
    """
    found = [f"--model {model} ({key} is set)" for key, model in HOSTED.items() if env.get(key)]
    if names := ollama_models():
        found.append(f"--model ollama:{names[0]} (Ollama runs here)")
    return f"For a language model, start with {' or '.join(found)}." if found else None


def ollama_models() -> list[str]:
    """Return the names of the models that Ollama serves on loopback. The list is empty if Ollama does not respond."""
    answer = ask_server(OLLAMA_URL, "/models", timeout=0.5)
    try:
        names = [each["id"] for each in answer[1]["data"]] if answer else []
    except (LookupError, TypeError):
        return []
    return [name for name in names if isinstance(name, str) and _NAME.fullmatch(name)]


@dataclass(frozen=True, slots=True)
class ChatAbilities:
    """Tells whether a model can chat, call tools and see pictures. None means unknown."""

    chats: bool | None = None
    tools: bool | None = None
    sees: bool | None = None


UNKNOWN: Final = ChatAbilities()


def shortcoming(choice: ModelChoice) -> MissingRequirement | None:
    """Return why a model can't be used as configured, or None if no reason is known."""
    found, name = find_abilities(choice), model_id(choice.model)
    if found.chats is False:
        return MissingRequirement(
            f"{name} is a base model: it continues texts and does not answer questions. Choose its instruct version. "
            "(If it is not a base model, rename it.)"
        )
    if choice.tools and found.tools is False:
        return MissingRequirement(
            f"AGENTSVC_MODEL_TOOLS is yes, but the chat template of {name} does not support tools. Unset"
            " the setting to let the model only read and quote, or choose a model with tools, such as ollama:qwen3."
        )
    return None


def find_abilities(choice: ModelChoice) -> ChatAbilities:
    """Return the abilities of a model in a file or in Ollama, as they were at most 60 seconds ago.

    The abilities of other models are unknown, except that base models can't chat.
    """
    provider, _, name = choice.model.partition(":")
    url = own_server(choice)
    if _BASE_NAME.search(Path(name).stem if choice.gguf else name):
        return ChatAbilities(chats=False)
    if choice.gguf is None and (provider != "ollama" or url is None):
        return UNKNOWN
    seen = _seen.get((choice.model, url))
    if seen is None or clock.monotonic() - seen[0] > _LOOK_SECONDS:
        found = _read_gguf_file(choice.gguf) if choice.gguf else _ask_ollama(str(url), name)
        seen = _seen[choice.model, url] = (clock.monotonic(), found)
    return seen[1]


_seen: Final[dict[tuple[str, str | None], tuple[float, ChatAbilities]]] = {}


def _ask_ollama(url: str, name: str) -> ChatAbilities:
    """Ask Ollama for a model's abilities. They are unknown if Ollama does not respond or is behind a proxy."""
    answer = None if proxy_of(url) else ask_server(url.rstrip("/").removesuffix("/v1"), "/api/show", {"model": name})
    said: Any = answer[1] if answer and answer[0] == 200 else None
    if not isinstance(said, dict) or not isinstance(able := said.get("capabilities"), list):
        return UNKNOWN
    # For some newer models, Ollama renders the chat in its own code, which the Modelfile names. They have no template.
    is_rendered = "RENDERER" in str(said.get("modelfile", ""))
    has_template = str(said.get("template", "")).strip() not in ("", _NO_TEMPLATE)
    return ChatAbilities(has_template or is_rendered or "tools" in able, "tools" in able, "vision" in able)


def _read_gguf_file(path: Path) -> ChatAbilities:
    """Find out a model's abilities from the chat templates in its GGUF file. They are unknown if the file can't be
    read; starting the engine then gives the reason.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if data[:4] != b"GGUF":
                return UNKNOWN
            templates = [
                found[1] + data[found.end() : found.end() + int.from_bytes(found[2], "little")]
                for found in _TEMPLATE.finditer(data, 0, _METADATA_BYTES)
            ]
    except (OSError, ValueError):
        return UNKNOWN
    return ChatAbilities(chats=bool(templates), tools=any(map(_TOOLS.search, templates)))
