"""Which language model could be switched on: said in one line at start, never done by itself (contract §9)."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Mapping
from typing import Final

PROVIDERS: Final = {
    "OPENAI_API_KEY": "openai-chat:MODEL",
    "ANTHROPIC_API_KEY": "anthropic:MODEL",
    "OPENROUTER_API_KEY": "openrouter:MODEL",
}
OLLAMA_PORT: Final = 11434
PROBE_SECONDS: Final = 0.5


def announce_switches(model: str, env: Mapping[str, str]) -> None:
    """Print the line from a thread of its own: a probe that hangs must not delay the start."""
    if model == "offline":
        threading.Thread(target=_print_line, args=(dict(env),), name="switches", daemon=True).start()


def switch_line(env: Mapping[str, str], ollama_port: int = OLLAMA_PORT) -> str | None:
    """The line, or None when there is no provider's key in `env` and no Ollama on loopback."""
    choices = {f"{name} is set": model for name, model in PROVIDERS.items() if env.get(name)}
    if local := ollama_model(ollama_port):
        choices["Ollama answers"] = f"ollama:{local}"
    if not choices:
        return None
    found = "; ".join(f"{reason}: AGENTSVC_MODEL={model}" for reason, model in choices.items())
    return f"The offline agent never switches by itself; to use a language model, restart with its setting ({found})."


def ollama_model(port: int = OLLAMA_PORT) -> str | None:
    """The first model that an Ollama on loopback has; None when none answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PROBE_SECONDS)
    try:
        connection.request("GET", "/api/tags")
        name = json.loads(connection.getresponse().read(1_000_000))["models"][0]["name"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return None
    finally:
        connection.close()
    return name if isinstance(name, str) else None


def _print_line(env: Mapping[str, str]) -> None:
    if line := switch_line(env):
        print(line, flush=True)
