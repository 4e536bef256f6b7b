"""What the row of an endpoint is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import quote

from agentsvc_nb.wire.codes import CODES, Source
from agentsvc_nb.wire.failures import Model, Request
from agentsvc_nb.wire.routes.parameters import Parameter

DEVELOPERS: Final = "/api/developers"
V1: Final = DEVELOPERS + "/v1"

Scope = Literal["runs", "tools", "jobs", "mcp"]
SCOPES: Final[tuple[Scope, ...]] = ("runs", "tools", "jobs", "mcp")

Access = Literal["key", "session", "open"]
"""Who may call: a key (or member token), a signed-in browser session, or anyone."""

Resend = Literal["always", "keyed", "never"]
"""What the client may send again after a transient failure: always (reads, cancels, staging), only with an
Idempotency-Key, or never (docs/api/errors.md "What the client sends again")."""

RUNS: Final[frozenset[Scope]] = frozenset({"runs"})
TOOLS: Final[frozenset[Scope]] = frozenset({"tools"})
JOBS: Final[frozenset[Scope]] = frozenset({"tools", "jobs"})
FILES: Final[frozenset[Scope]] = frozenset({"runs", "tools", "jobs"})
ANY: Final[frozenset[Scope]] = frozenset(SCOPES)

Errors = tuple[str, ...]
"""Codes of `wire.codes`."""
Produces = Literal["json", "json or events", "bytes"]

_ANY: Final[Errors] = (
    "invalid_query",  # what is no HTTP, too
    "internal_error",
    "brain_unavailable",
    "gateway_timeout",
)
_STORE: Final[Errors] = ("workspace_busy",)  # who asks is looked up
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
_OTHER_PATH: Final[Errors] = ("not_found", "method_not_allowed")  # a slash in a part leads to another path

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
    the model of the answer of success, with `status`; `also` are further ones, by status. `body` is the model of a
    JSON body; a `form` request is, or may be, multipart with `files`. `errors` are the codes of its own.
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
        """Every error code that the route can answer, by status: its own, and those of its kind."""
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
