"""Find out what a local model can do: whether it answers at all (a base model only continues texts), and whether its
chat template has tools. A file says it in its metadata, and Ollama when it is asked."""

from __future__ import annotations

import http.client
import json
import mmap
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb import clock
from agentsvc_nb.agents.language.model_choice import MissingRequirement, ModelChoice, own_server
from agentsvc_nb.model_names import model_id
from agentsvc_nb.wire.proxies import proxy_of
from agentsvc_nb.wire.reading import read_json

_BASE_NAME: Final = re.compile(
    r"(?:^|[-_.:/])(?:base|pt)(?=$|[-_.:])|:(?:[\w.]+-)?text(?:-|$)|^(?:davinci|babbage)-002$", re.IGNORECASE
)
"""How names of base models are marked: `qwen3:4b-base`, `gemma-3-4b-pt`, `llama2:text`."""
_TOOLS: Final = re.compile(r"\btools?\b")
_TEMPLATE_KEY: Final = "tokenizer.chat_template"
_NO_TEMPLATE: Final = "{{ .Prompt }}"
"""What Ollama uses for a model without a chat template."""
_LOOK_SECONDS: Final = 60.0
_ANSWER_SECONDS: Final = 2.0
_ANSWER_BYTES: Final = 20_000_000


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
    if proxy_of(url):
        return UNKNOWN
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    asked = kind(parts.netloc.rpartition("@")[2], timeout=_ANSWER_SECONDS)
    place = parts.path.rstrip("/").removesuffix("/v1")
    try:
        asked.request("POST", f"{place}/api/show", json.dumps({"model": name}), {"Content-Type": "application/json"})
        answer = asked.getresponse()
        said = read_json(answer.read(_ANSWER_BYTES)) if answer.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError):
        return UNKNOWN
    finally:
        asked.close()
    if not isinstance(said, dict) or not isinstance(able := said.get("capabilities"), list):
        return UNKNOWN
    # Newer models are rendered by Ollama's own code, which the Modelfile names, and have no template either.
    is_rendered = "RENDERER" in str(said.get("modelfile", ""))
    has_template = str(said.get("template", "")).strip() not in ("", _NO_TEMPLATE)
    return ChatAbilities(has_template or is_rendered or "tools" in able, "tools" in able, "vision" in able)


def _of_file(path: Path) -> ChatAbilities:
    """Read a GGUF file's metadata. Nothing is known of a file that can't be read: the engine says why."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            templates = {key: text for key, text in _texts(data) if key.startswith(_TEMPLATE_KEY)}
    except (OSError, ValueError, struct.error):
        return UNKNOWN
    tools = any(_TOOLS.search(key + " " + text) for key, text in templates.items())
    return ChatAbilities(chats=bool(templates), tools=tools)


_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value by its type, of the types of one size."""
_STRING: Final = 8
_ARRAY: Final = 9


def _texts(data: mmap.mmap) -> Iterator[tuple[str, str]]:
    """Yield the texts in the metadata of a GGUF file by their keys. Raises `ValueError` and `struct.error`."""
    magic, version, _, count = struct.unpack_from("<4sIQQ", data)
    if magic != b"GGUF" or version < 2:
        raise ValueError("not a GGUF file")
    at = 24
    for _ in range(count):
        key, at = _text(data, at)
        (kind,) = struct.unpack_from("<I", data, at)
        if kind == _STRING:
            text, at = _text(data, at + 4)
            yield key, text
        else:
            at = _behind(data, at + 4, kind)


def _text(data: mmap.mmap, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<Q", data, at)
    end = at + 8 + length
    return data[at + 8 : end].decode("utf-8", "replace"), end


def _behind(data: mmap.mmap, at: int, kind: int) -> int:
    """Return where the value at `at` ends."""
    if kind == _STRING:
        (length,) = struct.unpack_from("<Q", data, at)
        return at + 8 + int(length)
    if kind != _ARRAY:
        if kind not in _SIZES:
            raise ValueError("an unknown type of value")
        return at + _SIZES[kind]
    item, count = struct.unpack_from("<IQ", data, at)
    at += 12
    if item in _SIZES:
        return at + _SIZES[item] * int(count)
    for _ in range(count):
        at = _behind(data, at, item)
    return at
