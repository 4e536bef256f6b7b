"""Agent Runs (spec.md "Agent Run"; contract.md §2)."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field

from agentsvc_nb.wire.envelope import Model

RunStatus = Literal["queued", "running", "cancelling", "completed", "failed", "cancelled"]
ACTIVE: Final = frozenset({"queued", "running", "cancelling"})
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""A status that is not known is not terminal (contract §2)."""


class Usage(Model):
    """What a run used: tokens, and their price in micro-cents (10^-6 cent)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microcents: int = 0


class Run(Model):
    """One agent turn inside a chat.

    `output` is the final text; `structured_output` the same as data, when the run completed and its text is a JSON
    object; `last_error` a code of `wire.failures.FAILURES`, or the agent's own.
    """

    object: str = "agent_run"
    run_id: str
    status: RunStatus | str
    chat: str | None = None
    project: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    output: str | None = None
    structured_output: dict[str, Any] | None = None
    last_error: str | None = None
    last_error_message: str | None = None
    steps: int = 0
    usage: Usage = Field(default_factory=Usage)
    model: str | None = None
    app_url: str | None = None

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL
