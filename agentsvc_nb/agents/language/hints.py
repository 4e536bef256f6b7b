"""The line about language models that could answer here, for who has none (docs/api/models.md). Nothing is switched by
itself, and of a key only its name is told.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from agentsvc_nb.agents.language.model_choice import OLLAMA_URL

SECONDS: Final = 0.5
_KEYS: Final = {"ANTHROPIC_API_KEY": "anthropic:claude-sonnet-4-6", "OPENAI_API_KEY": "openai:gpt-5.2"}
_NAME: Final = re.compile(r"[A-Za-z0-9][\w./:-]{0,99}")


def hint(env: Mapping[str, str]) -> str | None:
    """One line that names what was found and how to switch to it, as `For a language model, start with --model
    openai:gpt-5.2 (OPENAI_API_KEY is set).`; None when nothing was."""
    found = [f"--model {model} ({key} is set)" for key, model in _KEYS.items() if env.get(key)]
    if name := _of_ollama():
        found.append(f"--model ollama:{name} (Ollama runs here)")
    return f"For a language model, start with {' or '.join(found)}." if found else None


def _of_ollama() -> str | None:
    """A model of an Ollama on loopback; None when there is none, or it is not understood."""
    asked = http.client.HTTPConnection(urlsplit(OLLAMA_URL).netloc, timeout=SECONDS)
    try:
        asked.request("GET", "/v1/models")
        name = json.loads(asked.getresponse().read(1_000_000))["data"][0]["id"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return None
    finally:
        asked.close()
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None
