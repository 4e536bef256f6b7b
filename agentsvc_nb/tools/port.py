"""The interface between the service and its tools. These docstrings are the contract."""

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
"""The longest field name in an error message. Callers choose the names of some fields."""


def fault(error: ValidationError) -> tuple[str, str]:
    """Return the dotted name of the first invalid field, and a message about that field.

    >>> fault(error)
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:FIELD_CHARS] or "input"
    is_blank = first.get("ctx", {}).get("pattern") == FILLED
    return field, f"{field}: {'This must not be empty' if is_blank else first['msg']}"


def validate(model: type[M], document: Mapping[str, Any]) -> M:
    """Read a JSON object as `model`. Like JSON Schema, accept 5.0 as an integer, but not "5", nor 1 as a boolean. Treat
    null as absent.

    Raises `ValidationError`.
    """
    return model.model_validate_json(json.dumps(with_integers(without_nulls(document))), strict=True)


def without_nulls(value: Any) -> Any:
    """Return `value` without null-valued keys at any depth. Nulls in lists stay.

    >>> without_nulls({"a": {"b": None}, "c": [None]})
    {'a': {}, 'c': [None]}
    """
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_integers(value: Any) -> Any:
    """Return the JSON with integers instead of whole floats (5 for 5.0), which pydantic's strict mode refuses. Floats
    above 2**53 stay, because 1e300 would have 300 digits."""
    if isinstance(value, dict):
        return {name: with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and abs(value) <= 2**53 and value.is_integer() else value


WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]\S*$", max_length=URL_CHARS)]
FILLED: Final = r"\S"
Filled = Annotated[str, StringConstraints(pattern=FILLED)]
"""A text that must not be blank."""
WorkspacePath = Annotated[Filled, Field(json_schema_extra={"format": "workspace-path"})]
"""The path of a file in the chat's workspace. Forms offer the existing paths."""


Severity = Literal["high", "medium", "low"]


class Check(BaseModel):
    """The result of one deterministic check."""

    name: str = Field(description="The name of the check, such as `title`.")
    passed: bool
    severity: Severity = Field(description="How serious a failure of the check is.")
    message: str = Field(description="What the check found, and what to do about it.")


class WorkFailure(Exception):
    """The work failed for a reason with an error code. The code and message become the run's `last_error` or the tool's
    error.

    Messages are cut to `MESSAGE_CHARS`.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code, self.message = code[:CODE_CHARS], message[:MESSAGE_CHARS]


LIMIT_REACHED: Final = "limit_reached"
"""The error code of work whose next call would exceed a limit of money (`wire.codes`)."""
LABELS: Final = "What you will call the columns in your answer, as `readmitted: came back within 30 days`."
"""The description of the field `labels` in tools that return tables. The number check reads this field."""
LABELS_MAX: Final = 50
PLAN: Final = "plan"
"""The tool with which an agent shows its plan. Models with a short context length do not get it."""
RESERVED_NAMES: Final = ("answer", "final_result", "search_tools")
"""Tool names with which models return their answer or load tools. No tool may have these names."""


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part of a model call: the part's kind (`wire.runs.SentPart`), its beginning, and its number of characters."""

    what: str
    text: str
    chars: int


@dataclass(frozen=True, slots=True)
class SentCall:
    """A model call: the model's address, whether a provider hosts the model, the call's estimated `tokens`, and the
    parts that this run had not sent before."""

    provider: str
    hosted: bool
    model: str
    tokens: int
    parts: Sequence[SentPart]


class Meter(Protocol):
    """Counts the tokens and costs of language model calls."""

    @property
    def model(self) -> str:
        """Return the model's id."""
        ...

    async def room(self) -> int | None:
        """Return how many micro-cents of the run's `max_cents` are left for the next call, or None if the run has no
        limit."""
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Reserve the next call's maximum cost. Raise `WorkFailure("limit_reached")` if a limit does not allow this
        cost."""
        ...

    async def sending(self, call: SentCall) -> bool:
        """Record a model call before it is sent. Return True if this is the first call to a hosted model from this data
        folder."""
        ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Count tokens and their cost in micro-cents."""
        ...

    def use_uncounted(self) -> None:
        """Record a model call that did not report its tokens."""
        ...


class ToolContext(Meter, Protocol):
    """The service as a running tool sees it. `workspace` gives access to the chat's files.

    Only asynchronous tools may use a language model. The tokens are charged to the tool's job.
    """

    def charge(self, kind: str) -> None:
        """Count a finished unit with a price (`accounts.money.PER_USE`). It is charged whatever the tool's outcome."""
        ...

    @property
    def workspace(self) -> Workspace: ...

    @property
    def key(self) -> str:
        """Return the id of this work, which stays the same if a crash repeats the work. The Message-ID of mails is
        derived from this id."""
        ...

    @property
    def fetch_only(self) -> Sequence[str] | None:
        """Return the hosts that the tool may fetch from, in addition to those in its input, or None for any host."""
        ...

    async def held(self, tool: str, opened: Callable[[bool], AbstractAsyncContextManager[T]]) -> T:
        """Return a resource, such as a process, that the tool keeps between calls until this attempt at the run ends.

        The attempt's first call opens the resource. `opened` receives True if an earlier attempt called the tool and
        lost its resource. Only calls that a run makes directly may use this.
        """
        ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace. `output` is the (id, type) of its typed output."""
        ...

    async def instructions(self) -> str:
        """Return the instructions of the chat's project. Raise `WorkFailure` if the chat has no project."""
        ...

    async def change_instructions(self, change: Callable[[str], str]) -> None:
        """Replace the instructions of the chat's project with the result of `change`, in one transaction.

        Raises `WorkFailure` if the chat has no project, and any error of `change`.
        """
        ...

    async def keep_page(self, url: str) -> str:
        """Store a landing page of the account. Return its id, which is the same for the same `url`."""
        ...

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        """Store a video, sound or picture as ad media of the account.

        Returns the medium's id, which is the same for equal data and `url`. Returns None for any other kind of data.
        """
        ...

    async def media(self, media_id: str) -> StoredMedia | None:
        """Return the account's stored media with this id, or None."""
        ...

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        """Store the transcript of a medium: `language`, `text` and `segments`."""
        ...


Complete = Callable[[str, Mapping[str, Any], Meter], Awaitable[dict[str, Any]]]
"""Asks a language model, and returns an object that fits a JSON Schema. Counts the tokens even if the call fails.
Raises `WorkFailure`."""


class Outcome(BaseModel):
    """The result of a tool. `content` are content blocks (docs/api/tools-and-jobs.md)."""

    content: list[dict[str, Any]] = []
    data: dict[str, Any] | None = None
    error: tuple[str, str] | None = None
    """The code and message if the tool failed."""
    inline: bool = True
    """False if the result consists of the files that the tool wrote."""

    @classmethod
    def of_text(cls, text: str, *more: dict[str, Any], data: BaseModel | None = None) -> Self:
        """Return an outcome with a text block, followed by the content blocks `more`, and with `data`."""
        return cls(content=[{"type": "text", "text": text}, *more], data=data and data.model_dump())


class CatalogEntry:
    """Describes a tool for the catalog, for `docs/tools.md` and for checks of calls."""

    name: ClassVar[str]
    description: ClassVar[str]
    family: ClassVar[str]
    """The family of the tool's jobs. The default is the tool's name."""
    Input: ClassVar[type[BaseModel]]
    """The model of the tool's input. Unknown fields are ignored."""
    Output: ClassVar[type[BaseModel] | None] = None
    """The model of `Outcome.data`, or None if the tool promises no data."""
    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    """Whether calls accept an `Idempotency-Key`. A repeated key returns the same job."""
    effect: ClassVar[bool] = False
    settings_used: ClassVar[tuple[str, ...]] = ()
    """The names of the settings that the tool reads."""
    requirements: ClassVar[str] = ""
    """The tool's requirements and its behaviour without them, in Markdown."""

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__ and not hasattr(cls, "family"):
            cls.family = cls.name

    def available(self) -> bool:
        """Return True if the tool's requirements are configured."""
        return True

    def max_charges(self, given: Any) -> Mapping[str, int]:
        """Return the maximum number of priced units, by kind, of a call with the input `given`. Their cost is reserved
        before the call (`accounts.money.PER_USE`)."""
        return {}


class Tool(CatalogEntry):
    """A tool that does its own work in `run`.

    After a crash, an unfinished call is repeated if the tool has no `effect`. A call whose effect may have happened
    fails with `outcome_unknown`, unless the tool sets `repeatable = True`. Such a tool must recognise its earlier work
    by `ToolContext.key`.
    """

    group: ClassVar[str] = ""
    """The group with which a model loads the tool: a `setting_types.ToolGroup`, or the name of an MCP server.

    The model's first request contains the tools without a group. It also contains the `project` group if the chat has a
    project, and the `skills` group if that project has skills.
    """
    repeatable: ClassVar[bool | None] = None
    """Whether a call may be repeated after a crash. None means only if the tool has no effect (`repeatable`)."""
    always_waits: ClassVar[bool] = False
    """Whether every call needs approval, whatever the settings say."""
    shows: ClassVar[bool] = False
    """Whether a model with vision sees the pictures in the tool's results."""
    needs_sight: ClassVar[bool] = False
    """Whether only models with vision get the tool."""
    keeps_state: ClassVar[bool] = False
    """Whether a call's result may depend on other calls of the tool in the same run."""

    def fetches(self, given: Any) -> Sequence[str]:
        """Return the untrusted addresses in the input that the tool would fetch (docs/privacy.md)."""
        return ()

    def reads(self, given: Mapping[str, Any]) -> bool:
        """Return True if a call with this unchecked input changes nothing and costs nothing. A run makes such calls
        concurrently, and any other call alone."""
        return False

    async def preview(self, given: Any, context: ToolContext) -> str:
        """Return the diff that a call would cause, for the person who approves the call; "" for most tools.

        Raises `WorkFailure` if the call would fail.
        """
        return ""

    async def run(self, given: Any, context: ToolContext) -> Outcome:
        """Do the work. `given` is an `Input`.

        Run long CPU work in a thread (`asyncio.to_thread`). The thread must check from time to time whether to stop
        (`tools.support.stopping`).
        """
        raise NotImplementedError


def repeatable(tool: Tool) -> bool:
    """Return True if a call of the tool may be repeated after a crash."""
    return not tool.effect if tool.repeatable is None else tool.repeatable


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The arguments with which the catalog constructs each tool."""

    settings: Settings
    complete: Complete | None = None
    """Asks the language model. None without a language model."""


class BaseTool(Tool):
    """Base class of the tools that the catalog discovers.

    To add a tool, write one module in `agentsvc_nb/tools` with a subclass. The subclass defines `name`, `description`,
    `Input`, `Output`, `async def run(self, given, context)` and `group`, and for the docs `settings_used` and
    `requirements`. Import heavy libraries in `run`, because the service imports every module when it starts.
    """

    scripted_only: ClassVar[bool] = False
    """Whether the tool exists only with the `scripted` model, for tests."""

    def __init__(self, services: ToolServices) -> None:
        self.services = services


class ReadingTool(BaseTool):
    """Base class of tools that only read."""

    def reads(self, given: Mapping[str, Any]) -> bool:
        return True


async def ask(complete: Complete | None, prompt: str, shape: type[M], meter: Meter) -> M:
    """Ask the model for an object of this shape. `meter`, the tool's context, counts the tokens.

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
