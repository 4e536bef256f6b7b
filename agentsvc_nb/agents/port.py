"""The interface between the service and its agents. Both sides must follow these docstrings.

A turn of a chat is a message and the run that answers it. The service executes the run by calling `Agent.run` with a
`RunContext`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentsvc_nb.tools.port import Outcome, OutgoingCall, Tool
from agentsvc_nb.tools.workspace_port import Workspace, WorkspaceEntry
from agentsvc_nb.wire.runs import AnswerBasis, Effort


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A finished tool call, with its input as JSON and its result or error as text."""

    tool: str
    input: str
    result: str
    call_id: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A finished turn of the chat.

    Attributes:
        basis: what the answer is based on, or "" if the agent did not say it.
        attachments: the paths of the attached files that have not changed since this turn.
        error: why the run did not complete, or "" if it did.
        calls: the latest tool calls of the run.
        changes: the paths of the files that the run changed, each with the version that the run created.
        undone: True if the user has undone the run's file changes.
    """

    message: str
    output: str
    status: str
    basis: str = ""
    run_id: str = ""
    attachments: Sequence[str] = ()
    error: str = ""
    calls: Sequence[MadeCall] = ()
    changes: Mapping[str, int] = field(default_factory=dict)
    undone: bool = False


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """The name of the chat's project, and what its members want the agent to follow: instructions, and skills, which
    are instructions for certain tasks. `skills` maps each skill's name to its description.
    """

    name: str
    instructions: str
    skills: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The facts about a model that are known without calling it.

    `reason` says why the model can't answer (a value of `wire.runs.Unavailable`), or is None if no problem is known.
    `price` is in cents per million input and output tokens.
    """

    reason: str | None = None
    context_tokens: int | None = None
    sees_images: bool = False
    uses_tools: bool = True
    price: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ClientToolDefinition:
    """A tool that the run's caller (the client that started the run) executes itself."""

    name: str
    description: str
    input_schema: dict[str, Any]
    effect: bool


class RunContext(Protocol):
    """A run as its agent sees it: the message, the chat's files, and methods that emit the run's events.

    A run resumes after a crash of the service. `state` is then the state that the agent passed to the last
    `checkpoint`, and `said` is the text up to that checkpoint. In a new run, `state` is None.
    """

    @property
    def message(self) -> str: ...
    @property
    def state(self) -> dict[str, Any] | None: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def model(self) -> str:
        """Return the id of the model that answers."""
        ...

    @property
    def effort(self) -> Effort | None:
        """Return how much the model should think, or None if the run's start did not say it."""
        ...

    @property
    def said(self) -> str:
        """Return the text that `say` has streamed so far."""
        ...

    @property
    def output_config(self) -> dict[str, Any] | None:
        """Return the JSON Schema that the run's final text must fit, or None if any text is allowed."""
        ...

    async def misfit(self, text: str) -> str | None:
        """Return why the text does not fit `output_config`, in a sentence, or None if it fits or there is no schema."""
        ...

    async def attachments(self) -> Sequence[WorkspaceEntry]:
        """Return the files attached to the message."""
        ...

    async def project(self) -> ProjectRules | None:
        """Return the chat's project, or None if the chat has no project."""
        ...

    async def earlier(self, limit: int) -> Sequence[EarlierTurn]:
        """Return at most `limit` earlier turns of the chat, latest first."""
        ...

    async def calls(self) -> Sequence[MadeCall]:
        """Return the run's latest tool calls in order."""
        ...

    async def step(self) -> None:
        """Begin a model step, which is one call of the model. Raise `StepsExceeded` at step 1,501. The run then ends
        with the status `budget_limited`.
        """
        ...

    async def say(self, text: str) -> None:
        """Stream text to the reader. It becomes the run's output, unless `Agent.run` returns another text."""
        ...

    async def think(self, text: str) -> None: ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def warn(self, code: str, message: str) -> None: ...

    def rests_on(self, basis: AnswerBasis) -> None:
        """Set what the answer is based on. When the run completes, the service publishes the latest basis as the event
        `answer.basis`.

        After a crash or a `rewind`, the agent must set the basis again.
        """
        ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace. `output` is the id and type of the file's typed output, if any."""
        ...

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        """Call a tool of the catalog or of the run's caller, and emit the events `tool.call` and `tool.result`.

        An asynchronous tool starts a job. The method then returns when the job has ended. If the tool fails, the method
        raises no error, and `Outcome.error` says why.

        If the agent repeats a call after a crash, it gets the earlier result. Two calls are the same if their tool,
        input and position are equal. The position is the `key` that the agent gives the call within its model step, or
        else the number of the call within the step.

        The agent may make several calls of one step concurrently, each with a `key`. Calls that only read
        (`Tool.reads`) then run concurrently, and several calls can wait for people at the same time. All other calls
        run one after the other, in order.
        """
        ...

    def tools(self) -> Sequence[Tool]: ...
    def client_tools(self) -> Sequence[ClientToolDefinition]:
        """Return the tools that the run's caller executes. Call them with `call`.

        An agent that does not use them must call `without_client_tools`.
        """
        ...

    async def connect_tools(self) -> None:
        """Add the tools of MCP servers to `tools`. If a server is unavailable, the run gets a warning.

        An agent that can choose among tools must call this first. A second call in the run has no effect.
        """
        ...

    async def room(self) -> int | None:
        """Return how many micro-cents are left of the run's `max_cents`, or None if the run has no limit."""
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Reserve the maximum cost of the next model call. If `microcents` is None, compute the cost with the model's
        price.

        Raises `WorkFailure("limit_reached")` if a cost limit does not allow this cost.
        """
        ...

    async def sending(self, call: OutgoingCall) -> bool:
        """Record a model call before it is sent. Return True for the data folder's first call of a hosted model."""
        ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Count tokens and their cost in micro-cents. If the cost is None, compute it with the model's price."""
        ...

    def use_uncounted(self) -> None:
        """Record a model call that did not report its tokens."""
        ...

    async def checkpoint(self, state: dict[str, Any]) -> None:
        """Save the run's progress. After a crash, the run resumes at the last checkpoint, with its `state`."""
        ...

    async def rewind(self) -> None:
        """Discard what the run has done since the last checkpoint, as after a crash, restore `said` and `state`, and
        emit the event `run.resumed`.

        Tokens that the run has used since the checkpoint are still charged.
        """
        ...


class Agent(Protocol):
    """An agent answers messages: a loop of model calls and tool calls, or a program that takes its place.

    If an agent has a method `complete` (`tools.port.Complete`), tools can ask its model questions. If it has a method
    `facts`, the method returns the `ModelFacts` of its model.
    """

    async def run(self, turn: RunContext) -> str | None:
        """Execute one run. Return the final text, or None if `say` has streamed it.

        Raises `WorkFailure` for failures with an error code. Must not catch `asyncio.CancelledError`.
        """
        ...


async def without_client_tools(turn: RunContext, but: Collection[str] = ()) -> None:
    """If the run's caller has tools, warn once that the agent ignores them. `but` names the tools that it does use."""
    offered = [tool for tool in turn.client_tools() if tool.name not in but]
    if turn.state is None and offered:
        named = ", ".join(tool.name for tool in offered)
        await turn.warn(
            "client_tools_not_used", f"{turn.model} can't call the client's tools, so these are not used: {named}."
        )


async def without_skills(turn: RunContext) -> None:
    """If the chat's project has skills, warn once that the agent does not follow them."""
    project = await turn.project() if turn.state is None else None
    if project and project.skills:
        said = f"{turn.model} does not follow the project's skills, because they need a language model with tools: "
        await turn.warn("skills_not_used", said + f"{', '.join(project.skills)}.")


class StepsExceeded(Exception):
    """Raised if a run needs more model steps than are allowed."""
