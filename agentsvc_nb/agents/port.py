"""The interface between the service and its agents. The docstrings are the contract."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentsvc_nb.tools.port import Outcome, SentCall, Tool
from agentsvc_nb.tools.workspace_port import Workspace, WorkspaceEntry
from agentsvc_nb.wire.runs import AnswerBasis, Effort


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of a tool that has ended: its input as JSON, and its result as text, which is the error if it failed."""

    tool: str
    input: str
    result: str
    call_id: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A finished turn of the chat.

    Attributes:
        basis: what its answer rests on, if its agent said so.
        attachments: paths of the files that came with it and have not changed since.
        error: why it did not complete.
        calls: its latest calls of tools.
        changes: the versions of files that it made, by path.
        undone: the user undid its changes of files.
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
    """The project of the chat, and what its members want the agent to do; `skills` are descriptions by name."""

    name: str
    instructions: str
    skills: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model without asking it. `reason` is why it can't answer (`wire.runs.Unavailable`), None
    when nothing is known to hinder it; `price` is in cents a million tokens of input and of output."""

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
    """One run as its agent sees it: the message, the chat's files, and methods that emit events.

    A run may be resumed after a crash: `state` is then the state of the last `checkpoint`, else None, and `said` the
    text up to that checkpoint.
    """

    @property
    def message(self) -> str: ...
    @property
    def state(self) -> dict[str, Any] | None: ...
    @property
    def workspace(self) -> Workspace: ...
    @property
    def model(self) -> str:
        """The id of the model that answers."""
        ...

    @property
    def effort(self) -> Effort | None:
        """How much thought the start asks for."""
        ...

    @property
    def said(self) -> str:
        """The text said so far."""
        ...

    @property
    def output_config(self) -> dict[str, Any] | None:
        """The JSON Schema that the final text must fit, when one was given."""
        ...

    async def misfit(self, text: str) -> str | None:
        """Why the text does not fit `output_config`, in a sentence; None when it does, or when there is none."""
        ...

    async def attachments(self) -> Sequence[WorkspaceEntry]:
        """The files that came with the message."""
        ...

    async def project(self) -> ProjectRules | None:
        """The chat's project; None when it belongs to none."""
        ...

    async def earlier(self, limit: int) -> Sequence[EarlierTurn]:
        """At most `limit` turns of the chat before this one, the latest first."""
        ...

    async def calls(self) -> Sequence[MadeCall]:
        """The latest calls of tools of this run, in their order."""
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

    def rests_on(self, basis: AnswerBasis) -> None:
        """Say what the answer rests on. It is told once, when the run completes (`answer.basis`): the last one counts,
        and after a crash or a `rewind` it must be said anew."""
        ...

    async def write(self, path: str, data: bytes, *, output: tuple[str, str] | None = None) -> None:
        """Write a file into the chat's workspace; `output` is (id, type) of the typed output it belongs to."""
        ...

    async def call(self, tool: str, given: dict[str, Any], key: str | None = None) -> Outcome:
        """Call a tool of the catalog or of the run's caller: events `tool.call` and `tool.result`, and for an
        asynchronous tool a job that is followed to its end. Never raises for a tool's failure: `Outcome.error` says so.

        After a crash, a repeated call returns the result it had before. Two calls are the same when tool, input and
        position are: the `key` that the agent gives the call within its model step, or else its number there.

        Calls of one step may be made together, each with a `key`. Those that only read run at the same time
        (`Tool.reads`), and those that wait for people wait together; any other runs alone, in the order of the calls.
        """
        ...

    def tools(self) -> Sequence[Tool]: ...
    def client_tools(self) -> Sequence[ClientTool]:
        """What the run's caller executes; `call` asks it. An agent that can't choose among tools tells
        `without_client_tools`."""
        ...

    async def connect_tools(self) -> None:
        """Add the tools of other servers to `tools`, once in a run: an agent that can choose among tools says so first.
        A server that is away is a warning."""
        ...

    async def room(self) -> int | None:
        """Return the micro-cents that the run's `max_cents` leaves for the next call, or None if it has no limit."""
        ...

    async def hold(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Hold what the next call of the model may come to, counted as by `use`, before it is made.

        Raises `WorkFailure("limit_reached")` when a limit of money has no room for it.
        """
        ...

    async def sending(self, call: SentCall) -> bool:
        """Record what goes to a model, before it does. True if it is the first that this folder sends to a hosted
        one."""
        ...

    def use(self, input_tokens: int, output_tokens: int, microcents: int | None = None) -> None:
        """Count tokens, and their cost in microcents; None: the cost by the model's price."""
        ...

    def use_uncounted(self) -> None:
        """Note a model call that did not report its tokens."""
        ...

    async def checkpoint(self, state: dict[str, Any]) -> None:
        """Save all progress: after a crash the run resumes here with this `state`."""
        ...

    async def rewind(self) -> None:
        """Go back to the last checkpoint as after a crash (`run.resumed`): `said` and `state` are as they were then.
        What was used since is used."""
        ...


class Agent(Protocol):
    """A language model with its loop, or a stand-in for one. An agent with a method `complete` (`tools.port.Complete`)
    also answers questions of tools, one with `facts` says what is known of its model (`ModelFacts`)."""

    async def run(self, turn: RunContext) -> str | None:
        """Execute one run. Returns the final text, or None when it is the text streamed by `say`.

        Raises `WorkFailure` for a failure with a code of its own. Must let `asyncio.CancelledError` pass.
        """
        ...


async def without_client_tools(turn: RunContext, but: Collection[str] = ()) -> None:
    """Warn that the agent of the turn does not use the caller's tools, once, if there are any; `but` these it does."""
    offered = [tool for tool in turn.client_tools() if tool.name not in but]
    if turn.state is None and offered:
        named = ", ".join(tool.name for tool in offered)
        await turn.warn("client_tools_not_used", f"{turn.model} can't choose among tools, and does not use: {named}.")


async def without_skills(turn: RunContext) -> None:
    """Warn that the agent of the turn does not follow the project's skills, once, if there are any."""
    project = await turn.project() if turn.state is None else None
    if project and project.skills:
        said = f"{turn.model} does not follow the project's skills, which takes a language model with tools: "
        await turn.warn("skills_not_used", said + f"{', '.join(project.skills)}.")


class StepsExceeded(Exception):
    """The run needs more model steps than it may have."""
