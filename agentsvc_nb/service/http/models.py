"""The API's handler for models, and the check of a start request's model (docs/api/models.md)."""

from __future__ import annotations

import asyncio

from starlette.responses import Response

from agentsvc_nb.agents.port import ModelFacts
from agentsvc_nb.service.accounts import money
from agentsvc_nb.service.http.context import RequestContext
from agentsvc_nb.service.http.responses import answer
from agentsvc_nb.wire.runs import ModelInfo, ModelList


async def models_list(context: RequestContext) -> Response:
    offered = context.services.settings.offered
    return answer(ModelList(data=await asyncio.gather(*(_info(context, id) for id in offered))))


async def why_unavailable(context: RequestContext, model: str) -> str | None:
    """Return why a run can't start with this model now, as a sentence. Return None if a run can start with it."""
    info = await _info(context, model)
    return (
        None
        if info.available
        else f"The model {model} is not available ({info.reason}). `GET /models` lists the models."
    )


async def _info(context: RequestContext, id: str) -> ModelInfo:
    look = getattr(context.services.models[id], "facts", None)
    facts = ModelFacts() if look is None else await look()
    price = facts.price or money.price_per_million(id)
    reason = facts.reason or ("no_price" if price is None and _has_money_limit(context) else None)
    return ModelInfo(
        id=id,
        default=id == context.services.settings.offered[0],
        available=reason is None,
        reason=reason,
        context_tokens=facts.context_tokens,
        sees_images=facts.sees_images,
        uses_tools=facts.uses_tools,
        input_cents_per_million=price and price[0],
        output_cents_per_million=price and price[1],
    )


def _has_money_limit(context: RequestContext) -> bool:
    """Return whether a money limit is set for the service or the key. If so, models without a price are unavailable."""
    settings, key = context.services.settings, context.key
    limits = (settings.day_cents, settings.wallet_cents, settings.plan_pool_cents, key.budget_cents)
    return any(limit is not None for limit in limits)
