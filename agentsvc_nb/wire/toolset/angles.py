"""`find_angles`: ways to tell people about a product."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from agentsvc_nb.wire.toolset.shapes import Filled, ToolInput, ToolOutput

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
    angles: list[Angle]
