"""Define the interface of agents and tools to a chat's files. The docstrings here are the contract for both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from agentsvc_nb.documents.engine.messages import FileTables, QueryAnswer


class WorkspaceEntry(Protocol):
    """Describes a file of a chat.

    Attributes:
        output_type: the type of the typed output to which the file belongs, or None.
        unreadable: a sentence that says why the file's text, or a part of it, could not be read. Empty if it was read,
            or if reading was not tried.
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
"""Output types of files computed from other files of the chat. Answers use them only if the question names them."""
RULES: Final = ("AGENTS.md", "BRAND.md")
"""The names of files in which users write rules for agents."""
SUMMARY: Final = "logs/chat-summary.md"
"""The path of the agent's summary of a long chat's first turns. Tools can't write it, and searches do not find it."""


class Workspace(Protocol):
    """Gives access to the files of one chat. Paths are relative to the chat's workspace, with `/`."""

    async def list(self) -> Sequence[WorkspaceEntry]:
        """Return all files of the chat, sorted by path."""
        ...

    def open(self, path: str) -> AbstractAsyncContextManager[Path]:
        """Yield the path of a local file with the content. It is read-only and exists only within the `async with`
        block. Raises `FileNotFoundError`."""
        ...

    async def text(self, path: str) -> str:
        """Return a file's readable text: at most 1 MB, "" if the file has no text. Raises `FileNotFoundError`."""
        ...

    async def unreadable(self, path: str) -> str:
        """Return why a file's text, or a part of it, can't be read. An example is "It needs a password. Upload a copy
        without one."

        Return "" if the text can be read or the file has none. Raises `FileNotFoundError`.
        """
        ...

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Return the paths of at most 100 files whose name or content matches, each with its score, best first. The
        grammar of `query` is that of `GET /files/search`."""
        ...

    async def skill(self, name: str) -> Mapping[str, str]:
        """Return the texts of a skill of the chat's project, by path.

        Raises `FileNotFoundError` if the project has no such skill.
        """
        ...

    @property
    def tables(self) -> WorkspaceTables: ...


class WorkspaceTables(Protocol):
    """Gives access to the tables in the files of one chat. A child process reads and queries them.

    Queries raise `WorkFailure("too_much_work")` if they take too long or too much memory.
    """

    async def profiles(self, paths: Sequence[str] = ()) -> Sequence[FileTables]:
        """Return descriptions of the tables in these files, or in all files that may have tables. Files that can't be
        read are included.

        Table names are unique within a chat. Raises `FileNotFoundError`.
        """
        ...

    async def query(self, sql: str, paths: Sequence[str] = (), *, save: bool = False) -> QueryAnswer:
        """Run an SQL query on the tables of these files, or of all files. With `save`, also return the rows as CSV.

        Raises `FileNotFoundError`, or `WorkFailure("query_failed")` with DuckDB's message.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """A stored video, sound or picture. `open` yields the path of a local file, as `Workspace.open` does."""

    id: str
    kind: str
    url: str | None
    duration_s: float | None
    transcript: dict[str, Any] | None
    open: Callable[[], AbstractAsyncContextManager[Path]]
