"""The interface between the service and its tools. The docstrings are the contract."""

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
"""Longest field name in an error message: the caller chooses the names of some fields."""


def fault(error: ValidationError) -> tuple[str, str]:
    """Return the dotted name of the first wrong field, and a message about it.

    >>> fault(error)
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:FIELD_CHARS] or "input"
    is_blank = first.get("ctx", {}).get("pattern") == FILLED
    return field, f"{field}: {'This must not be empty' if is_blank else first['msg']}"


def validate(model: type[M], document: Mapping[str, Any]) -> M:
    """Read a JSON object as `model`. Like JSON Schema, take 5.0 as an integer, but not "5", nor 1 as a boolean. Nulls
    count as absent. Raises `ValidationError`."""
    return model.model_validate_json(json.dumps(with_integers(without_nulls(document))), strict=True)


def without_nulls(value: Any) -> Any:
    """Return `value` without the keys whose value is null, at any depth. Nulls in lists stay.

    >>> without_nulls({"a": {"b": None}, "c": [None]})
    {'a': {}, 'c': [None]}
    """
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_integers(value: Any) -> Any:
    """Return the same JSON with integers in place of whole floats (5 for 5.0), which pydantic's strict mode refuses.
    Floats above 2**53 stay: 1e300 would become 300 digits."""
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
"""The path of a file in the chat's workspace: a form offers the paths that exist."""


Severity = Literal["high", "medium", "low"]


class Check(BaseModel):
    """The result of one deterministic check."""

    name: str = Field(description="What was looked at, such as `title`.")
    passed: bool
    severity: Severity = Field(description="How much it matters when it did not pass.")
    message: str = Field(description="What was found, and what to do about it.")


class WorkFailure(Exception):
    """The work failed for a reason that has a code. It becomes the run's `last_error`, or the tool's error.

    A long message is cut to `MESSAGE_CHARS`.
    """

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code, self.message = code[:CODE_CHARS], message[:MESSAGE_CHARS]


LIMIT_REACHED: Final = "limit_reached"
"""The error of work whose next call a limit of money has no room for (`wire.codes`)."""
LABELS: Final = "What you will call the columns in your answer, as `readmitted: came back within 30 days`."
"""Describes the field `labels` of tools that return tables: the check of an answer's numbers reads it."""
LABELS_MAX: Final = 50
PLAN: Final = "plan"
"""The name of the tool by which an agent shows its plan; models with a small context are not offered it."""
RESERVED_NAMES: Final = ("answer", "final_result", "search_tools")
"""Names by which models give their answer or load tools: no tool has them."""


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part of a call of a model: its kind (`wire.runs.SentPart`), its beginning, and the number of its characters."""

    what: str
    text: str
    chars: int


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call of a model: the address that it went to, whether that is a provider's, some `tokens`, and what this run
    had not sent before."""

    provider: str
    hosted: bool
    model: str
    tokens: int
    parts: Sequence[SentPart]


class Meter(Protocol):
    """Counts the tokens of language model calls, and their cost."""

    @property
    def model(self) -> str:
        """The id of the model."""
        ...

    async def room(self) -> int | None:
        """Return the micro-cents that the run's `max_cents` leaves for the next call, or None if it has no limit."""
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Hold what the next call may come to, before it is made. Raises `WorkFailure("limit_reached")` when a limit of
        money has no room for it."""
        ...

    async def sending(self, call: SentCall) -> bool:
        """Record a call of a model before it is made. Return True for this folder's first call of a hosted model."""
        ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Count tokens, and their cost in microcents."""
        ...

    def use_uncounted(self) -> None:
        """Note a model call that did not report its tokens."""
        ...


class ToolContext(Meter, Protocol):
    """The service as a running tool sees it. `workspace` holds the files of its chat.

    Only asynchronous tools may use a language model: the tokens are billed with the job.
    """

    def charge(self, kind: str) -> None:
        """Count a unit that is billed (`accounts.money.PER_USE`) once it was made, however the tool ends."""
        ...

    @property
    def workspace(self) -> Workspace: ...

    @property
    def key(self) -> str:
        """The id of this piece of work, also when it is repeated after a crash. A mail's Message-ID is derived from
        it."""
        ...

    @property
    def fetch_only(self) -> Sequence[str] | None:
        """Hosts that may be fetched from, besides those of the addresses in the input; None for any."""
        ...

    async def held(self, tool: str, opened: Callable[[bool], AbstractAsyncContextManager[T]]) -> T:
        """Return what the tool holds from call to call, such as a process, until this attempt at the run ends. The
        first call of the attempt opens it: `opened` gets True if an earlier attempt called the tool, and lost what it
        held. Only for calls that a run makes itself."""
        ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace; `output` is (id, type) of the typed output it belongs to."""
        ...

    async def instructions(self) -> str:
        """Return the instructions of the chat's project. Raises `WorkFailure` for a chat without one."""
        ...

    async def change_instructions(self, change: Callable[[str], str]) -> None:
        """Replace the instructions of the chat's project by what `change` makes of them, in one transaction. Raises
        `WorkFailure` for a chat without a project, and what `change` raises."""
        ...

    async def keep_page(self, url: str) -> str:
        """Store a landing page of the account. Returns its id, the same for the same `url`."""
        ...

    async def keep_media(self, name: str, data: bytes, source: str, url: str) -> str | None:
        """Store a video, sound or picture as ad media of the account. Returns its id, the same for the same data and
        `url`; None for data of any other kind."""
        ...

    async def media(self, media_id: str) -> StoredMedia | None:
        """Return the account's stored media with this id, or None."""
        ...

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        """Store the transcript of a medium: `language`, `text` and `segments`."""
        ...


Complete = Callable[[str, Mapping[str, Any], Meter], Awaitable[dict[str, Any]]]
"""A function that asks a language model a prompt, and returns an object that fits a JSON Schema. It counts the tokens,
also of a failed call. Raises `WorkFailure`."""


class Outcome(BaseModel):
    """The result of a tool. `content` are content blocks (docs/api/tools-and-jobs.md)."""

    content: list[dict[str, Any]] = []
    data: dict[str, Any] | None = None
    error: tuple[str, str] | None = None
    """The code and message of a tool that failed."""
    inline: bool = True
    """False when the result consists of the files that were written."""

    @classmethod
    def of_text(cls, text: str, *more: dict[str, Any], data: BaseModel | None = None) -> Self:
        """Return an outcome with a text, `more` content blocks after it, and `data`."""
        return cls(content=[{"type": "text", "text": text}, *more], data=data and data.model_dump())


class CatalogEntry:
    """Describes a tool for the catalog, for `docs/tools.md` and for the checks of a call."""

    name: ClassVar[str]
    description: ClassVar[str]
    family: ClassVar[str]
    """The family of its jobs; the tool's name unless the tool sets another."""
    Input: ClassVar[type[BaseModel]]
    """The model of its input. Unknown fields are ignored."""
    Output: ClassVar[type[BaseModel] | None] = None
    """The model of `Outcome.data`; None when the tool promises none."""
    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    """Whether a call takes an `Idempotency-Key`, and the same key gives the same job."""
    effect: ClassVar[bool] = False
    settings_used: ClassVar[tuple[str, ...]] = ()
    """The names of the settings that the tool reads."""
    requirements: ClassVar[str] = ""
    """What the tool needs and what it does without it, in Markdown."""

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__ and not hasattr(cls, "family"):
            cls.family = cls.name

    def available(self) -> bool:
        """Return True if everything that the tool needs is configured."""
        return True

    def max_charges(self, given: Any) -> Mapping[str, int]:
        """Return the most units that a call with the `Input` `given` is billed for, by kind. They are held before the
        call begins (`accounts.money.PER_USE`)."""
        return {}


class Tool(CatalogEntry):
    """A tool that does its work itself, in `run`.

    After a crash, an unfinished call is repeated if the tool has no `effect`. A call whose effect may already have
    happened fails with `outcome_unknown`, unless the tool sets `repeatable = True`: such a tool recognises its earlier
    work by `ToolContext.key`.
    """

    group: ClassVar[str] = ""
    """The group by which a model loads the tool: a `setting_types.ToolGroup`, or the name of an MCP server. Tools
    without one are in its first request, with those of the `project` of the chat, and of `skills` if that has some."""
    repeatable: ClassVar[bool | None] = None
    """Whether a call that a crash interrupted may be made again; None: if it has no effect (`repeatable`)."""
    always_waits: ClassVar[bool] = False
    """Whether every call waits for approval, whatever the settings say."""
    shows: ClassVar[bool] = False
    """Whether a model that sees is shown the pictures of its results."""
    needs_sight: ClassVar[bool] = False
    """Whether only a model that sees is offered the tool."""
    keeps_state: ClassVar[bool] = False
    """Whether a call may have another result after other calls of the tool by the run."""

    def fetches(self, given: Any) -> Sequence[str]:
        """Return the addresses of strangers that the input names and the tool would fetch (docs/privacy.md)."""
        return ()

    def reads(self, given: Mapping[str, Any]) -> bool:
        """Return True if a call with this unchecked input changes nothing and costs nothing. A run makes
        such calls at the same time, and any other alone."""
        return False

    async def preview(self, given: Any, context: ToolContext) -> str:
        """Return what a call would change, as a diff for the person who approves it; empty for most tools. Raises
        `WorkFailure` for a call that would fail."""
        return ""

    async def run(self, given: Any, context: ToolContext) -> Outcome:
        """Do the work. `given` is an `Input`. Long CPU work goes to a thread (`asyncio.to_thread`), and looks there
        from time to time whether it is to stop (`tools.support.stopping`)."""
        raise NotImplementedError


def repeatable(tool: Tool) -> bool:
    """Return True if a call of the tool that a crash interrupted may be made again."""
    return not tool.effect if tool.repeatable is None else tool.repeatable


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The arguments of each tool that the catalog constructs."""

    settings: Settings
    complete: Complete | None = None
    """Asks the language model; None when there is none."""


class BaseTool(Tool):
    """Base class of the tools that the catalog discovers.

    To add a tool, write one module in `agentsvc_nb/tools` with a subclass that has `name`, `description`, `Input`,
    `Output` and `async def run(self, given, context)`, its `group`, and `settings_used` and `requirements` for the
    docs. Heavy libraries are imported by `run`, because every module is imported when the service starts.
    """

    scripted_only: ClassVar[bool] = False
    """Whether the tool exists only with the `scripted` model: a tool for tests."""

    def __init__(self, services: ToolServices) -> None:
        self.services = services


class ReadingTool(BaseTool):
    """Base class of the tools whose calls only read."""

    def reads(self, given: Mapping[str, Any]) -> bool:
        return True


async def ask(complete: Complete | None, prompt: str, shape: type[M], meter: Meter) -> M:
    """Ask the model for an object of the given shape; `meter`, the tool's context, counts the tokens.

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
