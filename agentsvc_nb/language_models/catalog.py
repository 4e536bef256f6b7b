"""List the models that could answer on this machine: those that the embedded service offers, one of each provider,
those in a local Ollama, model files in the data folder, and the offline agent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from agentsvc_nb.agents.language.model_choice import ollama_models
from agentsvc_nb.data_folder import data_folder
from agentsvc_nb.language_models.keys import PLACES, ModelKeys
from agentsvc_nb.language_models.prices import price_text
from agentsvc_nb.model_names import HOSTED, model_id, provider_of
from agentsvc_nb.service.config import load_config
from agentsvc_nb.service.folder import DataFolder, ReadyFile
from agentsvc_nb.setting_types import prices

FREE: Final = "nothing"
_MILLION: Final = 1_000_000
_AGENTS: Final = "agentsvc-nb[agents]"
_PARTS: Final = {
    "anthropic": ("anthropic", _AGENTS),
    "google": ("google.genai", "pydantic-ai-slim[google]"),
    "gguf": ("xllamacpp", "agentsvc-nb[local-model]"),
}
"""The modules to look for and packages to install, for providers that require more than the agent library."""


@dataclass(frozen=True, slots=True)
class AvailableModel:
    """A model that could answer on this machine.

    Attributes:
        default: True for the current model.
        state: what is known about the model in words, such as that its key is set.
        needs: the package to install first, or "".
        price: the price in cents per million input and output tokens, or None if it is unknown.
        charged: True if a provider charges for the model.
    """

    id: str
    default: bool
    state: str
    needs: str
    price: tuple[float, float] | None
    charged: bool

    @property
    def cost(self) -> str:
        if self.price and any(self.price):
            return price_text(self.price)
        return "shown once you choose it" if self.charged else FREE


def current_model(folder: DataFolder) -> str:
    """Return the model with which the folder's service answers, or would if it were started. Raises `SettingsError`."""
    ready = ReadyFile.read(folder.ready)  # the file remains if the service was killed
    return (ready.model if ready else "") or load_config(folder.path, embedded=True).settings.model


def available_models(data: str | Path | None = None) -> list[AvailableModel]:
    """Return the models that could answer on this machine, the current model first. Raises `SettingsError`.

    This function sends no request except to a local Ollama.
    """
    folder = DataFolder(data_folder(os.environ, data))
    config = load_config(folder.path, embedded=True)
    now, kept = model_id(current_model(folder)), ModelKeys(folder)
    own = prices(config.settings.prices)
    states = {now: "current model"}
    for other in config.settings.offered:
        states.setdefault(other, "available with --model")
    for model, state in _found(folder, kept):
        states.setdefault(model, state)
    return [_row(model, state, now, own.get(model)) for model, state in states.items()]


def _found(folder: DataFolder, kept: ModelKeys) -> Iterator[tuple[str, str]]:
    for variable, model in HOSTED.items():
        place = kept.place(variable)
        yield model, f"{variable} is set" if os.environ.get(variable) else _key_state(place)
    for name in ollama_models():
        yield f"ollama:{name}", "installed in Ollama"
    for file in sorted(folder.models.rglob("*.gguf")):
        yield f"gguf:{file.relative_to(folder.models)}", "a file in the data folder"
    yield "offline", "no language model"


def _key_state(place: str) -> str:
    return f"its key is stored {PLACES[place]}" if place else "needs a key (prompts for it)"


def _row(model: str, state: str, now: str, price: tuple[float, float] | None) -> AvailableModel:
    provider = provider_of(model)
    charged = provider not in ("", "ollama", "gguf")
    found = price or (published_price(model) if charged else None)
    return AvailableModel(model, model == now, state, missing_package(provider), found, charged)


def missing_package(provider: str) -> str:
    """Return the package to install for this provider's models, or "" if nothing is known to be missing."""
    if not provider:
        return ""
    module, package = _PARTS.get(provider, ("openai", _AGENTS))
    if find_spec("pydantic_ai") is None:
        return package if provider == "gguf" else _AGENTS
    try:
        return "" if find_spec(module) else package
    except ModuleNotFoundError:  # the module's parent package is missing
        return package


def published_price(model: str) -> tuple[float, float] | None:
    """Return the published price of a provider's model, or None if it is unknown or the agent library is missing."""
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    provider, _, name = model.partition(":")
    asked = (Usage(input_tokens=_MILLION, output_tokens=0), Usage(input_tokens=0, output_tokens=_MILLION))
    try:
        given, made = (calc_price(one, name, provider_id=provider.partition("-")[0]).total_price for one in asked)
    except (LookupError, ValueError):
        return None
    return float(given * 100), float(made * 100)
