"""The agent of a run that is one tool call. An MCP client requests the call, and a person must approve it first."""

from __future__ import annotations

import json
from typing import Any

from agentsvc_nb.agents.port import RunContext
from agentsvc_nb.tools.port import WorkFailure


def message(tool: str, given: dict[str, Any]) -> str:
    """Return the message of a run that only makes this tool call. The run's chat shows the message.

    >>> message("send_email", {"to": ["ann@example.com"]})
    'send_email {"to": ["ann@example.com"]}'
    """
    return f"{tool} {json.dumps(given, ensure_ascii=False)}"


class DirectCallAgent:
    """Makes the tool call that the message describes. If the tool fails, the run fails with the same error."""

    async def run(self, turn: RunContext) -> str:
        tool, _, given = turn.message.partition(" ")
        outcome = await turn.call(tool, json.loads(given))
        if outcome.error is not None:
            raise WorkFailure(*outcome.error)
        return "\n".join(block["text"] for block in outcome.content if block.get("type") == "text")
