"""The table of endpoints. Endpoints whose source is `stated` come from the original description of the API.

The client reads from it the path of an endpoint, and whether it may send a request again. The service reads from it the
routes, their scopes and rate limits. docs/routes.md and the OpenAPI document are generated from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, get_args
from urllib.parse import quote

from agentsvc_nb.wire import files, ids, proof, resources, runs, tools
from agentsvc_nb.wire.codes import CODES, Source
from agentsvc_nb.wire.limits import (
    EVENT_ID_MAX,
    EVENTS_PAGE_DEFAULT,
    FEEDBACK_PAGE_DEFAULT,
    FEEDBACK_PAGE_MAX,
    INTEGER_MAX,
    PAGE_MAX,
    QUERY_MAX_CHARS,
    SESSION_CHARS,
    WORK_PAGE_DEFAULT,
)
from agentsvc_nb.wire.models import Model, Request
from agentsvc_nb.wire.resources import SCOPES, Scope

DEVELOPERS: Final = "/api/developers"
V1: Final = DEVELOPERS + "/v1"

Access = Literal["key", "session", "open"]
"""What a request must have: an API key or member token (`key`), a browser session (`session`), or neither (`open`)."""

Resend = Literal["always", "keyed", "never"]
"""Whether the client may send a request again after a transient error (docs/api/errors.md
"What the client sends again").

`always` is for requests that are safe to repeat, such as reads. `keyed` is for requests that are safe to repeat with
the same Idempotency-Key.
"""

Produces = Literal["json", "json or events", "bytes"]
Schema = dict[str, Any]

# -- errors that several rows share ------------------------------------------------------------------------------------

CHAT_ERRORS: Final = ("invalid_chat", "chat_not_found")
PROJECT_ERRORS: Final = ("invalid_project", "project_not_found")
PLACE_ERRORS: Final = (*CHAT_ERRORS, *PROJECT_ERRORS, "chat_project_mismatch", "chat_id_retired")
RUN_ERRORS: Final = ("invalid_run_id", "run_not_found")
MONEY_ERRORS: Final = (
    "day_budget_exhausted",
    "api_wallet_exhausted",
    "api_key_budget_exhausted",
    "monthly_usage_limit_reached",
    "api_wallet_reconciliation_required",
)
START_ERRORS: Final = (
    *PLACE_ERRORS,
    *MONEY_ERRORS,
    "too_many_attachments",
    "upload_not_found",
    "agent_run_rejected",
    "runtime_capacity_busy",
)
SUBMIT_ERRORS: Final = (
    *PLACE_ERRORS,
    *MONEY_ERRORS,
    "idempotency_conflict",
    "invalid_tool_input",
    "unsupported_tool_request",
    "tool_not_found",
)

# Errors that follow from a route's access, body and path.
_ANY_ERRORS: Final = (
    "invalid_query",  # also the code for a request that is not valid HTTP
    "headers_too_large",
    "foreign_host",
    "request_timeout",
    "internal_error",
    "brain_unavailable",
    "gateway_timeout",
)
_ACCESS_ERRORS: Final[dict[Access, tuple[str, ...]]] = {  # `workspace_busy`: checking a key reads the database
    "key": ("unauthorized", "api_key_scope_forbidden", "key_suspended", "plan_access_required", "workspace_busy"),
    "session": ("unauthorized", "foreign_origin", "workspace_busy"),
    "open": (),
}
_RATE_ERRORS: Final = (
    "request_per_minute",
    "request_per_minute_user",
    "request_per_day",
    "user_throttled",
    "user_suspended",
)
_JSON_ERRORS: Final = ("invalid_json", "attachment_too_large")
_FORM_ERRORS: Final = ("invalid_multipart", "unsupported_attachment")
_PATH_ERRORS: Final = ("not_found", "method_not_allowed")  # a parameter with a slash leads to another path


# -- parameters --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an endpoint: its place, JSON Schema, description, and the error codes that it can cause."""

    name: str
    place: Literal["path", "query", "header"]
    schema: Schema
    description: str
    errors: tuple[str, ...] = ()
    required: bool = False
    example: str | None = None


def _text(pattern: str | None = None, **more: object) -> Schema:
    return {"type": "string", **({} if pattern is None else {"pattern": pattern}), **more}


def _integer(low: int, high: int, default: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high, "default": default}


def _path(name: str, description: str, *errors: str, pattern: str | None = None) -> Parameter:
    return Parameter(name, "path", _text(pattern, minLength=1), description, errors, required=True)


def _query(
    name: str, schema: Schema, description: str, *errors: str, required: bool = False, example: str | None = None
) -> Parameter:
    return Parameter(name, "query", schema, description, errors, required, example)


def _header(name: str, schema: Schema, description: str, *errors: str) -> Parameter:
    return Parameter(name, "header", schema, description, errors)


_A_CHAT: Final = "The chat: a UUID or a `chat_...` ID."
_NEXT: Final = "The `next_after` of the previous page."

RUN_ID: Final = _path("run_id", "The UUID that the start returned.", *RUN_ERRORS, pattern=ids.RUN)
CALL_ID: Final = _path(
    "call_id", "The ID in the event `approval.requested` or `client_call.waiting`.", "call_not_found"
)
APPROVAL_ID: Final = _path("approval_id", "The ID of the standing approval.", "standing_approval_not_found")
TOOL_NAME: Final = _path("name", "The name of a tool of the catalog.", "tool_not_found")
JOB_ID: Final = _path("job_id", "The ID that the submit returned.", "job_not_found")
FEEDBACK_ID: Final = _path(
    "id", "The ID of the report.", "invalid_feedback", "feedback_not_found", pattern=ids.FEEDBACK
)
MEDIA_ID: Final = _path("media_id", "The ID of the media.", "media_not_found")
PAGE_ID: Final = _path("page_id", "The ID of the landing page.", "landing_page_not_found")
CHAT: Final = _path("chat", _A_CHAT, *CHAT_ERRORS, pattern=ids.CHAT)
PROJECT: Final = _path("project", "The project: a UUID or a `proj_...` ID.", *PROJECT_ERRORS, pattern=ids.PROJECT)
KEY_ID: Final = _path("id", "The ID of the key.", "key_not_found")

CHAT_ID: Final = _query("chat_id", _text(ids.CHAT), _A_CHAT, *CHAT_ERRORS, required=True)
INTO_CHAT: Final = _query("chat_id", _text(ids.CHAT), "Also put the files into this chat.", *CHAT_ERRORS)
INTO_SESSION: Final = _query(
    "session",
    _text(minLength=1, maxLength=SESSION_CHARS),
    "Put the files into the chat with this label. The service creates it if needed.",
)
INTO_PROJECT: Final = _query("project", _text(ids.PROJECT), "The project of that chat.", *PROJECT_ERRORS)
FILE_PATH: Final = _query(
    "path", _text(minLength=1), "The file's path, as listed.", "file_not_found", required=True, example="notes.txt"
)
FILE_VERSION: Final = _query(
    "version", {"type": "integer", "minimum": 1, "maximum": INTEGER_MAX}, "An earlier version of the file."
)
Q: Final = _query(
    "q",
    _text(minLength=1, maxLength=QUERY_MAX_CHARS),
    'Words of a file\'s name or contents: `"a phrase"`, `or`, `-word` to exclude; the last word is a prefix.',
    required=True,
    example="summer",
)
AFTER_PATH: Final = _query("after", _text(), _NEXT)
FILES_LIMIT: Final = _query("limit", _integer(1, PAGE_MAX, PAGE_MAX), "The largest number of files.")

AFTER_EVENT: Final = _query("after", _integer(0, EVENT_ID_MAX, 0), "The ID of the last known event.")
EVENTS_LIMIT: Final = _query("limit", _integer(1, PAGE_MAX, EVENTS_PAGE_DEFAULT), "The largest number of events.")
LAST_EVENT_ID: Final = _header(
    "Last-Event-ID",
    {"anyOf": [{"type": "integer", "minimum": 0, "maximum": EVENT_ID_MAX}, {"const": ""}]},
    "The ID of the last event received, to continue a stream; takes precedence over `after`.",
    "invalid_last_event_id",
)

REPORT_STATUS: Final = _query("status", _text(enum=list(get_args(resources.Status))), "Only reports with this status.")
REPORTS_LIMIT: Final = _query(
    "limit", _integer(1, FEEDBACK_PAGE_MAX, FEEDBACK_PAGE_DEFAULT), "The largest number of reports."
)

OF_CHAT: Final = _query("chat", _text(ids.CHAT), "Only entries of this chat.", *CHAT_ERRORS)
AFTER_RUN: Final = _query("after", _text(ids.RUN), _NEXT, *RUN_ERRORS)
AFTER_JOB: Final = _query("after", _text(), _NEXT, "job_not_found")
RUN_STATUS: Final = _query("status", _text(enum=list(get_args(runs.RunStatus))), "Only runs with this status.")
JOB_STATUS: Final = _query("status", _text(enum=list(get_args(tools.JobStatus))), "Only jobs with this status.")
WORK_LIMIT: Final = _query("limit", _integer(1, PAGE_MAX, WORK_PAGE_DEFAULT), "The largest number of entries.")

JOB: Final = (
    JOB_ID,
    _query("chat", _text(ids.CHAT), "The chat of the submit's response.", *CHAT_ERRORS),
    _query("project", _text(ids.PROJECT), "The project of the submit, with `session`.", *PROJECT_ERRORS),
    _query("session", _text(minLength=1), "The session of the submit, instead of `chat`."),
)

IDEMPOTENCY_KEY: Final = _header(
    "Idempotency-Key",
    _text(ids.IDEMPOTENCY_KEY),
    "A request with the same key on the same UTC day returns the original work.",
    "invalid_idempotency_key",
)
RANGE: Final = _header("Range", _text(), "The range of bytes, such as `bytes=0-99`.", "range_not_satisfiable")
IF_RANGE: Final = _header("If-Range", _text(), "The `ETag` that the range belongs to.")

NONCE: Final = _query(
    "nonce",
    _text(proof.NONCE),
    "Requests `proof`: a signature of this value, the instance and the service's address, with a key derived "
    "from the one in its data folder.",
)


# -- routes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint, written as `Route(...).takes(...).answers(...).fails(...)`.

    A key with any of the `scopes` may call the endpoint. If `limited` is True, requests to the endpoint count
    against the request limits.
    """

    name: str
    purpose: str
    scopes: frozenset[Scope] = frozenset()
    resend: Resend = "always"
    limited: bool = True
    access: Access = "key"
    source: Source = "ours"
    method: str = "GET"
    path: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: type[Request] | None = None
    body_required: bool = True
    form: bool = False
    answer: type[Model] | None = None
    status: int = 200
    also: Mapping[int, type[Model]] = field(default_factory=dict)
    produces: Produces = "json"
    errors: tuple[str, ...] = ()
    session_code: str = "unauthorized"

    def takes(
        self,
        method: str,
        path: str,
        *parameters: Parameter,
        body: type[Request] | None = None,
        body_required: bool = True,
        form: bool = False,
    ) -> Route:
        """Return the route with its request, which has a JSON `body`.

        With `form`, the body may also be a multipart form with `files`.
        """
        return replace(
            self,
            method=method,
            path=path,
            parameters=parameters,
            body=body,
            body_required=body_required,
            form=form,
        )

    def answers(
        self,
        answer: type[Model] | None = None,
        status: int = 200,
        *,
        also: Mapping[int, type[Model]] | None = None,
        produces: Produces = "json",
    ) -> Route:
        """Return the route with its successful response. `also` maps other successful statuses to response models."""
        return replace(self, answer=answer, status=status, also=also or {}, produces=produces)

    def fails(self, *errors: str, session_code: str = "unauthorized") -> Route:
        """Return the route with further error codes, in addition to those that follow from its access, parameters, body
        and path.

        If the endpoint requires a key, a signed-in browser gets the code `session_code`.
        """
        return replace(self, errors=errors, session_code=session_code)

    @property
    def tag(self) -> str:
        return self.name.split(".")[0]

    @property
    def operation_id(self) -> str:
        """Return the OpenAPI operation id: the name in camel case, verb first, such as `searchFiles`."""
        resource, verb = self.name.split(".")
        first, *rest = verb.split("_")
        return first + "".join(word.title() for word in (*rest, *resource.split("_")))

    def url(self, **parts: str) -> str:
        """Return the path with the percent-encoded values `parts` in place of its `{...}` placeholders."""
        return self.path.format(**{name: quote(value, safe="") for name, value in parts.items()})

    def errors_by_status(self) -> dict[int, list[str]]:
        """Return all error codes of the route by HTTP status. Codes of the same status have the order of `CODES`."""
        found = {*self.errors, *_ANY_ERRORS, *_ACCESS_ERRORS[self.access]}
        found.update(*(parameter.errors for parameter in self.parameters))
        found.update(_RATE_ERRORS if self.limited and self.access == "key" else ())
        found.update(_JSON_ERRORS if self.body else ())
        found.update(_FORM_ERRORS if self.form else ())
        found.update(_PATH_ERRORS if "{" in self.path else ())
        by_status: dict[int, list[str]] = {}
        for code in CODES.values():
            if code.code in found:
                by_status.setdefault(code.status, []).append(code.code)
        return dict(sorted(by_status.items()))


RUNS: Final[frozenset[Scope]] = frozenset({"runs"})
TOOLS: Final[frozenset[Scope]] = frozenset({"tools"})
JOBS: Final[frozenset[Scope]] = frozenset({"tools", "jobs"})
FILES: Final[frozenset[Scope]] = frozenset({"runs", "tools", "jobs"})
ANY: Final[frozenset[Scope]] = frozenset(SCOPES)

_RUNS: Final = (
    Route("runs.start", "Starts an Agent Run.", RUNS, "keyed", source="stated")
    .takes("POST", f"{V1}/runs", IDEMPOTENCY_KEY, body=runs.NewRun, form=True)
    .answers(runs.Run, 202, also={200: runs.Run})
    .fails(
        *START_ERRORS,
        "message_required",
        "invalid_sync",
        "invalid_on_busy",
        "invalid_output_config",
        "invalid_limits",
        "invalid_model",
        "model_unavailable",
        "invalid_client_tool",
    ),
    Route("runs.list", "Lists the account's runs, newest first.", RUNS)
    .takes("GET", f"{V1}/runs", OF_CHAT, RUN_STATUS, AFTER_RUN, WORK_LIMIT)
    .answers(runs.RunPage),
    Route("runs.get", "Reads a run.", RUNS, limited=False, source="stated")
    .takes("GET", f"{V1}/runs/{{run_id}}", RUN_ID)
    .answers(runs.Run),
    Route("runs.sent", "Lists what a run sent to language models.", RUNS, limited=False)
    .takes("GET", f"{V1}/runs/{{run_id}}/sent", RUN_ID)
    .answers(runs.SentList),
    Route("runs.events", "Reads run events: a page, or a server-sent stream.", RUNS, limited=False, source="stated")
    .takes("GET", f"{V1}/runs/{{run_id}}/events", RUN_ID, AFTER_EVENT, EVENTS_LIMIT, LAST_EVENT_ID)
    .answers(runs.EventPage, produces="json or events")
    .fails("user_suspended"),  # no limit applies here except a suspension, which also ends open streams
    Route("runs.cancel", "Requests cancellation; safe to repeat.", RUNS, source="stated")
    .takes("POST", f"{V1}/runs/{{run_id}}/cancel", RUN_ID)
    .answers(runs.Run),
    Route("runs.resume", "Starts a run that continues a failed one.", RUNS, "keyed")
    .takes("POST", f"{V1}/runs/{{run_id}}/resume", RUN_ID, IDEMPOTENCY_KEY, body=runs.NewLimits, body_required=False)
    .answers(runs.Run, 202, also={200: runs.Run})
    .fails(
        *MONEY_ERRORS,
        "invalid_limits",
        "chat_id_retired",
        "run_not_resumable",
        "agent_run_rejected",
        "runtime_capacity_busy",
    ),
    Route("runs.undo", "Undoes a run's file changes, or that undo; safe to repeat.", RUNS)
    .takes("POST", f"{V1}/runs/{{run_id}}/undo", RUN_ID, body=runs.NewUndo, body_required=False)
    .answers(runs.RunUndo)
    .fails("invalid_json", "run_not_finished"),
    Route("runs.raise_limit", "Raises the cost limit of an active run; safe to repeat.", RUNS)
    .takes("POST", f"{V1}/runs/{{run_id}}/limits", RUN_ID, body=runs.RaisedLimit)
    .answers(runs.Run)
    .fails(*MONEY_ERRORS, "invalid_limits", "run_not_active"),
    Route("runs.approve", "Approves or refuses a waiting tool call.", RUNS, "never")
    .takes("POST", f"{V1}/runs/{{run_id}}/calls/{{call_id}}/approval", RUN_ID, CALL_ID, body=runs.Verdict)
    .answers(runs.CallApproval)
    .fails("invalid_approval", "call_not_waiting"),
    Route("runs.standing_approvals", "Lists the active standing approvals.", RUNS)
    .takes("GET", f"{V1}/standing-approvals")
    .answers(runs.StandingApprovalList),
    Route("runs.revoke_approval", "Revokes a standing approval.", RUNS, "never")
    .takes("DELETE", f"{V1}/standing-approvals/{{approval_id}}", APPROVAL_ID)
    .answers(runs.RevokedApproval),
    Route(
        "runs.answer",
        "Sends the result of a client tool, or reports that it is still running; safe to repeat.",
        RUNS,
        limited=False,
    )
    .takes("POST", f"{V1}/runs/{{run_id}}/calls/{{call_id}}/result", RUN_ID, CALL_ID, body=runs.CallResult)
    .answers(runs.ClientCall)
    .fails("invalid_call_result", "call_not_waiting", "call_result_too_large", session_code="call_not_found"),
    Route("usage.today", "Reads the account's use today and its daily budget.", ANY, limited=False)
    .takes("GET", f"{V1}/usage")
    .answers(resources.DayUsage),
    Route("models.list", "Lists the models that a start may use.", ANY)
    .takes("GET", f"{V1}/models")
    .answers(runs.ModelList),
)
_FILES: Final = (
    Route("files.upload", "Stages up to 10 files.", FILES, source="stated")
    .takes("POST", f"{V1}/files", INTO_CHAT, INTO_SESSION, INTO_PROJECT, form=True)
    .answers(files.StagedFiles)
    .fails("chat_project_mismatch", "chat_id_retired", "invalid_json", "file_too_large", "too_many_files"),
    Route("files.list", "Lists a chat's files.", FILES, source="stated")
    .takes("GET", f"{V1}/files", CHAT_ID, AFTER_PATH, FILES_LIMIT)
    .answers(files.FilePage),
    Route("files.search", "Searches a chat's files by name and contents.", FILES, source="stated")
    .takes("GET", f"{V1}/files/search", CHAT_ID, Q)
    .answers(files.FileSearch),
    Route("files.download", "Downloads a file, or a range of its bytes.", FILES)
    .takes("GET", f"{V1}/files/download", CHAT_ID, FILE_PATH, FILE_VERSION, RANGE, IF_RANGE)
    .answers(produces="bytes"),
    Route("files.rename", "Sets or removes the member's own name for a file.", FILES)
    .takes("PATCH", f"{V1}/files", CHAT_ID, FILE_PATH, body=files.NewName)
    .answers(files.WorkspaceFile),
    Route("files.versions", "Lists the versions of a file.", FILES)
    .takes("GET", f"{V1}/files/versions", CHAT_ID, FILE_PATH)
    .answers(files.FileVersions),
    Route("files.restore", "Restores an earlier version of a file.", FILES)
    .takes("POST", f"{V1}/files/restore", CHAT_ID, FILE_PATH, body=files.RestoredVersion)
    .answers(files.WorkspaceFile),
)
_TOOLS_AND_JOBS: Final = (
    Route("tools.list", "Lists the live tool catalog.", JOBS, source="stated")
    .takes("GET", f"{V1}/tools")
    .answers(tools.ToolList),
    Route("tools.describe", "Describes a tool.", JOBS)
    .takes("GET", f"{V1}/tools/{{name}}", TOOL_NAME)
    .answers(tools.ToolDescription),
    Route("tools.invoke", "Calls a tool; an asynchronous one becomes a job, as with `jobs.submit`.", TOOLS, "keyed")
    .takes("POST", f"{V1}/tools/{{name}}/invoke", TOOL_NAME, IDEMPOTENCY_KEY, body=tools.NewCall)
    .answers(tools.ToolResult, also={202: tools.JobAccepted})
    .fails(*SUBMIT_ERRORS, *START_ERRORS, "invalid_model", "model_unavailable"),
    Route("jobs.submit", "Submits a tool job.", JOBS, "keyed")
    .takes("POST", f"{V1}/jobs", IDEMPOTENCY_KEY, body=tools.NewJob)
    .answers(tools.JobAccepted, 202)
    .fails(*SUBMIT_ERRORS),
    Route("jobs.list", "Lists the account's jobs, newest first.", JOBS)
    .takes("GET", f"{V1}/jobs", OF_CHAT, JOB_STATUS, AFTER_JOB, WORK_LIMIT)
    .answers(tools.JobPage),
    Route("jobs.status", "Reads a job.", JOBS, limited=False)
    .takes("GET", f"{V1}/jobs/{{job_id}}", *JOB)
    .answers(tools.Job),
    Route("jobs.result", "Reads a job's result.", JOBS, limited=False)
    .takes("GET", f"{V1}/jobs/{{job_id}}/result", *JOB)
    .answers(tools.Job)
    .fails("job_not_finished"),
    Route("jobs.cancel", "Cancels a job; safe to repeat.", JOBS)
    .takes("POST", f"{V1}/jobs/{{job_id}}/cancel", *JOB)
    .answers(tools.Job),
)
_RESOURCES: Final = (
    Route("feedback.send", "Sends a feedback report.", ANY, "never", source="stated")
    .takes("POST", f"{V1}/feedback", body=resources.NewFeedback)
    .answers(resources.FeedbackReceipt, 201)
    .fails("invalid_feedback", "feedback_rate_limited"),
    Route("feedback.list", "Lists feedback reports, newest first.", ANY)
    .takes("GET", f"{V1}/feedback", REPORT_STATUS, REPORTS_LIMIT)
    .answers(resources.FeedbackList),
    Route("feedback.get", "Reads a feedback report.", ANY)
    .takes("GET", f"{V1}/feedback/{{id}}", FEEDBACK_ID)
    .answers(resources.FeedbackReport),
    Route("media.get", "Reads stored ad media.", FILES)
    .takes("GET", f"{V1}/media/{{media_id}}", MEDIA_ID)
    .answers(resources.AdMedia),
    Route("media.transcribe", "Reads the transcript. If none is stored, submits a job that creates it.", FILES, "never")
    .takes("POST", f"{V1}/media/{{media_id}}/transcript", MEDIA_ID)
    .answers(resources.Transcript, also={202: tools.JobAccepted})
    .fails(*MONEY_ERRORS),
    Route("labels.list", "Lists the landing-page labels.", FILES)
    .takes("GET", f"{V1}/landing-pages/labels")
    .answers(resources.LabelList),
    Route("labels.get", "Reads a landing page.", FILES)
    .takes("GET", f"{V1}/landing-pages/{{page_id}}", PAGE_ID)
    .answers(resources.LandingPage),
    Route("labels.write", "Writes the labels of a landing page, after checking them.", FILES, "never")
    .takes("PUT", f"{V1}/landing-pages/{{page_id}}/labels", PAGE_ID, body=resources.NewLabels)
    .answers(resources.LandingPage)
    .fails("invalid_label", "version_conflict"),
    Route("projects.create", "Creates a project.", RUNS, "never")
    .takes("POST", f"{V1}/projects", body=files.NewProject)
    .answers(files.Project, 201),
    Route("projects.update", "Changes a project's name, instructions or skills.", RUNS)
    .takes("PATCH", f"{V1}/projects/{{project}}", PROJECT, body=files.ProjectChange)
    .answers(files.Project)
    .fails("invalid_skill"),
    Route("projects.list", "Lists the projects.", RUNS).takes("GET", f"{V1}/projects").answers(files.ProjectList),
    Route("chats.retire", "Retires a chat.", RUNS)
    .takes("DELETE", f"{V1}/chats/{{chat}}", CHAT)
    .answers(files.RetiredChat),
)
_ACCOUNT: Final = (
    Route("terms.get", "Reads the current developer terms.", limited=False, access="open")
    .takes("GET", f"{DEVELOPERS}/terms")
    .answers(resources.DeveloperTerms),
    Route(
        "keys.create",
        "Creates a key; only this response has its secret.",
        resend="never",
        limited=False,
        access="session",
        source="stated",
    )
    .takes("POST", f"{DEVELOPERS}/keys", body=resources.NewKey)
    .answers(resources.CreatedKey, 201)
    .fails("invalid_scope", "developer_terms_not_accepted", "developer_terms_version_mismatch"),
    Route("keys.list", "Lists the keys that are not deleted.", limited=False, access="session")
    .takes("GET", f"{DEVELOPERS}/keys")
    .answers(resources.KeyList),
    Route("keys.delete", "Deletes a key, which stops working at once.", limited=False, access="session")
    .takes("DELETE", f"{DEVELOPERS}/keys/{{id}}", KEY_ID)
    .answers(resources.DeletedKey),
)
_SERVICE: Final = (
    Route(
        "service.health",
        "Returns the instance, and for `nonce` a proof that the service has its data folder's key.",
        limited=False,
        access="open",
    ).takes("GET", proof.PATH, NONCE),
    Route("service.openapi", "Describes this API, as OpenAPI 3.1.", limited=False, access="open").takes(
        "GET", f"{V1}/openapi.json"
    ),
)
ROUTES: Final = {row.name: row for row in (*_RUNS, *_FILES, *_TOOLS_AND_JOBS, *_RESOURCES, *_ACCOUNT, *_SERVICE)}

# The client has no operation for this endpoint (docs/mcp.md).
MCP: Final = Route("mcp.post", "Accepts an MCP message.", frozenset({"mcp"}), "never", limited=False).takes(
    "POST", f"{V1}/mcp"
)
