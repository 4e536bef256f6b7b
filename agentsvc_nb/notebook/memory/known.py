"""What the notebook has seen so far: completion answers from here and the journal, never from the network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agentsvc_nb.client.approvals import WaitingCall


@dataclass
class Known:
    """Names by kind, as the last listing of each gave them; connecting elsewhere forgets them."""

    files: list[str] = field(default_factory=list)
    tools: dict[str, bool] = field(default_factory=dict)
    """By name, whether it is asynchronous: a tool for jobs."""
    projects: dict[str, str] = field(default_factory=dict)
    """Ids by name."""
    feedback: list[str] = field(default_factory=list)
    asked: dict[str, dict[str, WaitingCall]] = field(default_factory=dict)
    """By run that is or was watched, its calls that wait for approval, as they come and go."""
    calls: list[str] = field(default_factory=list)
    """Those that `%approve` has listed."""

    rows: dict[str, None] = field(default_factory=dict)
    """Runs of rows of `%%ask --each` that were last seen going on."""

    def wrote(self, paths: Iterable[str]) -> None:
        """A run or job wrote these files."""
        self.files = list(dict.fromkeys([*paths, *self.files]))
