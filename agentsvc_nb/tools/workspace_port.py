"""The files of a chat as agents and tools see them. The docstrings are the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from agentsvc_nb.documents.engine.messages import FileTables, QueryAnswer


class WorkspaceEntry(Protocol):
    """A file of a chat, as agents and tools see it.

    Attributes:
        output_type: the type of the typed output that it belongs to.
        unreadable: why its text, or a part of it, could not be read, as far as it was tried; empty if it could.
    """

    @property
    def path(self) -> str: ...
    @property
    def media_type(self) -> str: ...
    @property
    def size_bytes(self) -> int: ...
    @property
    def sha256(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def output_type(self) -> str | None: ...
    @property
    def unreadable(self) -> str: ...


COMPUTED: Final = ("table", "chart")
"""The types of what was computed from other files of the chat: no question is answered from it unless it is named."""
RULES: Final = ("AGENTS.md", "BRAND.md")
"""Names of files in which a chat's members give an agent rules."""
SUMMARY: Final = "logs/chat-summary.md"
"""What an agent is told of the first turns of a long chat. It writes the file itself, its tools can't. Searches do not
find it."""


class Workspace(Protocol):
    """The files of one chat. Paths are logical, relative, with `/`."""

    async def list(self) -> Sequence[WorkspaceEntry]:
        """All files, by path."""
        ...

    def open(self, path: str) -> AbstractAsyncContextManager[Path]:
        """A local file with the content, to read only, for as long as the context lasts. Raises
        `FileNotFoundError`."""
        ...

    async def text(self, path: str) -> str:
        """The readable text of a file (at most 1 MB; empty when it has none). Raises `FileNotFoundError`."""
        ...

    async def unreadable(self, path: str) -> str:
        """A sentence that says why the text of a file, or a part of it, can't be read, such as "It needs a password.
        Upload a copy without one."; empty if it can, or if the file is none of text. Raises `FileNotFoundError`."""
        ...

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Paths whose name or contents match the query (the grammar of `/files/search`), best first, at most 100."""
        ...

    async def skill(self, name: str) -> Mapping[str, str]:
        """The texts of a skill of the chat's project, by path. Raises `FileNotFoundError`."""
        ...

    @property
    def tables(self) -> WorkspaceTables: ...


class WorkspaceTables(Protocol):
    """The tables in the files of one chat. They are read and asked in a process of their own. `query` raises
    `WorkFailure("too_much_work")` when that takes too long or too much memory."""

    async def profiles(self, paths: Sequence[str] = ()) -> Sequence[FileTables]:
        """Return the tables of these files by path, or of all files that may have some, with those that can't be read.
        The names of a chat's tables are unique. Raises `FileNotFoundError`."""
        ...

    async def query(self, sql: str, paths: Sequence[str] = (), *, save: bool = False) -> QueryAnswer:
        """Query the tables of these files, or of all. `save` adds the rows as CSV. Raises `FileNotFoundError`, and
        `WorkFailure("query_failed")` with the engine's message."""
        ...


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """A stored video, sound or picture. `open` is as `Workspace.open`."""

    id: str
    kind: str
    url: str | None
    duration_s: float | None
    transcript: dict[str, Any] | None
    open: Callable[[], AbstractAsyncContextManager[Path]]
