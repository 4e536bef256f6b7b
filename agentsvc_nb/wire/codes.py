"""The tables of error codes: why a request fails (`CODES`), and why a run or job fails (`FAILURES`).

Each error response of the service has the code of a row (`service.api_error.ApiError`). From the same row, the client
takes the class of the exception and whether to retry. If it does not know the code, it uses the HTTP status
(`STATUSES`). docs/errors.md is generated from these tables, and docs/api/errors.md explains the rules. Rows whose
source is `stated` come from the original description of the API. We added the rows whose source is `ours`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from agentsvc_nb.wire.limits import BUSY_RETRY_AFTER_SECONDS

Source = Literal["stated", "ours"]
Retry = Literal["never", "transient"]
"""Whether the client may retry. After a `transient` error, the same request may succeed later. `routes.Route.resend`
says whether it is safe to send the request again.
"""

ErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "permission_error",
    "rate_limit_error",
    "api_error",
    "service_unavailable_error",
]


@dataclass(frozen=True, slots=True)
class StatusDefaults:
    """How the client treats an error with a certain HTTP status if it does not know the code."""

    type: ErrorType
    raises: str = "StefanBrainError"
    retry: Retry = "never"


_SMALLER: Final = (
    "Split the file, or query it with DuckDB or pandas and send the part that is needed. "
    "On a service of your own, `AGENTSVC_MAX_FILE_BYTES` sets the limit."
)
STATUSES: Final = {
    400: StatusDefaults("invalid_request_error"),
    401: StatusDefaults("authentication_error", "AuthenticationError"),
    403: StatusDefaults("permission_error"),
    404: StatusDefaults("invalid_request_error"),
    405: StatusDefaults("invalid_request_error"),
    408: StatusDefaults("invalid_request_error", retry="transient"),
    409: StatusDefaults("invalid_request_error"),
    413: StatusDefaults("invalid_request_error", "RequestTooLargeError"),
    416: StatusDefaults("invalid_request_error"),
    429: StatusDefaults("rate_limit_error", "RateLimitError", "transient"),
    431: StatusDefaults("invalid_request_error"),
    500: StatusDefaults("api_error", retry="transient"),
    502: StatusDefaults("api_error", retry="transient"),
    503: StatusDefaults("service_unavailable_error", retry="transient"),
    504: StatusDefaults("api_error", retry="transient"),
}


@dataclass(frozen=True, slots=True)
class Code:
    """An error code of a response, with its cause and a hint on what to do.

    The HTTP status determines the error type, the exception class and whether to retry, unless the row sets its own.
    """

    cause: str
    hint: str
    source: Source = "ours"
    own_type: ErrorType | None = None
    own_retry: Retry | None = None
    retry_after: int | None = None
    """The number of seconds in the `Retry-After` header, if the API defines one."""
    unreached: str = ""
    """The reason why this service never sends the code, or "". Clients may get the code from other services."""
    code: str = ""
    status: int = 0

    @property
    def type(self) -> ErrorType:
        return self.own_type or STATUSES[self.status].type

    @property
    def raises(self) -> str:
        """Return the name of the exception class in `client.errors` that the client raises for this code."""
        return STATUSES[self.status].raises

    @property
    def retry(self) -> Retry:
        return self.own_retry or STATUSES[self.status].retry


_stated = partial(Code, source="stated")

_KEY: Final = "Create a key with `agentsvc keys create`, or check SERVICE_API_KEY."
_LATER: Final = "Wait a moment and try again."
_STARTED: Final = "The service accepts a start before the agent begins. A later error is in the run's `last_error`."
_MAY_RUN: Final = "The work may have started. Check the run, or start it again with the same Idempotency-Key."
_WAIT: Final = "Wait until the limit resets, or send fewer requests."

_ROWS: Final[dict[int, dict[str, Code]]] = {
    400: {
        "message_required": _stated("`message` is missing or empty.", "Write a message."),
        "invalid_chat": _stated(
            "`chat` is not a valid chat reference.",
            "Send a `chat_...` ID or a UUID, or leave `chat` out to start a new one.",
        ),
        "invalid_project": _stated("`project` is not a valid project reference.", "Send a `proj_...` ID or a UUID."),
        "invalid_sync": _stated("`sync` is not a boolean.", "Send true or false."),
        "invalid_on_busy": _stated("`on_busy` is not `reject`.", "Leave it out, or send `reject`."),
        "invalid_model": Code(
            "The service does not offer this `model`, or `effort` is not valid.",
            "Send a model of `GET /models`, and `effort` as low, medium or high.",
        ),
        "invalid_limits": Code(
            "`max_steps` or `max_cents` is not valid, or below the limit that is to be raised.",
            "Send `max_steps` as an integer from 1 to 1,500, `max_cents` as a number over 0, at most 1,000,000,000.",
        ),
        "invalid_output_config": _stated(
            "`output_config` breaks a structured-output rule.",
            "Send a JSON Schema with an object at its root, of at most 64 KiB, without remote or recursive references.",
        ),
        "invalid_json": _stated(
            "The body, or the multipart `payload`, is not a valid JSON object.", "Correct the JSON."
        ),
        "invalid_multipart": _stated("The multipart body cannot be read.", "Send well-formed multipart/form-data."),
        "invalid_idempotency_key": _stated(
            "The Idempotency-Key is not 1 to 128 letters, digits, `_`, `.`, `:` or `-`.",
            "Shorten the key, or leave it out.",
        ),
        "too_many_attachments": _stated("More than 10 attachments.", "Attach at most 10 files."),
        "unsupported_attachment": _stated(
            "The file's type is not supported; audio and video are rejected.", "Attach a document, a table or an image."
        ),
        "invalid_run_id": _stated("The run ID is malformed.", "Use the UUID that the start returned."),
        "invalid_query": Code("A query parameter is missing or wrong.", "Correct the parameter."),
        "invalid_last_event_id": Code(
            "`Last-Event-ID` is not an integer from 0 to 2^63-1.", "Send the ID of the last event received, or nothing."
        ),
        "invalid_tool_input": Code(
            "The tool's input does not fit its schema.",
            "See its schema: `tools.describe`, in a notebook `%tools NAME`.",
        ),
        "unsupported_tool_request": Code(
            "The tool cannot be called this way.", "Submit asynchronous tools as jobs; invoke the others."
        ),
        "file_too_large": Code("A staged file is larger than allowed.", _SMALLER),
        "too_many_files": Code("More than 10 files in one upload.", "Upload at most 10 files at once."),
        "invalid_feedback": Code("The feedback report is not valid.", "Send a summary of 1 to 2,000 characters."),
        "invalid_approval": Code(
            "The decision about a tool call is not valid. The call is still waiting.",
            "Send `approved` as true or false. A changed `input` must fit the tool's schema. Leave out `standing` if "
            "every call of the tool must be approved.",
        ),
        "invalid_client_tool": Code(
            "A client tool of the start is not valid, or the start has `sync`, too.",
            "Send at most 16, each with `name`, `description`, `input_schema` and `effect`, and leave `sync` out.",
        ),
        "invalid_call_result": Code(
            "The result of a client tool's call is not valid. The call is still waiting.",
            "Send `content` as a list of blocks, or only `pending`. Name only files that the chat has.",
        ),
        "invalid_skill": Code(
            "A skill cannot be used because of its name, its front matter, a path, or its size.",
            "Send the texts of files by path. The front matter of `SKILL.md` must have `name` and `description`.",
        ),
        "invalid_label": Code("A label, its value or the version is not valid.", "List the labels and their values."),
        "invalid_scope": Code("A scope is unknown.", "Use runs, tools, jobs or mcp."),
        "developer_terms_not_accepted": Code(
            "The developer terms were not accepted.", "Send developerTermsAccepted: true."
        ),
        "developer_terms_version_mismatch": Code(
            "The accepted terms are not the current version.", "Accept the version in requiredDeveloperTermsVersion."
        ),
    },
    401: {"unauthorized": Code("The key is missing, invalid, revoked or not authorized.", _KEY)},
    403: {
        "api_key_scope_forbidden": _stated("The key lacks the scope that this call needs.", "Use a key that has it."),
        "key_suspended": Code("The key is suspended.", "Ask the service's operator, or use another key."),
        "foreign_origin": Code(
            "A page of another site sent the request.",
            "Open the service's own pages under /app. The operator can allow other origins with AGENTSVC_ORIGINS.",
        ),
        "foreign_host": Code(
            "The request's Host header does not name this service.",
            "Use the service's address. The operator can allow other names with AGENTSVC_HOSTS.",
        ),
        "plan_access_required": Code("The account cannot use the Developer API.", "Turn the plan on."),
    },
    404: {
        "chat_not_found": _stated("No such chat for this account.", "Check the chat ID and the key."),
        "project_not_found": _stated("No such project for this account.", "Check the project ID and the key."),
        "run_not_found": _stated("No run with that ID for this account.", "Check the run ID and the key."),
        "not_found": Code("No such path.", "Check the base URL and the path."),
        "file_not_found": Code("No file at that path in the chat.", "List the chat's files."),
        "upload_not_found": Code("The staged upload is unknown or expired.", "Upload the file again."),
        "tool_not_found": Code("No such tool.", "List the tools."),
        "call_not_found": Code("No such tool call in that run.", "Use the ID in the call's event."),
        "standing_approval_not_found": Code(
            "No such standing approval: it may have been revoked.", "List the standing approvals."
        ),
        "job_not_found": Code("No such job in that chat.", "Send the chat that the submit returned."),
        "feedback_not_found": Code("No such feedback report.", "List the reports."),
        "media_not_found": Code("No such media.", "Check the media ID."),
        "landing_page_not_found": Code("No such landing page.", "Check the page ID."),
        "key_not_found": Code("No such key.", "List the keys."),
    },
    405: {"method_not_allowed": Code("This path does not support the method.", "Use a method of the Allow header.")},
    408: {
        "request_timeout": Code(
            "The request did not arrive in time: its body stalled.",
            "Send it again, over a better connection.",
        ),
    },
    409: {
        "run_not_resumable": Code(
            "The run did not fail, or it would fail again for the same reason.",
            "Start a new run. Only runs that failed with `model_unavailable`, `attempts_exhausted` or "
            "`limit_reached` can be resumed.",
        ),
        "run_not_finished": Code(
            "The run, or a job of the run, has not ended yet.",
            "Wait for the run or cancel it, then send the request again.",
        ),
        "run_not_active": Code(
            "The run has ended or is being cancelled, so its limit cannot be raised.",
            "Start a run, or resume one that failed with `limit_reached`, with a higher `max_cents`.",
        ),
        "agent_run_rejected": _stated(
            "The chat already has an active run. Nothing was started and nothing is billed.",
            "Wait for the run in activeRunId, cancel it, or use another chat.",
        ),
        "chat_project_mismatch": _stated(
            "The chat belongs to another project.", "Leave `project` out, or send the chat's project."
        ),
        "chat_id_retired": _stated("The chat is retired.", "Use another chat."),
        "idempotency_conflict": _stated(
            "The Idempotency-Key was first used in another chat today.",
            "Use a new key, or the chat of the first submit.",
        ),
        "job_not_finished": Code("The job has not ended yet.", "Wait for the job, then read its result."),
        "call_not_waiting": Code(
            "The tool call is not waiting for this answer.",
            "Read the run. The call was already decided or answered, it expired, or the run ended.",
        ),
        "version_conflict": Code("The labels changed after you read them.", "Read the page again, then write."),
    },
    413: {
        "attachment_too_large": _stated("One file, or the whole request, is too large.", _SMALLER),
        "call_result_too_large": Code(
            "The result of a client tool's call exceeds 1 MiB. The call is still waiting.",
            "Send a summary, or name a file of the chat.",
        ),
        "request_too_large": _stated("A request to the MCP endpoint exceeds 150 MB.", "Send a smaller request."),
    },
    416: {
        "range_not_satisfiable": Code("The requested range is outside the file.", "Request a range within the file.")
    },
    431: {
        "headers_too_large": Code(
            "The address and headers of the request exceed 64 KiB.",
            "Send fewer or shorter headers. Each header counts as its text plus 32 bytes.",
        ),
    },
    429: {
        "request_per_minute": _stated("Too many requests this minute.", _WAIT),
        "request_per_minute_user": _stated("Too many requests from this user this minute.", _WAIT),
        "request_per_day": _stated("Too many requests today.", _WAIT),
        "user_throttled": _stated("The user is throttled.", _WAIT),
        "user_suspended": _stated("The user is suspended.", "Ask the service's operator.", own_retry="never"),
        "api_wallet_exhausted": _stated(
            "The wallet does not have enough credit for a new hold.", "Add credit to the wallet.", own_retry="never"
        ),
        "api_key_budget_exhausted": _stated(
            "The key's monthly budget is spent.", "Raise the budget, or use another key.", own_retry="never"
        ),
        "day_budget_exhausted": Code(
            "The account's daily budget does not have enough left for a new hold.",
            "Raise `AGENTSVC_DAY_CENTS` and restart the service, or wait until the next day.",
            own_retry="never",
        ),
        "runtime_capacity_busy": _stated(
            "The service is near its capacity, and the account already has its share of active runs.",
            "Wait for a run to end.",
            retry_after=BUSY_RETRY_AFTER_SECONDS,
        ),
        "monthly_usage_limit_reached": _stated(
            "The plan's monthly usage pool is spent.", "Wait for the next month.", own_retry="never"
        ),
        "feedback_rate_limited": _stated("60 feedback reports were sent in the last hour.", _WAIT, own_retry="never"),
    },
    500: {"internal_error": Code("The service failed unexpectedly.", _LATER)},
    502: {
        "bad_gateway": Code(
            "The gateway received an invalid response.",
            _LATER,
            unreached="The service has no gateway. A gateway of the operator may send this code.",
        ),
    },
    503: {
        "brain_unavailable": _stated("The service is briefly unavailable.", _LATER),
        "workspace_busy": _stated(
            "The chat's workspace is briefly busy.",
            _LATER,
            own_type="rate_limit_error",
            retry_after=BUSY_RETRY_AFTER_SECONDS,
        ),
        "model_unavailable": Code(
            "The model of this start is not available now.",
            "`GET /models` says why. Choose another model, or leave `model` out for the default.",
            own_retry="never",
        ),
        "api_wallet_reconciliation_required": _stated(
            "The account is under billing review, because a model call reported no token counts.",
            "Ask the service's operator to end the review. Adding credit does not help.",
            own_retry="never",
        ),
        "runtime_unavailable": _stated("The agent runtime failed.", _MAY_RUN, unreached=_STARTED),
        "runtime_timeout": _stated("The agent runtime timed out.", _MAY_RUN, unreached=_STARTED),
        "runtime_invalid_response": _stated(
            "The agent runtime returned an invalid response.", _MAY_RUN, unreached=_STARTED
        ),
    },
    504: {"gateway_timeout": Code("The service sent no response within 120 seconds.", _MAY_RUN)},
}

CODES: Final = {
    code: replace(row, code=code, status=status) for status, rows in _ROWS.items() for code, row in rows.items()
}


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason why a run or job fails. Its code becomes the run's `last_error`, or the job's or tool's `error.code`."""

    cause: str
    hint: str
    source: Source = "ours"
    resumable: bool = False
    """True if a run that failed for this reason can be resumed."""


FAILURES: Final = {
    "budget_limited": Failure(
        "The run reached 1,500 model steps. It is not billed.", "Ask for less work at once.", source="stated"
    ),
    "limit_reached": Failure(
        "The run reached `max_steps` or `max_cents`. Or the daily budget, the wallet, the plan's pool or the "
        "key's budget does not have enough left for the next call of a model or priced tool.",
        "The message names the limit. Resume the run with a higher limit, add credit, raise the budget, or "
        "wait for the reset.",
        resumable=True,
    ),
    "output_schema_mismatch": Failure("The answer did not fit the schema.", "Simplify the schema, or ask again."),
    "output_too_long": Failure(
        "The answer exceeds 4 MB. `output` has its beginning.", "Ask for a shorter answer, or for a file."
    ),
    "model_required": Failure(
        "This needs a language model.", "Choose one with `agentsvc model`, in a notebook `%agentsvc model`."
    ),
    "not_configured": Failure(
        "The model or the tool lacks a credential, an address, a package or the network.",
        "Set up what the message names.",
    ),
    "model_unavailable": Failure(
        "The model's server cannot be reached, is overloaded, or stopped in the middle of its answer.",
        "Check that the server is running, then resume the run.",
        resumable=True,
    ),
    "model_refused": Failure("The model's server refused the request.", "Correct what the message names."),
    "content_filtered": Failure(
        "The provider's filter stopped the answer.",
        "Rephrase the question. If this happens again, ask in a new chat.",
    ),
    "answer_refused": Failure("The model refused to answer.", "Read the message, then rephrase the question."),
    "call_repeated": Failure(
        "The model called a tool six times with the same input, while nothing changed.",
        "Rephrase the question, or choose a larger model.",
    ),
    "context_exceeded": Failure(
        "The request exceeds the model's context size.",
        "Ask for less at once, or set AGENTSVC_MODEL_CONTEXT to the context size of the model's server.",
    ),
    "model_failed": Failure("The model's answer was not valid.", "Ask again, or choose a larger model."),
    "invalid_tool_input": Failure(
        "The tool's input does not fit its schema.", "See its schema: `tools.describe`, in a notebook `%tools NAME`."
    ),
    "invalid_path": Failure("A path leads out of the workspace.", "Use a relative path without `..`."),
    "file_protected": Failure(
        "A run tried to change the user's rules for agents, such as `AGENTS.md`, or the chat's summary.",
        "Upload the changed file yourself, or have the run write to another file.",
    ),
    "address_refused": Failure(
        "An address leads to a private network or to this machine, or hides where it leads.",
        "Use a public address. The operator can allow other hosts with AGENTSVC_FETCH_ALLOW.",
    ),
    "upstream_failed": Failure(
        "A service that a tool uses returned an error, or did not respond.",
        "Read the message, and check the tool's settings.",
    ),
    "recipient_refused": Failure(
        "The operator does not allow a recipient of the mail.",
        "Leave the recipient out. The operator can allow recipients with AGENTSVC_MAIL_RECIPIENTS.",
    ),
    "tool_changed": Failure(
        "A tool of an MCP server changed after the run began. The service did not call it.",
        "Check the tool's new description, then start the run again.",
    ),
    "transcript_failed": Failure("The speech in a file could not be recognised.", "The message gives the reason."),
    "fetch_failed": Failure("A page or file could not be fetched.", "Read the message, then try again later."),
    "missing_glyphs": Failure(
        "No font on the service's machine has all characters of an ad's text.",
        "Install the font that the message names, or leave the characters out.",
    ),
    "no_text": Failure("The file has no readable text.", "Use a file with text."),
    "query_failed": Failure("The query of the tables is not valid.", "Correct what the message names."),
    "skill_not_found": Failure("The project has no such skill, or the skill has no such file.", "Use a listed name."),
    "project_required": Failure("The chat belongs to no project.", "Start a chat in a project."),
    "program_failed": Failure("A program of the agent ended with an error.", "The message gives the error."),
    "too_much_work": Failure("A query or a program took too long or too much memory.", "Split the work."),
    "attempts_exhausted": Failure(
        "The work was restarted three times without progress.", "Resume the run; restart the job.", resumable=True
    ),
    "cancelled": Failure("The work was cancelled.", "Start it again."),
    "model_changed": Failure("The service was restarted with another model.", "Start it again."),
    "not_approved": Failure("A person refused the tool call.", "Read the reason, then ask for something else."),
    "client_gone": Failure(
        "The caller sent no result of a client tool in time. The run continues.",
        "Keep the program that started the run connected until the run ends.",
    ),
    "client_error": Failure(
        "A client tool failed in the caller's program. The run continues.", "The message gives the error."
    ),
    "outcome_unknown": Failure(
        "The tool was interrupted. Its action may have happened.",
        "Check whether it happened before you ask again. The service did not repeat it.",
    ),
    "agent_error": Failure("The agent failed unexpectedly.", "See the service's log."),
}


def resume_command(command: str, run_id: str, code: str | None, message: str | None) -> str | None:
    """Return the command that resumes a run that failed with this code and message, or None if it can't be resumed.

    >>> resume_command("agentsvc runs resume", "last", "limit_reached", "Resume it with a higher `max_cents`.")
    'agentsvc runs resume last --max-cents N'
    """
    if code not in FAILURES or not FAILURES[code].resumable:
        return None
    return f"{command} {run_id}" + (" --max-cents N" if "`max_cents`" in (message or "") else "")
