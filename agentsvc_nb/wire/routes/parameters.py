"""What goes into an address and its headers, one row each; the rows of the routes say which takes which.

`service.http.parameters` checks them; `tests/contract/test_openapi.py` holds the two together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from agentsvc_nb.wire import ids, proof
from agentsvc_nb.wire.feedback import Status
from agentsvc_nb.wire.limits import (
    EVENT_ID_MAX,
    EVENTS_PAGE_DEFAULT,
    FEEDBACK_PAGE_DEFAULT,
    FEEDBACK_PAGE_MAX,
    PAGE_MAX,
    QUERY_MAX_CHARS,
)

Schema = dict[str, Any]
Place = Literal["path", "query", "header"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: where it stands, its JSON Schema, and what it is for. What stands in the path is required."""

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
CALL_ID: Final = _path("call_id", "The id that the event `approval.requested` names.")
TOOL_NAME: Final = _path("name", "The name of a tool of the catalog.")
JOB_ID: Final = _path("job_id", "The id that the submit answered.")
FEEDBACK_ID: Final = _path("id", "The id of the report.", ids.FEEDBACK)
MEDIA_ID: Final = _path("media_id", "The id of the media.")
PAGE_ID: Final = _path("page_id", "The id of the landing page.")
CHAT: Final = _path("chat", "The chat: a UUID or a `chat_...` id.", ids.CHAT)
KEY_ID: Final = _path("id", "The id of the key.")

CHAT_ID: Final = Parameter("chat_id", "query", _text(ids.CHAT), "The chat: a UUID or a `chat_...` id.", required=True)
INTO_CHAT: Final = Parameter("chat_id", "query", _text(ids.CHAT), "Put the files into this chat, too.")
FILE_PATH: Final = Parameter("path", "query", _text(minLength=1), "The file's path, as listed.", True, "notes.txt")
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
