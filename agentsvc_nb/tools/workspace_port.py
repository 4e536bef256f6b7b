"""The interface to a chat's files for agents and tools. These docstrings are the contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from agentsvc_nb.documents.engine.messages import FileTables, QueryAnswer


class WorkspaceEntry(Protocol):
    """A file of a chat.

    Attributes:
        output_type: the type of the typed output to which it belongs.
        unreadable: why the file's text, or a part of it, could not be read; empty if it was read or reading was not
        tried.
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
"""Types of files that are computed from other files of the chat. They are used for an answer only if the question names
them."""
RULES: Final = ("AGENTS.md", "BRAND.md")
"""Names of files in which the chat's members write rules for agents."""
SUMMARY: Final = "logs/chat-summary.md"
"""The file with the agent's summary of a long chat's first turns. Tools can't write it, and searches do not find it."""


class Workspace(Protocol):
    """The files of one chat. Paths are logical and relative, with `/`."""

    async def list(self) -> Sequence[WorkspaceEntry]:
        """Return all files, sorted by path."""
        ...

    def open(self, path: str) -> AbstractAsyncContextManager[Path]:
        """Yield a read-only local file with the content, valid within the context. Raise `FileNotFoundError`."""
        ...

    async def text(self, path: str) -> str:
        """Return a file's readable text: at most 1 MB, empty if the file has no text. Raise `FileNotFoundError`."""
        ...

    async def unreadable(self, path: str) -> str:
        """Return a sentence on why a file's text, or a part of it, can't be read, for example "It needs a password.
        Upload a copy without one."

        The sentence is empty if the text can be read, or the file holds no text. Raises `FileNotFoundError`.
        """
        ...

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Return the paths of at most 100 files whose name or content matches, best first. The query has the grammar of
        `/files/search`."""
        ...

    async def skill(self, name: str) -> Mapping[str, str]:
        """Return the texts of a skill of the chat's project by path. Raise `FileNotFoundError`."""
        ...

    @property
    def tables(self) -> WorkspaceTables: ...


class WorkspaceTables(Protocol):
    """The tables in the files of one chat. A separate process reads and queries them.

    Queries raise `WorkFailure("too_much_work")` if they take too long or too much memory.
    """

    async def profiles(self, paths: Sequence[str] = ()) -> Sequence[FileTables]:
        """Return the tables of these files by path, or of all files that may contain tables. Include files that can't
        be read.

        Table names are unique within a chat. Raises `FileNotFoundError`.
        """
        ...

    async def query(self, sql: str, paths: Sequence[str] = (), *, save: bool = False) -> QueryAnswer:
        """Query the tables of these files, or of all files. With `save`, also return the rows as CSV.

        Raises `FileNotFoundError`, and `WorkFailure("query_failed")` with the engine's message.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """A stored video, sound or picture. `open` is the same as `Workspace.open`."""

    id: str
    kind: str
    url: str | None
    duration_s: float | None
    transcript: dict[str, Any] | None
    open: Callable[[], AbstractAsyncContextManager[Path]]
