"""The models of runs: starts, records, events, approvals, client tools, and the language models that a run may use."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from agentsvc_nb.wire import ids, limits
from agentsvc_nb.wire.models import Model, Request
from agentsvc_nb.wire.text import label

Effort = Literal["low", "medium", "high"]
"""How much the model should think before it answers."""
RunStatus = Literal["queued", "running", "cancelling", "completed", "failed", "cancelled"]
ACTIVE: Final = frozenset({"queued", "running", "cancelling"})
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""The statuses of a run that has ended. An unknown status counts as active (docs/api/runs.md "States")."""


ChatId = Annotated[str, Field(pattern=ids.CHAT)]
ProjectId = Annotated[str, Field(pattern=ids.PROJECT)]
SessionLabel = Annotated[str, Field(min_length=1, max_length=limits.SESSION_CHARS)]
AnswerSchema = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"properties": {"type": {"const": "object"}}, "required": ["type"]}),
]
UploadId = Annotated[str, Field(pattern=ids.UPLOAD)]


CODE_REQUEST: Final = "Answer with one Python code block that can stand as the next cell of this notebook."
"""The notebook appends this to a message whose answer is to become a cell. Only language models follow it."""


_ADDED: Final = f"\n\n{CODE_REQUEST}"
ADDED_CHARS: Final = len(_ADDED)


def typed(message: str) -> str:
    """Return the message as the user typed it, without `CODE_REQUEST`."""
    return message.removesuffix(_ADDED)


class NewClientTool(Request):
    """A client tool, which the client that starts the run executes itself (docs/api/client-tools.md)."""

    name: str = Field(pattern=ids.CLIENT_TOOL, examples=["look_up"])
    description: str = Field(min_length=1, max_length=limits.CLIENT_TOOL_CHARS, examples=["Looks up an order."])
    input_schema: AnswerSchema = Field(
        description="A JSON Schema by the rules of `output_config`. All schemas together must not exceed 64 KiB."
    )
    effect: bool = Field(description="Whether a call changes something.")


class NewRun(Request):
    """The body of `POST /runs`. Each invalid field has a separate error code."""

    message: str = Field(pattern=r"\S", description="What to do; not blank.", examples=["say Hello"])
    chat: ChatId | None = Field(default=None, description="The chat to work in; a new one if left out.")
    project: ProjectId | None = Field(default=None, description="The project of the chat.")
    session: SessionLabel | None = Field(default=None, description="A label with its own chat.")
    sync: bool | None = Field(default=None, description="Respond when the run ends, or after about 90 seconds.")
    on_busy: Literal["reject"] | None = Field(default=None, description="What to do if the chat is busy.")
    output_config: AnswerSchema | None = Field(
        default=None,
        description="A JSON Schema (draft 2020-12) for the final answer: an object at its root, of at most 64 KiB, "
        "without remote or recursive references.",
    )
    file_ids: Annotated[list[UploadId], Field(max_length=limits.ATTACHMENTS_MAX)] | None = Field(
        default=None, description="Staged files to attach; with `files`, at most 10."
    )
    files_from: ChatId | None = Field(
        default=None, description="A chat whose files are copied to the new chat; not with `chat` or `session`."
    )
    model: str | None = Field(default=None, description="A model of `GET /models`; the default if left out.")
    effort: Effort | None = Field(
        default=None, description="How much the model should reason, if its provider supports that."
    )
    max_steps: Annotated[int, Field(ge=1, le=limits.STEPS_MAX)] | None = Field(
        default=None,
        description="The maximum number of model steps. A run that needs another step fails with `limit_reached`.",
    )
    max_cents: Annotated[float, Field(gt=0, le=limits.CENTS_MAX)] | None = Field(
        default=None,
        description="The maximum cost of the run, in cents. Before a call that could exceed it, the run fails with "
        "`limit_reached`. If left out: 50 on a hosted model, else no limit of its own.",
    )
    client_tools: Annotated[list[NewClientTool], Field(max_length=limits.CLIENT_TOOLS_MAX)] | None = Field(
        default=None, description="Tools that the caller executes; not with `sync`."
    )


class NewLimits(Request):
    """The optional body of `POST /runs/{run_id}/resume`: the limits of the new run."""

    max_steps: Annotated[int, Field(ge=1, le=limits.STEPS_MAX)] | None = Field(
        default=None, description="The maximum number of model steps of the new run. If left out: the old run's limit."
    )
    max_cents: Annotated[float, Field(gt=0, le=limits.CENTS_MAX)] | None = Field(
        default=None, description="The maximum cost of the new run, in cents. If left out: the old run's limit."
    )


class NewUndo(Request):
    """The optional body of `POST /runs/{run_id}/undo`."""

    force: bool | None = Field(default=None, description="Also change files that were edited after the run.")
    redo: bool | None = Field(default=None, description="Restore the changes that an undo removed.")


class UndoneFile(Model):
    """What an undo or redo did to a file that the run had changed. `version` is the file's current version, or null if
    the chat no longer has the file.
    """

    path: str
    outcome: Literal["restored", "removed", "unchanged", "left"] | str = Field(
        default="left", description="`restored` to another version, `removed`, `unchanged`, or `left` as it is."
    )
    reason: Literal["changed_since", "version_not_kept"] | str | None = Field(
        default=None, description="Why the file was left as it is."
    )
    version: int | None = None


class RunUndo(Model):
    """The result of an undo or redo of a run's file changes, with the files in the order of their paths. `undone_at` is
    null if the changes are not undone.
    """

    object: str = "run_undo"
    run_id: str
    chat: str = ""
    undone_at: str | None = None
    files: list[UndoneFile] = Field(default_factory=list)


class RaisedLimit(Request):
    """The body of `POST /runs/{run_id}/limits`: the new cost limit of an active run."""

    max_cents: Annotated[float, Field(gt=0, le=limits.CENTS_MAX)] = Field(
        description="The new maximum cost of the run, in cents. It must not be below the current limit.", examples=[100]
    )


Lasts = Literal["run", "hour"]


class NewStandingApproval(Request):
    """The part of a verdict that also approves further calls of the tool in this chat in advance."""

    lasts: Lasts = Field(description="`run`: for the rest of the run; `hour`: for one hour.")
    folder: Annotated[str, Field(min_length=1, max_length=limits.FOLDER_CHARS)] | None = Field(
        default=None, description="Only calls whose `path` is in this folder of the chat."
    )


class StandingApproval(Model):
    """A standing approval, with which a person has approved further calls of a tool in advance.

    It is for the calls of the run `run_id`, or for all calls in the chat until `expires_at`. If `folder` is set, it is
    only for calls whose `path` is in this folder.
    """

    object: str = "standing_approval"
    id: str
    chat: str = ""
    run_id: str | None = None
    tool: str = ""
    folder: str | None = None
    created_at: str | None = None
    expires_at: str | None = None


class StandingApprovalList(Model):
    """The standing approvals of an account, oldest first."""

    object: str = "list"
    data: list[StandingApproval] = Field(default_factory=list)


class RevokedApproval(Model):
    """A standing approval that was revoked."""

    object: str = "standing_approval"
    id: str
    revoked: bool = True


class Verdict(Request):
    """The body of `POST /runs/{run_id}/calls/{call_id}/approval`."""

    approved: bool = Field(description="Whether to make the tool call.", examples=[True])
    reason: Annotated[str, Field(max_length=limits.REASON_CHARS)] | None = Field(
        default=None, description="Why the call is refused. The agent reads this text."
    )
    input: dict[str, Any] | None = Field(
        default=None,
        description="An input to use instead of the agent's. It must fit the tool's schema. Needs `approved: true`.",
        examples=[{"steps": 0}],
    )

    standing: NewStandingApproval | None = Field(
        default=None, description="Also approve further calls of the tool. Only with `approved: true`."
    )

    @model_validator(mode="after")
    def _refuses_without_more(self) -> "Verdict":
        if not self.approved and (self.input is not None or self.standing is not None):
            raise ValueError("`input` and `standing` need `approved: true`")
        return self


class CallApproval(Model):
    """The decision about a tool call of a run. `input` is the approved input, if it differs from the agent's input.

    `standing` is the standing approval that the verdict created, if any.
    """

    object: str = "call_approval"
    run_id: str
    call_id: str
    tool: str = ""
    approved: bool = False
    reason: str = ""
    input: dict[str, Any] | None = None
    standing: StandingApproval | None = None


class TextBlock(Request):
    type: Literal["text"]
    text: str


class ImageBlock(Request):
    """A picture among the chat's files."""

    type: Literal["image"]
    path: str
    media_type: str


class JsonBlock(Request):
    type: Literal["json"]
    # pydantic's models have a method `json`.
    value: Any = Field(alias="json")


def _refuse_number(value: object) -> object:
    """Reject 1 and 1.0, which pydantic would accept for the literal True."""
    if not isinstance(value, bool):
        raise ValueError("must be true")
    return value


class CallError(Request):
    code: Annotated[str, Field(min_length=1, max_length=limits.CODE_CHARS)]
    message: Annotated[str, Field(max_length=limits.MESSAGE_CHARS)] = ""


class CallResult(Request):
    """The body of `POST /runs/{run_id}/calls/{call_id}/result`: either `pending`, or the result in the other fields."""

    content: list[Annotated[TextBlock | ImageBlock | JsonBlock, Field(discriminator="type")]] | None = Field(
        default=None, description="The result of the call.", examples=[[{"type": "text", "text": "12 lamps"}]]
    )
    data: dict[str, Any] | None = Field(default=None, description="The result as data.")
    is_error: bool | None = Field(default=None, description="Whether the call failed; false if left out.")
    error: CallError | None = Field(default=None, description="Why it failed; if left out, the code is `client_error`.")
    pending: Annotated[Literal[True], BeforeValidator(_refuse_number)] | None = Field(
        default=None, description="The caller still works on the call, which waits for another 120 seconds."
    )


class ClientCall(Model):
    """The state of a client tool's call. If `accepted` is true, the service has its result. Otherwise the call waits
    until `expires_at`.
    """

    object: str = "client_call"
    run_id: str
    call_id: str
    accepted: bool = False
    expires_at: str | None = None


CENT: Final = 1_000_000
"""The number of micro-cents in a cent. All costs are stored in micro-cents."""


class Usage(Model):
    """The number of tokens that a run has used, and their cost in micro-cents (10^-6 cent)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microcents: int = 0


NumberStatus = Literal["traced", "computed", "quoted", "given", "not_found"]
NumberStrength = Literal["row_and_column", "row"]


class AnswerNumber(Model):
    """A number in an answer, with its source (docs/api/events.md "The numbers of an answer").

    - `start`, `end`: the number's offsets in `output`, in code points.
    - `status`: how the source was found. Clients must ignore a number with an unknown status.
    - `source`: a line that describes the source to people, or null if no source was found.
    - `strength`: for a traced number, whether the answer names the row and column of the source or only the row.
    - `call_id`, `row`, `column`, `path`, `line`: where the source is. Those that do not apply to it are null.
    """

    start: int
    end: int
    text: str
    status: NumberStatus | str
    strength: NumberStrength | str | None = None
    source: str | None = None
    call_id: str | None = None
    row: str | None = None
    column: str | None = None
    path: str | None = None
    line: int | None = None

    @field_validator("text")
    @classmethod
    def _short(cls, text: str) -> str:
        return label(text, limits.BASIS_NUMBER_CHARS)

    @field_validator("source", "row", "column", "path")
    @classmethod
    def _one_line(cls, text: str | None) -> str | None:
        return None if text is None else label(text, limits.BASIS_SOURCE_CHARS)


Basis = Literal[
    "computed",
    "looked_up",
    "quoted",
    "near",
    "outline",
    "asked_back",
    "nothing",
    "cannot",
    "not_computed",
    "written",
]


NOT_COMPUTED: Final = "This model has no tools. It reads and quotes, and computes nothing."
"""The text to show with an answer whose basis is `not_computed`."""
ONLY_READS: Final = "{model} has no tools, so it computes nothing. Check its numbers, or choose a model with tools."


class AnswerBasis(Model):
    """The basis of an answer, as the agent reports it (docs/api/models.md "What an answer rests on").

    - `basis`: the kind of basis. Clients must ignore an unknown value.
    - `headline`: the answer in one line of plain text, if `basis` is `computed` or `looked_up`.
    - `values`: at most 50 values of this answer. A long value is truncated.
    - `numbers`: the first 200 numbers in a language model's answer.
    - `number_counts`: for each status, how many of all numbers in the answer have it.
    """

    basis: Basis | str
    headline: str | None = None
    values: list[str] = Field(default_factory=list)
    numbers: list[AnswerNumber] = Field(default_factory=list)
    number_counts: dict[NumberStatus | str, int] = Field(default_factory=dict)

    @field_validator("headline")
    @classmethod
    def _one_line(cls, headline: str | None) -> str | None:
        return None if headline is None else label(headline, limits.HEADLINE_CHARS)

    @field_validator("values")
    @classmethod
    def _bounded(cls, values: list[str]) -> list[str]:
        return [label(value, limits.BASIS_VALUE_CHARS) for value in values[: limits.BASIS_VALUES_MAX]]

    @field_validator("numbers")
    @classmethod
    def _first_numbers(cls, numbers: list[AnswerNumber]) -> list[AnswerNumber]:
        return numbers[: limits.BASIS_NUMBERS_MAX]


class _RunFields(Model):
    """The fields that a run's record and its entry in a list have in common."""

    object: str
    run_id: str
    status: RunStatus | str
    chat: str = ""
    project: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    model: str | None = None
    steps: int = 0
    usage: Usage = Field(default_factory=Usage)
    last_error: str | None = None
    undone_at: str | None = Field(default=None, description="When the run's file changes were undone.")

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL


class Run(_RunFields):
    """The record of a run, in which an agent answers a message of a chat.

    - `output`: the final text.
    - `structured_output`: the parsed `output`, if the run completed and its output is a JSON object.
    - `last_error`: why the run failed: a code of docs/errors.md, or the agent's own code.
    - `basis`: what the answer is based on, if the agent reported it.
    - `resumed_from`: the ID of the failed run that this run continues.
    - `client_tools`: the names of the run's client tools.
    - `max_cents`: the cost limit of the run, or null for no limit.
    """

    object: str = "agent_run"
    last_error_message: str | None = None
    output: str | None = None
    structured_output: dict[str, Any] | None = None
    resumed_from: str | None = None
    basis: AnswerBasis | None = None
    client_tools: list[str] = Field(default_factory=list)
    max_cents: float | None = None
    app_url: str | None = None


class RunEntry(_RunFields):
    """An entry of a run in a list. `message` is the beginning of the run's message. Only the run's record has the
    answer.
    """

    object: str = "agent_run_entry"
    message: str = Field(default="", description="The first 200 characters of the message.")


class RunPage(Model):
    """A page of runs, newest first. Pass `next_after` as `after` for the next page."""

    object: str = "list"
    data: list[RunEntry] = Field(default_factory=list)
    next_after: str | None = None


class PlanStep(Model):
    """A step of the plan that an agent shows while it works (docs/api/events.md)."""

    text: str = ""
    state: Literal["open", "doing", "done"] | str = "open"


EventType = Literal[
    "run.status",
    "text.delta",
    "thinking.delta",
    "step.started",
    "tool.call",
    "tool.result",
    "approval.requested",
    "approval.decided",
    "client_call.waiting",
    "file.written",
    "job.submitted",
    "progress",
    "warning",
    "plan.changed",
    "limit.near",
    "limit.raised",
    "answer.basis",
    "run.resumed",
    "run.ended",
]


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run. The IDs of a run's events are 1, 2, 3 and so on, without gaps. `payload` is what the service
    sent.

    Clients must skip events of unknown types. A large payload is shortened and has `truncated: true`. `whole_path` then
    names a file of the chat with the complete payload. For `run.ended`, the run's record has the complete data.
    """

    id: int
    type: EventType | str
    created_at: str
    payload: dict[str, Any]


class SentPart(Model):
    """A part of a request to a language model, as the record of sent data shows it."""

    what: str = Field(description="`instructions`, `skills`, `tools`, `message`, `answer`, `call` or `result`.")
    text: str = Field(description="Its beginning: at most 500 characters.")
    chars: int = Field(description="The number of its characters.")


class SentCall(Model):
    """A call of a language model. `parts` are the parts of the request that no earlier call of the run had sent."""

    place: int = Field(description="Its number, from 1 within the run.")
    sent_at: str = ""
    provider: str = Field(default="", description="The address that received it.")
    hosted: bool = Field(default=False, description="Whether the address belongs to a provider.")
    model: str = ""
    tokens: int = Field(default=0, description="An estimate of the tokens of the whole request.")
    parts: list[SentPart] = Field(default_factory=list)


class SentList(Model):
    """The calls of language models that a run has made."""

    object: str = "list"
    data: list[SentCall] = Field(default_factory=list)


class EventPage(Model):
    """A page of events. Pass `next_after` as `after` for the next page."""

    object: str = "list"
    data: list[Event] = Field(default_factory=list)
    next_after: int = 0
    has_more: bool = False
    status: str = ""


Unavailable = Literal["not_configured", "unreachable", "no_price"]


class ModelInfo(Model):
    """A model that a run's start may name. If it is not available, `reason` says why.

    Prices are in cents per million tokens. Prices and `context_tokens` are null if unknown.
    """

    object: str = "model"
    id: str
    default: bool = False
    available: bool = True
    reason: Unavailable | str | None = None
    context_tokens: int | None = None
    sees_images: bool = False
    uses_tools: bool = False
    input_cents_per_million: float | None = None
    output_cents_per_million: float | None = None

    @property
    def only_reads(self) -> str:
        """Return a warning if the model is a language model that can't call tools, else ""."""
        return ONLY_READS.format(model=self.id) if ":" in self.id and not self.uses_tools else ""


class ModelList(Model):
    """The models that a service offers, the default model first."""

    object: str = "list"
    data: list[ModelInfo] = Field(default_factory=list)
