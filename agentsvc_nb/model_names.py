"""The names of models (`offline`, `scripted`, `gguf:FILE`, `PROVIDER:MODEL`), and the facts that a name contains."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from agentsvc_nb.key_forms import looks_like_key

WITHOUT_LANGUAGE_MODEL: Final = ("offline", "scripted")
"""The agents without a language model."""
HOSTED: Final = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-6",
    "OPENAI_API_KEY": "openai:gpt-5.2",
    "GOOGLE_API_KEY": "google:gemini-3.8-flash",
}
"""A first model to suggest from each provider, by the environment variable of the provider's key."""
MODEL_ADVICE: Final = (
    "offline, scripted, gguf:FILE or PROVIDER:MODEL, such as ollama:qwen3 or anthropic:claude-sonnet-4-6"
)
FILE_PREFIXES: Final = ("gguf:", "scripted:")
"""The prefixes of the names of models that are files."""
_ON_OWN_SERVERS: Final = ("openai-chat", "ollama", "vllm")
_OF_OPENAI: Final = re.compile(r"gpt-(?!oss)|chatgpt-|o\d")
_ADDRESSES: Final = {"google": "GOOGLE_GEMINI_BASE_URL", "google-cloud": "GOOGLE_VERTEX_BASE_URL"}
_MODEL: Final = re.compile(r"[a-z][a-z0-9/_-]*:.+")
DIRECT_CALL: Final = "direct-call"
"""Takes the place of the model's name in a run that is one tool call (docs/mcp.md "What waits for approval")."""


def check_model(text: str) -> str:
    """Return the name of a model, with the full path of a file. Raises `ValueError` that says what to give instead."""
    named = text in WITHOUT_LANGUAGE_MODEL or _MODEL.fullmatch(text)
    if not named or (looks_like_key(text) and not text.startswith(FILE_PREFIXES)):
        raise ValueError(MODEL_ADVICE)
    kind, _, file = text.partition(":")
    return f"{kind}:{os.path.abspath(os.path.expanduser(file))}" if text.startswith(FILE_PREFIXES) else text


def provider_of(model: str) -> str:
    """Return the provider in a model's name, or "" for an agent without a language model.

    >>> provider_of("openai-chat:qwen3"), provider_of("offline"), provider_of("scripted:/srv/review.txt")
    ('openai-chat', '', '')
    """
    if model.startswith("scripted:"):  # a recorded conversation
        return ""
    return model.partition(":")[0] if ":" in model else ""


def model_id(model: str) -> str:
    """Return the name of a model in requests and records. The name of a model file loses its folder.

    >>> model_id("gguf:/srv/models/small.gguf"), model_id("ollama:qwen3")
    ('gguf:small.gguf', 'ollama:qwen3')
    """
    return f"{model.partition(':')[0]}:{Path(model).name}" if model.startswith(FILE_PREFIXES) else model


def on_own_server(model: str) -> bool:
    """Return True if a model with a custom address runs on the user's own server.

    Any other model runs at its provider, even if requests go through a gateway or to an endpoint in another region.

    >>> [on_own_server(f"{provider}:qwen3") for provider in ("openai-chat", "ollama", "openai", "anthropic")]
    [True, True, False, False]
    >>> on_own_server("openai-chat:gpt-5.2"), on_own_server("openai-chat:gpt-oss-120b")
    (False, True)
    """
    provider, _, name = model.partition(":")
    return provider in _ON_OWN_SERVERS and not (provider == "openai-chat" and _OF_OPENAI.match(name))


def address_variable(provider: str) -> str:
    """Return the environment variable from which the provider's library reads a custom address.

    >>> address_variable("openai-chat"), address_variable("google")
    ('OPENAI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL')
    """
    return _ADDRESSES.get(provider, f"{provider.partition('-')[0].upper()}_BASE_URL")


def key_variable(provider: str) -> str:
    """Return the environment variable from which most libraries read the provider's key."""
    return f"{provider.partition('-')[0].upper()}_API_KEY"
