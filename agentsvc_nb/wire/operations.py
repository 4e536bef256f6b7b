"""What each route takes and answers beyond its row in `wire.routes`: the matter of the OpenAPI document.

A separate table, because neither the client nor the request path needs it: it is imported when the document is built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from agentsvc_nb.wire import parameters as p
from agentsvc_nb.wire.codes import CODES
from agentsvc_nb.wire.failures import Model, Request
from agentsvc_nb.wire.feedback import NewFeedback
from agentsvc_nb.wire.files import NewName, NewProject
from agentsvc_nb.wire.keys import NewKey
from agentsvc_nb.wire.media import NewLabels
from agentsvc_nb.wire.parameters import Parameter
from agentsvc_nb.wire.routes import Route
from agentsvc_nb.wire.runs import NewRun, Run, Verdict
from agentsvc_nb.wire.tools import JobAccepted, NewCall, NewJob

Codes = tuple[str, ...]
Produces = Literal["json", "json or events", "bytes"]


@dataclass(frozen=True, slots=True)
class Operation:
    """`body` is JSON; `form` says that the request is, or may be, multipart with `files`. `status` is that of the
    route's answer; `also` are further answers of success, by status. `codes` are the errors that are its own."""

    parameters: tuple[Parameter, ...] = ()
    body: type[Request] | None = None
    form: bool = False
    status: int = 200
    also: Mapping[int, type[Model]] = field(default_factory=dict)
    produces: Produces = "json"
    codes: Codes = ()


def codes(route: Route, operation: Operation) -> dict[int, list[str]]:
    """Every error that the route can answer, by status: its own, and those that its kind brings along."""
    found = [*operation.codes, *_ANY]
    found += _STORE if route.access != "open" else ()
    found += _KEY if route.access == "key" else _SESSION if route.access == "session" else ()
    found += _RATES if route.limited and route.access == "key" else ()
    found += _JSON if operation.body else ()
    found += _FORM if operation.form else ()
    found += _OTHER_PATH if "{" in route.path else ()
    by_status: dict[int, list[str]] = {}
    for code in CODES:  # in the table's order
        if code in found:
            by_status.setdefault(CODES[code].status, []).append(code)
    return dict(sorted(by_status.items()))


_ANY: Final[Codes] = (
    "invalid_query",  # what is no HTTP, too
    "internal_error",
    "brain_unavailable",
    "gateway_timeout",
)
_STORE: Final[Codes] = ("workspace_busy",)  # who asks is looked up
_KEY: Final[Codes] = ("unauthorized", "api_key_scope_forbidden", "key_suspended", "plan_access_required")
_SESSION: Final[Codes] = ("unauthorized", "foreign_origin")
_RATES: Final[Codes] = (
    "request_per_minute",
    "request_per_minute_user",
    "request_per_day",
    "user_throttled",
    "user_suspended",
)
_JSON: Final[Codes] = ("invalid_json", "attachment_too_large")
_FORM: Final[Codes] = ("invalid_multipart", "unsupported_attachment")
_OTHER_PATH: Final[Codes] = ("not_found", "method_not_allowed")  # a slash in a part leads to another path

_CHAT: Final[Codes] = ("invalid_chat", "chat_not_found")
_WHERE: Final[Codes] = (*_CHAT, "invalid_project", "project_not_found", "chat_project_mismatch", "chat_id_retired")
_RUN: Final[Codes] = ("invalid_run_id", "run_not_found")
_MONEY: Final[Codes] = (
    "api_wallet_exhausted",
    "api_key_budget_exhausted",
    "monthly_usage_limit_reached",
    "api_wallet_reconciliation_required",
)
_START: Final[Codes] = (
    *_WHERE,
    *_MONEY,
    "invalid_idempotency_key",
    "too_many_attachments",
    "upload_not_found",
    "agent_run_rejected",
    "runtime_capacity_busy",
)
_SUBMIT: Final[Codes] = (
    *_WHERE,
    *_MONEY,
    "invalid_idempotency_key",
    "idempotency_conflict",
    "invalid_tool_input",
    "unsupported_tool_request",
    "tool_not_found",
)
_JOB: Final = (p.JOB_ID, p.JOB_CHAT, p.JOB_PROJECT, p.JOB_SESSION)
_JOB_CODES: Final[Codes] = (*_CHAT, "invalid_project", "project_not_found", "job_not_found")
_PAGE: Final[Codes] = ("landing_page_not_found",)

OPERATIONS: Final[dict[str, Operation]] = {
    "runs.start": Operation(
        (p.IDEMPOTENCY_KEY,),
        body=NewRun,
        form=True,
        status=202,
        also={200: Run},
        codes=(
            *_START,
            *("message_required", "invalid_sync", "invalid_on_busy", "invalid_output_config"),
        ),
    ),
    "runs.get": Operation((p.RUN_ID,), codes=_RUN),
    "runs.events": Operation(
        (p.RUN_ID, p.AFTER_EVENT, p.EVENTS_LIMIT, p.LAST_EVENT_ID),
        produces="json or events",
        codes=(*_RUN, "invalid_last_event_id", "user_suspended"),  # a stream is held open
    ),
    "runs.cancel": Operation((p.RUN_ID,), codes=_RUN),
    "runs.approve": Operation(
        (p.RUN_ID, p.CALL_ID), body=Verdict, codes=(*_RUN, "invalid_approval", "call_not_found", "call_not_waiting")
    ),
    "files.upload": Operation((p.INTO_CHAT,), form=True, codes=(*_CHAT, "file_too_large", "too_many_files")),
    "files.list": Operation((p.CHAT_ID, p.AFTER_PATH, p.FILES_LIMIT), codes=_CHAT),
    "files.search": Operation((p.CHAT_ID, p.Q), codes=_CHAT),
    "files.download": Operation(
        (p.CHAT_ID, p.FILE_PATH, p.RANGE, p.IF_RANGE),
        produces="bytes",
        codes=(*_CHAT, "file_not_found", "range_not_satisfiable"),
    ),
    "files.rename": Operation((p.CHAT_ID, p.FILE_PATH), body=NewName, codes=(*_CHAT, "file_not_found")),
    "tools.list": Operation(),
    "tools.describe": Operation((p.TOOL_NAME,), codes=("tool_not_found",)),
    "tools.invoke": Operation(
        (p.TOOL_NAME, p.IDEMPOTENCY_KEY), body=NewCall, also={202: JobAccepted}, codes=(*_SUBMIT, *_START)
    ),
    "jobs.submit": Operation((p.IDEMPOTENCY_KEY,), body=NewJob, status=202, codes=_SUBMIT),
    "jobs.status": Operation(_JOB, codes=_JOB_CODES),
    "jobs.result": Operation(_JOB, codes=(*_JOB_CODES, "job_not_finished")),
    "jobs.cancel": Operation(_JOB, codes=_JOB_CODES),
    "feedback.send": Operation(body=NewFeedback, status=201, codes=("invalid_feedback", "feedback_rate_limited")),
    "feedback.list": Operation((p.STATUS, p.REPORTS_LIMIT)),
    "feedback.get": Operation((p.FEEDBACK_ID,), codes=("invalid_feedback", "feedback_not_found")),
    "media.get": Operation((p.MEDIA_ID,), codes=("media_not_found",)),
    "media.transcribe": Operation((p.MEDIA_ID,), also={202: JobAccepted}, codes=("media_not_found", *_MONEY)),
    "labels.list": Operation(),
    "labels.get": Operation((p.PAGE_ID,), codes=_PAGE),
    "labels.write": Operation((p.PAGE_ID,), body=NewLabels, codes=(*_PAGE, "invalid_label", "version_conflict")),
    "projects.create": Operation(body=NewProject, status=201),
    "projects.list": Operation(),
    "chats.retire": Operation((p.CHAT,), codes=_CHAT),
    "terms.get": Operation(),
    "keys.create": Operation(
        body=NewKey,
        status=201,
        codes=("invalid_scope", "developer_terms_not_accepted", "developer_terms_version_mismatch"),
    ),
    "keys.list": Operation(),
    "keys.delete": Operation((p.KEY_ID,), codes=("key_not_found",)),
    "service.health": Operation((p.NONCE,)),
    "service.openapi": Operation(),
}
