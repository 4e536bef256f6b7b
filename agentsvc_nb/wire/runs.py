"""Agent runs and their events, and the models that a run may name."""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, field_validator

from agentsvc_nb.wire import ids
from agentsvc_nb.wire.limits import (
    ATTACHMENTS_MAX,
    BASIS_VALUE_CHARS,
    BASIS_VALUES_MAX,
    CLIENT_TOOL_CHARS,
    CLIENT_TOOLS_MAX,
    CODE_CHARS,
    HEADLINE_CHARS,
    MESSAGE_CHARS,
    REASON_CHARS,
    SESSION_CHARS,
    STEPS_MAX,
)
from agentsvc_nb.wire.models import Model, Request
from agentsvc_nb.wire.text import label

Effort = Literal["low", "medium", "high"]
"""How much thought a model is to give an answer."""
RunStatus = Literal["queued", "running", "cancelling", "completed", "failed", "cancelled"]
ACTIVE: Final = frozenset({"queued", "running", "cancelling"})
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""An unknown status counts as not terminal (docs/api/runs.md "States")."""


ChatId = Annotated[str, Field(pattern=ids.CHAT)]
ProjectId = Annotated[str, Field(pattern=ids.PROJECT)]
SessionLabel = Annotated[str, Field(min_length=1, max_length=SESSION_CHARS)]
AnswerSchema = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"properties": {"type": {"const": "object"}}, "required": ["type"]}),
]
UploadId = Annotated[str, Field(pattern=ids.UPLOAD)]


CODE_REQUEST: Final = "Answer with one Python code block that can stand as the next cell of this notebook."
"""What a notebook adds to a message whose answer becomes a cell; it is for language models."""


_ADDED: Final = f"\n\n{CODE_REQUEST}"
ADDED_CHARS: Final = len(_ADDED)


def typed(message: str) -> str:
    """A message without `CODE_REQUEST`: as pages show it, and as agents without a language model read it."""
    return message.removesuffix(_ADDED)


class NewClientTool(Request):
    """A tool that the caller of a run executes (docs/api/client-tools.md)."""

    name: str = Field(pattern=ids.CLIENT_TOOL, examples=["look_up"])
    description: str = Field(min_length=1, max_length=CLIENT_TOOL_CHARS, examples=["Looks up an order."])
    input_schema: AnswerSchema = Field(description="By the rules of `output_config`; of all tools at most 64 KB.")
    effect: bool = Field(description="Whether a call changes something.")


class NewRun(Request):
    """The body of `POST /runs`; each wrong field is answered with a code of its own."""

    message: str = Field(pattern=r"\S", description="What to do; not blank.", examples=["say Hello"])
    chat: ChatId | None = Field(default=None, description="The chat to work in; a new one when left out.")
    project: ProjectId | None = Field(default=None, description="The project of the chat.")
    session: SessionLabel | None = Field(default=None, description="A label that has a chat of its own.")
    sync: bool | None = Field(default=None, description="Hold the answer until the run ends, for about 90 seconds.")
    on_busy: Literal["reject"] | None = Field(default=None, description="What happens when the chat is busy.")
    output_config: AnswerSchema | None = Field(
        default=None,
        description="A JSON Schema (draft 2020-12) for the final answer: an object at its root, of at most 64 KB, "
        "without remote or recursive references.",
    )
    file_ids: Annotated[list[UploadId], Field(max_length=ATTACHMENTS_MAX)] | None = Field(
        default=None, description="Staged files to attach; with `files`, at most 10."
    )
    files_from: ChatId | None = Field(
        default=None, description="A chat whose files the new chat begins with; not with `chat` or `session`."
    )
    model: str | None = Field(default=None, description="A model of `GET /models`; left out, the default.")
    effort: Effort | None = Field(
        default=None, description="How much thought the model is to give it, where its provider takes that."
    )
    max_steps: Annotated[int, Field(ge=1, le=STEPS_MAX)] | None = Field(
        default=None, description="Model steps that the run may take; it fails with `limit_reached` at the next one."
    )
    max_cents: Annotated[float, Field(gt=0)] | None = Field(
        default=None,
        description="What the run may cost, in cents; it fails with `limit_reached` before a call of a model or a "
        "priced tool that could cost more. Left out: 50 on a hosted model, else no limit of its own.",
    )
    client_tools: Annotated[list[NewClientTool], Field(max_length=CLIENT_TOOLS_MAX)] | None = Field(
        default=None, description="Tools that the caller executes; not with `sync`."
    )


class NewLimits(Request):
    """The body of `POST /runs/{run_id}/resume`, which may be left out: the limits of the new run."""

    max_steps: Annotated[int, Field(ge=1, le=STEPS_MAX)] | None = Field(
        default=None, description="Model steps that the new run may take. Left out: as the old one's."
    )
    max_cents: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="What the new run may cost, in cents. Left out: as the old one's."
    )


class Verdict(Request):
    """The body of `POST /runs/{run_id}/calls/{call_id}/approval`."""

    approved: bool = Field(description="Whether the tool may be called.", examples=[True])
    reason: Annotated[str, Field(max_length=REASON_CHARS)] | None = Field(
        default=None, description="Of a refusal: the agent is told."
    )


class CallApproval(Model):
    """What was decided about a call of a run."""

    object: str = "call_approval"
    run_id: str
    call_id: str
    tool: str = ""
    approved: bool = False
    reason: str = ""


class TextBlock(Request):
    type: Literal["text"]
    text: str


class ImageBlock(Request):
    """A picture of the chat's files."""

    type: Literal["image"]
    path: str
    media_type: str


class JsonBlock(Request):
    type: Literal["json"]
    # `json` is a method of pydantic's models.
    value: Any = Field(alias="json")


def _refuse_number(value: object) -> object:
    """Refuse 1 and 1.0, which a literal of pydantic takes for true."""
    if not isinstance(value, bool):
        raise ValueError("must be true")
    return value


class CallError(Request):
    code: Annotated[str, Field(min_length=1, max_length=CODE_CHARS)]
    message: Annotated[str, Field(max_length=MESSAGE_CHARS)] = ""


class CallResult(Request):
    """The body of `POST /runs/{run_id}/calls/{call_id}/result`: `content` and what belongs to it, or `pending`."""

    content: list[Annotated[TextBlock | ImageBlock | JsonBlock, Field(discriminator="type")]] | None = Field(
        default=None, description="What the call came to.", examples=[[{"type": "text", "text": "12 lamps"}]]
    )
    data: dict[str, Any] | None = Field(default=None, description="The result as data.")
    is_error: bool | None = Field(default=None, description="Whether the call failed; false when left out.")
    error: CallError | None = Field(default=None, description="Why it failed; without it the code is `client_error`.")
    pending: Annotated[Literal[True], BeforeValidator(_refuse_number)] | None = Field(
        default=None, description="The caller is still at work: the call waits 120 seconds from now."
    )


class ClientCall(Model):
    """A call of a client tool. `accepted`: it has its result; else it waits for one until `expires_at`."""

    object: str = "client_call"
    run_id: str
    call_id: str
    accepted: bool = False
    expires_at: str | None = None


CENT: Final = 1_000_000
"""One cent in micro-cents, the unit of all stored costs."""


class Usage(Model):
    """What a run used: tokens, and their price in micro-cents (10^-6 cent)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_microcents: int = 0


Basis = Literal["computed", "looked_up", "quoted", "near", "outline", "asked_back", "nothing", "cannot"]


class AnswerBasis(Model):
    """What an answer rests on, by its agent (docs/api/models.md "What an answer rests on").

    `headline` is the answer in one line of plain text, `values` the answer itself; only `computed` and `looked_up` have
    them. A text that is too long is cut, and values beyond the fiftieth are dropped. Show an unknown `basis` as no
    claim.
    """

    basis: Basis | str
    headline: str | None = None
    values: list[str] = Field(default_factory=list)

    @field_validator("headline")
    @classmethod
    def _one_line(cls, headline: str | None) -> str | None:
        return None if headline is None else label(headline, HEADLINE_CHARS)

    @field_validator("values")
    @classmethod
    def _bounded(cls, values: list[str]) -> list[str]:
        return [label(value, BASIS_VALUE_CHARS) for value in values[:BASIS_VALUES_MAX]]


class Run(Model):
    """One agent turn inside a chat.

    `output` is the final text; `structured_output` the same as data, when the run completed and its text is a JSON
    object; `last_error` a code of `wire.codes.FAILURES`, or the agent's own; `basis` what the answer of a completed
    run rests on, when its agent said so; `resumed_from` the failed run that this one goes on from; `client_tools` the
    names of the tools that its caller executes.
    """

    object: str = "agent_run"
    run_id: str
    status: RunStatus | str
    chat: str = ""
    project: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    output: str | None = None
    structured_output: dict[str, Any] | None = None
    last_error: str | None = None
    last_error_message: str | None = None
    steps: int = 0
    usage: Usage = Field(default_factory=Usage)
    model: str | None = None
    resumed_from: str | None = None
    basis: AnswerBasis | None = None
    client_tools: list[str] = Field(default_factory=list)
    app_url: str | None = None

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL


class RunEntry(Model):
    """A run in a list. `message` is the beginning of what it was asked; its answer is in its record."""

    object: str = "agent_run_entry"
    run_id: str
    status: RunStatus | str
    chat: str = ""
    project: str | None = None
    message: str = Field(default="", description="Its first 200 characters.")
    model: str | None = None
    steps: int = 0
    usage: Usage = Field(default_factory=Usage)
    last_error: str | None = None
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None

    @property
    def ended(self) -> bool:
        return self.status in TERMINAL


class RunPage(Model):
    """A page of runs, the newest first; pass `next_after` as `after` for the next."""

    object: str = "list"
    data: list[RunEntry] = Field(default_factory=list)
    next_after: str | None = None


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
    "answer.basis",
    "run.resumed",
    "run.ended",
]


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a run. Ids are dense from 1 within the run; `payload` is as the service sent it.

    Unknown types are passed on: a viewer skips what it does not know. A payload that was too large is shortened and has
    `truncated: true`; `whole_path` names the file of the chat with all of it, but for `run.ended`: the record has it.
    """

    id: int
    type: EventType | str
    created_at: str
    payload: dict[str, Any]


class SentPart(Model):
    """A part of what a model was sent."""

    what: str = Field(description="`instructions`, `skills`, `tools`, `message`, `answer`, `call` or `result`.")
    text: str = Field(description="Its beginning: at most 500 characters.")
    chars: int = Field(description="How many characters it has in all.")


class SentCall(Model):
    """A call of a language model, with what its run had not sent before."""

    place: int = Field(description="From 1 within the run.")
    sent_at: str = ""
    provider: str = Field(default="", description="The address that it went to.")
    hosted: bool = Field(default=False, description="Whether that is a provider's, and no server of one's own.")
    model: str = ""
    tokens: int = Field(default=0, description="An estimate of the whole request.")
    parts: list[SentPart] = Field(default_factory=list)


class SentList(Model):
    """What a run sent to language models."""

    object: str = "list"
    data: list[SentCall] = Field(default_factory=list)


class EventPage(Model):
    """One page of events; pass `next_after` as `after` for the next."""

    object: str = "list"
    data: list[Event] = Field(default_factory=list)
    next_after: int = 0
    has_more: bool = False
    status: str = ""


Unavailable = Literal["not_configured", "unreachable", "no_price"]


class ModelInfo(Model):
    """A model that a start may name. `reason` is why it is not available; prices are in cents a million tokens, None
    when they are not known, as is `context_tokens`."""

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


class ModelList(Model):
    """The models that a service offers, the default first."""

    object: str = "list"
    data: list[ModelInfo] = Field(default_factory=list)
