"""The models of tools and jobs (docs/api/tools-and-jobs.md "Results")."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from agentsvc_nb.wire import ids
from agentsvc_nb.wire.files import WorkspaceFile
from agentsvc_nb.wire.models import Model, Request
from agentsvc_nb.wire.runs import ProjectId, SessionLabel, Usage

JobStatus = Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
JOB_TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled"})


ChatOrNew = Annotated[str, Field(pattern=ids.CHAT_OR_NEW)]


class NewCall(Request):
    """The body of `POST /tools/{name}/invoke`."""

    input: dict[str, Any] | None = Field(
        default=None, description="The input, by the tool's `input_schema`.", examples=[{"message": "say Hello"}]
    )
    chat: ChatOrNew | None = Field(
        default=None, description="The chat to work in, or `new`; if left out, the chat that tools share."
    )
    project: ProjectId | None = Field(default=None, description="The project of the chat.")
    session: SessionLabel | None = Field(default=None, description="A label with its own chat.")


class NewJob(NewCall):
    """The body of `POST /jobs`."""

    tool: str = Field(description="The name of an asynchronous tool.", examples=["create_images"])
    input: dict[str, Any] | None = Field(
        default=None,
        description="The input, by the tool's `input_schema`.",
        examples=[{"request": {"kind": "static_ad", "brief": "Headline: Summer sale", "outputs": {"count": 1}}}],
    )


class ToolDescription(Model):
    """A tool of the service's catalog. `available` is false while a part of the tool's configuration is missing."""

    object: str = "tool"
    name: str
    description: str = ""
    family: str = ""
    asynchronous: bool = False
    idempotent: bool = False
    effect: bool = False
    available: bool = True
    input_schema: dict[str, Any] = Field(default_factory=dict)
    output_schema: dict[str, Any] | None = None


class ToolList(Model):
    object: str = "list"
    data: list[ToolDescription] = Field(default_factory=list)


class ToolError(Model):
    code: str
    message: str = ""


class Progress(Model):
    """The progress of a job: `done` of `total` units. `total` is null if unknown."""

    done: float = 0
    total: float | None = None
    message: str = ""


class JobAccepted(Model):
    """The response (202) to the submission of a job."""

    type: str = "tool_job"
    tool: str = ""
    family: str
    job_id: str
    chat: str
    status: JobStatus | str = "queued"
    recommended_poll_after_ms: int | None = None


class ToolResult(Model):
    """The result of a tool call. If the call failed, `is_error` is true and `error` gives the reason."""

    object: str = "tool_result"
    tool: str
    is_error: bool = False
    error: ToolError | None = None
    content: list[dict[str, Any]] = Field(default_factory=list)
    data: dict[str, Any] | None = None
    chat: str = ""


class Job(Model):
    """The record of a job, with the result once the job has ended. If `kind` is `files`, the result is in `files`. If
    it is `inline`, the result is in `data`.

    In an ended job, `usage` is what the tool has used of a language model.
    """

    object: str = "tool_job"
    job_id: str
    tool: str = ""
    family: str = ""
    chat: str = ""
    status: JobStatus | str = "queued"
    is_error: bool = False
    error: ToolError | None = None
    content: list[dict[str, Any]] = Field(default_factory=list)
    data: dict[str, Any] | None = None
    progress: Progress | None = None
    recommended_poll_after_ms: int | None = None
    usage: Usage = Field(default_factory=Usage)
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    kind: Literal["files", "inline"] | str | None = None
    files: list[WorkspaceFile] | None = None

    @property
    def ended(self) -> bool:
        return self.status in JOB_TERMINAL


class JobEntry(Model):
    """An entry of a job in a list. Only the job's record has the result."""

    object: str = "tool_job_entry"
    job_id: str
    tool: str = ""
    family: str = ""
    chat: str = ""
    status: JobStatus | str = "queued"
    error: ToolError | None = None
    progress: Progress | None = None
    created_at: str | None = None
    started_at: str | None = None
    ended_at: str | None = None

    @property
    def ended(self) -> bool:
        return self.status in JOB_TERMINAL


class JobPage(Model):
    """A page of jobs, newest first. Pass `next_after` as `after` for the next page."""

    object: str = "list"
    data: list[JobEntry] = Field(default_factory=list)
    next_after: str | None = None
