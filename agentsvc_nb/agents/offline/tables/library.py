"""The chat's files, and which of them a question names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from agentsvc_nb.agents.offline.words import stems
from agentsvc_nb.formats.queries import is_scratch, tokens
from agentsvc_nb.tools.port import COMPUTED, Workspace, WorkspaceEntry


class Library:
    """The files of one chat, listed once."""

    def __init__(self, workspace: Workspace, entries: Sequence[WorkspaceEntry]) -> None:
        self.workspace = workspace
        usable = (entry for entry in entries if entry.output_type not in COMPUTED)
        self.entries = [entry for entry in usable if not is_scratch(entry.path)]

    def named(self, question: str) -> list[str]:
        """The files that the question names: `brief.md`, or `the brief`."""
        asked, folded = set(stems(question)), question.casefold()
        return [entry.path for entry in self.entries if _is_named(PurePosixPath(entry.path), asked, folded)]


def _is_named(path: PurePosixPath, asked: set[str], folded: str) -> bool:
    title = tokens(path.stem)
    return path.name.casefold() in folded or (
        bool(title) and len("".join(title)) > 2 and set(stems(path.stem)) <= asked
    )
