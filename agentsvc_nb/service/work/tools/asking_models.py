"""How tools ask a language model: for an object of one of our models, and never without one that is set."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from agentsvc_nb.service.ports.agents import AgentFailure
from agentsvc_nb.service.ports.tools import Complete, Meter
from agentsvc_nb.service.settings import variable

M = TypeVar("M", bound=BaseModel)


async def ask(complete: Complete | None, prompt: str, shape: type[M], meter: Meter) -> M:
    """What the model answers; `meter`, the tool's task, counts it.

    Raises `AgentFailure`: `not_configured` without a model, `output_schema_mismatch` for an answer that does not fit.
    """
    if complete is None:
        said = f"This takes a language model: set {variable('model')} (see docs/models.md)."
        raise AgentFailure("not_configured", said)
    found = await complete(prompt, shape.model_json_schema(), meter)
    try:
        return shape.model_validate(found)
    except ValidationError:
        raise AgentFailure("output_schema_mismatch", "The model's answer did not fit what was asked for.") from None
