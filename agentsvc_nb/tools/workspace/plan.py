"""Define `plan`, a tool with which an agent shows the user the steps of longer work, as events of the run."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

from agentsvc_nb.tools.port import PLAN, BaseTool, Outcome, ToolContext
from agentsvc_nb.wire.limits import PLAN_STEP_CHARS, PLAN_STEPS_MAX
from agentsvc_nb.wire.text import label

SHOWN: Final = "The user sees this plan."


def _one_line(text: object) -> object:
    return label(text, PLAN_STEP_CHARS) if isinstance(text, str) else text


class Step(BaseModel):
    text: Annotated[str, BeforeValidator(_one_line), StringConstraints(min_length=1)] = Field(
        description="The step in a few words."
    )
    state: Literal["open", "doing", "done"] = "open"


class PlanInput(BaseModel):
    steps: list[Step] = Field(min_length=1, max_length=PLAN_STEPS_MAX)


class Plan(BaseTool):
    """Shows the plan to the user. Models with a short context do not get this tool."""

    name: ClassVar[str] = PLAN
    description: ClassVar[str] = (
        "Shows the user the steps of work with more than three steps. Call it again with all steps when one is done."
    )

    Input: ClassVar[type[BaseModel]] = PlanInput

    async def run(self, given: PlanInput, context: ToolContext) -> Outcome:
        """Do nothing, because the run itself shows the plan (`service.runner.tool_calls`)."""
        return Outcome.from_text(SHOWN)
