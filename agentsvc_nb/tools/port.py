"""The interface between the service and its tools. The docstrings are the contract."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from agentsvc_nb.settings import Settings, variable
from agentsvc_nb.tools.workspace_port import MediaSource, Workspace
from agentsvc_nb.wire.limits import CODE_CHARS, MESSAGE_CHARS, URL_CHARS

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
FIELD_CHARS: Final = 200
"""Longest field name in an error message: the caller chooses the names of some fields."""


def fault(error: ValidationError) -> tuple[str, str]:
    """The name of the first wrong field, dotted, and a message that says what is wrong with it.

    >>> fault(error)
    ('request.outputs.count', 'request.outputs.count: Input should be greater than or equal to 1')
    """
    first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])[:FIELD_CHARS] or "input"
    is_blank = first.get("ctx", {}).get("pattern") == FILLED
    return field, f"{field}: {'This must not be empty' if is_blank else first['msg']}"


def validate(model: type[M], document: Mapping[str, Any]) -> M:
    """Read a JSON object as `model`, without type coercion: "5" is no integer and 1 no boolean, but 5.0 is an integer,
    as in JSON Schema. Nulls count as absent. Raises `ValidationError`."""
    return model.model_validate_json(json.dumps(with_integers(without_nulls(document))), strict=True)


def without_nulls(value: Any) -> Any:
    """`value` without the keys whose value is null, at any depth; a null in a list stays (docs/api/conventions.md
    "Values").

    >>> without_nulls({"a": {"b": None}, "c": [None]})
    {'a': {}, 'c': [None]}
    """
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def with_integers(value: Any) -> Any:
    """The same JSON with integers in place of whole floats (5 for 5.0), which pydantic's strict mode would refuse.
    Larger ones stay: 1e300 would become 300 digits."""
    if isinstance(value, dict):
        return {name: with_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_integers(item) for item in value]
    return int(value) if isinstance(value, float) and abs(value) <= EXACT_MAX and value.is_integer() else value


EXACT_MAX: Final = 2**53
"""Up to here each integer is a float of its own."""

WebAddress = Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]\S*$", max_length=URL_CHARS)]
FILLED: Final = r"\S"
Filled = Annotated[str, StringConstraints(pattern=FILLED)]
"""A text that is not blank."""
WorkspacePath = Annotated[Filled, Field(json_schema_extra={"format": "workspace-path"})]
"""The path of a file in the chat's workspace: a form offers the paths that exist."""


class ToolInput(BaseModel):
    """A tool's input. Unknown fields are ignored (docs/api/conventions.md "Values")."""

    model_config = ConfigDict(extra="ignore")


class ToolOutput(BaseModel):
    """A tool's `data`."""

    model_config = ConfigDict(protected_namespaces=())


class Check(ToolOutput):
    """The result of one deterministic check."""

    name: str = Field(description="What was looked at, such as `title`.")
    passed: bool
    severity: Literal["high", "medium", "low"] = Field(description="How much it matters when it did not pass.")
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
PLAN: Final = "plan"
"""The name of the tool by which an agent shows its plan; models with a small context are not offered it."""
RESERVED_NAMES: Final = ("answer", "final_result", "search_tools")
"""Names by which models give their answer or load tools: no tool has them."""


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part of what a model was sent: `what` it is (`wire.runs.SentPart`), its beginning, and how many characters it
    has in all."""

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
        """The id of the model that is asked."""
        ...

    async def room(self) -> int | None:
        """Return the micro-cents that the run's `max_cents` leaves for the next call, or None if it has no limit."""
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int) -> None:
        """Hold what the next call may come to, before it is made. Raises `WorkFailure("limit_reached")` when a limit of
        money has no room for it."""
        ...

    async def sending(self, call: SentCall) -> bool:
        """Record what goes to a model, before it does. True if it is the first that this folder sends to a hosted
        one."""
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
        """Identifies this piece of work, also when it is repeated after a crash. A mail's Message-ID is derived
        from it; an effect recorded under this key need not be repeated."""
        ...

    @property
    def fetch_only(self) -> Sequence[str] | None:
        """Hosts that may be fetched from beside those of the addresses in the input; None for any."""
        ...

    async def held(self, tool: str, opened: Callable[[bool], AbstractAsyncContextManager[T]]) -> T:
        """What the tool of this name holds from call to call, such as a process, until this attempt at the run ends,
        whatever ends it. `opened` makes it at the first call of the attempt; it is given True if the tool was called
        before that, and what it held then is gone. Only for calls that a run makes itself."""
        ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace; `output` is (id, type) of the typed output it belongs to."""
        ...

    async def instructions(self) -> str:
        """The instructions of the chat's project. Raises `WorkFailure` for a chat without one."""
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

    async def media(self, media_id: str) -> MediaSource | None:
        """The stored media of the account with this id; None when there is none."""
        ...

    async def keep_transcript(self, media_id: str, transcript: Mapping[str, Any]) -> None:
        """Store the transcript of a medium: `language`, `text` and `segments`."""
        ...


class Complete(Protocol):
    """A function that asks a language model one question."""

    async def __call__(self, prompt: str, schema: Mapping[str, Any], meter: Meter) -> dict[str, Any]:
        """Return an object that fits the JSON Schema; `meter` counts the tokens, also of a failed call. Raises
        `WorkFailure`."""
        ...


class Outcome(BaseModel):
    """The result of a tool. `content` are content blocks (docs/api/tools-and-jobs.md); a tool that failed sets
    `error`."""

    content: list[dict[str, Any]] = []
    data: dict[str, Any] | None = None
    error: tuple[str, str] | None = None
    """(code, message)"""
    inline: bool = True
    """False when the result consists of the files that were written."""


class Described(Protocol):
    """An entry of the catalog. `Input` is its typed input; the schemas in the catalog are made from it and `Output`."""

    name: ClassVar[str]
    description: ClassVar[str]
    family: ClassVar[str]
    asynchronous: ClassVar[bool]
    idempotent: ClassVar[bool]
    """Whether a call takes an `Idempotency-Key`, and the same key gives the same job."""
    effect: ClassVar[bool]
    Input: ClassVar[type[BaseModel]]
    Output: ClassVar[type[BaseModel] | None]
    """The model of `Outcome.data`; None when the tool promises none."""

    def available(self) -> bool: ...

    def max_charges(self, given: Any) -> Mapping[str, int]:
        """The most units that a call with the `Input` `given` is billed for, by kind; they are held before it begins
        (`accounts.money.PER_USE`)."""
        ...


class Tool(Described, Protocol):
    """A tool of the catalog that does its work itself, in `run`.

    After a crash, an unfinished call is repeated if the tool has no `effect`. A call whose effect may already have
    happened fails with `outcome_unknown`, unless the tool sets `repeatable = True`: such a tool can tell by
    `ToolContext.key` what it has done already.
    """

    shows: ClassVar[bool]
    """Whether a model that sees is shown the pictures of its results."""
    needs_sight: ClassVar[bool]
    """Whether only a model that sees is offered the tool."""
    keeps_state: ClassVar[bool]
    """Whether a call may come to something else after other calls of the tool by the run."""
    group: ClassVar[str]

    def fetches(self, given: Any) -> Sequence[str]: ...

    def reads(self, given: Mapping[str, Any]) -> bool: ...

    async def run(self, given: Any, context: ToolContext) -> Outcome:
        """Do the work. `given` is an `Input`. Long CPU work goes to a thread (`asyncio.to_thread`), and looks there
        from time to time whether it is to stop (`tools.support.stopping`)."""
        ...


class OpenedTools(NamedTuple):
    """The tools of other servers, and the codes and messages of warnings: of tools that are left out, and of servers
    that are away."""

    tools: dict[str, Tool]
    warnings: list[tuple[str, str]]


class RemoteTools(Protocol):
    """The tools of other servers, for one attempt at a run. `seen` has what the servers said of them, as hashes."""

    seen: dict[str, str]

    async def open(self, taken: Container[str], seen: Mapping[str, str] | None) -> OpenedTools:
        """Connect to the servers. `taken` are names that are not theirs; `seen` is what they said when the run began,
        None at its beginning: a tool that is another now is left out."""
        ...

    async def close(self) -> None: ...


class RemoteServers(Protocol):
    """The servers whose tools runs may use."""

    def for_run(self) -> RemoteTools: ...


class ToolDeclaration:
    """The attributes of `Described` with their usual values, and what else `docs/tools.md` says about a tool."""

    asynchronous: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    effect: ClassVar[bool] = False
    shows: ClassVar[bool] = False
    needs_sight: ClassVar[bool] = False
    keeps_state: ClassVar[bool] = False
    Output: ClassVar[type[BaseModel] | None] = None

    group: ClassVar[str] = ""
    """The group by which a model loads the tool: a `setting_types.ToolGroup`, or the name of an MCP server. Tools
    without one are in its first request, with those of the `project` of the chat, and of `skills` if that has some."""
    settings_used: ClassVar[tuple[str, ...]] = ()
    """The names of the settings that the tool reads."""
    requirements: ClassVar[str] = ""
    """What the tool needs and what it does without it, in Markdown."""

    def available(self) -> bool:
        """Whether everything that the tool needs is configured."""
        return True

    def fetches(self, given: Any) -> Sequence[str]:
        """The addresses of strangers that the input names and the tool would fetch (docs/channels.md)."""
        return ()

    def reads(self, given: Mapping[str, Any]) -> bool:
        """Return True if a call with this unchecked input changes nothing and costs nothing. A run makes
        such calls at the same time, and any other alone."""
        return False

    def max_charges(self, given: Any) -> Mapping[str, int]:
        """`Described.max_charges`: nothing, for most tools."""
        return {}


@dataclass(frozen=True, slots=True)
class ToolServices:
    """What the service passes to every tool that it constructs."""

    settings: Settings
    complete: Complete | None = None
    """Asks the language model; None when there is none."""


class BaseTool(ToolDeclaration):
    """Base class of the tools that the catalog discovers.

    To add a tool, write one module in `agentsvc_nb/tools` with a subclass that has `name`, `description`, `family`,
    `Input`, `Output` and `async def run(self, given, context)`, as `Tool` describes them, its `group`, and
    `settings_used` and `requirements` for the docs. Heavy libraries are imported by `run`,
    because every module is imported when the service starts.
    """

    scripted_only: ClassVar[bool] = False
    """Whether the tool exists only with the `scripted` model: a tool for tests."""

    def __init__(self, services: ToolServices) -> None:
        self.services = services


class ReadingTool(BaseTool):
    """Base class of the tools whose calls only read."""

    def reads(self, given: Mapping[str, Any]) -> bool:
        return True


def repeatable(tool: Tool) -> bool:
    """Whether a call of the tool that a crash interrupted may be made again."""
    return bool(getattr(tool, "repeatable", not tool.effect))


async def preview(tool: Tool, given: BaseModel, context: ToolContext) -> str:
    """What a call would change, as a diff for the person who approves it; empty for most tools. Raises `WorkFailure`
    for a call that would fail."""
    shown = getattr(tool, "preview", None)
    return "" if shown is None else str(await shown(given, context))


def always_waits(tool: Tool) -> bool:
    """Whether every call of the tool waits for approval, whatever the settings say."""
    return bool(getattr(tool, "always_waits", False))


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
