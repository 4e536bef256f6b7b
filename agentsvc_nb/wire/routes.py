"""THE endpoint table: one row each (docs/api; rows marked `ours` are no part of the original API).

The client takes from it the address and what it may send again; the service its routes, scopes and rate limits.
`docs/routes.md` is rendered from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote

from agentsvc_nb.wire import feedback, files, keys, media, proof, runs, tools
from agentsvc_nb.wire.codes import Source
from agentsvc_nb.wire.failures import Model
from agentsvc_nb.wire.runs import EventPage

DEVELOPERS: Final = "/api/developers"
V1: Final = DEVELOPERS + "/v1"

Scope = Literal["runs", "tools", "jobs", "mcp"]
SCOPES: Final[tuple[Scope, ...]] = ("runs", "tools", "jobs", "mcp")

Access = Literal["key", "session", "open"]
"""Who may call: a key (or member token), a signed-in browser session, or anybody."""

Resend = Literal["always", "keyed", "never"]
"""What the client may send again after a transient failure: always (reads, cancels, staging), only with an
Idempotency-Key, or never (docs/api/errors.md "What the client sends again")."""

RUNS: Final[frozenset[Scope]] = frozenset({"runs"})
TOOLS: Final[frozenset[Scope]] = frozenset({"tools"})
JOBS: Final[frozenset[Scope]] = frozenset({"tools", "jobs"})
FILES: Final[frozenset[Scope]] = frozenset({"runs", "tools", "jobs"})
ANY: Final[frozenset[Scope]] = frozenset(SCOPES)


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint. `scopes`: a key with any one of them may call; `limited`: counts against request limits."""

    name: str
    method: str
    path: str
    purpose: str
    scopes: frozenset[Scope] = frozenset()
    resend: Resend = "always"
    limited: bool = True
    answer: type[Model] | None = None
    source: Source = "ours"
    access: Access = "key"

    @property
    def tag(self) -> str:
        return self.name.split(".")[0]

    @property
    def operation_id(self) -> str:
        """camelCase, verb first, such as `searchFiles`."""
        resource, verb = self.name.split(".")
        first, *rest = verb.split("_")
        return first + "".join(word.title() for word in (*rest, *resource.split("_")))

    def url(self, **parts: str) -> str:
        """The path with its `{...}` filled in and quoted."""
        return self.path.format(**{name: quote(value, safe="") for name, value in parts.items()})


_ROWS = (
    # -- runs ----------------------------------------------------------------------------------------------------
    Route("runs.start", "POST", f"{V1}/runs", "Starts an Agent Run.", RUNS, "keyed", answer=runs.Run, source="stated"),
    Route(
        "runs.get",
        "GET",
        f"{V1}/runs/{{run_id}}",
        "Reads a run.",
        RUNS,
        limited=False,
        answer=runs.Run,
        source="stated",
    ),
    Route(
        "runs.events",
        "GET",
        f"{V1}/runs/{{run_id}}/events",
        "Reads run events: a page, or a server-sent stream.",
        RUNS,
        limited=False,
        answer=EventPage,
        source="stated",
    ),
    Route(
        "runs.cancel",
        "POST",
        f"{V1}/runs/{{run_id}}/cancel",
        "Requests cancellation; safe to repeat.",
        RUNS,
        answer=runs.Run,
        source="stated",
    ),
    Route(
        "runs.approve",
        "POST",
        f"{V1}/runs/{{run_id}}/calls/{{call_id}}/approval",
        "Approves or refuses a tool call that waits for it.",
        RUNS,
        "never",
        answer=runs.CallApproval,
    ),
    # -- files ---------------------------------------------------------------------------------------------------
    Route(
        "files.upload",
        "POST",
        f"{V1}/files",
        "Stages up to 10 files.",
        FILES,
        answer=files.StagedFiles,
        source="stated",
    ),
    Route("files.list", "GET", f"{V1}/files", "Lists a chat's files.", FILES, answer=files.FilePage, source="stated"),
    Route(
        "files.search",
        "GET",
        f"{V1}/files/search",
        "Searches a chat's files by name and contents.",
        FILES,
        answer=files.FileSearch,
        source="stated",
    ),
    Route("files.download", "GET", f"{V1}/files/download", "The bytes of a file, whole or a range.", FILES),
    Route(
        "files.rename", "PATCH", f"{V1}/files", "Gives a file the member's own name.", FILES, answer=files.WorkspaceFile
    ),
    # -- tools and jobs ------------------------------------------------------------------------------------------
    Route(
        "tools.list",
        "GET",
        f"{V1}/tools",
        "Lists the live tool catalog.",
        JOBS,
        answer=tools.ToolList,
        source="stated",
    ),
    Route("tools.describe", "GET", f"{V1}/tools/{{name}}", "One tool.", JOBS, answer=tools.ToolDescription),
    Route(
        "tools.invoke",
        "POST",
        f"{V1}/tools/{{name}}/invoke",
        "Calls a tool; an asynchronous one is answered as `jobs.submit`.",
        TOOLS,
        "keyed",
        answer=tools.ToolResult,
    ),
    Route("jobs.submit", "POST", f"{V1}/jobs", "Submits a tool job.", JOBS, "keyed", answer=tools.JobAccepted),
    Route("jobs.status", "GET", f"{V1}/jobs/{{job_id}}", "Reads a job.", JOBS, limited=False, answer=tools.Job),
    Route(
        "jobs.result",
        "GET",
        f"{V1}/jobs/{{job_id}}/result",
        "Reads a job's result.",
        JOBS,
        limited=False,
        answer=tools.Job,
    ),
    Route(
        "jobs.cancel", "POST", f"{V1}/jobs/{{job_id}}/cancel", "Cancels a job; safe to repeat.", JOBS, answer=tools.Job
    ),
    # -- feedback, media, landing pages --------------------------------------------------------------------------
    Route(
        "feedback.send",
        "POST",
        f"{V1}/feedback",
        "Sends a feedback report.",
        ANY,
        "never",
        answer=feedback.FeedbackReceipt,
        source="stated",
    ),
    Route(
        "feedback.list",
        "GET",
        f"{V1}/feedback",
        "Lists feedback reports, newest first.",
        ANY,
        answer=feedback.FeedbackList,
    ),
    Route(
        "feedback.get",
        "GET",
        f"{V1}/feedback/{{id}}",
        "Reads a feedback report.",
        ANY,
        answer=feedback.FeedbackReport,
    ),
    Route("media.get", "GET", f"{V1}/media/{{media_id}}", "Reads stored ad media.", FILES, answer=media.AdMedia),
    Route(
        "media.transcribe",
        "POST",
        f"{V1}/media/{{media_id}}/transcript",
        "The transcript; one that is not stored is made by a job.",
        FILES,
        "never",
        answer=media.Transcript,
    ),
    Route(
        "labels.list",
        "GET",
        f"{V1}/landing-pages/labels",
        "Lists the landing-page labels.",
        FILES,
        answer=media.LabelList,
    ),
    Route(
        "labels.get",
        "GET",
        f"{V1}/landing-pages/{{page_id}}",
        "Reads a landing page.",
        FILES,
        answer=media.LandingPage,
    ),
    Route(
        "labels.write",
        "PUT",
        f"{V1}/landing-pages/{{page_id}}/labels",
        "Writes labels, checked.",
        FILES,
        "never",
        answer=media.LandingPage,
    ),
    # -- projects, chats -----------------------------------------------------------------------------------------
    Route("projects.create", "POST", f"{V1}/projects", "Creates a project.", RUNS, "never", answer=files.Project),
    Route("projects.list", "GET", f"{V1}/projects", "Lists the projects.", RUNS, answer=files.ProjectList),
    Route("chats.retire", "DELETE", f"{V1}/chats/{{chat}}", "Retires a chat.", RUNS, answer=files.RetiredChat),
    # -- keys ----------------------------------------------------------------------------------------------------
    Route(
        "terms.get",
        "GET",
        f"{DEVELOPERS}/terms",
        "The current developer terms.",
        limited=False,
        answer=keys.DeveloperTerms,
        access="open",
    ),
    Route(
        "keys.create",
        "POST",
        f"{DEVELOPERS}/keys",
        "Creates a key; its secret is in this answer only.",
        resend="never",
        limited=False,
        answer=keys.CreatedKey,
        source="stated",
        access="session",
    ),
    Route(
        "keys.list",
        "GET",
        f"{DEVELOPERS}/keys",
        "Lists the keys that are not deleted.",
        limited=False,
        answer=keys.KeyList,
        access="session",
    ),
    Route(
        "keys.delete",
        "DELETE",
        f"{DEVELOPERS}/keys/{{id}}",
        "Deletes a key; requests with it are refused from then on.",
        limited=False,
        answer=keys.DeletedKey,
        access="session",
    ),
    # -- operations ----------------------------------------------------------------------------------------------
    Route(
        "service.health",
        "GET",
        proof.PATH,
        "Says which instance answers, and proves to `nonce` that it holds its folder's key.",
        limited=False,
        access="open",
    ),
    Route("service.openapi", "GET", f"{V1}/openapi.json", "This API, as OpenAPI 3.1.", limited=False, access="open"),
)

ROUTES: dict[str, Route] = {row.name: row for row in _ROWS}
