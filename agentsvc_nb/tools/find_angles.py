"""`find_angles`: advertising angles for a product, by a language model; `not_configured` without one."""

from __future__ import annotations

import asyncio
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.tools.port import (
    LIMIT_REACHED,
    BaseTool,
    Filled,
    Outcome,
    ToolContext,
    ToolInput,
    ToolOutput,
    WorkFailure,
    ask,
)
from agentsvc_nb.tools.support import copy_facts
from agentsvc_nb.tools.support.brand import Brand, brand
from agentsvc_nb.tools.support.copy_facts import Claim

ANGLES_MAX = 20


class FindAnglesInput(ToolInput):
    product: Annotated[Filled, StringConstraints(max_length=10_000)] = Field(description="What is advertised.")
    audience: Annotated[str, StringConstraints(max_length=2_000)] | None = Field(default=None, description="For whom.")
    count: int = Field(default=5, ge=1, le=ANGLES_MAX, description="How many angles, at most.")


class Angle(ToolOutput):
    name: str = Field(description="The idea in a few words.")
    audience: str = Field(description="For whom it works.")
    hook: str = Field(description="A first line.")
    why: str = Field(description="Why it would work.")
    proof: str = Field(description="What an advertiser has to be able to show for it.")


class Angles(ToolOutput):
    """What the model is asked for."""

    angles: list[Angle]


class FoundAngles(Angles):
    claims: list[Claim] = Field(description="Claims in the product's description that want proof, found by rules.")
    brand_files: list[str] = Field(description="The brand's files that the model was told.")


PROMPT: Final = (
    "You plan advertising. Find up to {count} different angles to advertise the product below. For each: a name of a "
    "few words, its audience, a first line as hook, why it would work, and what proof the advertiser must have. Claim "
    "nothing that the description does not say. No two angles may rest on the same reason to buy, and each has to be "
    "one that not every competitor could use. Keep to the advertiser's own rules, if there are some below.{claims}"
    "\n\nProduct:\n{product}\n\nAudience: {audience}{brand}"
)
_CLAIMS: Final = " The description makes claims that want proof: {claims}."


class FindAngles(BaseTool):
    """Makes one call of the language model."""

    name: ClassVar[str] = "find_angles"
    description: ClassVar[str] = "Finds angles to advertise a product: audience, hook, reason and proof. Needs a model."
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True

    settings_used: ClassVar[tuple[str, ...]] = ("model",)
    requirements: ClassVar[str] = (
        "Needs a language model: [models.md](models.md). It is told the brand's files of the chat, as in "
        "`review_copy`. When it fails, the claims that rules found in the description are in the result beside the "
        "error."
    )

    Input: ClassVar[type[BaseModel]] = FindAnglesInput
    Output: ClassVar[type[BaseModel] | None] = FoundAngles

    def available(self) -> bool:
        return self.services.complete is not None

    async def run(self, given: FindAnglesInput, context: ToolContext) -> Outcome:
        claims = await asyncio.to_thread(copy_facts.claims, given.product)
        own = await brand(context.workspace)
        await context.progress(0, 1, "asking the model")
        try:
            found = await ask(self.services.complete, _prompt(given, claims, own), Angles, context)
        except WorkFailure as failure:
            if failure.code == LIMIT_REACHED:
                raise
            return _without(claims, own, failure)
        angles = found.angles[: given.count]
        text = "\n".join(f"- {one.name}: {one.hook}" for one in angles)
        kept = FoundAngles(angles=angles, claims=claims, brand_files=list(own.files))
        return Outcome(content=[{"type": "text", "text": text}], data=kept.model_dump())


def _prompt(given: FindAnglesInput, claims: list[Claim], own: Brand) -> str:
    said = "; ".join(f"{claim.text!r} ({claim.kind})" for claim in claims)
    return PROMPT.format(
        count=given.count,
        claims=_CLAIMS.format(claims=said) if claims else "",
        product=given.product,
        audience=given.audience or "whoever needs it",
        brand=own.prompt,
    )


def _without(claims: list[Claim], own: Brand, failure: WorkFailure) -> Outcome:
    """What is known without the model's answer, and why there is none."""
    lines = [failure.message, *(f"- claim: {claim.text!r} ({claim.kind}). {claim.advice}" for claim in claims)]
    kept = FoundAngles(angles=[], claims=claims, brand_files=list(own.files))
    content = [{"type": "text", "text": "\n".join(lines)}]
    return Outcome(content=content, data=kept.model_dump(), error=(failure.code, failure.message))
