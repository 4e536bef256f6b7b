"""The type of a row of the endpoint table, and the parameters in paths, queries and headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from urllib.parse import quote

from agentsvc_nb.wire import ids, proof
from agentsvc_nb.wire.codes import CODES, Source
from agentsvc_nb.wire.failures import Model, Request
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
from agentsvc_nb.wire.resources import Status
from agentsvc_nb.wire.runs import RunStatus
from agentsvc_nb.wire.tools import JobStatus

Schema = dict[str, Any]
Place = Literal["path", "query", "header"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an endpoint: its place, its JSON Schema, and its purpose. Those in a path are required."""

    name: str
    place: Place
    schema: Schema
    description: str
    required: bool = False
    example: str | None = None


def _text(pattern: str | None = None, **more: object) -> Schema:
    return {"type": "string", **({} if pattern is None else {"pattern": pattern}), **more}


def _integer(low: int, high: int, default: int) -> Schema:
    return {"type": "integer", "minimum": low, "maximum": high, "default": default}


def _path(name: str, description: str, pattern: str | None = None) -> Parameter:
    return Parameter(name, "path", _text(pattern, minLength=1), description, required=True)


RUN_ID: Final = _path("run_id", "The UUID that the start answered.", ids.RUN)
CALL_ID: Final = _path("call_id", "The id that the event `approval.requested` or `client_call.waiting` names.")
TOOL_NAME: Final = _path("name", "The name of a tool of the catalog.")
JOB_ID: Final = _path("job_id", "The id that the submit answered.")
FEEDBACK_ID: Final = _path("id", "The id of the report.", ids.FEEDBACK)
MEDIA_ID: Final = _path("media_id", "The id of the media.")
PAGE_ID: Final = _path("page_id", "The id of the landing page.")
CHAT: Final = _path("chat", "The chat: a UUID or a `chat_...` id.", ids.CHAT)
PROJECT: Final = _path("project", "The project: a UUID or a `proj_...` id.", ids.PROJECT)
KEY_ID: Final = _path("id", "The id of the key.")

CHAT_ID: Final = Parameter("chat_id", "query", _text(ids.CHAT), "The chat: a UUID or a `chat_...` id.", required=True)
INTO_CHAT: Final = Parameter("chat_id", "query", _text(ids.CHAT), "Put the files into this chat, too.")
INTO_SESSION: Final = Parameter(
    "session",
    "query",
    _text(minLength=1, maxLength=SESSION_CHARS),
    "Put them into the chat of this label, made if need be.",
)
INTO_PROJECT: Final = Parameter("project", "query", _text(ids.PROJECT), "The project of that chat.")
FILE_PATH: Final = Parameter("path", "query", _text(minLength=1), "The file's path, as listed.", True, "notes.txt")
FILE_VERSION: Final = Parameter(
    "version", "query", {"type": "integer", "minimum": 1, "maximum": INTEGER_MAX}, "An earlier version of the file."
)
Q: Final = Parameter(
    "q",
    "query",
    _text(minLength=1, maxLength=QUERY_MAX_CHARS),
    'Words of a file\'s name or contents: `"a phrase"`, `or`, `-word` to exclude; the last word is a prefix.',
    required=True,
    example="summer",
)
AFTER_PATH: Final = Parameter("after", "query", _text(), "The `next_after` of the page before.")
FILES_LIMIT: Final = Parameter("limit", "query", _integer(1, PAGE_MAX, PAGE_MAX), "How many files at most.")

AFTER_EVENT: Final = Parameter("after", "query", _integer(0, EVENT_ID_MAX, 0), "The id of the last event known.")
EVENTS_LIMIT: Final = Parameter("limit", "query", _integer(1, PAGE_MAX, EVENTS_PAGE_DEFAULT), "How many at most.")
LAST_EVENT_ID: Final = Parameter(
    "Last-Event-ID",
    "header",
    {"anyOf": [{"type": "integer", "minimum": 0, "maximum": EVENT_ID_MAX}, {"const": ""}]},
    "The id of the last event received, of a stream that goes on; wins over `after`.",
)

STATUS: Final = Parameter("status", "query", _text(enum=list(get_args(Status))), "Only reports with this status.")
REPORTS_LIMIT: Final = Parameter(
    "limit", "query", _integer(1, FEEDBACK_PAGE_MAX, FEEDBACK_PAGE_DEFAULT), "How many reports at most."
)

OF_CHAT: Final = Parameter("chat", "query", _text(ids.CHAT), "Only those of this chat.")
AFTER_RUN: Final = Parameter("after", "query", _text(ids.RUN), "The `next_after` of the page before.")
AFTER_JOB: Final = Parameter("after", "query", _text(), "The `next_after` of the page before.")
RUN_STATUS: Final = Parameter("status", "query", _text(enum=list(get_args(RunStatus))), "Only runs with this status.")
JOB_STATUS: Final = Parameter("status", "query", _text(enum=list(get_args(JobStatus))), "Only jobs with this status.")
WORK_LIMIT: Final = Parameter("limit", "query", _integer(1, PAGE_MAX, WORK_PAGE_DEFAULT), "How many at most.")

JOB_CHAT: Final = Parameter("chat", "query", _text(ids.CHAT), "The chat that the submit answered; or else:")
JOB_PROJECT: Final = Parameter("project", "query", _text(ids.PROJECT), "The project of the submit.")
JOB_SESSION: Final = Parameter("session", "query", _text(minLength=1), "The session of the submit.")

IDEMPOTENCY_KEY: Final = Parameter(
    "Idempotency-Key",
    "header",
    _text(ids.IDEMPOTENCY_KEY),
    "Sent again with the same key on the same UTC day, the request gives the original work back.",
)
RANGE: Final = Parameter("Range", "header", _text(), "The bytes wanted, such as `bytes=0-99`.")
IF_RANGE: Final = Parameter("If-Range", "header", _text(), "The `ETag` that the range belongs to.")

NONCE: Final = Parameter(
    "nonce",
    "query",
    _text(proof.NONCE),
    "Asks for `proof`: made of this, the instance, and the address of the service's end of the connection, with a key "
    "derived from the one in its data folder.",
)


DEVELOPERS: Final = "/api/developers"
V1: Final = DEVELOPERS + "/v1"

Scope = Literal["runs", "tools", "jobs", "mcp"]
SCOPES: Final[tuple[Scope, ...]] = ("runs", "tools", "jobs", "mcp")

Access = Literal["key", "session", "open"]
"""The credential that an endpoint requires: a key (or member token), a signed-in browser session, or none (open)."""

Resend = Literal["always", "keyed", "never"]
"""What the client may send again after a transient failure: always (reads, cancels, staging), only with an
Idempotency-Key, or never (docs/api/errors.md "What the client sends again")."""

RUNS: Final[frozenset[Scope]] = frozenset({"runs"})
TOOLS: Final[frozenset[Scope]] = frozenset({"tools"})
JOBS: Final[frozenset[Scope]] = frozenset({"tools", "jobs"})
FILES: Final[frozenset[Scope]] = frozenset({"runs", "tools", "jobs"})
ANY: Final[frozenset[Scope]] = frozenset(SCOPES)

Errors = tuple[str, ...]
"""Error codes of `wire.codes`."""
Produces = Literal["json", "json or events", "bytes"]

# Codes that `Route.errors_by_status` adds to a route's own
_ANY: Final[Errors] = (
    "invalid_query",  # also for a request that is not valid HTTP
    "headers_too_large",
    "foreign_host",
    "request_timeout",
    "internal_error",
    "brain_unavailable",
    "gateway_timeout",
)
_STORE: Final[Errors] = ("workspace_busy",)  # checking a credential reads the database
_KEY: Final[Errors] = ("unauthorized", "api_key_scope_forbidden", "key_suspended", "plan_access_required")
_SESSION: Final[Errors] = ("unauthorized", "foreign_origin")
_RATES: Final[Errors] = (
    "request_per_minute",
    "request_per_minute_user",
    "request_per_day",
    "user_throttled",
    "user_suspended",
)
_JSON: Final[Errors] = ("invalid_json", "attachment_too_large")
_FORM: Final[Errors] = ("invalid_multipart", "unsupported_attachment")
_OTHER_PATH: Final[Errors] = ("not_found", "method_not_allowed")  # a parameter with a slash makes another path

# Shared by rows of both tables
CHAT_ERRORS: Final[Errors] = ("invalid_chat", "chat_not_found")
MONEY_ERRORS: Final[Errors] = (
    "api_wallet_exhausted",
    "api_key_budget_exhausted",
    "monthly_usage_limit_reached",
    "api_wallet_reconciliation_required",
)


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint.

    A key with any one of the `scopes` may call it; `limited` requests count against the request limits. `answer` is
    the model of a successful response and `status` its status; `also` has other successful responses by status. `body`
    is the model of a JSON body; with `form` the request is, or may be, multipart with `files`. `errors` are the codes
    beyond those that `errors_by_status` adds. `session_code` is what a signed-in browser is answered where only a key
    counts, if that is not `unauthorized`.
    """

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
    parameters: tuple[Parameter, ...] = ()
    body: type[Request] | None = None
    form: bool = False
    status: int = 200
    also: Mapping[int, type[Model]] = field(default_factory=dict)
    produces: Produces = "json"
    errors: Errors = ()
    session_code: str = "unauthorized"

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

    def errors_by_status(self) -> dict[int, list[str]]:
        """All error codes of the route by status: its own, and those that its access, body and path imply."""
        found = [*self.errors, *_ANY]
        found += _STORE if self.access != "open" else ()
        found += _KEY if self.access == "key" else _SESSION if self.access == "session" else ()
        found += _RATES if self.limited and self.access == "key" else ()
        found += _JSON if self.body else ()
        found += _FORM if self.form else ()
        found += _OTHER_PATH if "{" in self.path else ()
        by_status: dict[int, list[str]] = {}
        for code in CODES:  # in the table's order
            if code in found:
                by_status.setdefault(CODES[code].status, []).append(code)
        return dict(sorted(by_status.items()))
