"""The offline agent: it quotes the chat's files and computes from one table, without a language model."""

from __future__ import annotations

from agentsvc_nb.agents.port import RunContext, without_client_tools, without_skills


class Offline:
    """Answer from the chat's files alone."""

    async def run(self, turn: RunContext) -> str | None:
        await without_client_tools(turn)
        await without_skills(turn)
        await turn.step()
        await turn.say("This agent quotes files and computes from tables.")
        return None
