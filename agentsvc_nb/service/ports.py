"""What the service asks of the outside: Protocols only, so that engines, agents and clocks can be exchanged.

`Turn` and `Task` are what an agent and a tool get in hand; `work/` makes them. Their docstrings are the contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel

T = TypeVar("T")
Row = Mapping[str, Any]


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...


class Tx(Protocol):
    """One transaction. `sql` is portable between SQLite and PostgreSQL and takes `:name` parameters."""

    def all(self, sql: str, /, **params: Any) -> list[Row]: ...
    def one(self, sql: str, /, **params: Any) -> Row | None: ...
    def run(self, sql: str, /, **params: Any) -> int:
        """Execute; the number of rows touched."""
        ...


class StoreBusy(Exception):
    """Another process kept the database for itself for too long: nothing was written, and later it may be."""


class Database(Protocol):
    async def write(self, use: Callable[[Tx], T]) -> T:
        """Run `use` in one write transaction: all of it is committed, or nothing. Raises `StoreBusy`."""
        ...

    def read(self, use: Callable[[Tx], T]) -> T:
        """Run `use` on a snapshot. Quick reads only; long ones in a thread."""
        ...

    def look(self, use: Callable[[Tx], T]) -> T:
        """`read` for a `use` of one statement: that needs no transaction to see a snapshot."""
        ...

    def version(self) -> int:
        """Another number, for this thread, after each commit of any other thread or process."""
        ...


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


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A turn of the chat that has ended: what was asked, and what was answered until its end."""

    message: str
    output: str
    status: str


class Turn(Protocol):
    """What an agent gets in hand for one turn: what was asked, the chat's files, and verbs that become events.

    A turn may be a continuation after a crash: `state` is then what the last `checkpoint` gave, else None, and
    `said` the text up to it.
    """

    @property
    def message(self) -> str: ...
    @property
    def state(self) -> dict[str, Any] | None: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def said(self) -> str:
        """The text said so far."""
        ...

    @property
    def output_config(self) -> dict[str, Any] | None:
        """The JSON Schema that the final text must fit, when one was given."""
        ...

    def attachments(self) -> Sequence[WorkspaceEntry]:
        """The files that came with the message."""
        ...

    def earlier(self, limit: int) -> Sequence[EarlierTurn]:
        """At most `limit` turns of the chat before this one, the latest first."""
        ...

    async def step(self) -> None:
        """Begin a model step. Raises `StepsExceeded` at 1,501, which ends the run with `budget_limited`."""
        ...

    async def say(self, text: str) -> None:
        """Stream text to the reader; it becomes the output unless the agent returns another."""
        ...

    async def think(self, text: str) -> None: ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def warn(self, code: str, message: str) -> None: ...

    async def write(self, path: str, data: bytes) -> None:
        """Write a file into the chat's workspace."""
        ...

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        """Call a tool of the catalog: events `tool.call` and `tool.result`, and for an asynchronous tool a job that
        is followed to its end. Never raises for a tool's failure: `Outcome.error` says so.

        After a crash the same call is answered with what it gave before. It is the same when its tool, its input and
        its place are: the `key` that the agent gives it within the model step, or else its number there."""
        ...

    def tools(self) -> Sequence[Tool]: ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Count tokens, and what they cost: by the model's price when `microcents` is None."""
        ...

    def use_uncounted(self) -> None:
        """A model call was made that did not say how many tokens it took."""
        ...

    async def checkpoint(self, state: dict[str, Any]) -> None:
        """Everything so far is safe: after a crash the turn goes on from here with this `state`."""
        ...

    async def rewind(self) -> None:
        """Go back to the last checkpoint as after a crash (`run.resumed`): `said` and `state` are as they were then."""
        ...


class Agent(Protocol):
    """A language model with its loop, or a stand-in for one. One that has a method `complete` (`Complete`) is asked by
    tools, too."""

    async def run(self, turn: Turn) -> str | None:
        """Do one turn; the final text, or None when it is what was said.

        Raises `AgentFailure` for a failure with a code of its own. Must let `asyncio.CancelledError` pass.
        """
        ...


class AgentFailure(Exception):
    """The turn failed: `code` becomes the run's `last_error`."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code, self.message = code, message


class StepsExceeded(Exception):
    """The turn needs more model steps than a run may have."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The text of a file, its tokens, and those that stand out behind their levels (`rules.indexing.reading`)."""

    text: str = ""
    words: str = ""
    levels: str = ""


class Index(Protocol):
    """Full-text index over the names and contents of workspace files, inside the database's own transactions.

    `names` are the file's name and, when it was renamed, the member's own. A query is one that `rules.search` parsed;
    a file is found by name when one of its names answers it, and in neither way when a name or the contents hold an
    exclusion. What is found comes lazily: take as many as are needed, within the transaction.
    """

    def put(self, tx: Tx, chat: str, path: str, names: Sequence[str], reading: Reading) -> None:
        """Store and index a file's text and names, replacing what was there."""
        ...

    def rename(self, tx: Tx, chat: str, path: str, names: Sequence[str]) -> None: ...
    def drop(self, tx: Tx, chat: str, path: str) -> None: ...

    def by_name(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Paths of files found by name, the last written first."""
        ...

    def by_words(self, tx: Tx, chat: str, query: Any) -> Iterator[str]:
        """Paths of files whose contents match, best first, and of equals the last written."""
        ...

    def text(self, tx: Tx, chat: str, path: str) -> str:
        """The stored text; empty when there is none."""
        ...

    def set_current(self, tx: Tx) -> None: ...
    def is_current(self, tx: Tx) -> bool:
        """Whether all files were indexed as this version does it."""
        ...
