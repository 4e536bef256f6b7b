"""The names of models (`offline`, `scripted`, `gguf:FILE`, `PROVIDER:MODEL`), and what follows from a name."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from agentsvc_nb.key_forms import looks_like_key

WITHOUT_LANGUAGE_MODEL: Final = ("offline", "scripted")
"""The names that stand for agents without a language model."""
HOSTED: Final = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-6",
    "OPENAI_API_KEY": "openai:gpt-5.2",
    "GOOGLE_API_KEY": "google:gemini-3.8-flash",
}
"""The model to suggest for each provider, by the environment variable of the provider's key."""
MODEL_ADVICE: Final = (
    "offline, scripted, gguf:FILE or PROVIDER:MODEL, such as ollama:qwen3 or anthropic:claude-sonnet-4-6"
)
FILE_PREFIXES: Final = ("gguf:", "scripted:")
"""The prefixes of names that consist of a prefix and the path of a file."""
_ON_OWN_SERVERS: Final = ("openai-chat", "ollama", "vllm")
_OF_OPENAI: Final = re.compile(r"gpt-(?!oss)|chatgpt-|o\d")
_ADDRESSES: Final = {"google": "GOOGLE_GEMINI_BASE_URL", "google-cloud": "GOOGLE_VERTEX_BASE_URL"}
_MODEL: Final = re.compile(r"[a-z][a-z0-9/_-]*:.+")
DIRECT_CALL: Final = "direct-call"
"""The model's name in the record of a run that is a single tool call (docs/mcp.md "What waits for approval")."""


def check_model(text: str) -> str:
    """Return a model's name, with a file's absolute path. Raise `ValueError` with the valid names if it is invalid."""
    named = text in WITHOUT_LANGUAGE_MODEL or _MODEL.fullmatch(text)
    if not named or (looks_like_key(text) and not text.startswith(FILE_PREFIXES)):
        raise ValueError(MODEL_ADVICE)
    kind, _, file = text.partition(":")
    return f"{kind}:{os.path.abspath(os.path.expanduser(file))}" if text.startswith(FILE_PREFIXES) else text


def provider_of(model: str) -> str:
    """Return the provider that a model's name contains, or "" for an agent without a language model.

    >>> provider_of("openai-chat:qwen3"), provider_of("offline"), provider_of("scripted:/srv/review.txt")
    ('openai-chat', '', '')
    """
    if model.startswith("scripted:"):  # a recorded conversation
        return ""
    return model.partition(":")[0] if ":" in model else ""


def model_id(model: str) -> str:
    """Return the id of a model, which requests and records use. It is the model's name, but without the folder of a
    file.

    >>> model_id("gguf:/srv/models/small.gguf"), model_id("ollama:qwen3")
    ('gguf:small.gguf', 'ollama:qwen3')
    """
    return f"{model.partition(':')[0]}:{Path(model).name}" if model.startswith(FILE_PREFIXES) else model


def on_own_server(model: str) -> bool:
    """Return True if a custom address for this model means that the model runs on the user's own server.

    All other models are hosted by their provider, even if a custom address leads through a gateway or to another
    region.

    >>> [on_own_server(f"{provider}:qwen3") for provider in ("openai-chat", "ollama", "openai", "anthropic")]
    [True, True, False, False]
    >>> on_own_server("openai-chat:gpt-5.2"), on_own_server("openai-chat:gpt-oss-120b")
    (False, True)
    """
    provider, _, name = model.partition(":")
    return provider in _ON_OWN_SERVERS and not (provider == "openai-chat" and _OF_OPENAI.match(name))


def address_variable(provider: str) -> str:
    """Return the environment variable with a custom address for the provider. The provider's library reads it.

    >>> address_variable("openai-chat"), address_variable("google")
    ('OPENAI_BASE_URL', 'GOOGLE_GEMINI_BASE_URL')
    """
    return _ADDRESSES.get(provider, f"{provider.partition('-')[0].upper()}_BASE_URL")


def key_variable(provider: str) -> str:
    """Return the environment variable with the provider's key. Most of the providers' libraries read it."""
    return f"{provider.partition('-')[0].upper()}_API_KEY"
