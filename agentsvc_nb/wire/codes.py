"""The error table: one row for each error code that a response can carry.

The service can respond with an error only by naming a row (`service.api_error.ApiError`). The client chooses the
exception and whether to retry by the same row, or by the status for a code that it does not know. `docs/errors.md` is
rendered from here. The rules: docs/api/errors.md. Rows marked `ours` are not in the original description of the API.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Source = Literal["stated", "ours"]
Retry = Literal["never", "transient"]
"""`transient`: the same request may succeed later. Whether it is safe to send again depends on the route
(`routes.route.Route.resend`)."""

ErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "rate_limit_error",
    "api_error",
    "service_unavailable_error",
]


@dataclass(frozen=True, slots=True)
class Status:
    """How the client treats a status if it does not know the code: error type, exception class, retry."""

    status: int
    type: ErrorType
    raises: str
    retry: Retry


STATUSES: dict[int, Status] = {
    row.status: row
    for row in (
        Status(400, "invalid_request_error", "StefanBrainError", "never"),
        Status(401, "authentication_error", "AuthenticationError", "never"),
        Status(403, "permission_error", "StefanBrainError", "never"),
        Status(404, "invalid_request_error", "StefanBrainError", "never"),
        Status(405, "invalid_request_error", "StefanBrainError", "never"),
        Status(408, "invalid_request_error", "StefanBrainError", "transient"),
        Status(409, "invalid_request_error", "StefanBrainError", "never"),
        Status(413, "invalid_request_error", "RequestTooLargeError", "never"),
        Status(416, "invalid_request_error", "StefanBrainError", "never"),
        Status(429, "rate_limit_error", "RateLimitError", "transient"),
        Status(431, "invalid_request_error", "StefanBrainError", "never"),
        Status(500, "api_error", "StefanBrainError", "transient"),
        Status(502, "api_error", "StefanBrainError", "transient"),
        Status(503, "service_unavailable_error", "StefanBrainError", "transient"),
        Status(504, "api_error", "StefanBrainError", "transient"),
    )
}


@dataclass(frozen=True, slots=True)
class Code:
    """One error code: its status and type, how the client handles it, its cause, and a hint on what to do.

    `type_` overrides the error type of the status.
    """

    code: str
    status: int
    cause: str
    hint: str
    source: Source = "stated"
    retry: Retry = "never"
    type_: ErrorType | None = None
    retry_after: int | None = None
    """Seconds of the `Retry-After` header, if the API fixes them."""
    unreached: str = ""
    """Why this service never responds with the code, if so; the client knows it for other services."""

    @property
    def type(self) -> ErrorType:
        return self.type_ or STATUSES[self.status].type

    @property
    def raises(self) -> str:
        """Name of the client's exception class (`client.errors`)."""
        return STATUSES[self.status].raises


_KEY = "Create a key with `agentsvc keys create`, or check SERVICE_API_KEY."
_LATER = "Wait a moment and try again."
_STARTED = "A start is answered before the agent works: what goes wrong then is the run's `last_error`."
_MAY_RUN = "The work may have started: look at the run, or start again with the same Idempotency-Key."
_WAIT = "Wait until the limit resets, or send fewer requests."

_ROWS = (
    # -- 400: the request is wrong -------------------------------------------------------------------------------
    Code("message_required", 400, "`message` is missing or empty.", "Write a message."),
    Code(
        "invalid_chat",
        400,
        "`chat` is not a valid chat reference.",
        "Use a `chat_...` id or a UUID; a run without `chat` begins a new one.",
    ),
    Code("invalid_project", 400, "`project` is not a valid project reference.", "Use a `proj_...` id or a UUID."),
    Code("invalid_sync", 400, "`sync` is not a boolean.", "Send true or false."),
    Code("invalid_on_busy", 400, "`on_busy` is not `reject`.", "Leave it out, or send `reject`."),
    Code(
        "invalid_model",
        400,
        "`model` is none that the service offers, or `effort` is not valid.",
        "Send a model of `GET /models`, and `effort` as low, medium or high.",
        "ours",
    ),
    Code(
        "invalid_limits",
        400,
        "`max_steps` or `max_cents` is not valid.",
        "Send `max_steps` as an integer from 1 to 1,500, and `max_cents` as a number over 0.",
        "ours",
    ),
    Code(
        "invalid_output_config",
        400,
        "`output_config` breaks a structured-output rule.",
        "Send a JSON Schema with an object at its root, of at most 64 KB, without remote or recursive references.",
    ),
    Code(
        "invalid_json", 400, "The body, or the multipart `payload`, is no JSON object that can be used.", "Correct it."
    ),
    Code("invalid_multipart", 400, "The multipart body cannot be read.", "Send well-formed multipart/form-data."),
    Code(
        "invalid_idempotency_key",
        400,
        "The Idempotency-Key is not 1 to 128 letters, digits, `_`, `.`, `:` or `-`.",
        "Shorten the key, or leave it out.",
    ),
    Code("too_many_attachments", 400, "More than 10 attachments.", "Attach at most 10 files."),
    Code(
        "unsupported_attachment",
        400,
        "The file's type is not supported; audio and video are rejected.",
        "Attach a document, a table or an image.",
    ),
    Code("invalid_run_id", 400, "The run id is malformed.", "Use the UUID that the start answered."),
    Code("invalid_query", 400, "A query parameter is missing or wrong.", "Correct the parameter.", "ours"),
    Code(
        "invalid_last_event_id",
        400,
        "`Last-Event-ID` is not an integer from 0 to 2^63-1.",
        "Send the id of the last event received, or nothing.",
        "ours",
    ),
    Code(
        "invalid_tool_input",
        400,
        "The tool's input does not fit its schema.",
        "`tools.describe` says what it takes; in a notebook `%tools NAME`.",
        "ours",
    ),
    Code(
        "unsupported_tool_request",
        400,
        "The tool cannot be called this way.",
        "Submit asynchronous tools as jobs; invoke the others.",
        "ours",
    ),
    Code("file_too_large", 400, "A staged file is larger than allowed.", "Stage a smaller file.", "ours"),
    Code("too_many_files", 400, "More than 10 files in one upload.", "Upload at most 10 files at once.", "ours"),
    Code(
        "invalid_feedback", 400, "The feedback report is not valid.", "Send a summary of 1 to 2,000 characters.", "ours"
    ),
    Code("invalid_approval", 400, "The verdict on a call is not valid.", "Send `approved`: true or false.", "ours"),
    Code(
        "invalid_client_tool",
        400,
        "A client tool of the start is not valid, or comes with `sync`.",
        "Send at most 16, each with `name`, `description`, `input_schema` and `effect`; leave `sync` out.",
        "ours",
    ),
    Code(
        "invalid_call_result",
        400,
        "The result of a client call is not valid; the call waits on.",
        "Send `content` as a list of blocks, or `pending` alone; name only files that the chat has.",
        "ours",
    ),
    Code(
        "invalid_skill",
        400,
        "A skill can't be used: its name, its front matter, a path, or its size.",
        "Send texts by path, with a `SKILL.md` whose front matter has `name` and `description`.",
        "ours",
    ),
    Code("invalid_label", 400, "A label, its value or the version is wrong.", "See the label list.", "ours"),
    Code("invalid_scope", 400, "A scope is unknown.", "Use runs, tools, jobs or mcp.", "ours"),
    Code(
        "developer_terms_not_accepted",
        400,
        "The developer terms were not accepted.",
        "Send developerTermsAccepted: true.",
        "ours",
    ),
    Code(
        "developer_terms_version_mismatch",
        400,
        "The accepted terms are not the current ones.",
        "Accept the version in requiredDeveloperTermsVersion.",
        "ours",
    ),
    # -- 401, 403: authentication and permission -----------------------------------------------------------------
    Code("unauthorized", 401, "The key is missing, invalid, revoked or not authorized.", _KEY, "ours"),
    Code(
        "api_key_scope_forbidden",
        403,
        "The key is scoped away from this surface.",
        "Use a key with the scope that this call needs.",
    ),
    Code("key_suspended", 403, "The key is suspended.", "Ask the service's operator, or use another key.", "ours"),
    Code(
        "foreign_origin",
        403,
        "A page of another site sent the request.",
        "Open the service's own pages under /app; its operator adds origins with AGENTSVC_ORIGINS.",
        "ours",
    ),
    Code(
        "foreign_host",
        403,
        "The request names a host that is not the service's.",
        "Use the service's address; its operator adds names with AGENTSVC_HOSTS.",
        "ours",
    ),
    Code("plan_access_required", 403, "The account cannot use the Developer API.", "Turn the plan on.", "ours"),
    # -- 404, 405, 408: not found, not arrived ------------------------------------------------------------------------
    Code("chat_not_found", 404, "No such chat for this account.", "Check the chat id and the key."),
    Code("project_not_found", 404, "No such project for this account.", "Check the project id and the key."),
    Code("run_not_found", 404, "No run with that id for this account.", "Check the run id and the key."),
    Code("not_found", 404, "No such path.", "Check the base URL and the path.", "ours"),
    Code("file_not_found", 404, "No file at that path in the chat.", "List the chat's files.", "ours"),
    Code("upload_not_found", 404, "The staged upload is unknown or expired.", "Upload the file again.", "ours"),
    Code("tool_not_found", 404, "No such tool.", "List the tools.", "ours"),
    Code("call_not_found", 404, "No such tool call in that run.", "Take the id of its event.", "ours"),
    Code("job_not_found", 404, "No such job in that chat.", "Give the chat that the submit answered.", "ours"),
    Code("feedback_not_found", 404, "No such feedback report.", "List the reports.", "ours"),
    Code("media_not_found", 404, "No such media.", "Check the media id.", "ours"),
    Code("landing_page_not_found", 404, "No such landing page.", "Check the page id.", "ours"),
    Code("key_not_found", 404, "No such key.", "List the keys.", "ours"),
    Code("method_not_allowed", 405, "The path does not take this method.", "See the Allow header.", "ours"),
    Code(
        "request_timeout",
        408,
        "The request did not arrive in time: its headers took over 20 seconds, or its body stood still.",
        "Send it again, over a better connection.",
        "ours",
        "transient",
    ),
    # -- 409, 413, 416, 431: conflicts and sizes ----------------------------------------------------------------------
    Code(
        "run_not_resumable",
        409,
        "The run did not fail, or failed for a reason that would fail again.",
        "Start a new run; only `model_unavailable`, `attempts_exhausted` and `limit_reached` can be resumed.",
        "ours",
    ),
    Code(
        "agent_run_rejected",
        409,
        "The chat already has an active turn; nothing was started and nothing is billed.",
        "Wait for the run in activeRunId, cancel it, or use another chat.",
    ),
    Code("chat_project_mismatch", 409, "The chat belongs to another project.", "Leave out `project`, or correct it."),
    Code("chat_id_retired", 409, "The chat is retired.", "Use another chat."),
    Code(
        "idempotency_conflict",
        409,
        "The Idempotency-Key was first used in another chat today.",
        "Use a new key, or the chat of the first submit.",
    ),
    Code("job_not_finished", 409, "The job has not ended yet.", "Wait for the job, then read its result.", "ours"),
    Code(
        "call_not_waiting",
        409,
        "The tool call does not wait for this.",
        "Look at the run: it was decided or answered, has expired, or the run ended.",
        "ours",
    ),
    Code("version_conflict", 409, "The labels were changed meanwhile.", "Read the page again, then write.", "ours"),
    Code(
        "attachment_too_large",
        413,
        "One file, or the whole request, is too large.",
        "Attach smaller files: at most 100 MB each.",
    ),
    Code(
        "call_result_too_large",
        413,
        "The result of a client call is over 1 MiB; the call waits on.",
        "Send less: the gist, or a file of the chat.",
        "ours",
    ),
    Code(
        "request_too_large",
        413,
        "A request to the MCP endpoint is over 150 MB.",
        "Send a smaller request.",
    ),
    Code("range_not_satisfiable", 416, "The file has no such range of bytes.", "Ask for the whole file.", "ours"),
    Code(
        "headers_too_large",
        431,
        "The address, headers and trailers of the request are over 64 KB.",
        "Send fewer or shorter headers: each counts its text and 32 bytes.",
        "ours",
    ),
    # -- 429: rate limits and budgets ----------------------------------------------------------------------------
    Code("request_per_minute", 429, "Too many requests this minute.", _WAIT, retry="transient"),
    Code("request_per_minute_user", 429, "Too many requests of this user this minute.", _WAIT, retry="transient"),
    Code("request_per_day", 429, "Too many requests today.", _WAIT, retry="transient"),
    Code("user_throttled", 429, "The user is throttled.", _WAIT, retry="transient"),
    Code("user_suspended", 429, "The user is suspended.", "Ask the service's operator."),
    Code("api_wallet_exhausted", 429, "The wallet has no room for a new hold.", "Add credit to the wallet."),
    Code(
        "api_key_budget_exhausted", 429, "The key's monthly budget is spent.", "Raise the budget, or use another key."
    ),
    Code(
        "runtime_capacity_busy",
        429,
        "The service is near its limit and the account holds its share of active runs.",
        "Wait for a run to end.",
        retry="transient",
        retry_after=5,
    ),
    Code("monthly_usage_limit_reached", 429, "The plan's monthly usage pool is spent.", "Wait for the next month."),
    Code("feedback_rate_limited", 429, "60 feedback reports were sent in the last hour.", _WAIT),
    # -- 5xx: the service ----------------------------------------------------------------------------------------
    Code("internal_error", 500, "Unexpected server failure.", _LATER, "ours", "transient"),
    Code(
        "bad_gateway",
        502,
        "The gateway received an invalid response.",
        _LATER,
        "ours",
        "transient",
        unreached="No gateway stands before the service; an operator's own may answer so.",
    ),
    Code("brain_unavailable", 503, "The brain is briefly unavailable.", _LATER, retry="transient"),
    Code(
        "workspace_busy",
        503,
        "The chat's workspace is briefly busy.",
        _LATER,
        retry="transient",
        type_="rate_limit_error",
        retry_after=5,
    ),
    Code(
        "model_unavailable",
        503,
        "The model that the start names can't answer now.",
        "`GET /models` says why; name another model, or leave it out for the default.",
        "ours",
    ),
    Code(
        "api_wallet_reconciliation_required",
        503,
        "Billing review: a model receipt lacks its token counts.",
        "Ask support to resolve it; adding credit does not help.",
    ),
    Code("runtime_unavailable", 503, "The agent runtime failed.", _MAY_RUN, retry="transient", unreached=_STARTED),
    Code("runtime_timeout", 503, "The agent runtime timed out.", _MAY_RUN, retry="transient", unreached=_STARTED),
    Code(
        "runtime_invalid_response",
        503,
        "The agent runtime answered nonsense.",
        _MAY_RUN,
        retry="transient",
        unreached=_STARTED,
    ),
    Code("gateway_timeout", 504, "No answer within 120 seconds.", _MAY_RUN, "ours", "transient"),
)

CODES: dict[str, Code] = {row.code: row for row in _ROWS}
