"""The models that a service offers (docs/api/models.md "Models by choice")."""

from typing import Literal

from pydantic import Field

from agentsvc_nb.wire.failures import Model

Effort = Literal["low", "medium", "high"]
"""How much thought a model is to give an answer."""
Unavailable = Literal["not_configured", "unreachable", "no_price"]


class ModelInfo(Model):
    """A model that a start may name. `reason` is why it is not available; prices are in cents a million tokens, None
    when they are not known, as is `context_tokens`."""

    object: str = "model"
    id: str
    default: bool = False
    available: bool = True
    reason: Unavailable | str | None = None
    context_tokens: int | None = None
    sees_images: bool = False
    uses_tools: bool = False
    input_cents_per_million: float | None = None
    output_cents_per_million: float | None = None


class ModelList(Model):
    """The models that a service offers, the default first."""

    object: str = "list"
    data: list[ModelInfo] = Field(default_factory=list)
