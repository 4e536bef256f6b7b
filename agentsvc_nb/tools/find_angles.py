"""Define `find_angles`, a tool that asks a language model for angles to advertise a product."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.tools.port import BaseTool, Filled, Outcome, ToolContext, ask
from agentsvc_nb.tools.support.brand import read_brand

ANGLES_MAX = 20


class FindAnglesInput(BaseModel):
    product: Annotated[Filled, StringConstraints(max_length=10_000)] = Field(description="The product to advertise.")
    audience: Annotated[str, StringConstraints(max_length=2_000)] | None = Field(
        default=None, description="The people to address."
    )
    count: int = Field(default=5, ge=1, le=ANGLES_MAX, description="The maximum number of angles.")


class Angle(BaseModel):
    name: str = Field(description="The idea in a few words.")
    audience: str = Field(description="The audience.")
    hook: str = Field(description="A first line for the ad.")
    why: str = Field(description="Why the angle should work.")
    proof: str = Field(description="The proof that an advertiser must have.")


class Angles(BaseModel):
    angles: list[Angle]


class FoundAngles(Angles):
    brand_files: list[str] = Field(description="The brand's files that the model read.")


PROMPT: Final = (
    "You plan advertising. Find up to {count} different angles to advertise the product below. For each: a name of a "
    "few words, its audience, a first line as hook, why it would work, and what proof the advertiser must have. Claim "
    "nothing that the description does not say. No two angles may rest on the same reason to buy, and each has to be "
    "one that not every competitor could use. Keep to the advertiser's own rules, if there are some below."
    "\n\nProduct:\n{product}\n\nAudience: {audience}{brand}"
)


class FindAngles(BaseTool):
    """Asks the language model once. Without a language model, calls fail with `not_configured`."""

    name: ClassVar[str] = "find_angles"
    description: ClassVar[str] = (
        "Finds angles to advertise a product: audience, hook, reason and proof. Needs a language model."
    )
    group: ClassVar[str] = "ads"
    asynchronous: ClassVar[bool] = True
    idempotent: ClassVar[bool] = True
    settings_used: ClassVar[tuple[str, ...]] = ("model",)
    requirements: ClassVar[str] = (
        "Needs a language model: [models.md](models.md). The model reads the brand's files of the chat, as in "
        "`review_copy`."
    )
    Input: ClassVar[type[BaseModel]] = FindAnglesInput
    Output: ClassVar[type[BaseModel] | None] = FoundAngles

    def available(self) -> bool:
        return self.services.complete is not None

    async def run(self, given: FindAnglesInput, context: ToolContext) -> Outcome:
        own = await read_brand(context.workspace)
        await context.progress(0, 1, "asking the model")
        audience = given.audience or "anybody who needs it"
        prompt = PROMPT.format(count=given.count, product=given.product, audience=audience, brand=own.prompt)
        angles = (await ask(self.services.complete, prompt, Angles, context)).angles[: given.count]
        text = "\n".join(f"- {one.name}: {one.hook}" for one in angles)
        found = FoundAngles(angles=angles, brand_files=list(own.files))
        return Outcome(content=[{"type": "text", "text": text}], data=found.model_dump())
