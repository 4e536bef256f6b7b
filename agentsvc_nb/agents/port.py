"""The interface between the service and its agents. These docstrings are the contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentsvc_nb.tools.port import Outcome, SentCall, Tool
from agentsvc_nb.tools.workspace_port import Workspace, WorkspaceEntry
from agentsvc_nb.wire.runs import AnswerBasis, Effort


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A finished tool call: its input as JSON, and its result or error as text."""

    tool: str
    input: str
    result: str
    call_id: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A finished turn of the chat.

    Attributes:
        basis: the basis of its answer, if the agent set one.
        attachments: the paths of attached files that have not changed since.
        error: the reason why the turn did not complete, if so.
        calls: its latest tool calls.
        changes: the file versions that the turn created, by path.
        undone: True if the user undid the turn's file changes.
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
    """The chat's project, and its members' instructions for the agent. `skills` maps each skill's name to its
    description.
    """

    name: str
    instructions: str
    skills: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model that are known without a request.

    `reason` is why the model can't answer (`wire.runs.Unavailable`), or None if no problem is known. `price` is in
    cents per million input and output tokens.
    """

    reason: str | None = None
    context_tokens: int | None = None
    sees_images: bool = False
    uses_tools: bool = True
    price: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ClientTool:
    """A tool that the run's caller executes."""

    name: str
    description: str
    input_schema: dict[str, Any]
    effect: bool


class RunContext(Protocol):
    """A run as its agent sees it: the message, the chat's files, and methods that emit events.

    A run may resume after a crash. `state` is then the state of the last `checkpoint`; otherwise it is None. `said` is
    the text up to that checkpoint.
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
        """Return the requested thinking effort of the model."""
        ...

    @property
    def said(self) -> str:
        """Return the text that `say` has streamed so far."""
        ...

    @property
    def output_config(self) -> dict[str, Any] | None:
        """Return the JSON Schema that the final text must fit, or None."""
        ...

    async def misfit(self, text: str) -> str | None:
        """Return a sentence that says why the text does not fit `output_config`. Return None if the text fits, or
        without a schema.
        """
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
        """Begin a model step. Raise `StepsExceeded` at step 1,501, which ends the run with `budget_limited`."""
        ...

    async def say(self, text: str) -> None:
        """Stream text to the reader. The streamed text becomes the run's output unless the agent returns another
        text.
        """
        ...

    async def think(self, text: str) -> None: ...

    async def progress(self, done: float, total: float | None = None, message: str = "") -> None: ...

    async def warn(self, code: str, message: str) -> None: ...

    def rests_on(self, basis: AnswerBasis) -> None:
        """Set the basis of the answer. The run publishes the basis that was set last when it completes
        (`answer.basis`).

        After a crash or a `rewind`, the agent must set the basis again.
        """
        ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace. `output` is the (id, type) of the typed output to which the file
        belongs.
        """
        ...

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        """Call a tool of the catalog or of the run's caller, with events `tool.call` and `tool.result`.

        An asynchronous tool starts a job, and the call follows the job to its end. The call does not raise if the tool
        fails: see `Outcome.error`.

        After a crash, a repeated call returns its earlier result. Two calls are the same if tool, input and position
        are equal. The position is the agent's `key` for the call within its model step, or else the call's number
        within the step.

        The agent may make several calls of one step together, each with a `key`. Calls that only read (`Tool.reads`)
        run concurrently. Calls that wait for people wait together. All other calls run alone, in order.
        """
        ...

    def tools(self) -> Sequence[Tool]: ...
    def client_tools(self) -> Sequence[ClientTool]:
        """Return the tools that the run's caller executes. Use `call` to call them.

        An agent that can't choose among tools must call `without_client_tools`.
        """
        ...

    async def connect_tools(self) -> None:
        """Add the tools of MCP servers to `tools`, once per run. An agent that can choose among tools calls this first.

        An unavailable server causes a warning.
        """
        ...

    async def room(self) -> int | None:
        """Return how many micro-cents of the run's `max_cents` are left for the next call, or None if the run has no
        limit.
        """
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Reserve the maximum cost of the next model call, computed as by `use`.

        Raises `WorkFailure("limit_reached")` if a limit of money does not allow this cost.
        """
        ...

    async def sending(self, call: SentCall) -> bool:
        """Record a model call before it is sent. Return True if this is the first call to a hosted model from this data
        folder.
        """
        ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Count tokens and their cost in micro-cents. If the cost is None, compute it with the model's price."""
        ...

    def use_uncounted(self) -> None:
        """Record a model call that did not report its tokens."""
        ...

    async def checkpoint(self, state: dict[str, Any]) -> None:
        """Save all progress. After a crash the run resumes at this checkpoint with this `state`."""
        ...

    async def rewind(self) -> None:
        """Return to the last checkpoint as after a crash (`run.resumed`), and restore `said` and `state`.

        Tokens that were used since then are still charged.
        """
        ...


class Agent(Protocol):
    """A language model with its loop, or a replacement for one.

    An agent with a method `complete` (`tools.port.Complete`) also answers questions of tools. An agent with a method
    `facts` describes its model (`ModelFacts`).
    """

    async def run(self, turn: RunContext) -> str | None:
        """Execute one run. Return the final text, or None if `say` has streamed it.

        Raises `WorkFailure` for failures with their own code. Must let `asyncio.CancelledError` pass.
        """
        ...


async def without_client_tools(turn: RunContext, but: Collection[str] = ()) -> None:
    """Warn once that the agent does not use the caller's tools, if the run has any. `but` names the tools that it
    uses.
    """
    offered = [tool for tool in turn.client_tools() if tool.name not in but]
    if turn.state is None and offered:
        named = ", ".join(tool.name for tool in offered)
        await turn.warn(
            "client_tools_not_used", f"{turn.model} can't call tools of the client, so it does not use these: {named}."
        )


async def without_skills(turn: RunContext) -> None:
    """Warn once that the agent does not follow the project's skills, if the project has any."""
    project = await turn.project() if turn.state is None else None
    if project and project.skills:
        said = f"{turn.model} does not follow the project's skills, because they need a language model with tools: "
        await turn.warn("skills_not_used", said + f"{', '.join(project.skills)}.")


class StepsExceeded(Exception):
    """The run needs more model steps than are allowed."""
