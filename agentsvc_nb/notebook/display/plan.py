"""The plan that an agent shows in a longer run: a list of steps that are marked as they are done."""

from __future__ import annotations

from collections.abc import Sequence

from agentsvc_nb.client.cards import Bundle
from agentsvc_nb.client.plans import step_line
from agentsvc_nb.wire.limits import PLAN_STEP_CHARS
from agentsvc_nb.wire.runs import PlanStep
from agentsvc_nb.wire.text import escape


def plan_bundle(plan: Sequence[PlanStep]) -> Bundle:
    return {"text/plain": "\n".join(map(step_line, plan)), "text/html": plan_html(plan)}


def plan_html(plan: Sequence[PlanStep]) -> str:
    """Return a plan as an HTML list. Return an empty text for a plan without steps."""
    rows = "".join(f"<li>{escape(step_line(step), PLAN_STEP_CHARS + 2)}</li>" for step in plan)
    style = "list-style:none;margin:4px 0;padding:0"
    return f'<ul class="asvc-plan" style="{style}" aria-label="Plan">{rows}</ul>' if rows else ""


def plan_summary(plan: Sequence[PlanStep]) -> str:
    """Return the progress of a plan, such as `2 of 5 planned steps done`."""
    return f"{sum(step.state == 'done' for step in plan)} of {len(plan)} planned steps done"
