"""Print the plan of an agent, a short list of steps that the agent shows during longer work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from agentsvc_nb.wire.limits import PLAN_STEP_CHARS, PLAN_STEPS_MAX
from agentsvc_nb.wire.runs import Event, PlanStep
from agentsvc_nb.wire.text import label

_SIGNS: Final = {"done": "✓", "doing": "▸"}


def read_plan(event: Event) -> list[PlanStep]:
    """Return the steps of the plan in a `plan.changed` event."""
    given: Any = event.payload.get("steps")
    steps = [step for step in given if isinstance(step, dict)] if isinstance(given, list) else []
    return [PlanStep(text=str(step.get("text")), state=str(step.get("state"))) for step in steps[:PLAN_STEPS_MAX]]


def step_line(step: PlanStep) -> str:
    """Return a line with a sign for the step's state and the step's text.

    >>> step_line(PlanStep(text="Read the files", state="done"))
    '✓ Read the files'
    """
    return f"{_SIGNS.get(step.state, '○')} {label(step.text, PLAN_STEP_CHARS)}"


def changed_lines(before: Sequence[PlanStep], plan: Sequence[PlanStep]) -> str:
    """Return the lines to print when `plan` replaces `before`.

    These are the steps whose state changed, or all steps if the text of a step changed.
    """
    if [step.text for step in before] != [step.text for step in plan]:
        return "\n".join(map(step_line, plan))
    return "\n".join(step_line(step) for step, was in zip(plan, before, strict=True) if step != was)
