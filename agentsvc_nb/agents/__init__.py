"""The agents, which turn a message into an answer. Heavy ones are imported when they are chosen, or later."""

from __future__ import annotations

from agentsvc_nb.agents.language.agent import Language, lacks
from agentsvc_nb.agents.language.agent import Unconfigured as Unconfigured
from agentsvc_nb.agents.language.model_choice import Lacking, ModelChoice
from agentsvc_nb.agents.port import Agent
from agentsvc_nb.model_names import MODEL_ADVICE, model_id
from agentsvc_nb.setting_types import prices
from agentsvc_nb.settings import Settings


def choose(model: str, settings: Settings | None = None, kept_url: str | None = None) -> Agent:
    """The agent for a model's name (docs/api/models.md). `settings`: the operator's settings of a language model;
    `kept_url`: the address of its server when only the data folder names one.

    Raises `ValueError` when there is no such agent, or when a package, file or key that it needs is missing.

    >>> type(choose("offline")).__name__
    'Offline'
    """
    if model == "offline":
        from agentsvc_nb.agents.offline.agent import Offline

        return Offline()
    if model.partition(":")[0] == "scripted":
        from agentsvc_nb.agents.scripted import Scripted, recorded

        return Scripted(recorded(model.removeprefix("scripted:")) if ":" in model else None)
    if ":" not in model:
        raise ValueError(f"There is no agent for the model {model!r}: set AGENTSVC_MODEL to {MODEL_ADVICE}.")
    return _language(_choice(model, settings, kept_url))


def offer(model: str, settings: Settings) -> Agent:
    """The agent of one of several models; one whose runs fail with the reason when it can't answer here."""
    try:
        return choose(model, settings)
    except ValueError as lacking:
        return Unconfigured(str(lacking))


def fault(settings: Settings, kept_url: str | None = None) -> str | None:
    """Why the settings' model can't answer here, and what to do about it; None when no reason is found."""
    found = lacking(settings, kept_url)
    return found.message if found else None


def lacking(settings: Settings, kept_url: str | None = None) -> Lacking | None:
    """What the settings' model lacks to answer here; None when nothing is found."""
    model = settings.model
    if _is_language(model):
        return lacks(_choice(model, settings, kept_url))
    if model.startswith("scripted:"):
        try:
            choose(model)
        except ValueError as error:
            return Lacking(str(error))
    return None


def _is_language(model: str) -> bool:
    return ":" in model and not model.startswith("scripted:")


def _language(choice: ModelChoice) -> Agent:
    if found := lacks(choice):
        raise ValueError(found.message)
    return Language(choice)


def _choice(model: str, settings: Settings | None, kept_url: str | None) -> ModelChoice:
    if settings is None:
        return ModelChoice(model)
    price = prices(settings.prices).get(model_id(model))
    first = next((one for one in (settings.model, *settings.models) if _is_language(one)), model)
    if model.partition(":")[0] != first.partition(":")[0]:
        # What is set is about the models of the first provider.
        return ModelChoice(model, patience=settings.model_patience_seconds, price=price)
    return ModelChoice(
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
