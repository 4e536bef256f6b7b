"""The agents: what turns a message into an answer. Heavy ones are imported when they are chosen."""

from __future__ import annotations

from agentsvc_nb.service.ports import Agent
from agentsvc_nb.service.settings import MODEL_ADVICE


def choose(model: str) -> Agent:
    """The agent for a model's name (contract §9).

    Raises `ValueError` when there is no such agent.

    >>> type(choose("offline")).__name__
    'Offline'
    """
    if model == "offline":
        from agentsvc_nb.service.work.agents.offline.agent import Offline

        return Offline()
    if model == "scripted":
        from agentsvc_nb.service.work.agents.scripted import Scripted

        return Scripted()
    raise ValueError(f"There is no agent for the model {model!r}: set AGENTSVC_MODEL to {MODEL_ADVICE}.")
