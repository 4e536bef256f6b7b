"""The agents: what turns a message into an answer. Heavy ones are imported when they are chosen, or later."""

from __future__ import annotations

from agentsvc_nb.service.ports.agents import Agent
from agentsvc_nb.service.settings import MODEL_ADVICE, Settings
from agentsvc_nb.service.work.agents.language.chosen import ModelChoice, asked_at
from agentsvc_nb.service.work.agents.language.missing import missing


def choose(model: str, settings: Settings | None = None) -> Agent:
    """The agent for a model's name (contract §9). `settings`: what they say of a language model counts.

    Raises `ValueError` when there is no such agent, or when what it needs is not installed.

    >>> type(choose("offline")).__name__
    'Offline'
    """
    if model == "offline":
        from agentsvc_nb.service.work.agents.offline.agent import Offline

        return Offline()
    if model == "scripted":
        from agentsvc_nb.service.work.agents.scripted import Scripted

        return Scripted()
    if ":" not in model:
        raise ValueError(f"There is no agent for the model {model!r}: set AGENTSVC_MODEL to {MODEL_ADVICE}.")
    return _language(model, settings)


def fault(settings: Settings) -> str | None:
    """What keeps the settings' model from answering here, and what to do; None when nothing is seen to."""
    return missing(_choice(settings.model, settings)) if ":" in settings.model else None


def address(settings: Settings) -> str:
    """Where the settings' model is asked, when that is not its provider's own address: without a password."""
    return asked_at(_choice(settings.model, settings))


def _language(model: str, settings: Settings | None) -> Agent:
    from agentsvc_nb.service.work.agents.language.agent import Language

    choice = _choice(model, settings)
    if lacking := missing(choice):
        raise ValueError(lacking)
    return Language(choice)


def _choice(model: str, settings: Settings | None) -> ModelChoice:
    if settings is None:
        return ModelChoice(model)
    return ModelChoice(
        model,
        settings.model_url,
        settings.model_key,
        settings.model_context,
        settings.model_sees,
        settings.model_tools,
    )
