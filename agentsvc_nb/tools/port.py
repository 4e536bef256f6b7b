"""What a tool is, and what it gets while it runs. The docstrings are the contract."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from agentsvc_nb.settings import variable
from agentsvc_nb.wire.limits import MESSAGE_CHARS, URL_CHARS

FIELD_CHARS: Final = 200
"""A field may have a name of the caller's own, of any length: so much of it is told."""


def fault(error: ValidationError) -> tuple[str, str]:
    """The field, dotted, and what is wrong with it.

    >>> fault(error)
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:FIELD_CHARS] or "input"
    return field, f"{field}: {first['msg']}"


WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]\S*$", max_length=URL_CHARS)]
Filled = Annotated[str, StringConstraints(pattern=r"\S")]
"""A text with something in it."""
WorkspacePath = Annotated[Filled, Field(json_schema_extra={"format": "workspace-path"})]
"""The path of a file in the chat's workspace: a form offers those that are there."""


class ToolInput(BaseModel):
    """A tool's input. Unknown fields are ignored (docs/api/conventions.md "Values")."""

    model_config = ConfigDict(extra="ignore")


class ToolOutput(BaseModel):
    """A tool's `data`."""

    model_config = ConfigDict(protected_namespaces=())


class Check(ToolOutput):
    """One thing that was looked at, by a rule that anybody can repeat."""

    name: str = Field(description="What was looked at, such as `title`.")
    passed: bool
    severity: Literal["high", "medium", "low"] = Field(description="How much it matters when it did not pass.")
    message: str = Field(description="What was found, and what to do about it.")


CODE_CHARS: Final = 100


class WorkFailure(Exception):
    """The work failed for a reason with a code: it becomes the run's `last_error`, or the error of the tool.

    Of a message that is a whole document so much is kept as
    somebody may read."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code, self.message = code[:CODE_CHARS], message[:MESSAGE_CHARS]


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


class ToolContext(Meter, Protocol):
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
        `WorkFailure`."""
        ...


class Outcome(BaseModel):
    """What a tool answers. `content` are content blocks (docs/api/tools-and-jobs.md); a tool that failed sets
    `error`."""

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

    async def run(self, given: Any, task: ToolContext) -> Outcome:
        """Do the work. `given` is an `Input`. Long CPU work goes to a thread (`asyncio.to_thread`)."""
        ...


def repeatable(tool: Tool) -> bool:
    """Whether a call of it may be made again after a crash cut it off."""
    return bool(getattr(tool, "repeatable", not tool.effect))


M = TypeVar("M", bound=BaseModel)


async def ask(complete: Complete | None, prompt: str, shape: type[M], meter: Meter) -> M:
    """What the model answers; `meter`, the tool's task, counts it.

    Raises `WorkFailure`: `not_configured` without a model, `output_schema_mismatch` for an answer that does not fit.
    """
    if complete is None:
        said = f"This takes a language model: set {variable('model')} (see docs/models.md)."
        raise WorkFailure("not_configured", said)
    found = await complete(prompt, shape.model_json_schema(), meter)
    try:
        return shape.model_validate(found)
    except ValidationError:
        raise WorkFailure("output_schema_mismatch", "The model's answer did not fit what was asked for.") from None


class ReadTooLong(Exception):
    """A read took more of the processor than it was given."""


class ReadTime:
    """What a read may take of the processor, in the thread that makes this; without `seconds` as much as it needs.

    Not by the clock: on a busy machine a usual read would be over, too.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._ends = math.inf if seconds is None else time.thread_time() + seconds

    def is_over(self) -> bool:
        return time.thread_time() > self._ends

    def check(self) -> None:
        if self.is_over():
            raise ReadTooLong
