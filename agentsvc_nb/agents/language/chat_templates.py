"""Find out what a local model can do: whether it answers at all (a base model only continues texts), and whether its
chat template has tools. A file says it in its metadata, and Ollama when it is asked."""

from __future__ import annotations

import mmap
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agentsvc_nb import clock
from agentsvc_nb.agents.language.model_choice import MissingRequirement, ModelChoice, ask_server, own_server
from agentsvc_nb.model_names import model_id
from agentsvc_nb.wire.proxies import proxy_of

_BASE_NAME: Final = re.compile(
    r"(?:^|[-_.:/])(?:base|pt)(?=$|[-_.:])|:(?:[\w.]+-)?text(?:-|$)|^(?:davinci|babbage)-002$", re.IGNORECASE
)
"""How names of base models are marked: `qwen3:4b-base`, `gemma-3-4b-pt`, `llama2:text`."""
_TEMPLATE: Final = re.compile(rb"tokenizer\.chat_template([\w.]*)\x08\0\0\0(.{8})", re.DOTALL)
"""The key of a template with the name of a special one, the type of a text and its length; the text follows."""
_TOOLS: Final = re.compile(rb"\btools?\b|^\.tool_use")
_METADATA_BYTES: Final = 100_000_000
"""Metadata of a GGUF file takes less: most of it are the words that the model knows."""
_NO_TEMPLATE: Final = "{{ .Prompt }}"
"""What Ollama uses for a model without a chat template."""
_LOOK_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class ChatAbilities:
    """What a model can do. None: it is not known."""

    chats: bool | None = None
    tools: bool | None = None
    sees: bool | None = None


UNKNOWN: Final = ChatAbilities()


def shortcoming(choice: ModelChoice) -> MissingRequirement | None:
    """Return why a model is not to be used, or not as the settings say. None if nothing is known against it."""
    found, name = abilities(choice), model_id(choice.model)
    if found.chats is False:
        return MissingRequirement(
            f"{name} is a base model: it continues texts and does not answer questions. Choose its instruct version. "
            "(If it is none, give it another name.)"
        )
    if choice.tools and found.tools is False:
        return MissingRequirement(
            f"AGENTSVC_MODEL_TOOLS=yes, but the chat template of {name} has no tools: the model would not be told of "
            "them. Unset the setting, so that the model reads and quotes, or choose a model with tools, such as "
            "ollama:qwen3."
        )
    return None


def abilities(choice: ModelChoice) -> ChatAbilities:
    """Return what a local model can do, at most `_LOOK_SECONDS` old; nothing is known of other models."""
    provider, _, name = choice.model.partition(":")
    url = own_server(choice)
    if _BASE_NAME.search(Path(name).stem if choice.gguf else name):
        return ChatAbilities(chats=False)
    if choice.gguf is None and (provider != "ollama" or url is None):
        return UNKNOWN
    seen = _seen.get((choice.model, url))
    if seen is None or clock.monotonic() - seen[0] > _LOOK_SECONDS:
        found = _of_file(choice.gguf) if choice.gguf else _of_ollama(str(url), name)
        seen = _seen[choice.model, url] = (clock.monotonic(), found)
    return seen[1]


_seen: Final[dict[tuple[str, str | None], tuple[float, ChatAbilities]]] = {}


def _of_ollama(url: str, name: str) -> ChatAbilities:
    """Ask Ollama. Nothing is known if it does not answer, or is asked through a proxy."""
    answer = None if proxy_of(url) else ask_server(url.rstrip("/").removesuffix("/v1"), "/api/show", {"model": name})
    said: Any = answer[1] if answer and answer[0] == 200 else None
    if not isinstance(said, dict) or not isinstance(able := said.get("capabilities"), list):
        return UNKNOWN
    # Newer models are rendered by Ollama's own code, which the Modelfile names, and have no template either.
    is_rendered = "RENDERER" in str(said.get("modelfile", ""))
    has_template = str(said.get("template", "")).strip() not in ("", _NO_TEMPLATE)
    return ChatAbilities(has_template or is_rendered or "tools" in able, "tools" in able, "vision" in able)


def _of_file(path: Path) -> ChatAbilities:
    """Look for the templates in a GGUF file's metadata, which come first. Nothing is known of a file that can't be
    read: the engine says why."""
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
