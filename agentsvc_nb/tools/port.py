"""Define the interface between the service and its tools. The docstrings here are the contract for both."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.workspace_port import StoredMedia, Workspace
from agentsvc_nb.wire.limits import CODE_CHARS, MESSAGE_CHARS, URL_CHARS

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
FIELD_CHARS: Final = 200
"""The maximum length of a field name in an error message, because callers choose the names of some fields."""


def describe_invalid_field(error: ValidationError) -> tuple[str, str]:
    """Return the dotted name of the first invalid field, and a message that begins with that name.

    >>> describe_invalid_field(error)  # doctest: +SKIP
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:FIELD_CHARS] or "input"
    is_blank = first.get("ctx", {}).get("pattern") == FILLED
    return field, f"{field}: {'This must not be empty' if is_blank else first['msg']}"


def validate(model: type[M], document: Mapping[str, Any]) -> M:
    """Validate a JSON object as `model`. As in JSON Schema, 5.0 is a valid integer but "5" is not, and 1 is not a
    boolean. Null-valued keys count as absent.

    Raises `ValidationError`.
    """
    return model.model_validate_json(json.dumps(with_integers(without_nulls(document))), strict=True)


def without_nulls(value: Any) -> Any:
    """Return `value` without keys whose value is null, at any depth. Nulls in lists stay.

    >>> without_nulls({"a": {"b": None}, "c": [None]})
    {'a': {}, 'c': [None]}
    """
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_integers(value: Any) -> Any:
    """Return a JSON value with integers in place of whole floats (5 for 5.0), because pydantic's strict mode rejects
    floats as integers. Floats above 2**53 stay floats, because 1e300 would become an integer with 300 digits."""
    if isinstance(value, dict):
        return {name: with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and abs(value) <= 2**53 and value.is_integer() else value


WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]\S*$", max_length=URL_CHARS)]
FILLED: Final = r"\S"
Filled = Annotated[str, StringConstraints(pattern=FILLED)]
"""A text that is not blank."""
WorkspacePath = Annotated[Filled, Field(json_schema_extra={"format": "workspace-path"})]
"""The path of a file in the chat's workspace. Forms in notebooks offer the existing paths."""


Severity = Literal["high", "medium", "low"]


class Check(BaseModel):
    """The result of a check by fixed rules, such as that a page has a title."""

    name: str = Field(description="The name of the check, such as `title`.")
    passed: bool
    severity: Severity = Field(description="How serious a failure of the check is.")
    message: str = Field(description="What the check found, and what to do about it.")


class WorkFailure(Exception):
    """Work of a run or tool failed for a known reason. The code and message become the run's `last_error` or the tool's
    error.

    Messages are truncated to `MESSAGE_CHARS`.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code, self.message = code[:CODE_CHARS], message[:MESSAGE_CHARS]


LIMIT_REACHED: Final = "limit_reached"
"""The error code of work that stopped because its next call could exceed a spending limit (`wire.codes`)."""
LABELS: Final = "What your answer will call the columns, such as `readmitted: came back within 30 days`."
"""The description of the input field `labels` of tools that return tables. The number check reads this field."""
LABELS_MAX: Final = 50
PLAN: Final = "plan"
"""The name of the tool with which an agent shows its plan. Models with a short context do not get this tool."""
RESERVED_NAMES: Final = ("answer", "final_result", "search_tools")
"""Names that no tool may have, because models use them to return their answer or to load tools."""


@dataclass(frozen=True, slots=True)
class OutgoingPart:
    """Describes a part of what a model call sends.

    Attributes:
        what: The kind of the part (see `wire.runs.SentPart`).
        text: The beginning of the part.
        chars: The length of the whole part.
    """

    what: str
    text: str
    chars: int


@dataclass(frozen=True, slots=True)
class OutgoingCall:
    """Describes what a model call sends.

    Attributes:
        provider: The address of the model.
        hosted: True if another company hosts the model.
        model: The id of the model.
        tokens: The estimated number of tokens.
        parts: The parts that this run had not sent before.
    """

    provider: str
    hosted: bool
    model: str
    tokens: int
    parts: Sequence[OutgoingPart]


class Meter(Protocol):
    """Counts the tokens and costs of a run's or job's language model calls."""

    @property
    def model(self) -> str:
        """Return the model's id."""
        ...

    async def room(self) -> int | None:
        """Return how many micro-cents the run's `max_cents` leaves for the next call, or None without such a limit."""
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Reserve the maximum cost of the next call. Raise `WorkFailure("limit_reached")` if a limit forbids it."""
        ...

    async def sending(self, call: OutgoingCall) -> bool:
        """Record a call before it is sent. Return True if it is this data folder's first call to a hosted model."""
        ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Count the tokens of a call and their cost in micro-cents."""
        ...

    def use_uncounted(self) -> None:
        """Record a call for which the model did not report its tokens."""
        ...


class ToolContext(Meter, Protocol):
    """The parts of the service that a running tool can use. `workspace` gives access to the chat's files.

    Only asynchronous tools may use a language model. The tokens are charged to the tool's job.
    """

    def charge(self, kind: str) -> None:
        """Charge the price of a finished unit of this kind (`accounts.money.PER_USE`), such as a picture, even if the
        tool fails later."""
        ...

    @property
    def workspace(self) -> Workspace: ...

    @property
    def key(self) -> str:
        """Return the id of this call. It stays the same if the call is repeated after a crash, so that the tool can
        recognise its earlier work. For example, the Message-ID of mails is derived from it."""
        ...

    @property
    def fetch_only(self) -> Sequence[str] | None:
        """Return the hosts from which the tool may fetch in addition to those in its input, or None if it may fetch
        from any host."""
        ...

    async def keep_open(self, tool: str, opened: Callable[[bool], AbstractAsyncContextManager[T]]) -> T:
        """Return a resource, such as a process, that the tool keeps between its calls until this attempt at the run
        ends. After a crash, the service makes a new attempt.

        The first call in an attempt opens the resource with `opened`, a function. The function's argument is True if
        an earlier attempt called the tool and so lost its resource. Only calls within a run may use this, not jobs.
        """
        ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace. `output` is the (id, type) of the file's typed output."""
        ...

    async def instructions(self) -> str:
        """Return the instructions of the chat's project. Raises `WorkFailure` if the chat has no project."""
        ...

    async def change_instructions(self, change: Callable[[str], str]) -> None:
        """Call `change` with the instructions of the chat's project and store its result instead, in one transaction.

        Raises `WorkFailure` if the chat has no project, and passes on errors of `change`.
        """
        ...

    async def keep_page(self, url: str) -> str:
        """Store a landing page of the account. Return its id. Equal URLs have the same id."""
        ...

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        """Store a video, sound or picture as media of the account.

        Returns the id of the media, which is the same for equal `data` and `url`. Returns None if the data are of
        another kind.
        """
        ...

    async def media(self, media_id: str) -> StoredMedia | None:
        """Return the account's stored media with this id, or None."""
        ...

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        """Store the transcript of media: a mapping with `language`, `text` and `segments`."""
        ...


Complete = Callable[[str, Mapping[str, Any], Meter], Awaitable[dict[str, Any]]]
"""A function that asks a language model for an object that fits a JSON Schema. Its arguments are the prompt, the schema
and the meter, which counts the tokens even if the call fails. Raises `WorkFailure`."""


class Outcome(BaseModel):
    """The result of a tool call. `content` is a list of content blocks (docs/api/tools-and-jobs.md)."""

    content: list[dict[str, Any]] = []
    data: dict[str, Any] | None = None
    error: tuple[str, str] | None = None
    """The error code and message if the call failed."""
    inline: bool = True
    """False if the files that the tool wrote are the result."""

    @classmethod
    def from_text(cls, text: str, *more: dict[str, Any], data: BaseModel | None = None) -> Self:
        """Return an outcome whose content is a text block followed by the blocks `more`."""
        return cls(content=[{"type": "text", "text": text}, *more], data=data and data.model_dump())


class CatalogEntry:
    """Describes a tool, for the catalog, for `docs/tools.md` and for checking calls."""

    name: ClassVar[str]
    description: ClassVar[str]
    family: ClassVar[str]
    """The name of the family to which the tool's jobs belong. The default is the tool's name."""
    Input: ClassVar[type[BaseModel]]
    """The pydantic model of the tool's input. Unknown fields are ignored unless the model forbids them."""
    Output: ClassVar[type[BaseModel] | None] = None
    """The pydantic model of `Outcome.data`, or None if the tool returns no data."""
    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    """Whether calls accept an `Idempotency-Key`. Calls with the same key return the same job."""
    effect: ClassVar[bool] = False
    settings_used: ClassVar[tuple[str, ...]] = ()
    """The names of the settings that the tool reads."""
    requirements: ClassVar[str] = ""
    """What the tool needs, and what it does without that, in Markdown."""

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__ and not hasattr(cls, "family"):
            cls.family = cls.name

    def available(self) -> bool:
        """Return True if the tool has everything that it needs."""
        return True

    def max_charges(self, given: Any) -> Mapping[str, int]:
        """Return the maximum number of units that a call with the input `given` can be charged for, by kind
        (`accounts.money.PER_USE`). Their cost is reserved before the call."""
        return {}


class Tool(CatalogEntry):
    """A tool that does its own work in `run`.

    After a crash, an unfinished call is repeated if the tool has no `effect`. If it has an effect, which may have
    happened, the call fails with `outcome_unknown` instead. A tool that sets `repeatable = True` is repeated
    nevertheless, and must recognise its earlier work by `ToolContext.key`.
    """

    group: ClassVar[str] = ""
    """The group of tools that a model loads together: a `setting_types.ToolGroup`, or the name of an MCP server.

    The first request to a model contains only the tools without a group, the `project` group if the chat has a project,
    and the `skills` group if that project has skills.
    """
    repeatable: ClassVar[bool | None] = None
    """Whether a call may be repeated after a crash. None means: only if the tool has no effect."""
    always_waits: ClassVar[bool] = False
    """Whether every call waits for approval, whatever the settings say."""
    shows: ClassVar[bool] = False
    """Whether models with vision receive the pictures in the tool's results."""
    needs_sight: ClassVar[bool] = False
    """Whether the tool is offered only to models with vision."""
    keeps_state: ClassVar[bool] = False
    """Whether the result of a call may depend on earlier calls of the tool in the same run."""

    def fetches(self, given: Any) -> Sequence[str]:
        """Return the untrusted addresses that a call would fetch. They may need approval (docs/privacy.md)."""
        return ()

    def reads(self, given: Mapping[str, Any]) -> bool:
        """Return True if a call with this input, which is not validated yet, changes nothing and costs nothing. A run
        executes such calls concurrently, and any other call alone."""
        return False

    async def preview(self, given: Any, context: ToolContext) -> str:
        """Return the changes that a call would make, as a diff for the person who approves the call. Most tools return
        "".

        Raises `WorkFailure` if the call would fail.
        """
        return ""

    async def run(self, given: Any, context: ToolContext) -> Outcome:
        """Execute a call. `given` is an instance of `Input`.

        Run long CPU work in a thread (`asyncio.to_thread`). The thread must regularly check whether to stop
        (`tools.support.stopping`).
        """
        raise NotImplementedError


def repeatable(tool: Tool) -> bool:
    """Return True if a call of the tool may be repeated after a crash."""
    return not tool.effect if tool.repeatable is None else tool.repeatable


@dataclass(frozen=True, slots=True)
class ToolServices:
    """Holds what the catalog passes to the constructor of each tool."""

    settings: Settings
    complete: Complete | None = None
    """The function that asks the language model, or None if no language model is configured."""


class BaseTool(Tool):
    """Base class of the tools that the catalog discovers.

    To add a tool, write a module in `agentsvc_nb/tools` with a subclass. The subclass defines `name`, `description`,
    `Input`, `Output`, `async def run(self, given, context)`, `group`, and (for the docs) `settings_used` and
    `requirements`. Import heavy libraries only in `run`, because the service imports all these modules when it starts.
    """

    scripted_only: ClassVar[bool] = False
    """Whether the tool is for tests and exists only with the `scripted` model."""

    def __init__(self, services: ToolServices) -> None:
        self.services = services


class ReadingTool(BaseTool):
    """Base class of tools whose calls change nothing and cost nothing."""

    def reads(self, given: Mapping[str, Any]) -> bool:
        return True


async def ask(complete: Complete | None, prompt: str, shape: type[M], meter: Meter) -> M:
    """Ask the language model for an object of the class `shape`. Pass the tool's context as `meter`, which counts the
    tokens.

    Raises `WorkFailure`: `not_configured` without a model, `output_schema_mismatch` if the answer does not fit.
    """
    if complete is None:
        said = f"This needs a language model. Set {variable('model')} (see docs/models.md)."
        raise WorkFailure("not_configured", said)
    found = await complete(prompt, shape.model_json_schema(), meter)
    try:
        return shape.model_validate(found)
    except ValidationError:
        raise WorkFailure("output_schema_mismatch", "The model's answer did not fit the requested schema.") from None
