"""What a tool is and gets in hand (`Task`; `work/`): files, media, a meter; the docstrings are the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel


class WorkspaceEntry(Protocol):
    """A file of a chat, as agents and tools see it."""

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


class Workspace(Protocol):
    """The files of one chat. Paths are logical, relative, with `/`."""

    async def list(self) -> Sequence[WorkspaceEntry]:
        """All files, by path."""
        ...

    async def open(self, path: str) -> Path:
        """A local file with the content, to read only. Raises `FileNotFoundError`."""
        ...

    async def text(self, path: str) -> str:
        """The readable text of a file (at most 1 MB; empty when it has none). Raises `FileNotFoundError`."""
        ...

    async def search(self, query: str) -> Sequence[tuple[str, float]]:
        """Paths whose name or contents match the query (the grammar of `/files/search`), best first, at most 100."""
        ...


class Media(Protocol):
    """A stored video, sound or picture. `file` is a local file, to read only."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def url(self) -> str | None: ...
    @property
    def duration_s(self) -> float | None: ...
    @property
    def transcript(self) -> dict[str, Any] | None: ...
    @property
    def file(self) -> Path: ...


class Meter(Protocol):
    """Counts what calls of a language model take."""

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Count tokens, and what they cost."""
        ...

    def use_uncounted(self) -> None:
        """A model call was made that did not say how many tokens it took."""
        ...


class Task(Meter, Protocol):
    """What a tool gets in hand while it runs. `workspace` is that of the chat that it runs in.

    What an asynchronous tool uses of a language model is billed with its job; others may not use one.
    """

    @property
    def workspace(self) -> Workspace: ...

    @property
    def key(self) -> str:
        """The same when the work is done again after a crash, and of no other work: a mail's Message-ID is made of it,
        and what has left its mark under this key need not be done again."""
        ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace; `output` is (id, type) of the typed output it belongs to."""
        ...

    async def keep_page(self, url: str) -> str:
        """Store a landing page of the account; its id, the same for the same `url`."""
        ...

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        """Store a video, sound or picture as ad media of the account; its id, the same for the same data and `url`.
        None for what is none of these."""
        ...

    async def media(self, media_id: str) -> Media | None:
        """Stored media of the account."""
        ...

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        """Store what is said in it: `language`, `text` and `segments`."""
        ...


class Complete(Protocol):
    """Asks a language model."""

    async def __call__(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """An object that fits the JSON Schema; `meter` counts what it took, also when it fails. Raises
        `AgentFailure`."""
        ...


class Outcome(BaseModel):
    """What a tool answers. `content` are content blocks (contract §5); a tool that failed sets `error`."""

    content: list[dict[str, Any]] = []
    data: dict[str, Any] | None = None
    error: tuple[str, str] | None = None
    """(code, message)"""
    inline: bool = True
    """False when the result is the files that were written."""
    uses: dict[str, int] = {}
    """What is billed by use: how many of each kind (`rules.prices.PER_USE`)."""


class Described(Protocol):
    """An entry of the catalog. `Input` is its typed input; the schemas in the catalog are made from it and `Output`."""

    name: ClassVar[str]
    description: ClassVar[str]
    family: ClassVar[str]
    asynchronous: ClassVar[bool]
    idempotent: ClassVar[bool]
    effect: ClassVar[bool]
    Input: ClassVar[type[BaseModel]]
    Output: ClassVar[type[BaseModel] | None]
    """What its `data` holds; None for a tool that has none to promise."""

    def available(self) -> bool: ...


class Tool(Described, Protocol):
    """A tool of the catalog that does its work itself.

    After a crash a call that had not ended is made again when the tool has no `effect`. One whose effect may be out is
    answered `outcome_unknown`, unless the tool says `repeatable = True`: it finds by `Task.key` what it has done.
    """

    async def run(self, given: Any, task: Task) -> Outcome:
        """Do the work. `given` is an `Input`. Long CPU work goes to a thread (`asyncio.to_thread`)."""
        ...


def repeatable(tool: Tool) -> bool:
    """Whether a call of it may be made again after a crash cut it off."""
    return bool(getattr(tool, "repeatable", not tool.effect))
