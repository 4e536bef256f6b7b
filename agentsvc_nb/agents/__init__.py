"""Choose the agent that answers for a model. Agents with large libraries are imported only when they are chosen."""

from __future__ import annotations

from agentsvc_nb.agents.language.agent import Language, find_missing_requirement
from agentsvc_nb.agents.language.agent import Unconfigured as Unconfigured
from agentsvc_nb.agents.language.model_choice import MissingRequirement, ModelChoice
from agentsvc_nb.agents.port import Agent
from agentsvc_nb.model_names import MODEL_ADVICE, provider_of
from agentsvc_nb.settings import Settings


def choose(model: str, settings: Settings | None = None, kept_url: str | None = None) -> Agent:
    """Return the agent that answers for the model of this name (docs/api/models.md).

    `settings` are the settings with which the operator started the service. `kept_url` is the server
    address that the data folder stores for the model, or None if it stores none or a setting names an address.

    Raises `ValueError` if the agent does not exist, or if a package, file or key that the agent needs is missing.

    >>> type(choose("offline")).__name__
    'Offline'
    """
    if model == "offline":
        from agentsvc_nb.agents.offline.agent import Offline

        return Offline()
    if model.partition(":")[0] == "scripted":
        from agentsvc_nb.agents.scripted import Scripted, read_recording

        return Scripted(read_recording(model.removeprefix("scripted:")) if ":" in model else None)
    if ":" not in model:
        raise ValueError(f"There is no agent for the model {model!r}: set AGENTSVC_MODEL to {MODEL_ADVICE}.")
    choice = ModelChoice.from_settings(model, settings, kept_url)
    if found := find_missing_requirement(choice):
        raise ValueError(found.message)
    return Language(choice)


def offer(model: str, settings: Settings) -> Agent:
    """Return the agent for an offered model. If the model can't answer here, the agent's runs fail with the reason."""
    try:
        return choose(model, settings)
    except ValueError as lacking:
        return Unconfigured(str(lacking))


def why_not_configured(settings: Settings, kept_url: str | None = None) -> str | None:
    """Return why the configured model can't answer here and how to fix that, or None if no reason is found."""
    found = missing_requirement(settings, kept_url)
    return found.message if found else None


def missing_requirement(settings: Settings, kept_url: str | None = None) -> MissingRequirement | None:
    """Return the missing requirement of the configured model, or None if the model can probably answer here."""
    model = settings.model
    if provider_of(model):
        return find_missing_requirement(ModelChoice.from_settings(model, settings, kept_url))
    if model.startswith("scripted:"):
        try:
            choose(model)
        except ValueError as error:
            return MissingRequirement(str(error))
    return None
