"""Define `remember`, a tool that proposes a rule for the project's instructions. A person approves each rule."""

from __future__ import annotations

import difflib
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, Field, StringConstraints

from agentsvc_nb.tools.port import BaseTool, Outcome, ToolContext, WorkFailure
from agentsvc_nb.wire.limits import INSTRUCTIONS_CHARS
from agentsvc_nb.wire.text import label

RULE_CHARS: Final = 1_000
Rule = Annotated[str, StringConstraints(strip_whitespace=True, max_length=RULE_CHARS, pattern=r"^\S[^\r\n]*$")]
"""A rule for agents, as one line of plain text."""


class RememberInput(BaseModel):
    rule: Rule = Field(description="One line, such as: Revenue means net revenue.")
    replaces: Rule | None = Field(default=None, description="The existing rule that the new rule replaces.")


class Remember(BaseTool):
    """Adds or replaces a rule. The tool is offered only if the chat belongs to a project."""

    name: ClassVar[str] = "remember"
    description: ClassVar[str] = (
        "Proposes a rule for all later chats of the project, when the user states one or corrects you for good. The "
        "user approves, rewords or refuses it."
    )
    group: ClassVar[str] = "project"
    effect: ClassVar[bool] = True
    always_waits: ClassVar[bool] = True
    repeatable: ClassVar[bool] = True
    """A call may be repeated, because adding a rule that exists already changes nothing."""

    Input: ClassVar[type[BaseModel]] = RememberInput

    async def preview(self, given: RememberInput, context: ToolContext) -> str:
        before = await context.instructions()
        after = with_rule(before, given.rule, given.replaces)
        lines = [*difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")]
        return "\n".join(line for line in lines[2:] if not line.startswith("@@"))

    async def run(self, given: RememberInput, context: ToolContext) -> Outcome:
        await context.change_instructions(lambda before: with_rule(before, given.rule, given.replaces))
        return Outcome.from_text(f"The project's instructions now say: {given.rule}")


def with_rule(before: str, rule: str, replaces: str | None) -> str:
    """Return the instructions with the rule as a new last line, or in place of the line that it `replaces`.

    Raises `WorkFailure("invalid_tool_input")` if the instructions would be too long, or if they do not contain the line
    to replace exactly once.

    >>> with_rule("Be brief.", "Revenue means net.", None)
    'Be brief.\\n- Revenue means net.'
    """
    lines = before.rstrip().splitlines()
    if _words(rule) in map(_words, lines):
        return before
    if replaces is None:
        lines.append(f"- {_words(rule)}")
    else:
        found = [place for place, line in enumerate(lines) if _words(line) == _words(replaces)]
        if len(found) != 1:
            said = f"The project's instructions have no single line {label(replaces, 200)!r}. Nothing was changed."
            raise WorkFailure("invalid_tool_input", said)
        lines[found[0]] = f"- {_words(rule)}"
    after = "\n".join(lines)
    if len(after) > INSTRUCTIONS_CHARS:
        said = f"The project's instructions must not exceed {INSTRUCTIONS_CHARS:,} characters. Nothing was changed."
        raise WorkFailure("invalid_tool_input", said)
    return after


def _words(line: str) -> str:
    return line.strip().removeprefix("- ").strip()
